"""From what was asked for to what can be launched: a checked ``Target``.

Everything is decided by looking at files; no process is started and nothing is
imported. What only the program's own interpreter can know (its version,
whether pytest is installed, which tests exist) the engine reports.
"""

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from mcp_pdb.errors import PathError, TargetError
from mcp_pdb.interpreters import Interpreter, find_interpreter, site_packages
from mcp_pdb.project_files import (
    ModulePlace,
    absolute,
    check_allowed,
    find_module,
    has_import_hooks,
    import_folders,
    is_stdlib,
    modules_in,
    nearest,
    nearest_files,
    project_root,
    python_files,
)
from mcp_pdb.records import Target, TargetKind

KindName = Literal["auto", "pytest", "unittest", "script", "module", "code", "attach"]
WORD_LIMIT_CHARS = 1000
"""Longer words are no paths or test ids."""
EXAMPLES = (
    "tests/test_x.py::test_y, script.py, -m package.module, package.tests.TestCase.test_y, "
    "or code with kind='code'"
)
_TOKEN = re.compile(r"""(?:\[[^\]]*\]|"[^"]*"|'[^']*'|\S)+""")
_TEST_FILE = re.compile(r"(test_.*|.*_test)\.py")
_CODE = re.compile(r"[\w\])] *=|\(|^(import|from|def|class|for|while|if|with|async) ")
_PYTHON_COMMAND = re.compile(r"(.*/)?python(3(\.\d+)?)?")
_FILE_AND_LINE = re.compile(r"(?P<file>.+\.py):(?P<line>\d+)(-\d+)?")
_PYTEST_OPTIONS_WITH_VALUE = frozenset(
    (
        *("-k", "-m", "-p", "-o", "-c", "-n", "-W", "-r", "--tb", "--color"),
        *("--deselect", "--ignore", "--rootdir", "--maxfail", "--override-ini"),
    )
)


@dataclass(frozen=True, slots=True)
class _Wish:
    """What was asked for, taken apart: for pytest and unittest ``what`` may be several ids."""

    kind: TargetKind
    what: tuple[str, ...]
    args: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Place:
    cwd: Path
    root: Path
    roots: tuple[str, ...]


def resolve_target(
    target: str,
    *,
    args: Sequence[str] = (),
    kind: KindName = "auto",
    python: str | None = None,
    cwd: str | None = None,
    roots: Sequence[str] = (),
    on_failure: Literal["stop", "continue"] = "stop",
) -> Target:
    """Check ``target`` and say how to launch it.

    Raises TargetError, PathError or InterpreterError, each with the way on.
    """
    if "\0" in target:
        raise TargetError("The target holds a null byte: give a path, a test id or code without one.")
    if kind != "code" and any(len(word) > WORD_LIMIT_CHARS for word in target.split()):
        raise TargetError("The target is no path or test id, it is too long: pass kind='code' if it is code.")
    try:
        place = _find_place(target, cwd, tuple(roots))
        wish = _understand(target, tuple(args), kind, place)
        interpreter = find_interpreter(python, place.cwd, place.root)
        resolved = _resolved(wish, place, interpreter)
    except OSError as error:
        file = str(error.filename or target)[:60]
        raise PathError(f"{file} cannot be looked at ({error.strerror}): give another path.") from None
    return Target(
        kind=wish.kind,
        target=resolved,
        args=wish.args,
        interpreter=str(interpreter.path),
        interpreter_source=interpreter.source,
        cwd=str(place.cwd),
        root=str(place.root),
        on_failure=on_failure,
    )


def _resolved(wish: _Wish, place: _Place, interpreter: Interpreter) -> str:
    """The target as the program's runner takes it. Raises TargetError."""
    match wish.kind:
        case "pytest":
            return "\n".join(_pytest_id(node_id, place) for node_id in wish.what)
        case "unittest":
            return "\n".join(_unittest_id(name, place) for name in wish.what)
        case "script":
            return str(_script(wish.what[0], place))
        case "module":
            _check_module(wish.what[0], place, site_packages(interpreter.path))
            return wish.what[0]
        case _:
            return wish.what[0]


