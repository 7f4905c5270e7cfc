"""Where replies come from in training, this process or a vLLM server, and how new weights get there."""

from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import anyio

from pdb_trainer.adapter_transfer import LocalPublisher, Publisher, open_adapter_publisher
from pdb_trainer.config import SamplerConfig
from pdb_trainer.errors import ConfigError
from pdb_trainer.group_pool import Seat, no_seat
from pdb_trainer.local_sampler import LocalSampler, LocalSettings
from pdb_trainer.model import PolicyModel
from pdb_trainer.policy_server import PolicyServerSettings, start_policy_server
from pdb_trainer.policy_versions import PolicyVersions
from pdb_trainer.sampler import Sampler
from pdb_trainer.vllm_sampler import open_vllm_sampler

VLLM_PYTHON = Path(".venv-vllm") / "bin" / "python"


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicySource:
    """A sampler, and what makes it draw with new weights."""

    sampler: Sampler
    publisher: Publisher
    seat: Seat
    in_order: bool
    """Whether replies depend on nothing but what is asked, if asked in a fixed order."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceSettings:
    """What decides where replies come from."""

    sampler: SamplerConfig
    base: Path
    """Folder of the model that a server has to serve."""
    dtype: str
    lag: int = 4
    """So many versions may pass while a reply is drawn."""
    log: Path
    """File for what a server prints."""

    @property
    def starts_server(self) -> bool:
        """Whether one is to be started."""
        return self.sampler.kind == "vllm" and self.sampler.base_url is None


@asynccontextmanager
async def open_source(model: PolicyModel, settings: SourceSettings) -> AsyncGenerator[PolicySource]:
    """What the settings name; a server is started where no address is given.

    Raises SamplerError, and ConfigError where there is no vLLM.
    """
    match settings.sampler.kind:
        case "local":
            async with _open_local(model, settings.sampler) as source:
                yield source
        case "vllm":
            async with _open_vllm(model, settings) as source:
                yield source


@asynccontextmanager
async def _open_local(model: PolicyModel, sampler: SamplerConfig) -> AsyncGenerator[PolicySource]:
    local = LocalSampler(
        model.network,
        LocalSettings(context_tokens=sampler.context_tokens, rows=sampler.concurrency, lockstep=True),
    )
    try:
        yield PolicySource(sampler=local, publisher=LocalPublisher(local), seat=local.episode, in_order=True)
    finally:
        with anyio.CancelScope(shield=True):
            await local.aclose()


@asynccontextmanager
async def _open_vllm(model: PolicyModel, settings: SourceSettings) -> AsyncGenerator[PolicySource]:
    async with AsyncExitStack() as stack:
        url = settings.sampler.base_url
        if url is None:
            serving = PolicyServerSettings(
                lag=settings.lag,
                adapter_rank=model.adapters.settings.rank,
                context_tokens=settings.sampler.context_tokens,
                dtype=settings.dtype,
                concurrency=settings.sampler.concurrency,
            )
            python = vllm_python(settings.sampler)
            server = await stack.enter_async_context(
                start_policy_server(settings.base, python, log=settings.log, settings=serving)
            )
            url = server.base_url
        versions = PolicyVersions()
        sampler = await stack.enter_async_context(open_vllm_sampler(url, versions=versions))
        publisher = await stack.enter_async_context(
            open_adapter_publisher(url, versions, model.adapters.settings, lag=settings.lag)
        )
        yield PolicySource(sampler=sampler, publisher=publisher, seat=no_seat, in_order=False)


def vllm_python(sampler: SamplerConfig) -> Path:
    """The Python that has vLLM. Raises ConfigError where it is not found."""
    if sampler.python is not None:
        return sampler.python
    for folder in (Path.cwd(), *Path.cwd().parents):
        if (folder / VLLM_PYTHON).exists():
            return folder / VLLM_PYTHON
    raise ConfigError(
        "No vLLM environment is found: run make vllm-env, or set sampler.python, sampler.base_url of a "
        "running server, or sampler.kind=local."
    )
