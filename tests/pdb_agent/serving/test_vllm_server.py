"""How a server starts, fails to, and ends; most of it with something that only pretends to be one."""

import shutil
import signal
import subprocess
import sys
from pathlib import Path
from uuid import uuid4

import anyio
import anyio.to_thread
import psutil
import pytest
from pdb_agent.serving.vllm_server import ServingError, VllmSettings, start_vllm

from tests.pdb_agent.serving.local_vllm import (
    MARK,
    MODEL,
    PYTHON,
    is_alive,
    marked,
    needs_vllm,
    processes,
    shared_memory,
    until_there_are,
)

pytestmark = pytest.mark.anyio
PATIENCE_SECONDS = 60.0
ALL = 4  # the server, its engine, that one's worker, and Python's watch over shared memory


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def model(tmp_path: Path) -> Path:
    folder = tmp_path / "model"
    folder.mkdir()
    (folder / "config.json").write_text("{}", "utf-8")
    return folder


@pytest.fixture
def name() -> str:
    return uuid4().hex


def pretender(folder: Path, script: str) -> Path:
    """Something to start in place of a Python that has vLLM."""
    program = folder / "pretender"
    program.write_text(f"#!/bin/sh\n{script}\n", "utf-8")
    program.chmod(0o755)
    return program


async def test_a_folder_without_a_model_is_refused_at_once(tmp_path: Path):
    with pytest.raises(ServingError, match=r"holds no model: it has no config\.json"):
        async with start_vllm(tmp_path, Path(sys.executable), log=tmp_path / "log"):
            pass


async def test_an_interpreter_that_is_not_there_is_named(model: Path, tmp_path: Path):
    with pytest.raises(ServingError, match=r"There is no interpreter at .*/absent: give the Python that has"):
        async with start_vllm(model, tmp_path / "absent", log=tmp_path / "log"):
            pass


async def test_a_log_in_no_folder_is_refused_at_once(model: Path, tmp_path: Path):
    with pytest.raises(ServingError, match=r"there is no folder .*/nowhere"):
        async with start_vllm(model, Path(sys.executable), log=tmp_path / "nowhere" / "log"):
            pass


async def test_a_python_without_vllm_is_told_with_what_it_said_and_where(model: Path, tmp_path: Path):
    log = tmp_path / "log"
    with pytest.raises(ServingError) as failure:
        async with start_vllm(model, Path(sys.executable), log=log):
            pass
    assert "ended with status 1 before it answered" in str(failure.value)
    assert "No module named 'vllm'" in str(failure.value)
    assert str(log) in str(failure.value)
    assert "No module named 'vllm'" in log.read_text("utf-8")


async def test_the_cause_is_told_rather_than_what_came_of_it(model: Path, tmp_path: Path):
    script = "echo '(EngineCore pid=7) ERROR 10:00 ValueError: no such dtype'; echo 'Traceback'\n"
    script += "echo 'RuntimeError: Engine core initialization failed. See root cause above.'; exit 3"
    with pytest.raises(ServingError, match=r"status 3 before it answered \(ValueError: no such dtype\)"):
        async with start_vllm(model, pretender(tmp_path, script), log=tmp_path / "log"):
            pass


@pytest.mark.slow
async def test_a_server_that_never_answers_is_given_up_and_killed_with_all_that_it_started(
    model: Path, tmp_path: Path, name: str
):
    script = "trap '' TERM; setsid sleep 1000 & sleep 1000 & exec sleep 1000"
    settings = VllmSettings(start_seconds=2.0, environment={MARK: name})
    with pytest.raises(ServingError, match=r"did not answer within 2 s.*give it longer"):
        async with start_vllm(model, pretender(tmp_path, script), log=tmp_path / "log", settings=settings):
            pass
    assert processes(name) == []


@pytest.mark.slow
async def test_what_the_server_gets_holds_no_key(
    model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("VLLM_API_KEY", "secret")
    monkeypatch.setenv("SOME_PROVIDER_API_KEY", "secret")
    log = tmp_path / "log"
    with pytest.raises(ServingError):
        async with start_vllm(model, pretender(tmp_path, "env; exit 1"), log=log):
            pass
    said = log.read_text("utf-8")
    assert "VLLM_CPU_KVCACHE_SPACE=1" in said
    assert "secret" not in said


@needs_vllm
@pytest.mark.vllm
@pytest.mark.slow
@pytest.mark.timeout(300)
async def test_cancelling_a_server_that_is_starting_leaves_no_process(tmp_path: Path, name: str):
    began: list[psutil.Process] = []
    memory: set[Path] = set()
    async with anyio.create_task_group() as tasks:

        async def serve() -> None:
            async with start_vllm(MODEL, PYTHON, log=tmp_path / "log", settings=marked(name)):
                pass

        tasks.start_soon(serve)
        began = await anyio.to_thread.run_sync(  # its engine is one of them
            until_there_are, ALL, name, abandon_on_cancel=True
        )
        memory = shared_memory(began)
        tasks.cancel_scope.cancel()
    assert len(began) >= ALL
    assert not [file for file in memory if file.exists()]
    assert not [process for process in began if is_alive(process)]
    assert processes(name) == []


PROGRAM = """
import sys, anyio
from pathlib import Path
from pdb_agent.serving.vllm_server import VllmSettings, start_vllm

async def main():
    model, python, log, variable, name = sys.argv[1:]
    settings = VllmSettings(environment={variable: name})
    async with start_vllm(Path(model), Path(python), log=Path(log), settings=settings):
        pass

anyio.run(main)
"""


@needs_vllm
@pytest.mark.vllm
@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL], ids=["ctrl-c", "kill"])
def test_a_program_that_is_ended_takes_its_server_with_it(number: signal.Signals, tmp_path: Path, name: str):
    arguments = [str(MODEL), str(PYTHON), str(tmp_path / "log"), MARK, name]
    with subprocess.Popen([sys.executable, "-c", PROGRAM, *arguments], stderr=subprocess.PIPE) as program:
        began = until_there_are(ALL, name)
        memory, scratch = shared_memory(began), Path(began[0].environ()["TMPDIR"])
        program.send_signal(number)
        program.communicate(timeout=PATIENCE_SECONDS)
    psutil.wait_procs(began, timeout=30)  # after a kill it is the leash that ends them, in its own time
    assert not [process for process in began if is_alive(process)]
    assert processes(name) == []
    if number is signal.SIGKILL:  # of files, only what is killed last could put them away
        for file in memory:
            file.unlink(missing_ok=True)
        shutil.rmtree(scratch, ignore_errors=True)
    assert not [file for file in (*memory, scratch) if file.exists()]
