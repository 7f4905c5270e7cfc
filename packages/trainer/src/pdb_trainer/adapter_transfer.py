"""Adapters on their way to where replies are drawn: a new name and a new path for every version.

A name is never loaded twice: vLLM's in-place reload reads the adapter again at every step, may be undone
under a running request, and leaves a prefix cache that is stale, for its keys are name and path.
"""

import re
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Protocol
from uuid import uuid4

import anyio
import anyio.to_thread
from torch import Tensor

from pdb_trainer.adapter_carriers import Carrier, FolderCarrier, MemoryCarrier
from pdb_trainer.adapter_files import folded, read_adapter
from pdb_trainer.errors import SamplerError, SamplerUnavailableError, ServerModelError
from pdb_trainer.lora import LoraSettings
from pdb_trainer.policy_versions import PolicyVersions, version_name
from pdb_trainer.vllm_http import HttpRules, ServerFailedError, VllmHttp

Adapter = Path | Mapping[str, Tensor]
"""A folder in peft's layout, or tensors by peft's names."""
_OURS = re.compile(r"policy-v\d+")


class Publisher(Protocol):
    """Makes the sampler draw with new weights."""

    async def publish(self, version: int, adapter: Adapter) -> str:
        """Serve the weights after ``version`` updates, and return their name.

        Replies that begin from here on are drawn with them; one that is being drawn keeps its own. Raises
        SamplerError (a server that is away: SamplerUnavailableError), and the weights stay as they were.
        """
        ...


class AdapterPublisher:
    """Publishes to a vLLM server (see ``policy_server``), which serves lag + 2 versions at once.

    An older one is unloaded when its last reply has come, and what it was loaded from is freed one update
    later: an adapter that is looked up while it is no longer there ends vLLM's engine.
    """

    def __init__(
        self,
        http: VllmHttp,
        versions: PolicyVersions,
        lora: LoraSettings,
        *,
        lag: int = 4,
        spool: Path | None = None,
    ) -> None:
        """``lora`` is the size of adapters that come as tensors; ``spool`` see ``open_adapter_publisher``."""
        self._http = http
        self._versions = versions
        self._lora = lora
        self._most = lag + 2
        self._carrier: Carrier = MemoryCarrier(http) if spool is None else FolderCarrier(spool)
        self._live: dict[str, str] = {}
        """Label by name, the oldest first."""
        self._retired: list[str] = []
        """Labels that are unloaded and not yet freed."""
        self._turn = anyio.Lock()

    @property
    def live(self) -> tuple[str, ...]:
        """Names that are served, the oldest first."""
        return tuple(self._live)

    async def publish(self, version: int, adapter: Adapter) -> str:
        """See ``Publisher``. After a restart of the server the same version may be published again."""
        async with self._turn:
            name = version_name(version)
            served = (await self._http.models()).names
            self._live = {live: label for live, label in self._live.items() if live in served}
            if name in self._live:
                raise SamplerError(f"{name} is being served: publish each update under a number of its own.")
            if name in served:
                await self._unload(name)  # of a run before this one
            tensors, lora = await anyio.to_thread.run_sync(self._prepared, adapter)
            label = f"{name}@{uuid4().hex[:12]}"
            await self._load(name, await self._carrier.bring(label, tensors, lora), label)
            self._live[name] = label
            self._versions.switch(name)
            await self._free()
            await self._retire()
            return name

    async def clear(self) -> None:
        """Unload what a run before this one has left on the server."""
        for name in (await self._http.models()).names:
            if _OURS.fullmatch(name) and name not in self._live:
                await self._unload(name)
        for label in await self._carrier.left_over():
            if label not in self._live.values():
                await self._carrier.forget(label)

    def _prepared(self, adapter: Adapter) -> tuple[dict[str, Tensor], LoraSettings]:
        """Tensors with their scale folded in, which a server then cannot apply twice."""
        tensors, lora = read_adapter(adapter) if isinstance(adapter, Path) else (adapter, self._lora)
        ranks = {value.shape[0] for name, value in tensors.items() if name.endswith(".lora_A.weight")}
        if ranks - {lora.rank}:
            raise ServerModelError(
                f"The adapter's matrices have rank {sorted(ranks)}, and it says {lora.rank}: publish it with "
                "the settings that it was made with."
            )
        return folded(tensors, lora)

    async def _load(self, name: str, path: str, label: str) -> None:
        try:
            await self._http.post("/v1/load_lora_adapter", {"lora_name": name, "lora_path": path})
        except ServerFailedError as error:
            await self._carrier.forget(label)
            if "Engine" in error.said:
                raise
            raise ServerModelError(
                f"The server at {self._http.root} cannot serve {name} ({error.said}): give the adapter "
                "a rank and modules that it takes, or start it with a larger --max-lora-rank."
            ) from None
        except SamplerUnavailableError:
            raise
        except SamplerError:
            if name not in (await self._http.models()).names:  # else a try that seemed to fail did not
                await self._carrier.forget(label)
                raise

    async def _unload(self, name: str) -> None:
        try:
            await self._http.post("/v1/unload_lora_adapter", {"lora_name": name})
        except SamplerUnavailableError:
            raise
        except SamplerError:
            if name in (await self._http.models()).names:
                raise

    async def _retire(self) -> None:
        """Unload old versions of which no reply is being drawn; others wait for the next update."""
        for name in tuple(self._live)[: -self._most]:
            if not self._versions.is_in_use(name):
                await self._unload(name)
                self._retired.append(self._live.pop(name))

    async def _free(self) -> None:
        """Free what was unloaded an update ago: by now the server has seen to the last of its requests."""
        self._retired = [label for label in self._retired if not await self._carrier.forget(label)]


class Renewable(Protocol):
    """A sampler in this process, such as ``local_sampler.LocalSampler``."""

    async def renew(self, version: str, change: Callable[[], object] | None = None) -> None:
        """Draw with new weights from here on, which ``change`` puts in place between two replies."""
        ...


class LocalPublisher:
    """Publishes to a sampler in this process (see ``Publisher``), whose replies each have one version."""

    def __init__(
        self, sampler: Renewable, load: Callable[[Mapping[str, Tensor]], object] | None = None
    ) -> None:
        """``load`` copies an adapter into the sampler's model; None where that is the learner's own."""
        self._sampler = sampler
        self._load = load

    async def publish(self, version: int, adapter: Adapter) -> str:
        """Wait for replies that are being drawn, then go over. Raises CheckpointError for a bad folder."""
        name, load = version_name(version), self._load
        if load is None:
            await self._sampler.renew(name)
        else:
            tensors = read_adapter(adapter)[0] if isinstance(adapter, Path) else adapter
            await self._sampler.renew(name, partial(load, tensors))
        return name


@asynccontextmanager
async def open_adapter_publisher(
    base_url: str,
    versions: PolicyVersions,
    lora: LoraSettings,
    *,
    lag: int = 4,
    spool: Path | None = None,
    rules: HttpRules | None = None,
) -> AsyncGenerator[AdapterPublisher]:
    """A publisher to the server at ``base_url``, which serves no version of an earlier run any more.

    Adapters go there in memory, or with ``spool`` as folders in it, which a server without our extension
    takes too if it sees the same files. Raises SamplerError.
    """
    http = VllmHttp(base_url, rules=rules)
    try:
        publisher = AdapterPublisher(http, versions, lora, lag=lag, spool=spool)
        await publisher.clear()
        yield publisher
    finally:
        with anyio.CancelScope(shield=True):
            await http.aclose()
