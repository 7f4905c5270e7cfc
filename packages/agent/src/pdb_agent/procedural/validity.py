"""Checks generated tasks by running them: before the solution, after it, and with each decoy.

Many tasks share one process with one session of pytest, in which every test has
a time limit. The programs are those that this package writes; code of unknown
intent belongs in a sandbox instead.
"""

import json
import os
import signal
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from pdb_agent.errors import TaskError
from pdb_agent.patches import apply_patch, reverse_patch
from pdb_agent.procedural.gym import GymTask
from pdb_agent.sandboxes.interpreters import task_interpreter
from pdb_agent.task import Patch, Task

_RUNNER = Path(__file__).with_name("batch_runner.py")
_TEST_SECONDS = 5.0
_STATE_SECONDS = 10.0
_START_SECONDS = 60.0
_BUGGY, _SOLVED = "before the solution", "with the solution"


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcomes:
    """How the tests of one state of a workspace ended, visible and hidden ones."""

    by_id: Mapping[str, str]
    """passed, failed, or what else befell it; hidden tests begin with ``hidden/``."""
    problem: str
    """Why there is no full list; empty if there is one."""

    def failed(self, *, hidden: bool) -> set[str]:
        """Ids that did not pass, of the visible or the hidden tests."""
        return {
            name
            for name, outcome in self.by_id.items()
            if name.startswith("hidden/") is hidden and outcome != "passed"
        }


def check(task: Task) -> None:
    """Run a task in all its states. Raises TaskError saying what does not hold."""
    check_all((task,))


def check_all(tasks: Sequence[Task]) -> None:
    """Run many tasks in all their states. Raises TaskError for the first that is not valid."""
    states = [(task, state, files) for task in tasks for state, files in _states(task)]
    results = run_states([_with_hidden(task, files) for task, _, files in states])
    for (task, state, _), outcomes in zip(states, results, strict=True):
        _check_state(task, state, outcomes)


def check_operations(gym_tasks: Sequence[GymTask]) -> None:
    """Run what the edit menu makes of each program: the right operation solves, no other does.

    Raises TaskError for the first that is not so.
    """
    edits = [(task, entry) for task in gym_tasks for entry in task.edit_operations if entry.applies]
    results = run_states(
        [
            {
                **task.workspace,
                **entry.files,
                **{f"hidden/{path}": text for path, text in task.hidden.items()},
            }
            for task, entry in edits
        ]
    )
    for (task, entry), outcomes in zip(edits, results, strict=True):
        is_right = entry.operation is task.right_operation
        solves = not outcomes.problem and not outcomes.failed(hidden=True)
        if outcomes.problem or solves is not is_right:
            does = "solves" if solves else f"does not solve ({outcomes.problem or 'hidden tests fail'})"
            raise TaskError(f"{task.name}: {entry.operation} {does} it; draw its tests anew.")


def run_states(states: Sequence[Mapping[str, bytes]]) -> list[Outcomes]:
    """Run the tests of each set of files (``tests/`` and ``hidden/``). Raises TaskError if that fails."""
    with tempfile.TemporaryDirectory(prefix="pdb-agent-") as name:
        # Links resolved, as pytest does with the paths that it gives.
        root, answer = Path(name).resolve() / "states", Path(name) / "answer.json"
        for number, files in enumerate(states):
            _lay_out(root / str(number), files)
        _run(root, answer, _START_SECONDS + _STATE_SECONDS * len(states))
        found = json.loads(answer.read_bytes())
    by_state = [dict[str, str]() for _ in states]
    for name, outcome in found["outcomes"].items():
        number, _, test = name.partition("/")
        by_state[int(number)][test] = outcome
    problems = {int(name.partition("/")[0]): f"{name}: {text}" for name, text in found["problems"].items()}
    return [Outcomes(by_id=tests, problem=problems.get(n, "")) for n, tests in enumerate(by_state)]


def _run(root: Path, answer: Path, limit_seconds: float) -> None:
    with subprocess.Popen(
        [task_interpreter(), "-B", _RUNNER, root, str(_TEST_SECONDS), answer],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        cwd=root,
        env={"PATH": "/usr/bin:/bin", "LANG": "C.UTF-8", "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
        start_new_session=True,
    ) as runner:
        try:
            output, _ = runner.communicate(timeout=limit_seconds)
        except subprocess.TimeoutExpired:
            os.killpg(runner.pid, signal.SIGKILL)
            raise TaskError(
                f"The tests did not end within {limit_seconds:g} s: check fewer at once."
            ) from None
        except BaseException:
            os.killpg(runner.pid, signal.SIGKILL)
            raise
    if not answer.exists():
        text = output.decode("utf-8", "replace").strip()[-300:]
        raise TaskError(f"The tests could not be run ({text}): check PDB_AGENT_PYTHON.")


def _lay_out(folder: Path, files: Mapping[str, bytes]) -> None:
    for path, content in files.items():
        target = folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content)


def _states(task: Task) -> Iterator[tuple[str, Mapping[str, bytes]]]:
    solved = apply_patch(task.solution, task.workspace)
    if reverse_patch(task.solution, solved) != dict(sorted(task.workspace.items())):
        raise TaskError(f"{task.id}: the solution does not reverse to the workspace; make its patch again.")
    yield _BUGGY, task.workspace
    yield _SOLVED, solved
    for decoy in task.decoys:
        yield _decoy_state(decoy), apply_patch(decoy, task.workspace)


def _decoy_state(decoy: Patch) -> str:
    return f"with the decoy {decoy.name}"


def _with_hidden(task: Task, files: Mapping[str, bytes]) -> dict[str, bytes]:
    return dict(files) | {f"hidden/{path}": content for path, content in task.hidden.items()}


def _check_state(task: Task, state: str, outcomes: Outcomes) -> None:
    visible = {name for name in outcomes.by_id if not name.startswith("hidden/")}
    expected = {*task.fail_to_pass, *task.pass_to_pass}
    if outcomes.problem:
        raise _invalid(task, state, outcomes.problem)
    if visible != expected:
        raise _invalid(task, state, f"{min(visible ^ expected)} is not both named and there")
    failed_visible, failed_hidden = outcomes.failed(hidden=False), outcomes.failed(hidden=True)
    wanted = set(task.fail_to_pass) if state == _BUGGY else set[str]()
    if failed_visible != wanted:
        name = min(failed_visible ^ wanted)
        raise _invalid(task, state, f"{name} {outcomes.by_id[name]}")
    if state == _SOLVED and failed_hidden:
        name = min(failed_hidden)
        raise _invalid(task, state, f"{name} {outcomes.by_id[name]}")
    if state != _SOLVED and not failed_hidden:
        raise _invalid(task, state, "every hidden test passes")
    if odd := sorted(name for name in failed_visible | failed_hidden if outcomes.by_id[name] != "failed"):
        raise _invalid(task, state, f"{odd[0]} {outcomes.by_id[odd[0]]}")


def _invalid(task: Task, state: str, what: str) -> TaskError:
    return TaskError(f"{task.id} is not valid: {state}, {what}.")
