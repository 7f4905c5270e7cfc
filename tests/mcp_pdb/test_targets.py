"""Targets as models write them: understood, or refused with the way on. Nothing is started here."""

import sys
from pathlib import Path

import pytest
from mcp_pdb.errors import DebuggerError, InterpreterError, PathError, TargetError
from mcp_pdb.targets import KindName, resolve_target

TESTS = """
import unittest

class TestCart(unittest.TestCase):
    def test_total(self):
        self.assertEqual(1, 2)

def test_discount():
    assert False
"""


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    files = {
        "pyproject.toml": "",
        "shop/__init__.py": "",
        "shop/cart.py": "print('cart')",
        "shop/cli/__init__.py": "",
        "shop/cli/__main__.py": "print('cli')",
        "tests/__init__.py": "",
        "tests/test_cart.py": TESTS,
        "docs/conf.py": "",
        "src/hidden/__init__.py": "",
        "main.py": "print('main')",
        "two words.py": "",
        "notebook.ipynb": "{}",
        "readme.md": "",
    }
    folder = tmp_path / "project"
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    monkeypatch.chdir(folder)
    monkeypatch.delenv("VIRTUAL_ENV", raising=False)
    monkeypatch.delenv("PYTHONPATH", raising=False)
    return folder


def make_environment(folder: Path, *packages: str) -> Path:
    """A virtual environment as far as files tell; returns its interpreter."""
    site = folder / "lib" / "python3.11" / "site-packages"
    site.mkdir(parents=True)
    for package in packages:
        (site / package).mkdir()
        (site / package / "__init__.py").touch()
    (folder / "pyvenv.cfg").write_text("include-system-site-packages = false\n", encoding="utf-8")
    interpreter = folder / "bin" / "python"
    interpreter.parent.mkdir()
    interpreter.symlink_to(sys.executable)
    return interpreter


CART = "tests/test_cart.py"


@pytest.mark.parametrize(
    ("target", "kind", "resolved", "args"),
    [
        (f"{CART}::test_discount", "pytest", f"{CART}::test_discount", ()),
        (f"{CART}::TestCart::test_total", "pytest", f"{CART}::TestCart::test_total", ()),
        (CART, "pytest", CART, ()),
        ("tests", "pytest", "tests", ()),
        ("tests/", "pytest", "tests", ()),
        (f"./{CART}::test_discount", "pytest", f"{CART}::test_discount", ()),
        (f"{CART}::test_x[a b-c::d]", "pytest", f"{CART}::test_x[a b-c::d]", ()),
        (f"{CART}::test_a {CART}::test_b", "pytest", f"{CART}::test_a\n{CART}::test_b", ()),
        (f"{CART}::test_a\n{CART}::test_b[1 2]", "pytest", f"{CART}::test_a\n{CART}::test_b[1 2]", ()),
        ("-k discount", "pytest", "", ("-k", "discount")),
        (f"{CART} -k 'total or discount' -x", "pytest", CART, ("-k", "total or discount", "-x")),
        (f"pytest -x {CART}", "pytest", CART, ("-x",)),
        (f"python -m pytest {CART} -k total", "pytest", CART, ("-k", "total")),
        ("main.py", "script", "{project}/main.py", ()),
        ("main.py --fast 3", "script", "{project}/main.py", ("--fast", "3")),
        ("two words.py", "script", "{project}/two words.py", ()),
        ("python main.py", "script", "{project}/main.py", ()),
        (f"python3.11 {CART}", "script", f"{{project}}/{CART}", ()),
        ("-m shop.cart", "module", "shop.cart", ()),
        ("-m shop.cli serve --port 1", "module", "shop.cli", ("serve", "--port", "1")),
        ("python -m shop.cart", "module", "shop.cart", ()),
        ("shop.cart", "module", "shop.cart", ()),
        ("-m json.tool", "module", "json.tool", ()),
        ("tests.test_cart", "unittest", "tests.test_cart", ()),
        ("tests.test_cart.TestCart", "unittest", "tests.test_cart.TestCart", ()),
        ("tests.test_cart.TestCart.test_total", "unittest", "tests.test_cart.TestCart.test_total", ()),
        ("python -m unittest tests.test_cart", "unittest", "tests.test_cart", ()),
    ],
)
def test_the_kind_is_found_from_how_the_target_is_written(
    project: Path, target: str, kind: str, resolved: str, args: tuple[str, ...]
):
    found = resolve_target(target)
    assert (found.kind, found.target, found.args) == (kind, resolved.format(project=project), args)
    assert (found.cwd, found.root) == (str(project), str(project))