def _find_place(target: str, cwd: str | None, roots: tuple[str, ...]) -> _Place:
    """Where the program runs: ``cwd``, else the server's folder, else the project of an absolute target."""
    here = Path.cwd()
    if cwd is not None:
        here = absolute(here, cwd)
        if not here.is_dir():
            what = "is a file" if here.exists() else "does not exist"
            raise PathError(f"The working directory {here} {what}: give the project's folder as cwd.")
    else:
        named = Path(target.strip().partition("::")[0])
        try:
            elsewhere = named.is_absolute() and named.exists() and not named.is_relative_to(here)
        except OSError:
            elsewhere = False
        if elsewhere:
            folder = named if named.is_dir() else named.parent
            here = project_root(folder) or folder
        elif len(roots) == 1 and not here.resolve().is_relative_to(os.path.realpath(roots[0])):
            here = absolute(here, roots[0])
    check_allowed(here, roots)
    return _Place(here, project_root(here) or here, roots)


def _understand(target: str, args: tuple[str, ...], kind: KindName, place: _Place) -> _Wish:
    text = target.strip()
    if kind in ("code", "attach"):
        if not text:
            raise TargetError(f"There is nothing to run: give the target of kind='{kind}'.")
        return _Wish(kind, (target if kind == "code" else text,), args)
    if not text and kind == "pytest" and args:
        return _Wish("pytest", (), args)
    if not text:
        raise TargetError(f"There is no target: give {EXAMPLES}.")
    words = _words(text, place)
    return _command(words, args, kind) or _by_kind(_detect(text, words[0], place, kind), words, args)


def _by_kind(kind: KindName, words: tuple[str, ...], args: tuple[str, ...]) -> _Wish:
    match kind:
        case "pytest":
            return _pytest_wish(words, args)
        case "unittest":
            return _Wish("unittest", words, args)
        case "module":
            return _Wish("module", words[:1], words[1:] + args)
        case _:
            return _Wish("script", words[:1], words[1:] + args)


def _words(text: str, place: _Place) -> tuple[str, ...]:
    """``text`` as words of a command line; an existing path and brackets are kept whole."""
    path, _, test = text.partition("::")
    if _exists(place.cwd / path) and len(_TOKEN.findall(test)) <= 1:
        return (text,)
    return tuple(_unquoted(word) for word in _TOKEN.findall(text))


def _unquoted(word: str) -> str:
    return word[1:-1] if len(word) > 1 and word[0] == word[-1] and word[0] in "\"'" else word


def _command(words: tuple[str, ...], args: tuple[str, ...], kind: KindName) -> _Wish | None:
    """A target written as a command: ``python x.py``, ``-m package``, ``pytest -k name``."""
    first, rest = words[0], words[1:]
    through_python = bool(rest) and _PYTHON_COMMAND.fullmatch(first) is not None
    if through_python:
        first, rest = rest[0], rest[1:]
    if first == "-m" and kind != "pytest":
        return _module_command(rest, args)
    if first in ("pytest", "py.test"):
        return _pytest_wish(rest, args)
    if first.startswith("-") and kind in ("auto", "pytest"):
        return _pytest_wish((first, *rest), args)
    if through_python:
        return _Wish("script", (first,), rest + args)
    return None


def _module_command(words: tuple[str, ...], args: tuple[str, ...]) -> _Wish:
    if not words:
        raise TargetError("-m needs a module: give -m package.module.")
    name, rest = words[0], words[1:]
    if name in ("pytest", "py.test"):
        return _pytest_wish(rest, args)
    if name == "unittest" and rest and not rest[0].startswith("-"):
        return _Wish("unittest", rest, args)
    return _Wish("module", (name,), rest + args)


