"""Entry of the pdb engine in the target's interpreter: ``python traced_main.py CHANNEL [RUNNER]``.

CHANNEL is the number of the inherited end of a socket pair, or the address to
connect to (see ``loopback``). The package of this folder is loaded by path
under a private name, so nothing has to be installed for the target. RUNNER is
loaded while the debuggee waits for what to run (see ``preload``).
"""

import os
import sys
from types import ModuleType

PACKAGE = "_mcp_pdb_debuggee"


def load_package():
    """Make this folder importable as a package of a private name."""
    folder = os.path.dirname(os.path.abspath(__file__))
    if sys.path and os.path.realpath(sys.path[0]) == os.path.realpath(folder):
        del sys.path[0]
    package = ModuleType(PACKAGE)
    package.__path__ = [folder]
    sys.modules[PACKAGE] = package


def main():
    """Connect, wait for the target, run it, leave with its exit status."""
    load_package()
    program_writes_none = sys.dont_write_bytecode
    sys.dont_write_bytecode = False  # our own modules are kept compiled: 40 ms of each start
    from _mcp_pdb_debuggee import agent, preload, run_target, wire

    debugger = agent.Agent(wire.Channel(wire.open_socket(sys.argv[1])))
    sys.dont_write_bytecode = program_writes_none
    debugger.start()
    preload.preload(*sys.argv[2:])
    spec = debugger.wait_for_begin()
    sys.exit(run_target.run(spec, debugger))


if __name__ == "__main__":
    main()
