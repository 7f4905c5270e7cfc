"""A vLLM server of our own: a child process on a free port of this machine, ended with its block.

It is held on a leash (see ``mcp_pdb.launcher``): however this program ends, the server and its
workers end too. Requests go to ``base_url``; ``open_policy("vllm/…", base_url=…)`` speaks to it.
"""

import http.client
import os
import re
import signal
import socket
import time
from collections.abc import AsyncGenerator, Generator, Mapping
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

import anyio
import anyio.to_thread
from mcp_pdb.errors import DebuggerError
from mcp_pdb.launcher import LaunchSpec, PlainLauncher, Process

from pdb_agent.errors import AgentError
from pdb_agent.sandboxes.process_tree import kill, wait_for_end

HERMES_CHATML = Path(__file__).with_name("hermes_chatml.jinja")
"""ChatML whose tools, calls and results are written as the parser ``hermes`` reads them."""
_HOST = "127.0.0.1"
_POLL_SECONDS = 0.5
_ANSWER_SECONDS = 5.0
_WATCH_SECONDS = 5.0
_TO_LOG = 'log=$0; exec "$@" >"$log" 2>&1'
_CAUSE = re.compile(r"^.*?\b(\w*(?:Error|Exception|error): .+)$", re.MULTILINE)
_EFFECT = "Engine core initialization failed"
"""vLLM's last words when a worker has said the cause before."""


