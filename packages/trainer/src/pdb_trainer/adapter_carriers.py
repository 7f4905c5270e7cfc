"""Ways for an adapter to get to a vLLM server: from memory to memory, or as files that both see."""

import base64
import hashlib
import json
import os
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Protocol
from urllib.parse import urlsplit

import anyio.to_thread
from safetensors.torch import save
from torch import Tensor

from pdb_trainer.adapter_files import peft_config, write_adapter
from pdb_trainer.lora import LoraSettings
from pdb_trainer.vllm_http import ServerFailedError, VllmHttp, Wire, parsed


class Carrier(Protocol):
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


class MemoryCarrier:
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
            path = f"/proc/{os.getpid()}/fd/{file.fileno()}"
            digest = await anyio.to_thread.run_sync(_sha256, content)
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


class FolderCarrier:
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


def _content(tensors: Mapping[str, Tensor]) -> bytes:
    return save({name: value.contiguous() for name, value in tensors.items()})


def _sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _base64(content: bytes) -> str:
    return base64.b64encode(content).decode("ascii")
