"""Adapters on their way to where replies are drawn: a new name and a new path for every version.

A name is never loaded twice: vLLM's in-place reload reads the adapter again at every step, may be undone
under a running request, and leaves a prefix cache that is stale, for its keys are name and path.
"""

import base64
import hashlib
import json
import os
import re
import shutil
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Protocol
from urllib.parse import urlsplit
from uuid import uuid4

import anyio
import anyio.to_thread
from safetensors.torch import save
from torch import Tensor

from pdb_trainer.adapter_files import folded, peft_config, read_adapter, write_adapter
from pdb_trainer.errors import SamplerError, SamplerUnavailableError, ServerModelError
from pdb_trainer.lora import LoraSettings
from pdb_trainer.policy_versions import PolicyVersions, version_name
from pdb_trainer.vllm_http import HttpRules, ServerFailedError, VllmHttp, Wire, parsed

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


class _Carrier(Protocol):
    """How an adapter gets to the server."""

    async def bring(self, label: str, tensors: Mapping[str, Tensor], lora: LoraSettings) -> str:
        """Lay an adapter down where the server finds it, and return the path that it loads it from."""
        ...

    async def forget(self, label: str) -> bool:
        """Free it, unless the server still uses it; returns whether it is gone."""
        ...

    async def left_over(self) -> list[str]:
        """Labels of all that is laid down."""
        ...


class _Results(Wire):
    results: tuple[str, ...]


class _Memory:
    """From memory to memory, through workers that have our extension."""

    def __init__(self, http: VllmHttp) -> None:
        self._http = http
        self._is_near = (urlsplit(http.root).hostname or "") in {"127.0.0.1", "::1", "localhost"}

    async def bring(self, label: str, tensors: Mapping[str, Tensor], lora: LoraSettings) -> str:
        """Give the tensors to every worker: shared on one machine, which is quick, and else as text."""
        content = await anyio.to_thread.run_sync(_content, tensors)
        config = json.dumps(peft_config(tensors, lora))
        if not (self._is_near and await self._share(label, config, content)):
            text = await anyio.to_thread.run_sync(_base64, content)
            await self._call("policy_stage", name=label, config=config, tensors=text)
        return f"mem:{label}"

    async def forget(self, label: str) -> bool:
        """Ask every worker to."""
        return set(await self._call("policy_forget", name=label)) == {"gone"}

    async def left_over(self) -> list[str]:
        """Labels that are there from before."""
        return sorted({label for said in await self._call("policy_staged") for label in said.splitlines()})

    async def _share(self, label: str, config: str, content: bytes) -> bool:
        """Whether the workers could read it from our memory; no file is left, however this ends."""
        with os.fdopen(os.memfd_create(label), "wb") as file:
            await anyio.to_thread.run_sync(file.write, content)
            file.flush()
            path, digest = f"/proc/{os.getpid()}/fd/{file.fileno()}", hashlib.sha256(content).hexdigest()
            try:
                await self._call("policy_stage_file", name=label, config=config, path=path, sha256=digest)
            except ServerFailedError as error:
                if "Engine" in error.said:
                    raise
                return False  # near by its address only: it is in a container, or behind a tunnel
        return True

    async def _call(self, method: str, **arguments: str) -> tuple[str, ...]:
        body = await self._http.post("/collective_rpc", {"method": method, "kwargs": arguments})
        return parsed(_Results, body, self._http.root).results


class _Folders:
    """As files that the server can read too."""

    def __init__(self, spool: Path) -> None:
        self._spool = spool

    async def bring(self, label: str, tensors: Mapping[str, Tensor], lora: LoraSettings) -> str:
        """Write a folder in peft's layout."""
        folder = self._spool.absolute() / label
        await anyio.to_thread.run_sync(write_adapter, folder, tensors, lora)
        return str(folder)

    async def forget(self, label: str) -> bool:
        """Delete the folder."""
        await anyio.to_thread.run_sync(shutil.rmtree, self._spool / label, True)
        return True

    async def left_over(self) -> list[str]:
        """Folders that are there from before."""
        return sorted(folder.name for folder in self._spool.glob("policy-v*@*"))


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
        self._carrier: _Carrier = _Memory(http) if spool is None else _Folders(spool)
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


def _content(tensors: Mapping[str, Tensor]) -> bytes:
    return save({name: value.contiguous() for name, value in tensors.items()})


def _base64(content: bytes) -> str:
    return base64.b64encode(content).decode("ascii")
