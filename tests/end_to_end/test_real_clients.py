"""A third-party MCP client, as people install it, debugs a failing test through our server."""

import json
import shutil
import subprocess
import sys
import threading
import uuid
from pathlib import Path

import psutil
import pytest

from tests.end_to_end.scripted_openai import Call, Script, ScriptedModel
from tools.node_packages import QWEN_CODE, fetched, node, node_environment

pytestmark = [pytest.mark.network, pytest.mark.slow, pytest.mark.timeout(300)]

CART = Path(__file__).parents[1] / "programs" / "cart"
MARK = "MCP_PDB_TEST_RUN"


def debugging_session() -> Script:
    """What a model does that knows only the tools' names at first."""
    declarations = yield Call(name="tool_search", arguments={"query": "debug failing test breakpoint"})
    assert "mcp__pdb__start_debugger" in declarations
    yield Call(
        name="tool_search", arguments={"query": "select:" + ",".join(f"mcp__pdb__{tool}" for tool in USED)}
    )
    yield Call(name="mcp__pdb__start_debugger", arguments={"target": "test_cart.py::test_total"})
    yield Call(name="mcp__pdb__add_breakpoint", arguments={"at": "cart.py:5"})
    yield Call(name="mcp__pdb__continue_execution")
    yield Call(name="mcp__pdb__continue_execution")
    yield Call(name="mcp__pdb__examine_locals")
    yield Call(name="mcp__pdb__run_expression", arguments={"code": "sum(p - discount for p in prices)"})
    yield Call(name="mcp__pdb__stop_debugger")
    return "The loop overwrites result instead of adding to it."


USED = [
    "start_debugger",
    "add_breakpoint",
    "continue_execution",
    "examine_locals",
    "run_expression",
    "stop_debugger",
]


WORDS = {
    "debug failing test": "start_debugger",
    "set breakpoint": "add_breakpoint",
    "step into function": "step_into",
    "local variables": "examine_locals",
    "call stack": "where_am_i",
    "evaluate expression": "run_expression",
}


def searches() -> Script:
    """What a model does that looks for a debugger by the words people use."""
    for words, tool in WORDS.items():
        found = yield Call(name="tool_search", arguments={"query": words})
        assert f"mcp__pdb__{tool}" in found, f"{words!r} does not find {tool}"
    return "All found."


def interrupted_session(stopped: threading.Event, may_go_on: threading.Event) -> Script:
    """Starts the debugger, then thinks until it may go on."""
    yield Call(name="tool_search", arguments={"query": "select:mcp__pdb__start_debugger"})
    yield Call(name="mcp__pdb__start_debugger", arguments={"target": "test_cart.py::test_total"})
    stopped.set()
    may_go_on.wait(timeout=60)
    return "Too late."


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return Path(shutil.copytree(CART, tmp_path / "project"))


def processes_of(run: str) -> list[psutil.Process]:
    """Every process that inherited this run's mark."""
    return [process for process in psutil.process_iter() if mark_of(process) == run]


def assert_all_end(processes: list[psutil.Process]) -> None:
    _, alive = psutil.wait_procs(processes, timeout=10)
    assert not alive, [process.cmdline() for process in alive]


def mark_of(process: psutil.Process) -> str | None:
    try:
        return process.environ().get(MARK)
    except psutil.Error:
        return None


def start_qwen_code(project: Path, model: ScriptedModel, run: str) -> subprocess.Popen[str]:
    """The client in ``project``, with our server in its settings and the script as its model."""
    cli = fetched("clients", QWEN_CODE) / "@qwen-code" / "qwen-code" / "cli.js"
    server = {"command": sys.executable, "args": ["-m", "mcp_pdb", "serve"], "env": {MARK: run}}
    settings = {
        "mcpServers": {"pdb": server},
        "telemetry": {"enabled": False},
        "privacy": {"usageStatisticsEnabled": False},
    }
    (project / ".qwen").mkdir()
    (project / ".qwen" / "settings.json").write_text(json.dumps(settings), encoding="utf-8")
    home = project.parent / "home"
    home.mkdir()
    environment = node_environment() | {
        "HOME": str(home),
        "OPENAI_API_KEY": "none",
        "OPENAI_BASE_URL": model.url,
        "OPENAI_MODEL": "scripted",
        "NO_PROXY": "127.0.0.1",
    }
    asked = ["-p", "Find out why test_total fails.", "--approval-mode", "yolo", "--auth-type", "openai"]
    return subprocess.Popen(
        [node(), str(cli), *asked],
        cwd=project,
        env=environment,
        text=True,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


def finish_qwen_code(project: Path, model: ScriptedModel, run: str) -> str:
    """Run the client to its end; what it printed."""
    with start_qwen_code(project, model, run) as client:
        said, complaints = client.communicate(timeout=200)
    assert model.failure is None
    assert client.returncode == 0, complaints
    return said


def test_the_words_people_use_find_the_tools_that_a_client_defers(project: Path) -> None:
    with ScriptedModel(searches()) as model:
        said = finish_qwen_code(project, model, uuid.uuid4().hex)

    assert "All found." in said


def test_qwen_code_finds_the_tools_by_name_and_debugs_a_failing_test(project: Path) -> None:
    run = uuid.uuid4().hex
    with ScriptedModel(debugging_session()) as model:
        said = finish_qwen_code(project, model, run)

    assert "overwrites result" in said
    assert not any(name.startswith("mcp__pdb__") for name in model.offered_tools(0))
    answers = dict(
        zip(
            ["search", "select", *USED[:3], "second_hit", *USED[3:]],
            [r for _, r in model.results],
            strict=True,
        )
    )
    assert "test_cart.py" in answers["start_debugger"]
    assert "cart.py:5" in answers["add_breakpoint"]
    assert "result = price - discount" in answers["continue_execution"]
    assert "result: 0 → 9" in answers["second_hit"]
    assert "price = 20" in answers["examine_locals"]
    assert "28" in answers["run_expression"]
    assert_all_end(processes_of(run))


def test_killing_the_client_in_the_middle_of_a_session_leaves_no_process(project: Path) -> None:
    run = uuid.uuid4().hex
    stopped, may_go_on = threading.Event(), threading.Event()
    with (
        ScriptedModel(interrupted_session(stopped, may_go_on)) as model,
        start_qwen_code(project, model, run) as client,
    ):
        assert stopped.wait(timeout=60)
        server_and_program = processes_of(run)
        client.kill()
        may_go_on.set()

    assert len(server_and_program) >= 3, "server, reaper and program"
    assert_all_end(server_and_program)
