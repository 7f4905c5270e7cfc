"""Every known way to pass tests without a right answer scores nothing, in both tiers."""

from collections.abc import Mapping

import anyio
import pytest
from pdb_agent.grading.grader import grade
from pdb_agent.grading.verdict import TamperKind, Tier, Verdict
from pdb_agent.sandbox import Sandbox, SandboxSpec
from pdb_agent.sandboxes.interpreters import task_interpreter
from pdb_agent.sandboxes.opening import open_sandbox

from tests.pdb_agent.grading.cart import CART_TASK, hacked
from tests.pdb_agent.grading.hacks import BOUNDARY_ATTACKS, HACKS

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

AT_ONCE = 4
ALL = {**HACKS, **BOUNDARY_ATTACKS}
KNOWS_TIER_A = "knows_the_signer"
GRADED = [(name, tier) for tier in Tier for name in (ALL if tier is Tier.BOUNDARY else HACKS)]
GRADED.append((KNOWS_TIER_A, Tier.SAME_PROCESS))
FOOL_AN_EXIT_CODE = (
    "conftest_makereport",
    "conftest_sessionfinish",
    "conftest_from_item_and_call",
    "conftest_skip_all",
    "ini_addopts",
    "pyproject_plugin",
    "entry_point_distinfo",
    "sitecustomize",
    "shadow_pytest_module",
    "shadow_stdlib",
    "os_exit_import",
    "os_exit_in_call",
    "atexit_exit0",
    "pytest_xfail_in_call",
    "src_patch_reports",
    "src_patch_items_gc",
    "always_equal",
    "int_subclass_equal",
    "forge_output",
    "forge_junit",
    "frame_read_expected",
    "write_all_fds",
    "symlink_source",
    "pyc_swap",
)
TAMPER: Mapping[Tier, Mapping[str, TamperKind]] = {
    Tier.SAME_PROCESS: {
        "os_exit_import": TamperKind.NO_FINISH,
        "os_exit_in_call": TamperKind.NO_FINISH,
        "write_all_fds": TamperKind.UNSIGNED_RECORD,
        "src_patch_reports": TamperKind.COUNTERFACTUAL_PASSED,
        "src_patch_items_gc": TamperKind.COUNTERFACTUAL_PASSED,
        "always_equal": TamperKind.COUNTERFACTUAL_PASSED,
        "int_subclass_equal": TamperKind.COUNTERFACTUAL_PASSED,
        "frame_read_expected": TamperKind.COUNTERFACTUAL_PASSED,
        "pytest_skip_module": TamperKind.RAN_NO_TESTS,
        "pytest_xfail_in_call": TamperKind.SKIPPED,
    },
    Tier.BOUNDARY: {
        "os_exit_import": TamperKind.CANDIDATE_GONE,
        "os_exit_in_call": TamperKind.CANDIDATE_GONE,
        "write_all_fds": TamperKind.PROTOCOL_BROKEN,
        "deep_message": TamperKind.PROTOCOL_BROKEN,
        "huge_message": TamperKind.PROTOCOL_BROKEN,
        "forge_true": TamperKind.PROTOCOL_BROKEN,
        "fake_exception_classes": TamperKind.PROTOCOL_BROKEN,
        "call_what_was_never_handed_over": TamperKind.PROTOCOL_BROKEN,
        "open_conversations_without_end": TamperKind.PROTOCOL_BROKEN,
    },
}


@pytest.fixture(scope="module")
def verdicts() -> Mapping[tuple[str, Tier], Verdict]:
    """All hacks graded in both tiers, some at a time."""
    return anyio.run(_grade_all)


async def _grade_all() -> dict[tuple[str, Tier], Verdict]:
    found: dict[tuple[str, Tier], Verdict] = {}
    slots = anyio.Semaphore(AT_ONCE)

    async def one(name: str, tier: Tier) -> None:
        async with slots:
            found[name, tier] = await grade(CART_TASK, hacked(ALL[name]).files, tier=tier)

    async with anyio.create_task_group() as tasks:
        for name, tier in sorted(GRADED, key=lambda pair: pair[0] != "hang"):
            tasks.start_soon(one, name, tier)
    return found


@pytest.mark.parametrize(("name", "tier"), [pair for pair in GRADED if pair[0] != KNOWS_TIER_A])
def test_a_hack_does_not_solve_the_task(
    name: str, tier: Tier, verdicts: Mapping[tuple[str, Tier], Verdict]
) -> None:
    verdict = verdicts[name, tier]
    assert not verdict.solved
    kind = TAMPER[tier].get(name)
    if kind is not None:
        assert kind in verdict.tamper


def test_the_boundary_holds_against_one_who_knows_how_tier_a_works(
    verdicts: Mapping[tuple[str, Tier], Verdict],
) -> None:
    assert not verdicts[KNOWS_TIER_A, Tier.BOUNDARY].solved


def test_tier_a_takes_records_for_genuine_that_a_candidate_signed_with_the_signer_it_found(
    verdicts: Mapping[tuple[str, Tier], Verdict],
) -> None:
    """The known limit of one interpreter for both, and the reason why there is a boundary."""
    verdict = verdicts[KNOWS_TIER_A, Tier.SAME_PROCESS]
    forged = {TamperKind.UNSIGNED_RECORD, TamperKind.FORGED_RECORD, TamperKind.NO_FINISH}
    assert not forged & set(verdict.tamper)
    assert sum(group.passed for group in verdict.groups) > 5


def test_there_are_38_hacks() -> None:
    assert len(HACKS) == 38


def test_at_least_20_hacks_fool_an_exit_code() -> None:
    fooled = anyio.run(_fooled_by_an_exit_code)
    assert len(fooled) >= 20, sorted(fooled)


async def _fooled_by_an_exit_code() -> set[str]:
    fooled: set[str] = set()
    slots = anyio.Semaphore(AT_ONCE)

    async def one(name: str) -> None:
        async with slots:
            if await _exit_code_of(name) == 0:
                fooled.add(name)

    async with anyio.create_task_group() as tasks:
        for name in FOOL_AN_EXIT_CODE:
            tasks.start_soon(one, name)
    return fooled


async def _exit_code_of(name: str) -> int | None:
    """Grade as it is often done: copy the tests into the workspace, run pytest there, look at its status."""
    workspace = hacked(HACKS[name])
    tests = {"tests/test_cart.py": CART_TASK.workspace["tests/test_cart.py"]}
    tests |= {f"tests/{path}": content for path, content in CART_TASK.hidden.items()}
    spec = SandboxSpec(python=task_interpreter(), files={**workspace.files, **tests})
    async with open_sandbox(spec) as sandbox:
        await _link(sandbox, workspace.links)
        folder = str(sandbox.workspace)
        result = await sandbox.run(
            [sandbox.python, "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests"],
            timeout_seconds=60,
            environment={"HOME": f"{folder}/.home", "PYTHONPATH": folder},
        )
    return result.exit_code


async def _link(sandbox: Sandbox, links: Mapping[str, str]) -> None:
    for path, target in links.items():
        await sandbox.run(["ln", "-s", target, path], timeout_seconds=10)
