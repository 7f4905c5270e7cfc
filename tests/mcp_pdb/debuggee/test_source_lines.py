"""Where breakpoints go: lines, pieces of lines, functions."""

import argparse
import ast
import contextlib
import gc
import json
import linecache
import subprocess
from pathlib import Path

import pytest
from mcp_pdb.debuggee import run_target, source_lines, source_map

from tests.mcp_pdb.debuggee.conftest import ROOT

PROGRAM = '''\
"""The module.

More of it."""
import functools

# a comment
LIMIT: int


@functools.lru_cache(maxsize=None)
def cached(
    first,
    second,
):
    """One line
    and another."""
    total = max(
        first,
        second,
    )
    if total:
        result = 1

    else:
        result = (
            min(first, second)
        )
    try:
        pass
    finally:
        # note
        done = True
    return [
        result + number
        for number in range(2)
    ]
    # after the last statement


class Shape:
    """A shape."""

    sides: int = 4

    def area(self): return 3

    async def later(self):
        global LIMIT
        return sorted(
            [3, 1],
            key=lambda value:
                -value,
        )

    def only(self):
        """Nothing but this."""


def outer():
    def inner():
        return 1

    with open(
        __file__
    ) as file:
        file.read()
    return inner()


cached(1, 2)
shape = Shape()
shape.area(); shape.only()
try:
    shape.later().send(None)
except StopIteration:
    pass
outer()


'''

EXPECTED = {
    1: (4, "<module>", "docstring"),
    3: (4, "<module>", "docstring"),
    4: (4, "<module>", None),
    5: (7, "<module>", "blank"),
    6: (7, "<module>", "comment"),
    8: (17, "cached", "blank"),
    10: (17, "cached", "decorator of cached"),
    11: (17, "cached", "def of cached"),
    12: (17, "cached", "def of cached"),
    14: (17, "cached", "def of cached"),
    15: (17, "cached", "docstring of cached"),
    16: (17, "cached", "docstring of cached"),
    17: (17, "cached", None),
    18: (17, "cached", "continues the statement that begins on line 17"),
    20: (17, "cached", "continues"),
    21: (21, "cached", None),
    23: (26, "cached", "blank"),
    24: (26, "cached", "`else:` holds no code"),
    25: (26, "cached", "starts running on line 26"),
    26: (26, "cached", None),
    27: (26, "cached", "continues"),
    28: (28, "cached", None),
    29: (29, "cached", None),
    30: (32, "cached", "`finally:` holds no code"),
    31: (32, "cached", "comment"),
    33: (33, "cached", None),
    34: (34, "cached", None),
    35: (35, "cached", None),
    36: (33, "cached", "continues"),
    37: (33, "cached", "nothing executable follows in cached"),
    40: (40, "<module>", None),
    41: (43, "Shape", "docstring"),
    43: (43, "Shape", None),
    44: (45, "Shape.area", "next comes area"),
    45: (45, "Shape.area", None),
    47: (49, "Shape.later", "def of later"),
    48: (49, "Shape.later", "`global LIMIT` holds no code"),
    49: (49, "Shape.later", None),
    50: (49, "Shape.later", "continues"),
    51: (49, "Shape.later", "continues"),
    52: (52, "Shape.later", None),
    53: (49, "Shape.later", "continues"),
    59: (60, "outer", "def of outer"),
    60: (61, "outer.<locals>.inner", "def of inner"),
    61: (61, "outer.<locals>.inner", None),
    63: (63, "outer", None),
    64: (63, "outer", "continues"),
    65: (63, "outer", "continues"),
    73: (73, "<module>", None),
    76: (76, "<module>", None),
}


def test_every_kind_of_line_is_bound_to_a_line_that_runs(any_project):
    path = any_project.write("program.py", PROGRAM)
    driver = ROOT / "tests" / "programs" / "resolve_lines.py"
    finished = any_project.plain(str(driver), str(Path(run_target.__file__).parent), path)
    assert finished.returncode == 0, finished.stderr
    told = json.loads(finished.stdout)
    for asked, (line, function, reason) in EXPECTED.items():
        place = told["bindings"][asked - 1]
        assert (asked, place.get("line"), place.get("function")) == (asked, line, function)
        if reason is None:
            assert (asked, place["moved"]) == (asked, None)
        else:
            assert reason in place["moved"]
        assert place["file"] == path
        assert place["text"] == PROGRAM.splitlines()[line - 1].strip()
    reached = set(told["run"])
    unreachable = {26}
    missed = {
        place["line"] for place in told["bindings"] if "line" in place and place["line"] not in reached
    } - unreachable
    assert missed == set()


