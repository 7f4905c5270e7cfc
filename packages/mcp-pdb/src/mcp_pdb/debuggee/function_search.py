"""Finds a function by its name in source files, without importing them."""

from __future__ import annotations

import ast
import os
import re
from difflib import get_close_matches

from . import source_map
from .file_paths import python_files
from .user_code import canonical

_DEFINITION = re.compile(rb"^[ \t]*(?:async[ \t]+)?(?:def|class)[ \t]+(\w+)", re.MULTILINE)


def find(name, root, search_path=()):
    """``(SourceMap, Scope)`` of the one function called ``name``, or ``{"error": sentence}``."""
    name = name.strip().rstrip("()").replace(".<locals>.", ".").replace("::", ".")
    if not all(part.isidentifier() for part in name.split(".")):
        return {
            "error": "%r is not a function's name; write 'Class.method', 'module.function' or 'file.py:12'."
            % name
        }
    files = _candidate_files(name, root, search_path)
    found, names, broken = [], set(), None
    for path in files:
        try:
            source_bytes = _read(path)
            names.update(match.decode("utf-8", "replace") for match in _DEFINITION.findall(source_bytes))
            if not _may_define(source_bytes, name):
                continue
            source = source_map.load(path)
        except OSError:
            continue
        except source_map.SourceError as error:
            broken = str(error)
            continue
        found.extend((source, scope) for scope in _matching(source, name, path, [root, *search_path]))
    return _choose(name, found, names, broken, root)


def _candidate_files(name, root, search_path):
    """The module's own file first, wherever it is; then every file of the project."""
    files = {}
    parts = name.split(".")
    for count in range(len(parts) - 1, 0, -1):
        for base in [root, os.path.join(root, "src"), *search_path]:
            stem = os.path.join(base or os.curdir, *parts[:count])
            for path in (stem + ".py", os.path.join(stem, "__init__.py")):
                if os.path.isfile(path):
                    files[canonical(path)] = None
    for path in python_files(root):
        files[canonical(path)] = None
    return list(files)


def _read(path):
    with open(path, "rb") as file:
        return file.read()


def _may_define(source_bytes, name):
    last = name.rpartition(".")[2].encode("utf-8")
    return re.search(rb"\b(?:def|class)[ \t]+" + re.escape(last) + rb"\b", source_bytes) is not None


def _matching(source, name, path, bases):
    prefixes = _module_names(path, bases)
    scopes = [scope for scope in source.scopes[1:] if _is_called(scope, name, prefixes)]
    functions = [scope for scope in scopes if scope.kind == "function" and not _is_overload(scope.node)]
    if functions:
        return functions
    return [scope for scope in scopes if scope.kind == "class"]


def _module_names(path, bases):
    """The dotted names a file may be known by, the longest per base folder."""
    names = []
    for base in bases:
        relative = os.path.relpath(path, canonical(base or os.curdir))
        if not relative.startswith(os.pardir):
            parts = os.path.splitext(relative)[0].split(os.sep)
            names.append(".".join(parts[:-1] if parts[-1] == "__init__" else parts))
    return names


def _is_called(scope, name, prefixes):
    plain = scope.qualname.replace(".<locals>.", ".")
    if plain == name or plain.endswith("." + name):
        return True
    if not name.endswith("." + plain):
        return False
    module = name[: -len(plain) - 1]
    return any(prefix == module or prefix.endswith("." + module) for prefix in prefixes)


def _is_overload(node):
    for decorator in getattr(node, "decorator_list", ()):
        last = decorator.attr if isinstance(decorator, ast.Attribute) else getattr(decorator, "id", "")
        if last == "overload":
            return True
    return False


def _choose(name, found, names, broken, root):
    functions = [(source, scope) for source, scope in found if scope.kind == "function"]
    exact = [pair for pair in functions if pair[1].qualname == name]
    if len(exact) == 1:
        return exact[0]
    if len(functions) == 1:
        return functions[0]
    if functions:
        return _ambiguous(name, functions, root)
    if found:
        return _of_class(name, found)
    if broken:
        return {"error": "No function %s was found, and %s" % (name, broken)}
    near = get_close_matches(name.rpartition(".")[2], sorted(names), 3, 0.5)
    hint = "near it: %s" % ", ".join(near) if near else "write 'file.py:12' or a piece of the line"
    return {"error": "No function %s is defined below %s; %s." % (name, root, hint)}


def _ambiguous(name, functions, root):
    places = [
        "%s at %s:%d" % (scope.qualname, os.path.relpath(source.name, canonical(root)), scope.node.lineno)
        for source, scope in functions[:6]
    ]
    more = " and %d more" % (len(functions) - 6) if len(functions) > 6 else ""
    text = "%s is defined more than once: %s%s; give 'module.function', 'Class.method' or 'file.py:line'."
    return {"error": text % (name, ", ".join(places), more)}


def _of_class(name, found):
    """A class stands for its ``__init__``."""
    source, scope = found[0]
    inits = [each for each in source.scopes if each.qualname == scope.qualname + ".__init__"]
    if len(found) == 1 and inits:
        return source, inits[0]
    methods = [
        each.node.name
        for each in source.functions()
        if each.qualname.startswith(scope.qualname + ".") and "<locals>" not in each.qualname
    ]
    listed = ", ".join(methods[:8]) or "none"
    return {"error": "%s is a class without __init__; give one of its methods: %s." % (name, listed)}
