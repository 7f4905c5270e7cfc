"""Runs the tests of a draft in a sandbox, before and after its solution."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import anyio

from pdb_agent.errors import SandboxError
from pdb_agent.sandbox import MEBIBYTE, Backend, SandboxSpec
from pdb_agent.sandboxes.interpreters import task_interpreter
from pdb_agent.sandboxes.opening import open_sandbox

_RUNNER = Path(__file__).parents[1] / "procedural" / "batch_runner.py"
_ANSWER = "answer.json"
_START_SECONDS = 30.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """How the tests of one state ended."""

    outcomes: Mapping[str, str]
    """``path::name`` without parameters to passed, failed or what else befell it."""
    errors: Mapping[str, frozenset[str]]
    """The exceptions that a test raised, by the same names."""
    problem: str
    """Why there are no outcomes, or not all; empty if there are."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bench:
    """Where trials run."""

    python: Path | None = None
    """None for the interpreter for tasks."""
    backend: Backend | None = None
    """None for the strongest that works."""

    async def run(
        self, states: Sequence[Mapping[str, bytes]], *, test_seconds: float, tests: int
    ) -> list[Trial]:
        """Run each state's ``tests/`` in one sandbox; ``tests`` of them bound the time of all.

        Raises SandboxError when there is no sandbox to be had.
        """
        files = {f"{n}/{path}": content for n, state in enumerate(states) for path, content in state.items()}
        laid_out = {f"states/{path}": content for path, content in files.items()}
        spec = SandboxSpec(
            python=self.python or task_interpreter(),
            files={"batch_runner.py": await anyio.Path(_RUNNER).read_bytes(), **laid_out},
        )
        limit_seconds = _START_SECONDS + test_seconds * tests * len(states)
        async with open_sandbox(spec, self.backend) as sandbox:
            root = f"{sandbox.workspace}/states"
            argv = [sandbox.python, "-B", "batch_runner.py", root, str(test_seconds), _ANSWER]
            result = await sandbox.run(argv, timeout_seconds=limit_seconds)
            answer = (await sandbox.get([_ANSWER], limit_bytes=8 * MEBIBYTE))[_ANSWER]
        if answer is None:
            why = f"its tests end the process ({result.output.strip()[-200:]})"
            ended = "its tests do not end" if result.timed_out else why
            return [Trial(outcomes={}, errors={}, problem=ended) for _ in states]
        return _trials(answer, len(states))


def _trials(answer: bytes, count: int) -> list[Trial]:
    try:
        found = json.loads(answer)
        outcomes: list[dict[str, str]] = [{} for _ in range(count)]
        errors: list[dict[str, frozenset[str]]] = [{} for _ in range(count)]
        problems = [""] * count
        for node, outcome in found["outcomes"].items():
            number, name = _place(node)
            if outcomes[number].get(name, "passed") == "passed":
                outcomes[number][name] = outcome
        for node, error in found["errors"].items():
            number, name = _place(node)
            errors[number][name] = errors[number].get(name, frozenset()) | {error}
        for node, problem in found["problems"].items():
            number, name = _place(node)
            problems[number] = f"{name}: {problem}"
    except (ValueError, KeyError, TypeError, AttributeError, IndexError):
        raise SandboxError(
            "The answer of a test run was tampered with from inside: leave this one out."
        ) from None
    return [
        Trial(outcomes=outcomes[number], errors=errors[number], problem=problems[number])
        for number in range(count)
    ]


def _place(node: str) -> tuple[int, str]:
    """The number of the state and the test's name without parameters."""
    number, _, name = node.partition("/")
    return int(number), name.partition("[")[0]