def test_a_breakpoint_fires_before_the_rest_of_its_statement_runs(any_project):
    source = "def f(x):\n    return x\n\n\nvalue = (\n    f(1)\n    + f(\n        2\n    )\n)\n"
    path = any_project.write("program.py", source)
    driver = ROOT / "tests" / "programs" / "resolve_lines.py"
    told = json.loads(any_project.plain(str(driver), str(Path(run_target.__file__).parent), path).stdout)
    statement = [line for line in told["run"] if line >= 5]
    assert {place["line"] for place in told["bindings"][4:10]} == {statement[0]} == {6}


@pytest.mark.parametrize("module", [argparse, contextlib, subprocess])
def test_every_line_of_a_real_module_is_bound_to_code_once_and_for_all(module):
    path = str(Path(module.__file__).resolve())
    source = source_map.load(path)
    code = compile(Path(path).read_bytes(), path, "exec", dont_inherit=True)
    lines_with_code = {line for each in source_map._all_codes(code) for line in source_map.line_starts(each)}
    for line in range(1, len(source.lines) + 1):
        place = source_lines.resolve_line(path, line)
        assert place["line"] in lines_with_code
        assert (place["moved"] is None) == (place["line"] == line)
        again = source_lines.resolve_line(path, place["line"])
        if not place["text"].startswith(
            ("def ", "async def ", "@")
        ):  # the statement that makes an inner function
            assert (again["line"], again["moved"]) == (place["line"], None)


class _ParsesWhenItGoes:
    def __init__(self) -> None:
        self.itself = self

    def __del__(self) -> None:
        with contextlib.suppress(SystemError):
            ast.parse("x = (1 + 2) * 3")


def test_a_finalizer_of_the_program_that_parses_too_does_not_keep_a_file_from_being_read(tmp_path):
    before = gc.get_threshold()
    gc.set_threshold(50)
    try:
        for number in range(100):
            path = tmp_path / f"module_{number}.py"
            path.write_text("\n".join(f"value_{each} = ({each} + 1) * {each}" for each in range(40)))
            for _ in range(3):
                _ParsesWhenItGoes()
            assert len(source_map.load(str(path)).lines) == 40
    finally:
        gc.set_threshold(*before)


def test_the_last_lines_of_a_file_are_answered_with_its_last_executable_line(project):
    path = project.write("program.py", "x = 1\nif x:\n    y = 2\n\n# end\n")
    past = "Line 9 is past the end of program.py; the last executable line is 3: y = 2"
    assert source_lines.resolve_line(path, 9) == {"error": past}
    comment = source_lines.resolve_line(path, 5)
    assert comment == {
        "error": "Line 5 is a comment and nothing executable follows; the last executable line is 3: y = 2"
    }
    assert "Lines count from 1" in source_lines.resolve_line(path, 0)["error"]


@pytest.mark.parametrize("source", ["", "\n\n", "# only a comment\n", '"""Only a docstring."""\n'])
def test_a_file_without_code_is_said_to_hold_none(project, source):
    answer = source_lines.resolve_line(project.write("empty.py", source), 1)
    assert answer["error"].endswith(
        ("holds no executable line.", "the last executable line is 1: " + source.strip())
    )


def test_a_file_with_a_syntax_error_names_its_line(project):
    path = project.write("broken.py", "x = 1\n\ndef f(:\n    pass\n")
    error = source_lines.resolve_line(path, 1)["error"]
    assert error.startswith("broken.py has a syntax error on line 3 (")
    assert error.endswith("fix it before setting breakpoints there.")


