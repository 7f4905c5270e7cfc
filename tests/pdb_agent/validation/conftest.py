"""A small valid task, and its check without what only a full validation needs."""

from dataclasses import dataclass
from pathlib import Path

import anyio
import pytest
from pdb_agent.scaffold import write_skeleton
from pdb_agent.task import Task
from pdb_agent.validation.depth import AT_ONCE, Depth
from pdb_agent.validation.measures import write_measures
from pdb_agent.validation.validating import Bench, TaskReport, validate_folder

TARGET = "tests/test_orders.py::test_orders_of_two_customers_stay_apart"


@dataclass(frozen=True)
class SampleTask:
    """The folder of a task, to be spoilt."""

    folder: Path

    def edit(self, path: str, old: str, new: str) -> None:
        """Replace a piece of a file that is there once."""
        text = (self.folder / path).read_text("utf-8")
        assert text.count(old) == 1, f"{old!r} is there {text.count(old)} times"
        self.write(path, text.replace(old, new))

    def append(self, path: str, text: str) -> None:
        self.write(path, (self.folder / path).read_text("utf-8") + text)

    def write(self, path: str, text: str) -> None:
        (self.folder / path).parent.mkdir(parents=True, exist_ok=True)
        (self.folder / path).write_text(text, "utf-8")


@pytest.fixture
def sample(tmp_path: Path) -> SampleTask:
    return SampleTask(write_skeleton(tmp_path / "tasks", "sample_task"))


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def check():
    """Measure and validate a folder at a depth, AT_ONCE unless another is given."""

    async def validate(
        sample: SampleTask, depth: Depth = AT_ONCE, others: tuple[Task, ...] = (), *, measures: bool = True
    ) -> TaskReport:
        if measures:
            write_measures(sample.folder)
        bench = Bench(limiter=anyio.CapacityLimiter(1), tell=lambda step: None)
        return await validate_folder(sample.folder, others, bench, depth)

    return validate
