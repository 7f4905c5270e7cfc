"""Targets that do not exist, do not compile, cannot be imported, or whose configuration is in the way."""

import pytest

pytestmark = pytest.mark.anyio

TESTS = """
    def total(items):
        result = 0
        for item in items:
            result += item
        return result

    def test_total():
        assert total([1, 2]) == 4

    def test_nothing():
        assert total([]) == 0
"""


async def test_a_test_that_does_not_exist_is_answered_with_the_nearest(debugging):
    debugging.write("test_sum.py", TESTS)
    text = await debugging.open("test_sum.py::test_totl")
    assert "no test matches test_sum.py::test_totl; nearest: test_sum.py::test_total" in text
    assert "start_debugger" in text.splitlines()[-1]
    assert debugging.machine["state"] == "exited"


@pytest.mark.usefixtures("only_pdb")
@pytest.mark.parametrize(
    ("target", "said"),
    [
        ("test_missing.py::test_total", "There is no test_missing.py"),
        ("nowhere.py", "There is no nowhere.py"),
        ("", "target"),
    ],
)
async def test_a_file_that_does_not_exist_starts_nothing(debugging, target, said):
    debugging.write("test_sum.py", TESTS)
    text = await debugging.refused("start_debugger", target=target, cwd=str(debugging.folder))
    assert said in text
    assert "no debugging session" in await debugging.done("list_sessions")


async def test_a_module_that_does_not_exist_starts_nothing(debugging):
    text = await debugging.refused("start_debugger", target="-m nowhere.at_all", cwd=str(debugging.folder))
    assert "There is no module nowhere.at_all" in text
    assert "cwd" in text


async def test_a_syntax_error_in_a_script_is_told_with_its_place(debugging):
    text = await debugging.start("x = 1\ndef f(:\n    pass\n")
    assert "program.py:2: SyntaxError: invalid syntax" in text
    assert "exited with code 1" in text


async def test_a_syntax_error_in_a_test_file_is_told_with_its_place(debugging):
    debugging.write("test_broken.py", "def test_it(:\n    pass\n")
    text = await debugging.open("test_broken.py::test_it")
    assert "test_broken.py:1: SyntaxError: invalid syntax" in text


async def test_an_import_error_at_collection_is_told_with_the_line_that_imports(debugging):
    (debugging.folder / "shop").mkdir()
    debugging.write("shop/__init__.py", "")
    debugging.write("shop/cart.py", "import not_installed_anywhere\n")
    debugging.write("test_cart.py", "from shop.cart import total\n\ndef test_cart():\n    assert total()\n")
    text = await debugging.open("test_cart.py::test_cart")
    assert "shop/cart.py:1: ModuleNotFoundError: No module named 'not_installed_anywhere'" in text
    after = await debugging.refused("step_over")
    assert "has ended" in after
    assert "start_debugger" in after


async def test_workers_coverage_and_timeouts_are_switched_off_and_said(debugging):
    debugging.write("pytest.ini", "[pytest]\naddopts = -n 2 --cov=.\ntimeout = 1\n")
    debugging.write("test_sum.py", TESTS)
    text = await debugging.open("test_sum.py::test_total")
    for what in ("pytest-xdist", "coverage", "pytest-timeout"):
        assert f"note: Switched off {what}" in text
    assert "stopped at the start: test_sum.py:8 in test_total" in text
    failed = await debugging.done("continue_execution")
    assert "post-mortem" in failed
    assert "assert 3 == 4" in failed
    assert await debugging.value("total([1, 2])") == "3"
    assert "1 failed" in await debugging.done("continue_execution")


async def test_a_working_directory_that_does_not_exist_starts_nothing(debugging):
    debugging.write("program.py", "x = 1\n")
    text = await debugging.refused("start_debugger", target="program.py", cwd="/no/such/folder")
    assert "/no/such/folder does not exist" in text
    assert "cwd" in text


async def test_an_interpreter_that_does_not_exist_is_said_with_the_way_on(debugging):
    debugging.write("program.py", "x = 1\n")
    folder = str(debugging.folder)
    text = await debugging.refused("start_debugger", target="program.py", cwd=folder, python="/no/python")
    assert "There is no interpreter /no/python" in text
    assert "leave python out" in text


async def test_a_command_that_is_no_python_is_said_to_be_none(debugging):
    debugging.write("program.py", "x = 1\n")
    arguments = {"target": "program.py", "cwd": str(debugging.folder), "engine": debugging.engine}
    text = await debugging.refused("start_debugger", python="/bin/false", **arguments)
    assert "/bin/false did not start as a Python 3.8 or later" in text
    assert "python=" in text