def test_a_file_that_cannot_be_read_is_said_so(tmp_path):
    assert "cannot be read: No such file" in source_lines.resolve_line(str(tmp_path / "none.py"), 1)["error"]
    assert "cannot be read: Is a directory" in source_lines.resolve_line(str(tmp_path), 1)["error"]
    assert "cannot be read" in source_lines.find_anchor(str(tmp_path / "none.py"), "x")["error"]


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ("# -*- coding: latin-1 -*-\nname = 'é'\n".encode("latin-1"), "name = 'é'"),
        ("# coding: cp1251\nname = 'ж'\n".encode("cp1251"), "name = 'ж'"),
        (b"\xef\xbb\xbf# first\nname = 'caf\xc3\xa9'\n", "name = 'café'"),
        (b"# first\r\nname = 3\r\n", "name = 3"),
        (b"# first\rname = 3\r", "name = 3"),
        (b"# first\x0c\nname = 'a\x0cb'\n", "name = 'a\x0cb'"),
    ],
)
def test_source_is_read_as_python_reads_it(tmp_path, content, text):
    path = tmp_path / "encoded.py"
    path.write_bytes(content)
    place = source_lines.resolve_line(str(path), 2)
    assert (place["line"], place["text"]) == (2, text)
    assert source_lines.find_anchor(str(path), "name=") == [2]


@pytest.mark.parametrize("content", [b"# coding: absent\nx = 1\n", b"x = '\xff'\n", b"x = 1\x00\n"])
def test_source_that_cannot_be_decoded_is_a_sentence(tmp_path, content):
    path = tmp_path / "bad.py"
    path.write_bytes(content)
    assert set(source_lines.resolve_line(str(path), 1)) == {"error"}


def test_a_changed_file_is_read_again(project):
    path = project.write("program.py", "x = 1\n")
    assert source_lines.resolve_line(path, 1)["text"] == "x = 1"
    project.write("program.py", "# now\nlonger = 2\n")
    assert source_lines.resolve_line(path, 1)["line"] == 2
    assert source_lines.source_window(path, 2) == [[1, "# now"], [2, "longer = 2"]]


def test_a_symlink_is_bound_in_the_real_file(project):
    path = project.write("real.py", "x = 1\n")
    link = project.folder / "link.py"
    link.symlink_to(path)
    assert source_lines.resolve_line(str(link), 1)["file"] == path


def test_code_that_was_given_as_text_is_bound_by_its_name(monkeypatch):
    lines = ["# first\n", "x = 1\n"]
    monkeypatch.setitem(linecache.cache, run_target.CODE_NAME, (16, None, lines, run_target.CODE_NAME))
    place = source_lines.resolve_line(run_target.CODE_NAME, 1)
    assert (place["file"], place["line"]) == (run_target.CODE_NAME, 2)
    assert "not known" in source_lines.resolve_line("<absent>", 1)["error"]


def test_match_statements_are_bound_by_their_cases(project):
    source = (
        "def f(x):\n    match x:\n        # none\n        case 1:\n            return 1\n"
        "        case _ if (\n            x\n        ):\n            # some\n            return 2\n"
    )
    path = project.write("program.py", source)
    lines = [source_lines.resolve_line(path, line)["line"] for line in range(1, 11)]
    assert lines == [2, 2, 4, 4, 5, 6, 6, 6, 10, 10]


def test_a_piece_of_a_line_is_found_whatever_its_spaces(project):
    path = project.write(
        "program.py",
        """
        total = 0
        # total += price
        for price in prices:
            total += price
            total += price * 2
        returned = total
        """,
    )
    assert source_lines.find_anchor(path, "total+=price") == [4]
    assert source_lines.find_anchor(path, "total  +=") == [4, 5]
    assert source_lines.find_anchor(path, "total +=", 2) == [5]
    assert source_lines.find_anchor(path, "total +=", 3) == []
    assert source_lines.find_anchor(path, "# total") == [2]
    assert source_lines.find_anchor(path, "absent") == []
    assert source_lines.find_anchor(path, "  ") == []


@pytest.fixture
def package(project):
    project.write("shop/__init__.py", "def version():\n    return 1\n")
    project.write(
        "shop/cart.py",
        """
        import typing


        class Cart:
            def __init__(self):
                self.items = []

            @property
            def total(self):
                # the sum
                return sum(self.items)

            @typing.overload
            def add(self, item: int) -> None: ...
            @typing.overload
            def add(self, item: str) -> None: ...
            def add(self, item):
                self.items.append(item)


        class Empty:
            limit = 3

            def size(self):
                return 0


        def checkout(cart):
            def pay():
                return cart.total

            return pay()
        """,
    )
    project.write(
        "shop/stock.py", "def checkout(stock):\n    return stock\n\n\ndef unique_name():\n    return 1\n"
    )
    project.write("src/deep/tools.py", "async def run_all():\n    return 1\n")
    project.write(".venv/pyvenv.cfg", "")
    project.write("venv312/pyvenv.cfg", "")
    project.write("venv312/lib/thing.py", "def unique_name():\n    return 2\n")
    project.write("broken.py", "def broken_one(:\n    pass\n")
    return project


