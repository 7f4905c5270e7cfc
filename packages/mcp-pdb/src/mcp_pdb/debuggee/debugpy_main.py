"""The debuggee's entry under the debugpy engine.

``python debugpy_main.py CHANNEL PYDEVD CHILDREN_PORT TOKEN``: CHANNEL is the
number of the inherited socket on which pydevd speaks DAP, or the address to
connect to instead (see ``loopback``), PYDEVD the folder that holds it
(the server's own copy: the target's environment needs nothing installed), and
CHILDREN_PORT where child processes connect, 0 when they are left alone.
"""

import os
import sys

PACKAGE = "_mcp_pdb_debuggee"


def load_package(folder):
    """Make the modules of ``folder`` importable below a private name."""
    import types

    package = types.ModuleType(PACKAGE)
    package.__path__ = [folder]
    package.__package__ = PACKAGE
    sys.modules[PACKAGE] = package


def main():
    folder = os.path.dirname(os.path.abspath(__file__))
    if sys.path and os.path.abspath(sys.path[0]) == folder:
        del sys.path[0]
    channel, pydevd_folder, port, token = sys.argv[1:5]
    load_package(folder)
    from importlib import import_module

    program_writes_none = sys.dont_write_bytecode
    sys.dont_write_bytecode = False  # as in traced_main
    session = import_module(PACKAGE + ".pydevd_session")
    sys.dont_write_bytecode = program_writes_none
    return session.serve(channel, pydevd_folder, int(port), token)


if __name__ == "__main__":
    sys.exit(main())
