"""Prints, as JSON, where each line of a file is bound to and which lines ran first.

``python resolve_lines.py DEBUGGEE_FOLDER FILE`` in any interpreter.
"""

import json
import sys
import types


def bindings(path):
    from _mcp_pdb_debuggee import source_lines

    with open(path, "rb") as file:
        count = file.read().count(b"\n")
    return [source_lines.resolve_line(path, line) for line in range(1, count + 2)]


def lines_run(path):
    """Every line in the order of its trace events."""
    seen = []

    def trace(frame, event, argument):
        if frame.f_code.co_filename != path:
            return None
        if event == "line":
            seen.append(frame.f_lineno)
        return trace

    with open(path, "rb") as file:
        code = compile(file.read(), path, "exec", 0, True)
    sys.settrace(trace)
    try:
        exec(code, {"__name__": "program", "__file__": path})
    finally:
        sys.settrace(None)
    return seen


def main():
    folder, path = sys.argv[1:]
    package = types.ModuleType("_mcp_pdb_debuggee")
    package.__path__ = [folder]
    sys.modules[package.__name__] = package
    print(json.dumps({"bindings": bindings(path), "run": lines_run(path)}))


main()