@pytest.mark.parametrize(
    ("target", "kind", "resolved"),
    [
        ("x = 1\nprint(x)", "code", "x = 1\nprint(x)"),
        (CART, "script", f"{{project}}/{CART}"),
        ("main.py", "pytest", "main.py"),
        (CART, "unittest", "tests.test_cart"),
        (f"{CART}::TestCart::test_total", "unittest", "tests.test_cart.TestCart.test_total"),
        ("shop.cart", "module", "shop.cart"),
        ("readme.md", "script", "{project}/readme.md"),
        ("4711", "attach", "4711"),
    ],
)
def test_a_kind_that_is_given_is_followed(project: Path, target: str, kind: KindName, resolved: str):
    found = resolve_target(target, kind=kind)
    assert (found.kind, found.target) == (kind, resolved.format(project=project))


def test_arguments_are_passed_through_after_those_in_the_target(project: Path):
    assert resolve_target("main.py a", args=["-b", "c d", "{channel}"]).args == (
        "a",
        "-b",
        "c d",
        "{channel}",
    )
    assert resolve_target("", kind="pytest", args=["-k", "x"]).args == ("-k", "x")
    assert resolve_target("main.py", on_failure="continue").on_failure == "continue"


@pytest.mark.parametrize(
    ("target", "kind", "error", "sentence"),
    [
        ("", "auto", TargetError, "There is no target: give tests/test_x.py::test_y"),
        ("  ", "code", TargetError, "nothing to run"),
        ("test_cart.py", "auto", PathError, f"There is no test_cart.py in .*: give {CART}, or another"),
        ("tests/test_crat.py::test_x", "auto", PathError, f"give {CART}"),
        ("mian.py", "auto", PathError, "give main.py"),
        ("nothing_like_it.py", "auto", PathError, "give another path, or the project's folder as cwd"),
        ("tests::test_x", "auto", PathError, "tests is a directory, so it has no test test_x"),
        ("docs", "auto", PathError, r"docs is a directory without tests: give one of its files \(conf.py\)"),
        ("shop/cli", "auto", PathError, "start it as -m shop.cli"),
        ("shop", "script", PathError, "shop is a directory: give a file in it"),
        ("main.py:3", "auto", TargetError, r"not a line: start main.py .* breakpoints=\['main.py:3'\]"),
        ("notebook.ipynb", "auto", TargetError, "is a notebook: convert it"),
        ("readme.md", "auto", TargetError, "pass kind='script'"),
        ("print(1)", "auto", TargetError, "looks like code: pass kind='code'"),
        ("x = 1\nprint(x)", "auto", TargetError, "looks like code: pass kind='code'"),
        ("import shop; shop.run()", "auto", TargetError, "looks like code: pass kind='code'"),
        ("shopp", "auto", TargetError, r"is no file, module or test in .*near: shop"),
        ("tests.test_cart.test_discount", "auto", TargetError, f"give {CART}::test_discount"),
        ("-m", "auto", TargetError, "-m needs a module"),
        ("-m shop", "auto", TargetError, r"no __main__.py.*\(-m shop.cart, -m shop.cli\)"),
        ("-m shop.nope", "auto", TargetError, "shop has no module nope: it has cart, cli"),
        ("-m shop.cart.run", "auto", TargetError, "shop.cart has no module run: it is a single module"),
        ("-m main.py", "auto", TargetError, "give main.py without -m"),
        ("nowhere.tests", "unittest", TargetError, "no module for nowhere.tests"),
        ("two words.py::X", "unittest", TargetError, "unittest cannot import"),
        ("a\0b", "auto", TargetError, "null byte"),
        ("x" * 100_000, "auto", TargetError, "too long: pass kind='code'"),
    ],
)
def test_what_cannot_be_started_is_said_in_a_sentence_with_the_way_on(
    project: Path, target: str, kind: KindName, error: type[DebuggerError], sentence: str
):
    with pytest.raises(error, match=sentence) as caught:
        resolve_target(target, kind=kind)
    assert len(str(caught.value)) < 400


def test_a_module_that_no_file_provides_is_refused_before_anything_starts(project: Path):
    make_environment(project / ".venv", "flask", "pytest")
    assert resolve_target("-m flask.cli run").target == "flask.cli"
    with pytest.raises(TargetError, match=r"no module flaskk.* \(near: flask; install it"):
        resolve_target("-m flaskk run")
    with pytest.raises(TargetError, match=r"hidden lies in src/.*give cwd='src'"):
        resolve_target("-m hidden")


def test_a_module_that_an_editable_install_may_provide_is_given_the_benefit_of_the_doubt(project: Path):
    make_environment(project / ".venv")
    site = project / ".venv/lib/python3.11/site-packages"
    (site / "project.pth").write_text(f"{project}/src\n", encoding="utf-8")
    with pytest.raises(TargetError, match=r"hidden has no __main__.py"):
        resolve_target("-m hidden")
    with pytest.raises(TargetError, match="no module elsewhere"):
        resolve_target("-m elsewhere")
    (site / "__editable___elsewhere_finder.py").touch()
    assert resolve_target("-m elsewhere").target == "elsewhere"


