import textwrap

import pytest
from pdb_agent.errors import TaskError
from pdb_agent.reach import count_lines, measure_reach

TARGET = "tests/test_it.py::test_it"


def files(**sources: str) -> dict[str, bytes]:
    """Modules by dotted name with double underscores for dots, as workspace files."""
    paths = {name.replace("__", "/") + ".py": source for name, source in sources.items()}
    return {path: textwrap.dedent(source).encode() for path, source in paths.items()}


def test_only_lines_of_source_count():
    source = b'''"""A module.

More of it.
"""

import os  # a comment does not add a line


class A:
    """Doc."""

    def f(self):
        "Doc in one line."
        # a comment
        text = """kept

        as source"""
        return (
            text,
        )

    def g(self): "doc"; return 1
'''
    assert count_lines("m.py", source) == 9


def test_a_file_without_source_is_no_file():
    workspace = files(tests__test_it="import pack.one", pack__one="x = 1") | {
        "pack/__init__.py": b'"""Doc."""\n'
    }
    reach = measure_reach(workspace, TARGET)
    assert (reach.lines, reach.files) == (1, 1)
    assert dict(reach.lines_by_file) == {"pack/one.py": 1}


def test_imports_are_followed_wherever_they_stand_but_not_to_what_is_never_imported():
    workspace = files(
        tests__test_it="from pack import one, VERSION",
        pack__one="""
            from . import two
            from .inner.four import thing

            def late():
                import pack.three as third
                return third
        """,
        pack__two="a = 1",
        pack__three="b = 1",
        pack__inner__four="from ..five import thing",
        pack__five="thing = 1",
        pack__never="import pack.two",
    )
    workspace["pack/__init__.py"] = b"VERSION = 1"
    assert set(measure_reach(workspace, TARGET).lines_by_file) == {
        "pack/__init__.py",
        "pack/one.py",
        "pack/two.py",
        "pack/three.py",
        "pack/inner/four.py",
        "pack/five.py",
    }


def test_imports_for_type_checkers_are_not_followed():
    workspace = files(
        tests__test_it="import one",
        one="""
            import typing

            if typing.TYPE_CHECKING:
                import two
            else:
                import three
        """,
        two="a = 1",
        three="b = 1",
    )
    assert set(measure_reach(workspace, TARGET).lines_by_file) == {"one.py", "three.py"}


def test_modules_that_import_each_other_count_once():
    workspace = files(tests__test_it="import one", one="import two\nx = 1", two="import one")
    assert measure_reach(workspace, TARGET).lines == 3


def test_tests_do_not_count():
    workspace = files(
        tests__test_it="from tests import cases\nimport one",
        tests__cases="import two",
        one="x = 1",
        two="y = 1",
    )
    assert set(measure_reach(workspace, TARGET).lines_by_file) == {"one.py", "two.py"}


def test_a_target_that_is_not_there_is_refused():
    with pytest.raises(TaskError, match=r"tests/test_it\.py is not in the workspace: correct target"):
        measure_reach({}, TARGET)


def test_what_is_not_python_is_refused_with_its_line():
    with pytest.raises(TaskError, match=r"^one\.py, line 2 is not Python"):
        measure_reach(files(tests__test_it="import one", one="x = 1\ny ="), TARGET)
