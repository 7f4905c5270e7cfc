"""This project's server, on either engine, over the same raw client as everybody."""

import re
from collections.abc import Sequence

from bench.peers.adapter import ROOT, Debugger, Place, Program, missing_file

COMMAND = ROOT / ".venv" / "bin" / "mcp-pdb"


class Ours(Debugger):
    """``engine`` is pdb here; see OursOnDebugpy."""

    name = "this project, pdb engine"
    version = "this commit"
    engine = "pdb"

    location_pattern = re.compile(r"^[^\n|]*?: (?:\S*/)?(\w+\.py):(\d+) in ", re.MULTILINE)

    def __init__(self, program: Program, *options: str) -> None:
        self._options = options
        super().__init__(program)

    @classmethod
    def missing(cls) -> str | None:
        return missing_file(COMMAND)

    def command(self) -> Sequence[str]:
        return [str(COMMAND), "serve", "--stdio", "--python", str(self.program.interpreter), *self._options]

    def start(self, places: Sequence[Place]) -> str:
        arguments = self.start_arguments(places)
        return self.call("start_debugger", arguments)

    def start_arguments(self, places: Sequence[Place]) -> dict[str, object]:
        """What ``start_debugger`` is called with."""
        program = self.program
        return {
            "target": program.target,
            "args": list(program.arguments),
            "engine": self.engine,
            "python": str(program.interpreter),
            "cwd": str(program.project),
            "breakpoints": [f"{place.file}:{place.line}" for place in places],
            "run": True,
        }

    def resume(self) -> str:
        return self.call("continue_execution", {})

    def step_over(self) -> str:
        return self.call("step_over", {})

    def step_into(self) -> str:
        return self.call("step_into", {})

    def local_names(self) -> str:
        return self.call("examine_locals", {})

    def evaluate(self, expression: str) -> str:
        return self.call("run_expression", {"code": expression})

    def show(self, name: str) -> str:
        return self.call("print_variable", {"path": name})

    def stack(self) -> str:
        return self.call("where_am_i", {})

    def end(self) -> str:
        return self.call("stop_debugger", {})


class OursCold(Ours):
    """Every program is started only when it is asked for; the name stays, since the rest is the same."""

    def __init__(self, program: Program, *options: str) -> None:
        super().__init__(program, "--no-standby", *options)


class OursOnDebugpy(Ours):
    """The second engine."""

    name = "this project, debugpy engine"
    engine = "debugpy"
