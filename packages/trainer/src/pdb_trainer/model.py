"""A frozen causal language model with adapters, as the learner computes with it."""

from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from transformers import AutoConfig, AutoModelForCausalLM, PreTrainedModel

from pdb_trainer import packed_attention
from pdb_trainer.errors import LearnerError
from pdb_trainer.logprobs import chosen_logprobs
from pdb_trainer.lora import POLICY, Adapters, LoraSettings
from pdb_trainer.packing import Microbatch


@dataclass(frozen=True, slots=True, kw_only=True)
class PackedTensors:
    """A microbatch on the model's device."""

    token_ids: Tensor
    """``[N]`` int64."""
    position_ids: Tensor
    """``[N]`` int64."""
    row_starts: tuple[int, ...]
    """Where rows begin, and N."""
    places: Tensor
    """``[M]`` int64: indices of the tokens that the policy said."""

    @classmethod
    def of(cls, rows: Microbatch, device: torch.device) -> Self:
        """Raises LearnerError where a row's first token claims to be predicted."""
        positions = np.asarray(rows.position_ids, np.int64)
        starts = np.flatnonzero(positions == 0)
        if not len(positions) or starts[0] != 0 or not _counts_up(positions, starts):
            raise LearnerError("Rows of a microbatch must count their positions from 0: pack them again.")
        if rows.loss_mask[starts].any():
            raise LearnerError("A row's first token has nothing that predicts it: mask it out.")
        return cls(
            token_ids=torch.from_numpy(np.asarray(rows.token_ids, np.int64)).to(device),
            position_ids=torch.from_numpy(positions).to(device),
            row_starts=(*starts.tolist(), len(positions)),
            places=torch.from_numpy(np.flatnonzero(rows.loss_mask)).to(device),
        )


class PolicyModel:
    """One base, its adapters, and the way from packed rows to log-probabilities."""

    def __init__(self, network: PreTrainedModel, lora: LoraSettings) -> None:
        """Freeze ``network`` and lay a fresh policy on its linear layers, the head apart.

        Raises LearnerError for a head that is more than a matrix.
        """
        self.network = network.requires_grad_(False)
        self._head = _plain_head(network)
        head = next(name for name, each in network.named_modules() if each is self._head)
        self.adapters = Adapters(network, lora, untouched=frozenset({head}))

    @property
    def device(self) -> torch.device:
        """Where its weights are."""
        return self._head.weight.device

    @property
    def head_weight(self) -> Tensor:
        """``[V, H]``, frozen."""
        return self._head.weight

    @contextmanager
    def with_adapter(self, adapter: str | None) -> Generator[None]:
        """Compute with ``policy``, ``reference`` or the base alone (None) inside the block."""
        with self.adapters.using(adapter):
            yield

    def hidden(self, rows: PackedTensors, adapter: str | None = POLICY) -> Tensor:
        """The last hidden states ``[N, H]``; no row sees another."""
        with self.with_adapter(adapter):
            output = self.network.get_decoder()(
                input_ids=rows.token_ids[None],
                attention_mask=packed_attention.no_mask(rows.token_ids.device),
                position_ids=rows.position_ids[None],
                use_cache=False,
                row_starts=rows.row_starts,
            )
        return output.last_hidden_state[0]

    def logprobs(
        self, rows: PackedTensors, adapter: str | None = POLICY, temperature: float = 1.0
    ) -> tuple[Tensor, Tensor]:
        """Log-probability and entropy at each place where the policy spoke, both ``[M]``."""
        hidden = self.hidden(rows, adapter)[rows.places - 1]
        return chosen_logprobs(hidden, self.head_weight, rows.token_ids[rows.places], temperature)

    def adapter(self, name: str = POLICY) -> dict[str, Tensor]:
        """An adapter's tensors under peft's names."""
        return self.adapters.tensors(name)

    def load_adapter(self, tensors: Mapping[str, Tensor], name: str = POLICY) -> None:
        """Take an adapter over. Raises LearnerError where it does not fit."""
        self.adapters.load(tensors, name)


def load_policy(
    folder: Path,
    *,
    lora: LoraSettings,
    dtype: torch.dtype | str = torch.bfloat16,
    device: torch.device | str = "cpu",
    checkpointing: bool = False,
) -> PolicyModel:
    """Read a model's folder; ``checkpointing`` computes activations again in the backward pass.

    Raises LearnerError where the folder holds no model that can be trained here.
    """
    packed_attention.register()
    precision = getattr(torch, dtype) if isinstance(dtype, str) else dtype
    try:
        config = AutoConfig.from_pretrained(folder, local_files_only=True)
        network: PreTrainedModel = AutoModelForCausalLM.from_pretrained(
            folder,
            config=config,
            dtype=precision,
            attn_implementation=packed_attention.NAME,
            local_files_only=True,
        )
    except (OSError, ValueError) as error:
        raise LearnerError(
            f"{folder} holds no model that can be read ({error}): it needs config.json and safetensors files."
        ) from error
    nn.Module.to(network, torch.device(device))
    return PolicyModel(prepared(network, checkpointing=checkpointing), lora)


def prepared(network: PreTrainedModel, *, checkpointing: bool) -> PreTrainedModel:
    """A network set to compute packed rows, deterministically."""
    packed_attention.register()
    network.set_attn_implementation(packed_attention.NAME)
    for module in network.modules():
        if isinstance(module, nn.Dropout):
            module.p = 0.0
    if checkpointing:
        network.gradient_checkpointing_enable({"use_reentrant": False})
        network.disable_input_require_grads()
    return network.train(checkpointing)  # transformers checkpoints layers in training mode only


def _counts_up(positions: NDArray[np.int64], starts: NDArray[np.int64]) -> bool:
    steps = np.diff(positions)
    inside = np.ones(len(steps), np.bool_)
    inside[starts[1:] - 1] = False
    return bool((steps[inside] == 1).all())


def _plain_head(network: PreTrainedModel) -> nn.Linear:
    head = network.get_output_embeddings()
    config = network.config.get_text_config()
    scaling = [
        name
        for name in ("final_logit_softcapping", "logits_scaling", "logit_scale")
        if getattr(config, name, None) not in (None, 1, 1.0)
    ]
    if not isinstance(head, nn.Linear) or getattr(head, "bias", None) is not None or scaling:
        raise LearnerError(
            f"The head of this model is no plain matrix ({', '.join(scaling) or 'a bias, another layer'}), "
            "which the learner's log-probabilities would miss: choose another model."
        )
    return head
