import pytest
from pdb_agent.shell_tests import shell_test_run

TEST = "tests/test_cart.py::test_total"


@pytest.mark.parametrize(
    "command",
    [
        "pytest",
        "python -m pytest -q",
        "cd /tmp/x && PYTHONPATH=. timeout 30 python3 -m pytest -x -q 2>&1 | tail -20",
        ".venv/bin/python3.11 -m pytest tests/",
        "pytest -xvs tests/test_cart.py",
        "python -m pytest tests/test_cart.py::test_total -k total",
        "ls; (pytest ./tests/test_cart.py)",
        "python -m pytest /tmp/pdb-1/project/tests/test_cart.py",
        "pytest --rootdir . -p no:cacheprovider tests/test_cart.py > out.txt",
    ],
)
def test_a_shell_command_that_runs_the_test_is_seen(command: str) -> None:
    run = shell_test_run(command, "1 failed, 2 passed in 0.1s", exit_code=0, timed_out=False)

    assert run is not None
    assert run.covers(TEST)
    assert run.failed
    assert not run.passed


@pytest.mark.parametrize(
    "command",
    [
        "cat pytest.ini",
        "grep -rn pytest .",
        "pip show pytest",
        "pytest --version",
        "pytest --collect-only",
        "python -c 'import shop.cart'",
        "python tests/helper.py",
        "echo 'python -m pytest",
    ],
)
def test_a_command_that_only_names_pytest_is_no_test_run(command: str) -> None:
    assert shell_test_run(command, "", exit_code=0, timed_out=False) is None


def test_other_tests_do_not_cover_the_one_to_be_repaired() -> None:
    run = shell_test_run("pytest tests/test_other.py", "3 passed in 1s", exit_code=0, timed_out=False)

    assert run is not None
    assert run.passed
    assert not run.covers(TEST)


@pytest.mark.parametrize(
    ("output", "exit_code", "timed_out", "failed"),
    [
        ("2 passed in 0.01s", 0, False, False),
        ("1 failed in 0.01s", 0, False, True),  # behind a pipe
        ("", 1, False, True),
        ("", 0, True, True),
        ("0 failed, 4 passed", 0, False, False),
        ("E   assert 1 == 2", 0, False, True),
        ("Ran 2 tests\n\nOK", 0, False, False),
    ],
)
def test_what_pytest_printed_is_believed_before_the_exit_code(
    output: str, exit_code: int, *, timed_out: bool, failed: bool
) -> None:
    run = shell_test_run("pytest | tail -3", output, exit_code=exit_code, timed_out=timed_out)

    assert run is not None
    assert run.failed is failed
