"""``pdb-agent fix`` as a person runs it: the command in their project, a model behind a server."""

import json
import sys
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import anyio
import pytest
from pdb_agent.sandboxes.interpreters import task_interpreter

from tests.pdb_agent.policies.fake_servers import FakeServer, chat_answer, chat_call, fake_server

pytestmark = [pytest.mark.anyio, pytest.mark.slow]
TEST = "tests/test_tally.py::test_the_best_score_wins"
FILES = {
    "pytest.ini": "[pytest]\npythonpath = .\ntestpaths = tests\n",
    "tally.py": "def best(scores):\n    top = 0\n    for score in scores:\n        top = max(top, score)\n"
    "    return top\n\n\ndef total(scores):\n    return sum(scores)\n",
    "tests/test_tally.py": "from tally import best, total\n\n\n"
    "def test_the_best_score_wins():\n    assert best([-3, -1, -2]) == -1\n\n\n"
    "def test_scores_add_up():\n    assert total([1, 2]) == 3\n",
}
REPAIRED = FILES["tally.py"].replace("    top = 0\n", "    top = scores[0]\n")
DIFF = (
    "--- a/tally.py\n+++ b/tally.py\n@@ -1,5 +1,5 @@\n"
    " def best(scores):\n-    top = 0\n+    top = scores[0]\n"
    "     for score in scores:\n         top = max(top, score)\n     return top\n"
)
TURNS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("start_debugger", {"target": TEST, "breakpoints": ["tally.py~return top"], "run": True}),
    ("print_variable", {"path": "top"}),
    ("edit_file", {"path": "tally.py", "old": "    top = 0\n", "new": "    top = scores[0]\n"}),
    ("run_tests", {}),
    ("done", {"summary": "All scores may be below 0."}),
)


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    root = tmp_path / "tally-project"
    for path, text in FILES.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text, "utf-8")
    return root


async def fix(project: Path, *options: str) -> tuple[CompletedProcess[bytes], FakeServer]:
    answers = [
        chat_answer(
            {"content": None, "tool_calls": [chat_call(f"call_{turn}", name, json.dumps(arguments))]},
            finish="tool_calls",
        )
        for turn, (name, arguments) in enumerate(TURNS)
    ]
    async with fake_server(*answers) as server:
        command = [sys.executable, "-m", "pdb_agent.cli", "fix", TEST, "--python", str(task_interpreter())]
        model = ["--policy", "compatible/served", "--base-url", f"{server.address}/v1"]
        done = await anyio.run_process([*command, *model, *options], cwd=project, check=False)
    return done, server


def contents(root: Path) -> dict[str, str]:
    return {
        path.relative_to(root).as_posix(): path.read_text("utf-8")
        for path in root.rglob("*")
        if path.is_file()
    }


async def test_a_model_behind_a_server_repairs_a_project_which_stays_as_it_was(project: Path):
    done, server = await fix(project)
    said = done.stdout.decode()
    assert done.returncode == 0, done.stderr.decode()
    diff, _, verdict = said.partition("Repaired. ")
    assert diff == DIFF
    assert verdict.startswith("The named tests pass, and so ")
    assert f"{project} is as it was: apply the diff, or give --apply next time.\n" in verdict
    assert contents(project) == FILES

    assert [request.path for request in server.requests] == ["/v1/chat/completions"] * len(TURNS)
    last = server.requests[-1].json["messages"]
    results = [message["content"] for message in last if message["role"] == "tool"]
    assert len(results) == len(TURNS) - 1
    assert "-> 5     return top" in results[0]
    assert results[1].startswith("top = 0")


async def test_with_apply_the_project_is_changed(project: Path):
    done, _ = await fix(project, "--apply")
    assert done.returncode == 0, done.stderr.decode()
    assert done.stdout.decode().startswith(DIFF)
    assert done.stdout.decode().endswith("Written: tally.py.\n")
    assert contents(project) == {**FILES, "tally.py": REPAIRED}
