"""What tests can do across the boundary, and what a program can not."""

from collections.abc import Mapping
from functools import cache
from pathlib import Path

import anyio
import pytest
from pdb_agent.grading import suite as suites
from pdb_agent.grading.suite import Suite
from pdb_agent.grading.tier_b import run_across_boundary
from pdb_agent.grading.tier_run import TierRun
from pdb_agent.sandboxes.interpreters import task_interpreter

pytestmark = pytest.mark.slow

CASES = Path(__file__).parents[2] / "programs" / "boundary_cases"
HOSTED, REFUSED = "hosted/test_hosted.py", "refused/test_refused.py"


def names_in(path: str) -> list[str]:
    return [
        function.name for function in suites.test_functions((CASES / path).read_text(encoding="utf-8"), path)
    ]


@cache
def run_of(path: str, version: str | None = None) -> TierRun:
    """The tests of one file, run against the program of the cases."""
    source = (CASES / path).read_text(encoding="utf-8")
    suite = Suite(
        modules={path: source}, data={}, groups={"hidden": tuple(f"{path}::{n}" for n in names_in(path))}
    )
    sources = {f"prog/{file.name}": file.read_bytes() for file in (CASES / "prog").glob("*.py")}

    async def run() -> TierRun:
        return await run_across_boundary(
            suite, sources, python=task_interpreter(version), backend=None, suite_seconds=40, call_seconds=20
        )

    return anyio.run(run)


def passed(path: str, version: str | None = None) -> Mapping[str, bool]:
    return {test.partition("::")[2]: value for test, value in run_of(path, version).passed.items()}


@pytest.mark.parametrize("name", names_in(HOSTED))
def test_the_boundary_hosts(name: str) -> None:
    assert passed(HOSTED)[name]


@pytest.mark.parametrize("name", names_in(REFUSED))
def test_the_boundary_refuses(name: str) -> None:
    assert not passed(REFUSED)[name]


def test_none_of_it_is_tampering() -> None:
    assert run_of(HOSTED).tamper == frozenset()
    assert run_of(REFUSED).tamper == frozenset()


@pytest.mark.parametrize("version", ["3.10", "3.12", "3.13"])
def test_every_python_hosts_the_same(version: str) -> None:
    assert passed(HOSTED, version) == passed(HOSTED)
    assert passed(REFUSED, version) == passed(REFUSED)
