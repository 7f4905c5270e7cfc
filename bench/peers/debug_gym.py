"""debug-gym 1.3.0's pdb tool: one free-text command over a pseudo-terminal, through its Python API."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from bench.peers.adapter import Debugger, Place, executable, missing_file

BRIDGE = Path(__file__).with_name("debug_gym_bridge.py")


class DebugGym(Debugger):
    """Works on a copy of the project that it makes itself."""

    name = "debug-gym pdb tool"
    version = "1.3.0"
    speaks_mcp = False
    note = "through its Python API: no MCP in its times; benchmark-only imports stood in for"

    _folder = Path()

    @classmethod
    def missing(cls) -> str | None:
        return missing_file(executable("debug-gym", "python"))

    def command(self) -> Sequence[str]:
        program = self.program
        entrypoint = "python -m pdb"
        if program.kind == "pytest":
            entrypoint += " -m pytest -q -s -p no:cacheprovider"
        entrypoint = " ".join([entrypoint, program.target, *program.arguments])
        return [str(executable("debug-gym", "python")), "-P", str(BRIDGE), str(program.project), entrypoint]

    @property
    def project(self) -> Path:
        return self._folder

    def environment(self) -> Mapping[str, str]:
        return {"PATH": f"{self.program.interpreter.parent}{os.pathsep}{os.environ['PATH']}"}

    def open(self) -> float:
        hello = self.client.start()
        self._folder = Path(hello["serverInfo"]["workingDirectory"])
        return self.client.start_seconds

    def start(self, places: Sequence[Place]) -> str:
        for place in places:
            self._pdb(f"b {self._folder / place.file}:{place.line}")
        return self.resume()

    def resume(self) -> str:
        return self._pdb("c")

    def step_over(self) -> str:
        return self._pdb("n")

    def step_into(self) -> str:
        return self._pdb("s")

    def local_names(self) -> str:
        return self._pdb("pp locals()")

    def evaluate(self, expression: str) -> str:
        return self._pdb(f"p {expression}")

    def stack(self) -> str:
        return self._pdb("w")

    def end(self) -> str:
        return ""

    def _pdb(self, command: str) -> str:
        return self.call("pdb", {"command": command})
