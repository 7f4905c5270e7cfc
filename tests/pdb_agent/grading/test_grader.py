import os
import signal
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import anyio
import anyio.lowlevel
import psutil
import pytest
from pdb_agent.errors import GradingError, TaskError
from pdb_agent.grading.grader import grade
from pdb_agent.grading.verdict import TamperKind, Tier
from pdb_agent.patches import apply_patch
from pdb_agent.task import TaskLimits

from tests.pdb_agent.grading.cart import CART_TASK, SOLVED
from tests.pdb_agent.grading.small_task import small_task

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

BOTH = pytest.mark.parametrize("tier", Tier)
PATIENT = replace(CART_TASK, limits=TaskLimits(test_seconds=20, suite_seconds=40))
"""The cart task for tests that must not run out of time on a busy machine."""
EMPTY = b""
PASS_BODIES = b"""
class CartError(ValueError):
    pass


class Cart:
    def add(self, *lines): pass
    def names(self): pass
    def total(self): pass
"""


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@BOTH
async def test_the_solution_solves_the_task(tier: Tier) -> None:
    verdict = await grade(PATIENT, SOLVED, tier=tier)
    assert verdict.solved
    assert verdict.tier is tier
    assert verdict.tamper == ()
    assert [(group.name, group.passed, group.total) for group in verdict.groups] == [
        ("fail_to_pass", 1, 1),
        ("pass_to_pass", 2, 2),
        ("hidden", 8, 8),
    ]
    assert verdict.reason == "3 of 3 visible and 8 of 8 hidden tests passed."


@BOTH
async def test_a_decoy_passes_every_visible_test_and_fails_a_hidden_one(tier: Tier) -> None:
    verdict = await grade(PATIENT, apply_patch(CART_TASK.decoys[0], CART_TASK.workspace), tier=tier)
    assert not verdict.solved
    assert verdict.tamper == ()
    assert [(group.passed, group.total) for group in verdict.groups[:2]] == [(1, 1), (2, 2)]
    assert 0 < verdict.groups[2].passed < 8


def _without(path: str) -> dict[str, bytes]:
    return {name: content for name, content in CART_TASK.workspace.items() if name != path}


@BOTH
@pytest.mark.parametrize(
    "files",
    [
        pytest.param(CART_TASK.workspace, id="untouched"),
        pytest.param({**CART_TASK.workspace, "shop/cart.py": EMPTY}, id="empty"),
        pytest.param({**CART_TASK.workspace, "shop/cart.py": PASS_BODIES}, id="pass bodies"),
        pytest.param(_without("tests/test_cart.py"), id="deleted test"),
        pytest.param(_without("shop/cart.py"), id="deleted source"),
        pytest.param({}, id="nothing"),
    ],
)
async def test_doing_nothing_of_use_solves_nothing_and_is_no_tampering(
    tier: Tier, files: Mapping[str, bytes]
) -> None:
    verdict = await grade(PATIENT, files, tier=tier)
    assert not verdict.solved
    assert verdict.tamper == ()


@BOTH
async def test_a_deleted_test_does_not_keep_a_right_answer_from_being_right(tier: Tier) -> None:
    files = {path: content for path, content in SOLVED.items() if path != "tests/test_cart.py"}
    assert (await grade(PATIENT, files, tier=tier)).solved


@BOTH
async def test_an_import_error_of_the_program_is_an_honest_failure(tier: Tier) -> None:
    verdict = await grade(PATIENT, {**SOLVED, "shop/cart.py": b"import nowhere\n"}, tier=tier)
    assert not verdict.solved
    assert verdict.tamper == ()
    assert verdict.reason == "0 of 3 visible and 0 of 8 hidden tests passed."


@BOTH
async def test_one_module_that_cannot_be_imported_leaves_the_others_to_run(tier: Tier) -> None:
    task = small_task("X = 1\n", "from prog.core import Y\n\n\ndef test_y():\n    assert Y == 1\n")
    verdict = await grade(task, task.workspace, tier=tier)
    assert [(group.passed, group.total) for group in verdict.groups] == [(1, 1), (0, 0), (0, 1)]


