"""Which code the program has run: by file, by name, and how often where that is counted."""

from __future__ import annotations

import os

from . import user_code

_OWN_FOLDER = os.path.dirname(os.path.abspath(__file__)) + os.sep


class CodeRegistry:
    """Which code objects the program has run, by file."""

    def __init__(self):
        self.by_file = {}
        self.calls = {}
        self._qualnames = {}

    def add(self, code):
        """Note a code object that runs for the first time; returns its canonical file."""
        file = user_code.canonical(code.co_filename)
        self.by_file.setdefault(file, {})[id(code)] = code
        if not hasattr(code, "co_qualname"):
            self._name_inner(code, "" if code.co_name == "<module>" else code.co_name + ".<locals>.")
        return file

    def _name_inner(self, code, prefix):
        for constant in code.co_consts:
            if hasattr(constant, "co_code") and id(constant) not in self._qualnames:
                name = prefix + constant.co_name
                self._qualnames[id(constant)] = (name, constant)
                is_function = constant.co_flags & 0x2
                self._name_inner(constant, name + (".<locals>." if is_function else "."))

    def qualname(self, code):
        """The qualified name of a code object's function."""
        name = getattr(code, "co_qualname", None)
        if name is None:
            name = self._qualnames.get(id(code), (code.co_name,))[0]
        return name.replace(".<locals>", "")

    def functions_run(self, file):
        """Names of the functions of a file that ran, or None when it was never imported."""
        codes = self.by_file.get(file)
        if codes is None:
            return None
        return [self.qualname(code) for code in codes.values()]

    def calls_of(self, file, function):
        """How often a function was called, as far as that was counted."""
        codes = self.by_file.get(file) or {}
        return sum(self.calls.get(key, 0) for key, code in codes.items() if self.qualname(code) == function)


def is_own_code(filename):
    """Whether this is code of the debugger itself."""
    return filename.startswith(_OWN_FOLDER)


def code_lines(code):
    """The line numbers at which a code object has line events."""
    lines = getattr(code, "co_lines", None)
    if lines is not None:
        return {line for _, _, line in lines() if line}
    from dis import findlinestarts  # only before 3.10, where co_lines is missing

    return {line for _, line in findlinestarts(code)}
