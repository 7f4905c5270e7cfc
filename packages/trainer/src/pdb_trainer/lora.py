"""LoRA on every linear layer of a frozen base, several named adapters side by side (arXiv 2106.09685).

An adapter's matrices are kept in full precision and used in the base's: the learner's forward pass is then
the one that a server computes with the published adapter.
"""

import logging
import math
from collections.abc import Generator, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional

from pdb_trainer.errors import LearnerError

POLICY = "policy"
"""The adapter that learns."""
REFERENCE = "reference"
"""The frozen adapter that the policy is held close to."""

PREFIX = "base_model.model."
"""What peft puts before a module's name."""

EXPERTS_RANK = 3
"""Dimensions of a weight that holds all experts of a layer."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class LoraSettings:
    """Size of the adapters; what they add is scaled by ``alpha / rank``."""

    rank: int = 16
    alpha: float = 32.0
    seed: int = 0
    """Of the A matrices; B begins at zero, so that a fresh adapter changes nothing."""

    @property
    def scale(self) -> float:
        """The factor of BA."""
        return self.alpha / self.rank


@dataclass(slots=True, kw_only=True)
class Switch:
    """Which adapter the layers of one model use; None is the base alone."""

    active: str | None = POLICY


class LoraLinear(nn.Module):
    """A frozen linear layer with adapters: y = Wx + b + scale · BAx; A ``[rank, in]``, B ``[out, rank]``."""

    def __init__(self, base: nn.Linear, settings: LoraSettings, switch: Switch) -> None:
        super().__init__()
        self.base = base
        self.scale = settings.scale
        self.rank = settings.rank
        self.switch = switch
        self.a = nn.ParameterDict()
        self.b = nn.ParameterDict()

    def add(self, adapter: str, generator: torch.Generator, *, trained: bool) -> None:
        """Lay a fresh adapter beside the others; A is drawn as peft draws it."""
        weight = self.base.weight
        master = torch.float64 if weight.dtype == torch.float64 else torch.float32
        a = torch.empty(self.rank, self.base.in_features, dtype=master)
        nn.init.kaiming_uniform_(a, a=math.sqrt(5), generator=generator)
        b = torch.zeros(self.base.out_features, self.rank, dtype=master)
        self.a[adapter] = nn.Parameter(a.to(weight.device), requires_grad=trained)
        self.b[adapter] = nn.Parameter(b.to(weight.device), requires_grad=trained)

    def forward(self, x: Tensor) -> Tensor:
        """``[..., in]`` to ``[..., out]``, in the precision of x."""
        plain = self.base(x)
        adapter = self.switch.active
        if adapter is None:
            return plain
        inner = self.scale * functional.linear(x, self.a[adapter].to(x.dtype))
        change = inner.reshape(-1, self.rank), self.b[adapter].to(x.dtype).T
        return torch.addmm(plain.reshape(-1, plain.shape[-1]), *change).view_as(plain)


class Adapters:
    """The adapters of one model, by name. Layers keep their order, so lists of parameters do as well."""

    def __init__(self, network: nn.Module, settings: LoraSettings, *, untouched: frozenset[str]) -> None:
        """Replace every linear layer of ``network`` but those in ``untouched``, with a policy to train."""
        self.settings = settings
        self._switch = Switch()
        self._layers = dict(_replaced(network, settings, self._switch, untouched))
        if experts := [name for name, each in network.named_parameters() if each.ndim == EXPERTS_RANK]:
            _log.warning(
                "Experts are not adapted yet (%s and %d more): attention and dense layers are what learns.",
                experts[0],
                len(experts) - 1,
            )
        if not self._layers:
            raise LearnerError("The model has no linear layer to adapt: choose a transformer's folder.")
        self._add(POLICY, trained=True)

    @property
    def targets(self) -> list[str]:
        """Names of the adapted layers, the last part only, each once: peft's target_modules."""
        return sorted({name.rpartition(".")[2] for name in self._layers})

    @contextmanager
    def using(self, adapter: str | None) -> Generator[None]:
        """Compute with this adapter inside the block; None is the base alone.

        Whatever is differentiated later was computed with the policy: a checkpointed layer is computed again
        in the backward pass, and then under the adapter of that moment.
        """
        before = self._switch.active
        self._switch.active = adapter
        try:
            yield
        finally:
            self._switch.active = before

    def parameters(self) -> list[nn.Parameter]:
        """What is trained, in a fixed order."""
        return [each for layer in self._layers.values() for each in (layer.a[POLICY], layer.b[POLICY])]

    def tensors(self, adapter: str = POLICY) -> dict[str, Tensor]:
        """Copies of an adapter's matrices under peft's names, in full precision, on the CPU."""
        return {name: value.detach().cpu().clone() for name, value in self._named(adapter)}

    def load(self, tensors: Mapping[str, Tensor], adapter: str = POLICY) -> None:
        """Take an adapter's matrices over. Raises LearnerError where names or shapes differ."""
        if adapter == REFERENCE and not self.has_reference:
            self._add(REFERENCE, trained=False)
        own = dict(self._named(adapter))
        if different := sorted(own.keys() ^ tensors.keys()):
            raise LearnerError(
                f"The adapter fits another model: {len(different)} names differ, {different[0]} first. "
                "Use the adapter with the base model that it was trained on."
            )
        for name, value in own.items():
            if value.shape != tensors[name].shape:
                raise LearnerError(
                    f"{name} has shape {tuple(tensors[name].shape)} where {tuple(value.shape)} is expected: "
                    "set the rank that the adapter was made with."
                )
        with torch.no_grad():
            for name, value in own.items():
                value.copy_(tensors[name])

    @property
    def has_reference(self) -> bool:
        """Whether a reference was frozen."""
        return all(REFERENCE in layer.a for layer in self._layers.values())

    def freeze_reference(self) -> None:
        """Keep a copy of the policy of this moment as the reference."""
        self.load(self.tensors(POLICY), REFERENCE)

    def _add(self, adapter: str, *, trained: bool) -> None:
        generator = torch.Generator().manual_seed(self.settings.seed)
        for layer in self._layers.values():
            layer.add(adapter, generator, trained=trained)

    def _named(self, adapter: str) -> Iterator[tuple[str, nn.Parameter]]:
        for name, layer in self._layers.items():
            yield f"{PREFIX}{name}.lora_A.weight", layer.a[adapter]
            yield f"{PREFIX}{name}.lora_B.weight", layer.b[adapter]


def _replaced(
    network: nn.Module, settings: LoraSettings, switch: Switch, untouched: frozenset[str]
) -> Iterator[tuple[str, LoraLinear]]:
    linear = {name: each for name, each in network.named_modules() if isinstance(each, nn.Linear)}
    for name, base in linear.items():
        if name not in untouched:
            layer = LoraLinear(base, settings, switch)
            network.set_submodule(name, layer)
            yield name, layer