def _pytest_wish(words: tuple[str, ...], args: tuple[str, ...]) -> _Wish:
    ids: list[str] = []
    options: list[str] = []
    takes_value = False
    for word in words:
        is_option = takes_value or word.startswith("-")
        (options if is_option else ids).append(word)
        takes_value = not takes_value and word in _PYTEST_OPTIONS_WITH_VALUE
    return _Wish("pytest", tuple(ids), (*options, *args))


def _looks_like_code(text: str, first: str, place: _Place) -> bool:
    is_path = "::" in first or first.endswith(".py") or _exists(place.cwd / first)
    return not is_path and _CODE.search(text) is not None


def _detect(text: str, first: str, place: _Place, kind: KindName) -> KindName:
    if kind != "auto":
        return kind
    if _looks_like_code(text, first, place):
        raise TargetError("The target looks like code: pass kind='code' to run it.")
    path = place.cwd / first
    if "::" in first:
        return "pytest"
    if not _exists(path) and not first.endswith(".py"):
        return _detect_dotted(first, place)
    if path.is_dir():
        return _detect_folder(first, path)
    if _TEST_FILE.fullmatch(path.name):
        return "pytest"
    if path.suffix in (".py", ".pyw", ""):
        return "script"
    if path.suffix == ".ipynb":
        raise TargetError(
            f"{first} is a notebook: convert it (jupyter nbconvert --to script) and start that."
        )
    raise TargetError(f"{first} does not look like Python: pass kind='script' to run it all the same.")


def _detect_folder(first: str, path: Path) -> KindName:
    some = [file.name for file in python_files(path, limit=500) if file.name != "__init__.py"]
    if any(_TEST_FILE.fullmatch(name) for name in some):
        return "pytest"
    if "__main__.py" in some and (path / "__main__.py").exists():
        raise PathError(f"{first} is a package: start it as -m {'.'.join(Path(first).parts)}.")
    raise PathError(
        f"{first} is a directory without tests: give one of its files"
        + (f" ({', '.join(some[:3])})." if some else ", or another path.")
    )


def _detect_dotted(first: str, place: _Place) -> KindName:
    found = find_module(first, _project_folders(place))
    if found is not None and not found.rest and not re.search(r"(^|\.)test|tests?$", first):
        return "module"
    if found is not None and (not found.rest or _has_test_case(found)):
        return "unittest"
    if found is not None and not found.is_package:
        file = os.path.relpath(found.file, place.cwd)
        raise TargetError(
            f"{found.module} has no class {found.rest[0]}: for a test function give {file}::{found.rest[0]}, "
            f"to run the file give {file}."
        )
    match_line = _FILE_AND_LINE.fullmatch(first)
    if match_line and _exists(place.cwd / match_line["file"]):
        raise TargetError(
            f"A target is a file or a test, not a line: start {match_line['file']} (or a test in it) with "
            f"breakpoints=['{first}'] and run=true."
        )
    if "/" in first or os.sep in first or "." in Path(first).suffix:
        raise _missing_file(first, place)
    names = sorted({name for folder in _project_folders(place) for name in modules_in(folder)})
    similar = nearest(first.split(".")[0], names)
    near = f" (near: {', '.join(similar)})" if similar else ""
    raise TargetError(f"{first} is no file, module or test in {place.cwd}{near}: give {EXAMPLES}.")


def _has_test_case(found: ModulePlace) -> bool:
    if found.is_package:
        return False
    source = found.file.read_text(encoding="utf-8", errors="replace")
    return re.search(rf"^class\s+{re.escape(found.rest[0])}\b", source, re.MULTILINE) is not None


def _pytest_id(node_id: str, place: _Place) -> str:
    """``node_id`` with its path relative to the working directory where it lies below it."""
    asked, colons, test = node_id.partition("::")
    path = _existing(asked, place)
    if colons and path.is_dir():
        raise PathError(
            f"{asked} is a directory, so it has no test {test}: name the file, {asked}/….py::{test}."
        )
    return _relative(path, place.cwd) + colons + test


