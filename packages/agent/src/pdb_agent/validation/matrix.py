"""V5: every version of a task, again and again, on each Python, in two orders, also under load."""

import os
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import anyio
from mcp_pdb.launcher import LaunchSpec

from pdb_agent.sandbox import Backend
from pdb_agent.task import Task
from pdb_agent.validation.places import open_place, versions_of_files
from pdb_agent.validation.rules import Complaint
from pdb_agent.validation.suite import SuitePlace, SuiteRequest, SuiteRun, run_suite

_REVERSE_REPEAT = 1
_LOADED_REPEAT = 2
_BURN = "while True: pass"


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """One run of one version, each with a hash seed of its own."""

    python: str
    """Major and minor, such as 3.12."""
    version: str
    """buggy, fixed or a decoy."""
    repeat: int
    """From 0. The second run is in reverse order, the third under load, then orders alternate."""

    @property
    def reverse(self) -> bool:
        """Whether the tests run from the last to the first."""
        return self.repeat % 2 == _REVERSE_REPEAT

    @property
    def loaded(self) -> bool:
        """Whether every core is busy with something else meanwhile."""
        return self.repeat == _LOADED_REPEAT

    def __str__(self) -> str:
        notes = [f"Python {self.python}", f"repeat {self.repeat + 1}"]
        notes += ["reverse order"] * self.reverse + ["under load"] * self.loaded
        return f"{self.version} ({', '.join(notes)})"


async def run_on_python(
    task: Task, python: tuple[str, Path], repeats: int, backend: Backend | None, tell: Callable[[str], None]
) -> dict[Cell, SuiteRun]:
    """All runs on one Python, given by its name and path, in one sandbox."""
    name, path = python
    runs: dict[Cell, SuiteRun] = {}
    files_by_version = versions_of_files(task)
    async with open_place(path, backend) as place:
        for repeat in range(repeats):
            tell(f"V1 to V7, V15: Python {name}, run {repeat + 1} of {repeats}")
            async with _load(place.suite, wanted=repeat == _LOADED_REPEAT):
                for version, files in files_by_version.items():
                    cell = Cell(python=name, version=version, repeat=repeat)
                    await place.lay(files)
                    request = SuiteRequest(limits=task.limits, reverse=cell.reverse)
                    runs[cell] = await run_suite(place.suite, request)
    return runs


def check_matrix(runs: Mapping[Cell, SuiteRun]) -> list[Complaint]:
    """Complaints about outcomes that are not the same in each run of a version."""
    firsts: dict[str, tuple[Cell, SuiteRun]] = {}
    told: set[tuple[str, str]] = set()
    complaints: list[Complaint] = []
    for cell, run in runs.items():
        first_cell, first = firsts.setdefault(cell.version, (cell, run))
        for test in sorted(first.outcomes.keys() | run.outcomes.keys()):
            before, now = _kind(first, test), _kind(run, test)
            if before != now and (cell.version, test) not in told:
                told.add((cell.version, test))
                text = (
                    f"{test} is {before} in {first_cell} but {now} in {cell}: make it depend on nothing else."
                )
                complaints.append(Complaint(rule="V5", text=text))
    return complaints


def by_version(runs: Mapping[Cell, SuiteRun]) -> dict[str, Sequence[SuiteRun]]:
    """The runs of each version, in order."""
    found: dict[str, list[SuiteRun]] = {}
    for cell, run in runs.items():
        found.setdefault(cell.version, []).append(run)
    return dict(found)


def _kind(run: SuiteRun, test: str) -> str:
    return run.outcomes[test].kind if test in run.outcomes else "not run"


@asynccontextmanager
async def _load(place: SuitePlace, *, wanted: bool) -> AsyncGenerator[None]:
    """Keep every core busy until the block is left."""
    spec = LaunchSpec(
        argv=(place.python, "-I", "-S", "-c", _BURN), cwd=place.folder, environment=dict(place.environment)
    )
    burners = [await place.launcher.launch(spec) for _ in range((os.cpu_count() or 1) if wanted else 0)]
    try:
        yield
    finally:
        with anyio.CancelScope(shield=True):
            for burner in burners:
                await burner.aclose()
