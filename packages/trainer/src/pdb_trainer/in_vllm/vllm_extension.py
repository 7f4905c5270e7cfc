"""Adapters that are in a vLLM server's memory only: what its workers run for it.

This file is no part of the package: the server imports it by its name (``--worker-extension-cls
vllm_extension.PolicyAdapters``, this folder on PYTHONPATH) in its own environment, so it knows torch,
safetensors, vLLM 0.32 and the standard library. Methods are called over ``POST /collective_rpc``, which
carries strings. A staged adapter is then loaded like any other, from the path ``mem:NAME``.
"""

# pyright: reportMissingImports=false, reportMissingModuleSource=false, reportUnknownVariableType=false
# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false, reportUnknownParameterType=false

import base64
import hashlib
import json
from pathlib import Path
from typing import Any

from safetensors.torch import load
from vllm.lora.lora_model import LoRAModel, _is_remote_expert_key
from vllm.lora.peft_helper import PEFTHelper
from vllm.lora.utils import parse_fine_tuned_lora_name

PREFIX = "mem:"


class StagedAdapter:
    """One adapter as it came: its configuration and its tensors, by PEFT's names."""

    def __init__(self, config: dict[str, Any], tensors: dict[str, Any]) -> None:
        self.config = config
        self.tensors = tensors
        self.lora_id: int | None = None
        """Under which the server has loaded it."""


class PolicyAdapters:
    """Mixed into each worker of the server."""

    def policy_stage(self, name: str, config: str, tensors: str) -> str:
        """Keep an adapter until it is forgotten; one that is evicted while in use is built again from it.

        ``config`` is PEFT's adapter_config.json, ``tensors`` its safetensors file in base64.
        """
        return self._policy_keep(name, config, base64.b64decode(tensors))

    def policy_stage_file(self, name: str, config: str, path: str, sha256: str) -> str:
        """The same with the safetensors file at ``path``, which is read now and never again."""
        content = Path(path).read_bytes()
        if hashlib.sha256(content).hexdigest() != sha256:
            raise ValueError(f"{path} is another file here.")
        return self._policy_keep(name, config, content)

    def policy_forget(self, name: str) -> str:
        """Free an adapter: "gone", or "busy" while a request still uses it, so that it stays."""
        runner: Any = self.model_runner  # type: ignore[attr-defined]
        staged = _staged(runner.lora_manager)
        adapter = staged.get(name)
        if adapter is None:
            return "gone"
        requests = runner.requests.values()
        if any(one.lora_request and one.lora_request.lora_int_id == adapter.lora_id for one in requests):
            return "busy"
        if adapter.lora_id is not None:
            runner.lora_manager.remove_adapter(adapter.lora_id)
        del staged[name]
        return "gone"

    def policy_staged(self) -> str:
        """Names of all that is kept, one per line."""
        return "\n".join(_staged(self.model_runner.lora_manager))  # type: ignore[attr-defined]

    def _policy_keep(self, name: str, config: str, content: bytes) -> str:
        manager = self.model_runner.lora_manager  # type: ignore[attr-defined]
        _staged(manager)[name] = StagedAdapter(json.loads(config), load(content))
        return name


def _staged(manager: Any) -> dict[str, StagedAdapter]:
    """What a worker keeps; the first look teaches its manager of adapters to load from there."""
    staged: dict[str, StagedAdapter] | None = getattr(manager, "policy_staged", None)
    if staged is None:
        staged = manager.policy_staged = {}
        load_from_disk = manager._load_adapter

        def load_adapter(request: Any) -> Any:
            if not request.lora_path.startswith(PREFIX):
                return load_from_disk(request)
            name = request.lora_path.removeprefix(PREFIX)
            if name not in staged:
                raise ValueError(f"No adapter {name} is staged: there are {sorted(staged)}.")
            adapter = staged[name]
            built = _built(manager, adapter, request)
            adapter.lora_id = request.lora_int_id
            return built

        manager._load_adapter = load_adapter
    return staged


def _built(manager: Any, adapter: StagedAdapter, request: Any) -> Any:
    """What vLLM makes of an adapter's files, made of its tensors, after the same checks."""
    limit = manager.max_position_embeddings
    helper = PEFTHelper.from_dict({**adapter.config, "vllm_max_position_embeddings": limit})
    helper.validate_legal(manager.lora_config)
    adapters = manager._adapter_manager
    mapper = getattr(adapters.model, "hf_to_vllm_mapper", None)
    if mapper is not None:
        mapper = mapper.get_rename_mapper()
    _check_modules(adapters, adapter.tensors, mapper)
    experts = adapters.moe_ep_load_spec
    tensors = {
        name: tensor
        for name, tensor in adapter.tensors.items()
        if experts is None or not _is_remote_expert_key(name, experts)
    }
    built = LoRAModel.from_lora_tensors(
        lora_model_id=request.lora_int_id,
        tensors=tensors,
        peft_helper=helper,
        device="cpu",
        dtype=manager.lora_config.lora_dtype,
        model_vocab_size=manager.vocab_size,
        weights_mapper=mapper,
        skip_prefixes=getattr(adapters.model, "lora_skip_prefixes", None),
    )
    built.is_3d_lora_weight = request.is_3d_lora_weight
    adapters._validate_moe_lora_format(built)
    return built


def _check_modules(adapters: Any, tensors: dict[str, Any], mapper: Any) -> None:
    """Refuse tensors that the model has no place for: they would change nothing, without a word."""
    known: set[str] = set()
    for module in adapters.supported_lora_modules:
        known.update(adapters.packed_modules_mapping.get(module, [module]))
    unknown: set[str] = set()
    for name in tensors:
        module = parse_fine_tuned_lora_name(name, mapper)[0]
        if ".experts" not in module and module.rsplit(".", 1)[-1] not in known:
            unknown.add(module)
    if unknown:
        raise ValueError(f"The model has no adaptable modules {sorted(unknown)[:5]}: it has {sorted(known)}.")