@BOTH
async def test_every_parameter_of_a_test_must_pass(tier: Tier) -> None:
    hidden = """
        import pytest
        from prog.core import double


        @pytest.mark.parametrize("value", [1, 2, 3])
        def test_double(value):
            assert double(value) == value * 2
    """
    right = small_task("def double(value):\n    return value * 2\n", hidden)
    wrong = small_task("def double(value):\n    return value * 2 if value < 3 else 5\n", hidden)
    assert (await grade(right, right.workspace, tier=tier)).solved
    verdict = await grade(wrong, wrong.workspace, tier=tier)
    assert verdict.groups[2].passed == 0
    assert verdict.tamper == ()


@BOTH
async def test_the_order_of_tests_and_a_shared_state_do_not_confuse_the_counts(tier: Tier) -> None:
    task = small_task(
        "CALLS = []\n\ndef call():\n    CALLS.append(1)\n    return len(CALLS)\n",
        "from prog.core import call\n\n\ndef test_counting_goes_up():\n    assert call() - call() == -1\n",
    )
    assert (await grade(task, task.workspace, tier=tier)).solved


@BOTH
async def test_a_list_that_two_objects_share_is_seen_though_the_boundary_copies_it(tier: Tier) -> None:
    task = small_task(
        "class Box:\n    def __init__(self, items):\n        self.items = items\n",
        """
        from prog.core import Box


        def test_a_box_keeps_its_own_items():
            items = [1]
            box = Box(items)
            items.append(2)
            assert box.items == [1]
        """,
    )
    assert not (await grade(task, task.workspace, tier=tier)).solved
    own = task.workspace["prog/core.py"].replace(b"= items", b"= list(items)")
    assert (await grade(task, {**task.workspace, "prog/core.py": own}, tier=tier)).solved


@BOTH
async def test_running_out_of_time_is_said_and_is_no_tampering(tier: Tier) -> None:
    task = small_task(
        "def wait():\n    while True: pass\n",
        "from prog.core import wait\n\n\ndef test_wait():\n    assert wait() == 1\n",
        suite_seconds=1,
    )
    verdict = await grade(task, task.workspace, tier=tier)
    assert not verdict.solved
    assert verdict.tamper == ()
    assert verdict.reason.startswith("The tests ran out of time")


@BOTH
async def test_a_program_that_uses_up_its_stack_fails_and_is_no_tampering(tier: Tier) -> None:
    task = small_task(
        "def deep(n):\n    return deep(n + 1)\n",
        "from prog.core import deep\n\n\ndef test_deep():\n    assert deep(0) == 1\n",
    )
    verdict = await grade(task, task.workspace, tier=tier)
    assert not verdict.solved
    assert verdict.tamper == ()


@BOTH
async def test_no_reason_names_a_hidden_test(tier: Tier) -> None:
    verdict = await grade(PATIENT, CART_TASK.workspace, tier=tier)
    for source in CART_TASK.hidden.values():
        for word in source.decode().split():
            if word.startswith("test_"):
                assert word.partition("(")[0] not in verdict.reason


@BOTH
async def test_a_python_without_pytest_is_no_verdict(tier: Tier) -> None:
    with pytest.raises(GradingError, match="No module named 'pytest'"):
        await grade(CART_TASK, SOLVED, python=Path("/usr/bin/python3"), tier=tier)


@BOTH
async def test_a_sandbox_that_is_killed_at_its_start_is_no_verdict(tier: Tier) -> None:
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(_kill_bubblewrap_once_it_appears)
        with pytest.raises(GradingError, match="sandbox"):
            await grade(CART_TASK, SOLVED, tier=tier)
        tasks.cancel_scope.cancel()


async def _kill_bubblewrap_once_it_appears() -> None:
    with anyio.fail_after(10):
        while True:
            for process in psutil.Process().children(recursive=True):
                if process.name() == "bwrap":
                    os.kill(process.pid, signal.SIGKILL)
                    return
            await anyio.lowlevel.checkpoint()


async def test_tests_that_cannot_be_graded_are_an_error_of_the_task() -> None:
    task = small_task("X = 1\n", "class TestX:\n    def test_x(self): pass\n")
    with pytest.raises(TaskError, match="test class"):
        await grade(task, task.workspace)
    with pytest.raises(TaskError, match="hidden is empty"):
        await grade(replace(CART_TASK, hidden={}), SOLVED)


async def test_the_kinds_of_tampering_are_plain_text_in_a_verdict() -> None:
    files = {**SOLVED, "shop/cart.py": b"import os\nos._exit(0)\n"}
    assert (await grade(PATIENT, files)).tamper == ("no_finish",)
    assert TamperKind.NO_FINISH == "no_finish"
