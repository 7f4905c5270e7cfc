"""pdb-mcp 0.0.2: pdb on pipes, one free-text command tool."""

import os
from collections.abc import Mapping, Sequence

from bench.peers.adapter import Debugger, Place, executable, missing_file


class PdbMcp(Debugger):
    """Starts pytest with ``--trace``; everything else is a pdb command."""

    name = "pdb-mcp"
    version = "0.0.2"
    note = "pytest through --pdb --trace"

    @classmethod
    def missing(cls) -> str | None:
        return missing_file(executable("pdb-mcp", "pdb-mcp"))

    def command(self) -> Sequence[str]:
        return [str(executable("pdb-mcp", "pdb-mcp"))]

    def environment(self) -> Mapping[str, str]:
        return {"PYTEST_ADDOPTS": f"-p no:cacheprovider {os.environ.get('PYTEST_ADDOPTS', '')}".strip()}

    def start(self, places: Sequence[Place]) -> str:
        common = {
            "python_path": str(self.program.interpreter),
            "working_directory": str(self.program.project),
        }
        if self.program.kind == "pytest":
            self.call(
                "start_pytest_debug",
                {**common, "args": f"-q -s {self.program.target}", "stop_at_start": True},
            )
        else:
            arguments = " ".join(self.program.arguments)
            self.call("start_debug", {**common, "script_path": self.program.target, "args": arguments})
        for place in places:
            self._pdb(f"b {self.program.project / place.file}:{place.line}")
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
        return self._pdb("q")

    def _pdb(self, command: str) -> str:
        return self.call("execute_pdb_command", {"command": command})
