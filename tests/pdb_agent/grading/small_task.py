"""Tasks made in a test from the text of one program file and one test file."""

from dataclasses import replace
from textwrap import dedent

from pdb_agent.task import Task, TaskLimits

from tests.pdb_agent.grading.cart import CART_TASK


def small_task(program: str, hidden: str, visible: str | None = None, *, suite_seconds: float = 20) -> Task:
    """A task whose workspace is ``prog/core.py`` with ``program``, and which needs no change."""
    visible = (
        visible
        or "from prog import core\n\n\ndef test_it_is_there():\n    assert core.__name__ == 'prog.core'\n"
    )
    name = dedent(visible).partition("def test_")[2].partition("(")[0]
    return replace(
        CART_TASK,
        id="small",
        workspace={
            "prog/__init__.py": b"",
            "prog/core.py": dedent(program).encode(),
            "tests/test_visible.py": dedent(visible).encode(),
        },
        hidden={"test_hidden.py": dedent(hidden).encode()},
        fail_to_pass=(f"tests/test_visible.py::test_{name}",),
        pass_to_pass=(),
        editable=("prog/*.py",),
        limits=TaskLimits(test_seconds=5, suite_seconds=suite_seconds),
    )
