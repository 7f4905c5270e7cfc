"""The command ``pdb-agent``, run as a person runs it."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def pdb_agent(*arguments: str, cwd: Path = ROOT) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "pdb_agent.cli", *arguments],
        capture_output=True,
        text=True,
        cwd=cwd,
        timeout=100,
        check=False,
    )


def test_help_names_the_commands_and_loads_nothing_heavy() -> None:
    program = (
        "import sys\nfrom pdb_agent import cli\ntry:\n cli.main(['--help'])\nexcept SystemExit: pass\n"
        "print(sorted({'mcp', 'pydantic', 'pytest', 'torch'} & set(sys.modules)))"
    )
    finished = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert "doctor" in finished.stdout
    assert "tasks" in finished.stdout
    assert finished.stdout.endswith("[]\n")


def test_tasks_are_listed_with_their_totals() -> None:
    finished = pdb_agent("tasks", "list")
    assert finished.returncode == 0
    assert "lease_gateway_admission" in finished.stdout
    assert "30 tasks" in finished.stdout


def test_the_set_of_tasks_has_the_shape_that_is_meant() -> None:
    finished = pdb_agent("tasks", "list", "--check-distribution")
    assert finished.returncode == 0, finished.stdout


def test_a_task_is_shown_without_its_hidden_tests_and_solution() -> None:
    finished = pdb_agent("tasks", "show", "reentrant_lock_owner")
    hidden = (ROOT / "tasks/reentrant_lock_owner/hidden").glob("test_*.py")
    names = [
        line.split()[1].partition("(")[0]
        for file in hidden
        for line in file.read_text().splitlines()
        if line.startswith("def test_")
    ]
    assert finished.returncode == 0
    assert names
    assert not [name for name in names if name in finished.stdout]


@pytest.mark.parametrize("command", ["show", "check", "validate", "measure", "witness"])
def test_a_task_that_is_not_there_is_refused_with_the_way_on(command: str) -> None:
    finished = pdb_agent("tasks", command, "no_such_task")
    assert finished.returncode == 2
    assert finished.stderr.startswith("pdb-agent: There is no task no_such_task in ")
    assert "tasks list" in finished.stderr
    assert finished.stdout == ""


def test_a_folder_of_tasks_that_is_not_there_is_said(tmp_path: Path) -> None:
    finished = pdb_agent("tasks", "--root", str(tmp_path / "none"), "list")
    assert finished.returncode == 2
    assert "give the folder that holds the tasks" in finished.stderr


@pytest.mark.slow
def test_a_new_task_is_valid_as_it_is_written(tmp_path: Path) -> None:
    root = tmp_path / "tasks"
    root.mkdir()
    written = pdb_agent("tasks", "--root", str(root), "new", "coat_check")
    checked = pdb_agent("tasks", "--root", str(root), "validate", "--quick", "--json")
    assert written.returncode == 0, written.stderr
    assert checked.returncode == 0, checked.stdout + checked.stderr
    assert "coat_check" in json.dumps(json.loads(checked.stdout))
    assert "coat_check: " in checked.stderr  # progress


@pytest.mark.slow
@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_ctrl_c_or_sigterm_ends_a_validation_and_everything_it_started(
    number: signal.Signals, status: int
) -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "pdb_agent.cli", "tasks", "validate"],
        cwd=ROOT,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stderr is not None
    process.stderr.readline()  # it has begun
    deadline = time.monotonic() + 60
    while not (children := descendants(process.pid)) and time.monotonic() < deadline:
        time.sleep(0.01)
    process.send_signal(number)
    process.communicate(timeout=30)
    assert process.returncode == status
    assert children
    assert [pid for pid in children if is_living(pid)] == []


def descendants(root: int) -> list[int]:
    found: list[int] = []
    try:
        listing = Path(f"/proc/{root}/task/{root}/children").read_text(encoding="ascii")
    except OSError:
        return found
    for child in map(int, listing.split()):
        found += [child, *descendants(child)]
    return found


def is_living(pid: int) -> bool:
    try:
        os.kill(pid, 0)
        return (
            Path(f"/proc/{pid}/stat")
            .read_text(encoding="utf-8", errors="replace")
            .rpartition(")")[2]
            .split()[0]
            != "Z"
        )
    except (OSError, IndexError):
        return False
