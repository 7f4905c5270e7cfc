from collections.abc import AsyncGenerator
from dataclasses import replace

import pytest
from pdb_agent.errors import TaskError
from pdb_agent.grading.grader import grade
from pdb_agent.grading.submission import (
    FILE_LIMIT_BYTES,
    NEW_FILES_LIMIT,
    collect,
    is_editable,
    select,
)
from pdb_agent.grading.suite import suite_of
from pdb_agent.grading.verdict import TamperKind
from pdb_agent.sandbox import Sandbox, SandboxSpec
from pdb_agent.sandboxes.interpreters import task_interpreter
from pdb_agent.sandboxes.opening import open_sandbox

from tests.pdb_agent.grading.cart import CART_TASK, SOLVED

CART = "shop/cart.py"


@pytest.mark.parametrize(
    ("path", "globs", "expected"),
    [
        ("shop/cart.py", ("shop/*.py",), True),
        ("shop/new.py", ("shop/*.py",), True),
        ("shop/inner/cart.py", ("shop/*.py",), False),
        ("shop/inner/cart.py", ("shop/**/*.py",), True),
        ("shop/cart.py", ("shop/**/*.py",), True),
        ("other/shop/cart.py", ("shop/*.py",), False),
        ("shop/cart.pyc", ("shop/*",), False),
        ("shop/conftest.py", ("shop/*.py",), False),
        ("shop/.hidden.py", ("shop/*.py",), False),
        ("shop/../evil.py", ("**",), False),
        ("tests/test_cart.py", ("**",), False),
        ("shop//cart.py", ("**",), False),
    ],
)
def test_only_sources_that_the_globs_name_are_editable(
    path: str, globs: tuple[str, ...], expected: bool
) -> None:
    assert is_editable(path, replace(CART_TASK, editable=globs)) is expected


def test_whatever_holds_a_test_that_the_task_names_is_not_editable() -> None:
    task = replace(CART_TASK, editable=("**",), pass_to_pass=("shop/checks.py::check_sums",))
    assert not is_editable("shop/checks.py", task)
    assert is_editable("shop/checked.py", task)


@pytest.mark.parametrize("path", ["conftest.py", "shop/conftest.py", "tests/conftest.py"])
def test_fixtures_that_grading_would_not_run_are_refused(path: str) -> None:
    task = replace(CART_TASK, workspace={**CART_TASK.workspace, path: b"X = 1\n"})
    with pytest.raises(TaskError, match=f"{path} is not run by grading: move its fixtures"):
        suite_of(task)


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"\xff", "is not UTF-8"),
        (b"def f(:\n", "does not parse (line 1)"),
        (b"x = 1\0", "does not parse"),
        (b"#" * (FILE_LIMIT_BYTES + 1), "is larger than 256 KB"),
        (b"(" * 3000 + b")" * 3000, "does not parse"),
    ],
)
def test_a_file_that_is_no_source_is_rejected(content: bytes, why: str) -> None:
    submission = select({**SOLVED, CART: content}, CART_TASK)
    (rejection,) = submission.rejections
    assert rejection.path == CART
    assert rejection.why.startswith(why)
    assert CART not in submission.files


def test_a_deleted_file_is_rejected() -> None:
    files = {path: content for path, content in SOLVED.items() if path != CART}
    assert [rejection.why for rejection in select(files, CART_TASK).rejections] == ["is missing"]


def test_new_sources_are_taken_up_to_a_limit() -> None:
    new = {f"shop/part{number}.py": b"" for number in range(NEW_FILES_LIMIT)}
    assert set(select({**SOLVED, **new}, CART_TASK).files) >= set(new)
    assert select({**SOLVED, **new, "shop/more.py": b""}, CART_TASK).rejections


def test_nothing_but_sources_is_taken() -> None:
    extra = {"conftest.py": b"", "tests/test_cart.py": b"", "pytest.ini": b"", "shop/data.json": b"{}"}
    assert set(select({**SOLVED, **extra}, CART_TASK).files) == {
        "shop/__init__.py",
        "shop/cart.py",
        "shop/pricing.py",
    }


@pytest.mark.anyio
async def test_a_rejected_file_is_a_failed_attempt() -> None:
    verdict = await grade(CART_TASK, {**SOLVED, CART: b"def f(:\n"})
    assert not verdict.solved
    assert verdict.tamper == ()
    assert verdict.reason == "shop/cart.py does not parse (line 1), so no test ran."
    assert [(group.passed, group.total) for group in verdict.groups] == [(0, 1), (0, 2), (0, 8)]


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
async def episode(anyio_backend: str) -> AsyncGenerator[Sandbox]:
    """The sandbox of an episode that has solved the task."""
    async with open_sandbox(SandboxSpec(python=task_interpreter(), files=SOLVED)) as sandbox:
        yield sandbox


@pytest.mark.anyio
async def test_a_submission_is_read_out_of_a_sandbox(episode: Sandbox) -> None:
    await episode.put({"shop/new.py": b"X = 1\n", "conftest.py": b""})
    submission = await collect(episode, CART_TASK)
    assert submission.rejections == ()
    assert submission.files[CART] == SOLVED[CART]
    assert submission.files["shop/new.py"] == b"X = 1\n"
    assert "conftest.py" not in submission.files


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("command", "why", "tamper"),
    [
        ("ln -sf ../elsewhere.py shop/cart.py", "is a link, not a file", (TamperKind.LINK,)),
        ("ln -sf /etc/passwd shop/cart.py", "is a link, not a file", (TamperKind.LINK,)),
        ("ln shop/cart.py second", "has a second link", ()),
        ("rm shop/cart.py", "is missing", ()),
        ("rm shop/cart.py && mkfifo shop/cart.py", "is missing", ()),
        ("rm shop/cart.py && mkdir shop/cart.py", "is missing", ()),
        ("head -c 300000 /dev/zero > shop/cart.py", "has a second link or is larger than 256 KB", ()),
        ("mv shop elsewhere && ln -s elsewhere shop", "is missing", ()),
    ],
)
async def test_what_is_no_plain_file_is_a_rejection(
    episode: Sandbox, command: str, why: str, tamper: tuple[TamperKind, ...]
) -> None:
    await episode.put({"elsewhere.py": SOLVED[CART]})
    await episode.run(["sh", "-c", command], timeout_seconds=10)
    submission = await collect(episode, CART_TASK)
    rejection = next(found for found in submission.rejections if found.path == CART)
    assert rejection.why.startswith(why)
    verdict = await grade(CART_TASK, submission)
    assert not verdict.solved
    assert verdict.tamper == tamper