def test_the_interpreter_is_the_one_asked_for_then_the_projects_then_the_active_then_our_own(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    def found(**arguments: str) -> tuple[str, str]:
        target = resolve_target("main.py", **arguments)  # pyright: ignore[reportArgumentType]
        return target.interpreter, target.interpreter_source

    assert found() == (sys.executable, "the server's own Python")
    active = make_environment(tmp_path / "active")
    monkeypatch.setenv("VIRTUAL_ENV", str(tmp_path / "active"))
    assert found() == (str(active), "VIRTUAL_ENV")
    plain = make_environment(project / "venv")
    assert found() == (str(plain), "venv of the project")
    dotted = make_environment(project / ".venv")
    assert found() == (str(dotted), ".venv of the project")
    assert found(cwd="shop/cli")[0] == str(dotted), "the project's environment is found from below"
    assert found(python=str(active)) == (str(active), "as asked for")
    assert found(python="venv/bin/python")[0] == str(plain), "relative to the working directory"
    monkeypatch.setenv("PATH", str(active.parent))
    assert found(python="python")[0] == str(active), "a bare name is looked up on PATH"


def test_a_broken_environment_is_passed_over_and_said(project: Path):
    interpreter = make_environment(project / ".venv")
    interpreter.unlink()
    interpreter.symlink_to("/nowhere/python3.7")
    target = resolve_target("main.py")
    assert target.interpreter == sys.executable
    assert target.interpreter_source.endswith(f"{project}/.venv has no usable python")


def test_an_interpreter_that_cannot_be_used_is_refused_with_the_way_on(project: Path):
    inside = make_environment(project / "env")
    with pytest.raises(InterpreterError, match=f"is a directory: give {inside}"):
        resolve_target("main.py", python="env")
    with pytest.raises(InterpreterError, match="is a directory: give the path of a python executable"):
        resolve_target("main.py", python="shop")
    with pytest.raises(InterpreterError, match=r"no interpreter python9.9 .*on PATH.*leave python out"):
        resolve_target("main.py", python="python9.9")
    with pytest.raises(InterpreterError, match="no interpreter env/bin/pypy"):
        resolve_target("main.py", python="env/bin/pypy")
    with pytest.raises(InterpreterError, match=r"main.py is not executable"):
        resolve_target("main.py", python="./main.py")


def test_the_working_directory_is_checked_and_paths_are_taken_from_it(project: Path):
    found = resolve_target("cart.py", cwd="shop")
    assert (found.target, found.cwd, found.root) == (
        f"{project}/shop/cart.py",
        f"{project}/shop",
        str(project),
    )
    assert resolve_target("../main.py", cwd="shop").target == f"{project}/main.py"
    assert resolve_target(CART, cwd="shop").target == str(project / CART), "the root is tried after cwd"
    with pytest.raises(PathError, match="nowhere does not exist: give the project's folder"):
        resolve_target("main.py", cwd="nowhere")
    with pytest.raises(PathError, match=r"main.py is a file"):
        resolve_target("main.py", cwd="main.py")


def test_an_absolute_target_elsewhere_brings_its_project_as_working_directory(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)
    found = resolve_target(f"{project / CART}::test_discount")
    assert (found.cwd, found.target) == (str(project), f"{CART}::test_discount")


def test_targets_outside_the_allowed_roots_are_refused_symlinks_resolved(project: Path, tmp_path: Path):
    outside = tmp_path / "outside.py"
    outside.touch()
    (project / "escape.py").symlink_to(outside)
    (project / "escape").symlink_to(tmp_path)
    (project / "inner.py").symlink_to(project / "main.py")
    roots = [str(project)]
    assert resolve_target("main.py", roots=roots).target == f"{project}/main.py"
    assert resolve_target("inner.py", roots=roots).target == f"{project}/inner.py"
    for target in (str(outside), "../outside.py", "escape.py", "escape/outside.py", "../outside.py::test_x"):
        with pytest.raises(PathError, match=r"outside the folders this server may debug in .*--root"):
            resolve_target(target, roots=roots)
    with pytest.raises(PathError, match=f"escape.py leads to {outside}, which is outside"):
        resolve_target("escape.py", roots=roots)
    with pytest.raises(PathError, match="outside the folders"):
        resolve_target("1", kind="code", cwd="escape", roots=roots)
    assert resolve_target(str(outside), roots=[str(project), str(tmp_path)]).target == str(outside)


def test_a_single_root_is_the_working_directory_of_a_server_started_elsewhere(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir("/")
    found = resolve_target("main.py", roots=[str(project)])
    assert (found.cwd, found.target) == (str(project), f"{project}/main.py")


def test_a_large_project_is_searched_within_a_bound(project: Path):
    for number in range(40):
        (project / f"part{number}").mkdir()
        for name in range(100):
            (project / f"part{number}" / f"module{name}.py").touch()
    Path(project / "loop").symlink_to(project)
    with pytest.raises(PathError, match=r"There is no test_cart.py"):
        resolve_target("test_cart.py")
