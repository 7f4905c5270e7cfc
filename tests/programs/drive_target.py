"""Runs one target under hooks that write each call as a JSON line to a file.

``python drive_target.py DEBUGGEE_FOLDER EVENTS_FILE SPEC`` in any interpreter.
"""

import json
import os
import sys
import types


class Hooks:
    def __init__(self, path):
        self.file = open(path, "a", encoding="utf-8")

    def write(self, name, **fields):
        self.file.write(json.dumps(dict(fields, event=name)) + "\n")
        self.file.flush()

    def begin(self):
        self.write("begin")

    def entry(self, code):
        self.write(
            "entry", function=code.co_name, file=os.path.basename(code.co_filename), line=code.co_firstlineno
        )

    def failure(self, exc_type, exc, traceback, where):
        frames = []
        own = traceback.tb_frame.f_locals.get("self") if traceback is not None else None
        while traceback is not None:
            frames.append(
                [
                    os.path.basename(traceback.tb_frame.f_code.co_filename),
                    traceback.tb_frame.f_code.co_name,
                    traceback.tb_lineno,
                ]
            )
            traceback = traceback.tb_next
        values = str(getattr(own, "values", None))
        self.write(
            "failure", type=exc_type.__name__, message=str(exc), frames=frames, where=where, values=values
        )

    def note(self, kind, data):
        self.write("note", kind=kind, data=data)


def main():
    folder, events, spec = sys.argv[1:4]
    package = types.ModuleType("_mcp_pdb_debuggee")
    package.__path__ = [folder]
    sys.modules[package.__name__] = package
    del sys.path[0]
    from _mcp_pdb_debuggee import run_target

    return run_target.run(json.loads(spec), Hooks(events))


if __name__ == "__main__":
    sys.exit(main())