@pytest.mark.parametrize(
    ("name", "file", "line", "qualname"),
    [
        ("unique_name", "shop/stock.py", 6, "unique_name"),
        ("shop.version", "shop/__init__.py", 2, "version"),
        ("shop.cart.checkout", "shop/cart.py", 29, "checkout"),
        ("cart.checkout", "shop/cart.py", 29, "checkout"),
        ("stock.checkout", "shop/stock.py", 2, "checkout"),
        ("Cart.total", "shop/cart.py", 11, "Cart.total"),
        ("shop.cart.Cart.total", "shop/cart.py", 11, "Cart.total"),
        ("total", "shop/cart.py", 11, "Cart.total"),
        ("Cart.add", "shop/cart.py", 18, "Cart.add"),
        ("Cart", "shop/cart.py", 6, "Cart.__init__"),
        ("checkout.pay", "shop/cart.py", 30, "checkout.<locals>.pay"),
        ("checkout.<locals>.pay", "shop/cart.py", 30, "checkout.<locals>.pay"),
        ("run_all()", "src/deep/tools.py", 2, "run_all"),
        ("deep.tools.run_all", "src/deep/tools.py", 2, "run_all"),
    ],
)
def test_a_function_is_found_by_any_of_its_names(package, name, file, line, qualname):
    place = source_lines.resolve_function(name, str(package.folder), [str(package.folder)])
    assert place.get("error") is None
    assert place["file"] == str(package.folder / file)
    assert (place["line"], place["qualname"], place["entry_of"]) == (line, qualname, qualname)


def test_an_ambiguous_function_is_answered_with_its_places(package):
    error = source_lines.resolve_function("checkout", str(package.folder))["error"]
    assert "checkout at shop/cart.py:28" in error
    assert "checkout at shop/stock.py:1" in error
    assert "give 'module.function'" in error


def test_a_missing_function_is_answered_with_the_nearest_names(package):
    error = source_lines.resolve_function("unique_names", str(package.folder))["error"]
    assert error.startswith("No function unique_names is defined")
    assert "near it: unique_name" in error


def test_a_function_in_a_file_that_cannot_be_compiled_says_why(package):
    error = source_lines.resolve_function("broken_one", str(package.folder))["error"]
    assert "broken.py has a syntax error on line 1" in error


def test_a_class_without_a_constructor_is_answered_with_its_methods(package):
    error = source_lines.resolve_function("Empty", str(package.folder))["error"]
    assert error == "Empty is a class without __init__; give one of its methods: size."


def test_what_is_no_name_is_refused_with_the_forms_there_are(package):
    assert "write 'Class.method'" in source_lines.resolve_function("a b", str(package.folder))["error"]


def test_a_module_outside_the_project_is_found_on_the_search_path(package, tmp_path):
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "far.py").write_text("def away():\n    return 1\n", encoding="utf-8")
    place = source_lines.resolve_function("far.away", str(package.folder), [str(tmp_path / "elsewhere")])
    assert (place["file"], place["line"]) == (str(tmp_path / "elsewhere" / "far.py"), 2)


def test_the_function_around_a_line_is_named(package):
    path = str(package.folder / "shop" / "cart.py")
    assert source_lines.function_at(path, 1) == "<module>"
    assert source_lines.function_at(path, 8) == "Cart.total"
    assert source_lines.function_at(path, 22) == "Empty"
    assert source_lines.function_at(path, 30) == "checkout.<locals>.pay"
    assert source_lines.functions_of(path)[:2] == ["Cart.__init__", "Cart.total"]
    assert source_lines.functions_of(str(package.folder / "none.py")) == []


def test_a_window_of_source_is_clipped_to_the_file(package):
    path = str(package.folder / "shop" / "stock.py")
    assert source_lines.source_window(path, 1, 1) == [[1, "def checkout(stock):"], [2, "    return stock"]]
    assert [number for number, _ in source_lines.source_window(path, 6)] == [4, 5, 6]
    assert source_lines.source_window(path, 60) == []
    assert source_lines.source_window("<string>", 1) == []