def _unittest_id(name: str, place: _Place) -> str:
    """A dotted name for unittest; paths and pytest's ``::`` are translated."""
    asked, _, test = name.partition("::")
    if not asked.endswith(".py"):
        dotted = name.replace("::", ".")
        if find_module(dotted, _project_folders(place)) is None:
            raise TargetError(
                f"There is no module for {dotted} in {place.cwd}: give package.module.TestCase.test_name "
                "relative to cwd."
            )
        return dotted
    path = _existing(asked, place)
    parts = Path(_relative(path, place.cwd)).with_suffix("").parts
    if not all(part.isidentifier() for part in parts):
        raise TargetError(
            f"unittest cannot import {asked} from {place.cwd}: give kind='pytest', or its folder as cwd."
        )
    return ".".join((*parts, *test.split("::"))).rstrip(".")


def _script(asked: str, place: _Place) -> Path:
    path = _existing(asked, place)
    if path.is_dir():
        raise PathError(f"{asked} is a directory: give a file in it, or start a package as -m name.")
    return path


def _check_module(name: str, place: _Place, sites: list[Path] | None) -> None:
    """Raise TargetError when files show that ``python -m name`` must fail."""
    if name.endswith(".py") or "/" in name:
        raise TargetError(f"-m takes a module's name: give {name} without -m, or its dotted name.")
    folders = import_folders(place.cwd, sites or [])
    found = find_module(name, folders)
    if found is None:
        if sites is not None and not has_import_hooks(sites) and not is_stdlib(name):
            _refuse_absent_module(name, place, folders)
    elif found.rest:
        if found.folder == place.cwd:
            inside = ", ".join(modules_in(found.file)[:8]) if found.is_package else ""
            has = f"it has {inside}" if inside else "it is a single module"
            raise TargetError(f"{found.module} has no module {found.rest[0]}: {has}.")
    elif found.is_package and not (found.file / "__main__.py").exists():
        names = ", ".join(f"-m {name}.{module}" for module in modules_in(found.file)[:4] if module[0] != "_")
        way_on = f"give one of its modules ({names})" if names else "give a module"
        raise TargetError(f"The package {name} has no __main__.py, so -m cannot run it: {way_on}.")


def _refuse_absent_module(name: str, place: _Place, folders: list[Path]) -> None:
    """Raise TargetError unless its top level is there in a form that is no source."""
    top = name.partition(".")[0]
    names = [module for folder in folders for module in modules_in(folder)]
    if top in names:
        return
    if find_module(name, [place.root / "src", place.cwd / "src"]):
        raise TargetError(
            f"{top} lies in src/, which is not on the import path: install the project, or give cwd='src'."
        )
    similar = nearest(top, names)
    near = f"near: {', '.join(similar)}; " if similar else ""
    raise TargetError(
        f"There is no module {name} in {place.cwd} or the interpreter's packages ({near}install it, "
        "or give the folder it lies in as cwd)."
    )


def _existing(asked: str, place: _Place) -> Path:
    """The absolute path of an existing, allowed file or folder. Raises PathError."""
    for base in (place.cwd, place.root):
        path = absolute(base, asked)
        if _exists(path):
            check_allowed(path, place.roots)
            return path
    raise _missing_file(asked, place)


def _missing_file(asked: str, place: _Place) -> PathError:
    similar = [os.path.relpath(place.root / path, place.cwd) for path in nearest_files(asked, place.root)]
    way_on = "give another path, or the project's folder as cwd"
    if similar:
        way_on = f"give {' or '.join(similar)}, or another path"
    return PathError(f"There is no {asked} in {place.cwd}: {way_on}.")


def _project_folders(place: _Place) -> list[Path]:
    return list(dict.fromkeys((place.cwd, place.root, place.cwd / "src", place.root / "src")))


def _relative(path: Path, cwd: Path) -> str:
    return str(path.relative_to(cwd)) if path.is_relative_to(cwd) else str(path)


def _exists(path: Path) -> bool:
    try:
        return path.exists()
    except (OSError, ValueError):
        return False
