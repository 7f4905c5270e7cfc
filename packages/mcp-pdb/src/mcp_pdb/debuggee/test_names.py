"""What runners of tests share: the code of a test, the place of an error, the nearest names."""

from __future__ import annotations

import os
from difflib import get_close_matches

from . import file_paths, source_lines, user_code

_MAX_NAMES = 5


def test_code(function):
    """The code object of a test as its author wrote it, below all decorators; None without one."""
    for _ in range(50):
        inner = getattr(getattr(function, "hypothesis", None), "inner_test", None)
        inner = inner or getattr(function, "__wrapped__", None) or getattr(function, "__func__", None)
        if inner is None:
            break
        function = inner
    return getattr(function, "__code__", None)


def user_part(traceback):
    """The traceback from its first frame in user code on; all of it when there is none."""
    part = traceback
    while part is not None:
        if user_code.is_user_code(part.tb_frame.f_code.co_filename):
            return part
        part = part.tb_next
    return traceback


def original_error(error):
    """The error below the runner's own wrapping of a failed import."""
    for _ in range(5):
        name = type(error).__name__
        if name == "CollectError" and error.__cause__ is not None:
            error = error.__cause__
        elif name == "ConftestImportFailure":
            cause = getattr(error, "cause", None) or error.excinfo
            error = cause[1] if isinstance(cause, tuple) else cause
        else:
            break
    return error


def error_place(error, path):
    """``(file, line)`` of an error: the source a SyntaxError names, else the innermost user frame."""
    if isinstance(error, SyntaxError) and error.filename:
        return error.filename, error.lineno
    place = (path, None)
    traceback = error.__traceback__
    while traceback is not None:
        filename = traceback.tb_frame.f_code.co_filename
        if user_code.is_user_code(filename):
            place = (filename, traceback.tb_lineno)
        traceback = traceback.tb_next
    return place


def missing(asked, collected, cwd):
    """The ids nearest to ``asked``, or None when it was collected; for a file, those in it.

    ``collected`` are the ids the runner saw; those of classes it did not open
    are read from the source.
    """
    path, separator, rest = asked.partition("::")
    path = os.path.normpath(path)
    if not os.path.exists(os.path.join(cwd, path)):
        return _nearest_files(path, separator + rest, cwd)
    wanted = path + separator + rest
    if rest and any(each == wanted or each.startswith((wanted + "[", wanted + "::")) for each in collected):
        return None
    names = [each for each in collected if each.startswith(path + "::")]
    names.extend(path + "::" + name.replace(".", "::") for name in tests_in(os.path.join(cwd, path)))
    return nearest(wanted, names)


def tests_in(path):
    """The qualified names of a file's functions that are named like tests."""
    return [
        qualname
        for qualname in source_lines.functions_of(path)
        if "<locals>" not in qualname and qualname.rpartition(".")[2].startswith("test")
    ]


def nearest(wanted, names):
    """The most similar names; the first few when none is similar."""
    unique = list(dict.fromkeys(names))
    last = {}
    for name in unique:
        last.setdefault(name.rpartition("::")[2], []).append(name)
    close = get_close_matches(wanted.rpartition("::")[2], list(last), _MAX_NAMES, 0.5)
    found = [name for match in close for name in last[match]]
    return (found or get_close_matches(wanted, unique, _MAX_NAMES, 0.7) or unique)[:_MAX_NAMES]


def nearest_modules(test_id, cwd):
    """Modules of the project whose dotted names are like the longest possible part of an id."""
    files = [os.path.relpath(file, cwd) for file in file_paths.python_files(cwd)]
    names = [os.path.splitext(file)[0].replace(os.sep, ".") for file in files]
    parts = test_id.split(".")
    for count in range(len(parts), 0, -1):
        close = get_close_matches(".".join(parts[:count]), names, _MAX_NAMES, 0.75)
        if close:
            return close
    return []


def _nearest_files(path, rest, cwd):
    files = [os.path.relpath(file, cwd) for file in file_paths.python_files(cwd)]
    by_name = {}
    for file in files:
        by_name.setdefault(os.path.basename(file), []).append(file)
    close = get_close_matches(os.path.basename(path), list(by_name), _MAX_NAMES, 0.6)
    return [file + rest for name in close for file in by_name[name]][:_MAX_NAMES]
