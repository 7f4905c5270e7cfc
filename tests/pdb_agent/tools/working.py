"""A workspace of a few small files in a real sandbox, for tests of single tools."""

from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace

from pdb_agent.messages import Call
from pdb_agent.sandbox import SandboxSpec
from pdb_agent.sandboxes.interpreters import task_interpreter
from pdb_agent.sandboxes.opening import open_sandbox
from pdb_agent.task import Task, TaskLimits
from pdb_agent.tools.workspace import Workspace

from tests.pdb_agent.grading.small_task import small_task

PROGRAM = "TEN = 10\n\n\ndef half(number):\n    return number / 2\n"
VISIBLE = """\
from prog.core import half


def test_half():
    assert half(5) == 2


def test_ten():
    assert half(20) == 10
"""
HIDDEN = "from prog.core import half\n\n\ndef test_unseen():\n    assert half(7) == 3\n"
TEST = "tests/test_visible.py::test_half"


def task_of(files: Mapping[str, bytes] | None = None, *, suite_seconds: float = 20.0) -> Task:
    """A task whose visible test fails; ``files`` are added to its workspace."""
    task = small_task(PROGRAM, HIDDEN, VISIBLE)
    return replace(
        task,
        pass_to_pass=("tests/test_visible.py::test_ten",),
        workspace={**task.workspace, **(files or {})},
        limits=TaskLimits(test_seconds=5, suite_seconds=suite_seconds),
    )


@asynccontextmanager
async def open_workspace(task: Task | None = None) -> AsyncGenerator[Workspace]:
    task = task or task_of()
    async with open_sandbox(SandboxSpec(python=task_interpreter(), files=task.workspace)) as sandbox:
        yield Workspace(sandbox, task)


def call_of(name: str, **arguments: object) -> Call:
    return Call(id="1", name=name, arguments=arguments, raw="")
