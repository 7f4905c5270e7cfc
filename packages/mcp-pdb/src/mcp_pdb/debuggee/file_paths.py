"""Finds the file that a breakpoint names."""

from __future__ import annotations

import os
from difflib import get_close_matches

_SKIPPED = {"__pycache__", "node_modules", "site-packages", "venv", "env", "build", "dist"}
_MAX_FILES = 3000


def find_file(text, cwd, root):
    """The real path of the file that ``text`` names, or ``{"error": sentence}``.

    Relative to the working directory, then to the project's root, then by a
    unique tail of a path below the root.
    """
    if text.startswith("<"):
        return text
    expanded = os.path.expanduser(text)
    for base in (cwd, root):
        candidate = os.path.realpath(os.path.join(base, expanded))
        if os.path.isfile(candidate):
            return candidate
    files = python_files(root or cwd)
    tail = os.sep + text.replace("/", os.sep).lstrip("." + os.sep)
    matches = [path for path in files if path.endswith(tail)]
    if len(matches) == 1:
        return os.path.realpath(matches[0])
    if matches:
        shown = ", ".join(os.path.relpath(path, cwd) for path in matches[:5])
        return {"error": "%s is not unique: %s; give the longer path." % (text, shown)}
    names = {os.path.basename(path): path for path in files}
    near = get_close_matches(os.path.basename(text), list(names), 3, 0.5)
    hint = (
        "near it: " + ", ".join(os.path.relpath(names[name], cwd) for name in near)
        if near
        else "give its path"
    )
    return {"error": "There is no file %s (looked in %s); %s." % (text, cwd, hint)}


def python_files(root):
    """Python files below ``root``, without environments and hidden folders, at most 3,000."""
    found = []
    for folder, folders, names in os.walk(root):
        folders[:] = sorted(
            name
            for name in folders
            if not name.startswith(".")
            and name not in _SKIPPED
            and not os.path.exists(os.path.join(folder, name, "pyvenv.cfg"))
        )
        found.extend(os.path.join(folder, name) for name in names if name.endswith(".py"))
        if len(found) >= _MAX_FILES:
            break
    return found[:_MAX_FILES]
