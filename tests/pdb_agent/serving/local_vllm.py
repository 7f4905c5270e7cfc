"""The vLLM and the small model that ``make vllm-env`` lays down, and the processes of a server."""

import time
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path

import psutil
import pytest
from anyio.from_thread import start_blocking_portal
from pdb_agent.serving.vllm_server import VllmServer, VllmSettings, start_vllm

ROOT = Path(__file__).resolve().parents[3]
PYTHON = ROOT / ".venv-vllm" / "bin" / "python"
MODEL = ROOT / ".models" / "SmolLM2-135M-Instruct"
START_SECONDS = 120.0
MARK = "PDB_AGENT_TEST_SERVER"
"""Environment variable by which the processes of one server are told from others."""
IS_THERE = (PYTHON.parents[1] / ".ready").is_file() and (MODEL / "config.json").is_file()
needs_vllm = pytest.mark.skipif(
    not IS_THERE, reason="vLLM and its model are not here: make vllm-env, or all at once: make test-vllm"
)


def marked(name: str, **settings: object) -> VllmSettings:
    """Settings for the small model, its processes marked with ``name``."""
    return VllmSettings(max_model_len=8192, kv_cache_gib=2, environment={MARK: name}, **settings)  # type: ignore[arg-type]


@contextmanager
def served(name: str, folder: Path) -> Generator[VllmServer]:
    """A server of the small model, for tests that share it; checks that nothing of it is left."""
    log = folder / "vllm.log"
    with (
        start_blocking_portal() as portal,
        portal.wrap_async_context_manager(
            start_vllm(MODEL, PYTHON, log=log, settings=marked(name))
        ) as server,
    ):
        began = processes(name)
        memory = shared_memory(began)
        yield server
    assert began
    assert not [process for process in began if is_alive(process)]
    assert memory
    assert not [file for file in memory if file.exists()]


def processes(name: str) -> list[psutil.Process]:
    """What is alive of the server that is marked with ``name``: what bears the mark, and its children.

    Its engine overwrites the mark, so once it is an orphan it is not found: note it before.
    """
    alive: list[psutil.Process] = []
    for process in psutil.process_iter():
        with suppress(psutil.Error):
            if process.environ().get(MARK) == name:
                alive += [process, *process.children(recursive=True)]
    return [process for process in dict.fromkeys(alive) if is_alive(process)]


def is_alive(process: psutil.Process) -> bool:
    """Whether it still runs; a number that another process has by now is not it."""
    with suppress(psutil.Error):
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    return False


def shared_memory(server: list[psutil.Process]) -> set[Path]:
    """The files of memory that these processes share, hundreds of megabytes each."""
    files: set[Path] = set()
    for process in server:
        with suppress(psutil.Error):
            files |= {Path(entry.path) for entry in process.memory_maps() if "/dev/shm/psm_" in entry.path}
    return files


def until_there_are(count: int, name: str) -> list[psutil.Process]:
    """The processes of that server, once there are as many; nothing but looking tells when."""
    give_up = time.monotonic() + START_SECONDS
    while len(found := processes(name)) < count:
        assert time.monotonic() < give_up, f"{len(found)} processes, not {count}"
        time.sleep(0.1)
    return found
