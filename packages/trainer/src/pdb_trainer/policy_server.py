"""A vLLM server for training: it draws token-exact replies, and takes adapters while it runs."""

import os
import shlex
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from pdb_agent.serving.vllm_server import ServingError, VllmServer, VllmSettings, server_arguments, start_vllm

from pdb_trainer.errors import ConfigError, SamplerUnavailableError
from pdb_trainer.policy_versions import BASE

EXTENSION_FOLDER = Path(__file__).with_name("in_vllm")
"""On the server's PYTHONPATH; it holds the one module that the server imports from here."""
_RANKS = (1, 8, 16, 32, 64, 128, 256, 320, 512)
"""The limits that vLLM takes."""
_SPARE_ADAPTERS = 2
"""Kept by the server beside those that are live: replies of one that was just retired may still come."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyServerSettings:
    """How a policy is served."""

    lag: int = 4
    """So many versions may pass while a reply is drawn; lag + 2 are served at once."""
    adapter_rank: int = 16
    """The largest."""
    context_tokens: int | None = None
    """Prompt and reply together; None for what the model was made for."""
    dtype: str = "auto"
    """Of weights and adapters."""
    concurrency: int = 16
    """Replies that are drawn at once."""
    kv_cache_gib: int = 1
    """Memory for conversations, of a server on the CPU."""
    start_seconds: float = 600.0
    arguments: tuple[str, ...] = ()
    """Further ones, as the server takes them."""

    @property
    def live_adapters(self) -> int:
        """Served at once."""
        return self.lag + 2


@asynccontextmanager
async def start_policy_server(
    model_folder: Path, python: Path, *, log: Path, settings: PolicyServerSettings | None = None
) -> AsyncGenerator[VllmServer]:
    """Serve the model in ``model_folder`` by the vLLM of ``python``; all it prints goes to the file ``log``.

    The block begins when the server answers (tens of seconds); none of its processes is left after the block,
    nor when this program is killed. Raises ConfigError for settings that vLLM does not take, and
    SamplerUnavailableError when the server does not start.
    """
    serving = serving_settings(settings or PolicyServerSettings())
    try:
        async with start_vllm(model_folder, python, log=log, settings=serving) as server:
            yield server
    except ServingError as error:
        raise SamplerUnavailableError(str(error)) from error


def serving_settings(settings: PolicyServerSettings) -> VllmSettings:
    """What reinforcement learning asks of a server. Raises ConfigError for a rank that vLLM does not take."""
    paths = (str(EXTENSION_FOLDER), os.environ.get("PYTHONPATH", ""))
    return VllmSettings(
        served_name=BASE,
        dtype=settings.dtype,
        max_model_len=settings.context_tokens,
        max_num_seqs=settings.concurrency,
        kv_cache_gib=settings.kv_cache_gib,
        chat_template=None,
        tool_call_parser=None,
        # Among ours: no prompt is read in pieces, which on the CPU ends vLLM 0.32 where it has a seed.
        arguments=(*VllmSettings().arguments, *_arguments(settings), *settings.arguments),
        environment={
            "PYTHONPATH": os.pathsep.join(path for path in paths if path),
            "VLLM_SERVER_DEV_MODE": "1",  # requests to workers
            "VLLM_ALLOW_RUNTIME_LORA_UPDATING": "1",
        },
        start_seconds=settings.start_seconds,
    )


def server_command(
    model_folder: Path, python: Path, *, port: int = 8000, settings: PolicyServerSettings | None = None
) -> str:
    """The same server as a command line, to start it by hand or on another machine."""
    serving = serving_settings(settings or PolicyServerSettings())
    environment = {
        **serving.environment,
        "VLLM_CPU_KVCACHE_SPACE": str(serving.kv_cache_gib),
        "HF_HUB_OFFLINE": "1",
    }
    words = ["env", *(f"{name}={value}" for name, value in environment.items())]
    words += [str(python), "-m", "vllm.entrypoints.openai.api_server"]
    return shlex.join([*words, *server_arguments(model_folder, serving, port)])


def _arguments(settings: PolicyServerSettings) -> tuple[str, ...]:
    """Beside those that any server of ours has."""
    rank = next((rank for rank in _RANKS if rank >= settings.adapter_rank), None)
    if rank is None or settings.adapter_rank < 1:
        raise ConfigError(
            f"vLLM serves adapters of rank 1 to {_RANKS[-1]}, not {settings.adapter_rank}: change the rank."
        )
    if settings.lag < 0:
        raise ConfigError(f"The lag is {settings.lag}: it is a number of versions, 0 or more.")
    return (
        "--enable-scale-out",  # tokens in, tokens out
        "--enable-prefix-caching",
        "--enable-prompt-tokens-details",
        "--disable-uvicorn-access-log",
        "--logprobs-mode",
        "processed_logprobs",  # of the distribution that was sampled from
        "--enable-lora",
        "--max-lora-rank",
        str(rank),
        "--max-loras",
        str(settings.live_adapters),
        "--max-cpu-loras",
        str(settings.live_adapters + _SPARE_ADAPTERS),
        "--worker-extension-cls",
        "vllm_extension.PolicyAdapters",
    )