class ServingError(AgentError):
    """A server could not be started; the message says what it said, and where its log is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class VllmSettings:
    """How a model is served."""

    served_name: str = "local"
    """What requests call the model."""
    dtype: str = "auto"
    max_model_len: int | None = None
    """Tokens of one conversation; None for what the model was made for."""
    max_num_seqs: int = 16
    """Replies that are drawn at once."""
    kv_cache_gib: int = 1
    """Memory for conversations, of a server on the CPU."""
    chat_template: Path | None = HERMES_CHATML
    """None for the model's own."""
    tool_call_parser: str | None = "hermes"
    """None leaves calls in the text."""
    arguments: tuple[str, ...] = ("--enforce-eager", "--no-enable-chunked-prefill")
    """Further ones, as the server takes them. On the CPU a request with a seed whose prompt is read in
    pieces ends vLLM 0.32 ("CPU Generator does not use offset"), and all other requests with it."""
    environment: Mapping[str, str] = field(default_factory=dict[str, str])
    """Added to the server's."""
    start_seconds: float = 600.0
    """How long it may take to load the model and answer."""
    stop_seconds: float = 15.0
    """How long it may take to stop by itself; then it is killed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class VllmServer:
    """A server that answers."""

    base_url: str
    """Of its API; ends in /v1."""
    model: str
    """As requests have to name it."""
    pid: int
    log: Path


@asynccontextmanager
async def start_vllm(
    model_folder: Path, python: Path, *, log: Path, settings: VllmSettings | None = None
) -> AsyncGenerator[VllmServer]:
    """Serve the model in ``model_folder`` by the vLLM that ``python`` has installed.

    The block begins when the server answers. All that it prints goes to the file ``log``, anew. No
    process is left after the block, however it ends. Raises ServingError when it does not start.
    """
    settings = settings or VllmSettings()
    _check(model_folder, python, log)
    with _reserved_port() as port, TemporaryDirectory(prefix="vllm-", ignore_cleanup_errors=True) as scratch:
        async with PlainLauncher() as launcher:
            process = await _launch(launcher, _spec(model_folder, python, log, settings, port, scratch))
            grace_seconds = 0.0  # one that is still starting heeds no signal
            try:
                await process.close_stdin()
                await _until_it_answers(process, port, log, settings)
                grace_seconds = settings.stop_seconds
                yield VllmServer(
                    base_url=f"http://{_HOST}:{port}/v1",
                    model=settings.served_name,
                    pid=process.pid,
                    log=log,
                )
            finally:
                await _end(process, grace_seconds)


def server_arguments(model_folder: Path, settings: VllmSettings, port: int) -> tuple[str, ...]:
    """What the server is told on its command line."""
    arguments = ["--model", str(model_folder), "--served-model-name", settings.served_name]
    arguments += ["--host", _HOST, "--port", str(port), "--dtype", settings.dtype]
    arguments += ["--max-num-seqs", str(settings.max_num_seqs)]
    if settings.max_model_len is not None:
        arguments += ["--max-model-len", str(settings.max_model_len)]
    if settings.chat_template is not None:
        arguments += ["--chat-template", str(settings.chat_template)]
    if settings.tool_call_parser is not None:
        arguments += ["--enable-auto-tool-choice", "--tool-call-parser", settings.tool_call_parser]
    return (*arguments, *settings.arguments)


def _check(model_folder: Path, python: Path, log: Path) -> None:
    """Say at once what would otherwise come as a traceback after half a minute."""
    if not (model_folder / "config.json").is_file():
        raise ServingError(f"{model_folder} holds no model: it has no config.json.")
    if not os.access(python, os.X_OK):
        raise ServingError(f"There is no interpreter at {python}: give the Python that has vLLM installed.")
    if not log.parent.is_dir():
        raise ServingError(f"The log cannot be written: there is no folder {log.parent}.")


@contextmanager
def _reserved_port() -> Generator[int]:
    """A free port, kept from others by a socket that does not listen; vLLM binds beside it."""
    with socket.socket() as reserved:
        reserved.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        reserved.bind((_HOST, 0))
        yield reserved.getsockname()[1]


def _spec(
    model_folder: Path, python: Path, log: Path, settings: VllmSettings, port: int, scratch: str
) -> LaunchSpec:
    # The command `vllm` asks for its version under a name that the CPU's package does not have.
    server = (str(python.absolute()), "-m", "vllm.entrypoints.openai.api_server")
    argv = (*server, *server_arguments(model_folder.absolute(), settings, port))
    return LaunchSpec(
        argv=("/bin/sh", "-c", _TO_LOG, str(log.absolute()), *argv),
        cwd=scratch,
        environment=_environment(settings, scratch),
    )


def _environment(settings: VllmSettings, scratch: str) -> dict[str, str]:
    """Ours without keys: they are no business of the server, which would ask for one of them itself."""
    inherited = {name: value for name, value in os.environ.items() if not name.endswith("_API_KEY")}
    return {
        **inherited,
        "TMPDIR": scratch,  # its sockets go away with it
        "HF_HUB_OFFLINE": "1",
        "VLLM_NO_USAGE_STATS": "1",
        "VLLM_CPU_KVCACHE_SPACE": str(settings.kv_cache_gib),
        **settings.environment,
    }


async def _launch(launcher: PlainLauncher, spec: LaunchSpec) -> Process:
    try:
        return await launcher.launch(spec)
    except DebuggerError as error:
        raise ServingError(f"The vLLM server could not be started: {error}") from error


async def _until_it_answers(process: Process, port: int, log: Path, settings: VllmSettings) -> None:
    """Wait for the server. Raises ServingError when it ends first or takes too long."""
    is_ready = False
    with anyio.move_on_after(settings.start_seconds):
        async with anyio.create_task_group() as tasks:

            async def watch() -> None:
                await process.wait()
                tasks.cancel_scope.cancel()

            tasks.start_soon(watch)
            while not await _is_healthy(port):  # noqa: ASYNC110 - it tells only those who ask
                await anyio.sleep(_POLL_SECONDS)
            is_ready = True
            tasks.cancel_scope.cancel()
    if is_ready:
        return
    if process.returncode is None:
        raise ServingError(
            f"The vLLM server did not answer within {settings.start_seconds:g} s; its log is {log}: "
            "give it longer (start_seconds), or a smaller model."
        )
    raise ServingError(
        f"The vLLM server ended with status {process.returncode} before it answered ({_cause(log)}); "
        f"its log is {log}."
    )


async def _is_healthy(port: int) -> bool:
    return await anyio.to_thread.run_sync(_answers, port, abandon_on_cancel=True)


def _answers(port: int) -> bool:
    connection = http.client.HTTPConnection(_HOST, port, timeout=_ANSWER_SECONDS)
    try:
        connection.request("GET", "/health")
        return connection.getresponse().status == 200
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()


def _cause(log: Path) -> str:
    """The first error in a log that is not the effect of another one."""
    text = log.read_text("utf-8", errors="replace") if log.is_file() else ""
    causes = [cause for cause in _CAUSE.findall(text) if _EFFECT not in cause]
    lines = text.strip().splitlines()
    return (causes[0] if causes else lines[-1] if lines else "it said nothing").strip().rstrip(".")


async def _end(process: Process, grace_seconds: float) -> None:
    """Ask the server to stop, then kill what is left of it; also while we are being cancelled."""
    with anyio.CancelScope(shield=True):
        if process.returncode is None and grace_seconds:
            with suppress(ProcessLookupError):
                os.kill(process.pid, signal.SIGTERM)
            await wait_for_end(process.pid, grace_seconds)
        # Python's own watch over shared memory, hundreds of megabytes of it, ends last and puts it away.
        launched = list(_session(process.pid))
        for pid in launched:
            if not _is_watch(pid):
                kill(pid)
        give_up = time.monotonic() + _WATCH_SECONDS
        for pid in launched:
            await wait_for_end(pid, max(0.0, give_up - time.monotonic()))
        await process.aclose()


def _session(leader: int) -> Generator[int]:
    """The processes of a launch, which is a session of its own, orphans included."""
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(ProcessLookupError):
            if os.getsid(int(folder.name)) == leader:
                yield int(folder.name)


def _is_watch(pid: int) -> bool:
    with suppress(OSError):
        return b"multiprocessing.resource_tracker" in Path(f"/proc/{pid}/cmdline").read_bytes()
    return False
