"""A third-party MCP client, as people install it, debugs a failing test through our server."""

import json
import shutil
import subprocess
import sys
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


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return Path(shutil.copytree(CART, tmp_path / "project"))


def processes_of(run: str) -> list[psutil.Process]:
    """Every process that inherited this run's mark."""
    return [process for process in psutil.process_iter() if mark_of(process) == run]


def mark_of(process: psutil.Process) -> str | None:
    try:
        return process.environ().get(MARK)
    except psutil.Error:
        return None


def run_qwen_code(project: Path, model: ScriptedModel, run: str) -> subprocess.CompletedProcess[str]:
    cli = fetched("clients", QWEN_CODE) / "@qwen-code" / "qwen-code" / "cli.js"
    server = {"command": sys.executable, "args": ["-m", "mcp_pdb.cli", "serve"], "env": {MARK: run}}
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
    command = [
        node(),
        str(cli),
        "--auth-type",
        "openai",
        "-p",
        "Find out why test_total fails.",
        "--approval-mode",
        "yolo",
    ]
    return subprocess.run(
        command,
        cwd=project,
        env=environment,
        capture_output=True,
        text=True,
        timeout=200,
        check=False,
        stdin=subprocess.DEVNULL,
    )


def test_the_words_people_use_find_the_tools_that_a_client_defers(project: Path) -> None:
    with ScriptedModel(searches()) as model:
        finished = run_qwen_code(project, model, uuid.uuid4().hex)

    assert model.failure is None
    assert "All found." in finished.stdout


def test_qwen_code_finds_the_tools_by_name_and_debugs_a_failing_test(project: Path) -> None:
    run = uuid.uuid4().hex
    with ScriptedModel(debugging_session()) as model:
        finished = run_qwen_code(project, model, run)

    assert model.failure is None
    assert finished.returncode == 0, finished.stderr
    assert "overwrites result" in finished.stdout
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
    _, alive = psutil.wait_procs(processes_of(run), timeout=5)
    assert not alive, [process.cmdline() for process in alive]
