"""Which code belongs to the person who debugs, and the one spelling of a file's name.

User code is every real file outside the standard library, installed packages
and this debugger, and every synthetic name (``<code>``) whose source is known
to ``linecache``. Answers are cached: a tracer asks once per code object.
"""

from __future__ import annotations

import os
import sys


def _current_directory():
    """The working directory, or "" where it is gone."""
    try:
        return os.getcwd()
    except OSError:
        return ""


_START_DIRECTORY = _current_directory()
_own_directories = [os.path.realpath(os.path.dirname(os.path.abspath(__file__)))]
STANDARD_LIBRARY = os.path.realpath(os.path.dirname(os.__file__))
_INSTALLED_PARTS = ("site-packages", "dist-packages")
_GENERATED_PREFIXES = ("<frozen ", "<attrs generated ", "<string>", "<__array_function__")

_canonical_names = {}
_verdicts = {}


def is_synthetic(filename):
    """True for names such as ``<string>`` that stand for no file."""
    return filename.startswith("<") and filename.endswith(">")


def canonical(filename):
    """The absolute real path; synthetic names stay as they are.

    A relative name is taken from the directory the program started in, so
    that a program which changes directory does not change its files' names.
    """
    known = _canonical_names.get(filename)
    if known is None:
        if not filename or is_synthetic(filename):
            known = filename
        else:
            known = os.path.realpath(os.path.join(_START_DIRECTORY, filename))
        _canonical_names[filename] = known
    return known


def is_user_code(filename):
    """True when code of this file name is worth stopping in."""
    verdict = _verdicts.get(filename)
    if verdict is None:
        if not filename or is_synthetic(filename):
            return _has_known_source(filename)
        verdict = _verdicts[filename] = _is_user_path(canonical(filename))
    return verdict


def is_installed(path):
    """True for a canonical path in the standard library or among installed packages."""
    if any(part in path.split(os.sep) for part in _INSTALLED_PARTS):
        return True
    return _is_within(path, STANDARD_LIBRARY)


def is_own(path):
    """True for a canonical path that belongs to this debugger."""
    return any(_is_within(path, directory) for directory in _own_directories)


def regard_as_own(directory):
    """Count the files below ``directory`` to this debugger, such as those of an engine."""
    _own_directories.append(os.path.realpath(directory))


def _has_known_source(filename):
    """Asked anew each time: a name may get its source later."""
    if not filename or filename.startswith(_GENERATED_PREFIXES):
        return False
    linecache = sys.modules.get("linecache")
    return linecache is not None and filename in getattr(linecache, "cache", ())


def _is_user_path(path):
    return not (is_installed(path) or is_own(path))


def _is_within(path, directory):
    return path == directory or path.startswith(directory + os.sep)
