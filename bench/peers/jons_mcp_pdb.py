"""jons-mcp-pdb 0.1.0: pdb on pipes, its text parsed into JSON."""

import json
from collections.abc import Sequence

from bench.peers.adapter import Debugger, Place, executable, field_of


class JonsMcpPdb(Debugger):
    """Many sessions; values unbounded."""

    name = "jons-mcp-pdb"
    version = "0.1.0"
    note = "pytest through --trace; from a checkout, since no registry has it"
    in_registry = False

    @classmethod
    def missing(cls) -> str | None:
        if executable("jons-mcp-pdb", "jons-mcp-pdb").exists():
            return None
        return "no registry has it: `python -m bench.setup_peers --source jons-mcp-pdb=CHECKOUT` installs one"

    def command(self) -> Sequence[str]:
        config = {
            "python_path": str(self.program.interpreter),
            "pytest_args": ["-q", "-p", "no:cacheprovider"],
        }
        (self.program.project / "pdbconfig.json").write_text(json.dumps(config), encoding="utf-8")
        return [str(executable("jons-mcp-pdb", "jons-mcp-pdb"))]

    def start(self, places: Sequence[Place]) -> str:
        arguments = {
            "target": self.program.target,
            "mode": self.program.kind,
            "args": list(self.program.arguments),
        }
        self._session = field_of(self.call("mcp_start_debug", arguments), "session_id")
        for place in places:
            path = str(self.program.project / place.file)
            self._do("mcp_set_breakpoint", file=path, line=place.line)
        return self.resume()

    def resume(self) -> str:
        return self._do("mcp_continue_execution")

    def step_over(self) -> str:
        return self._do("mcp_next")

    def step_into(self) -> str:
        return self._do("mcp_step")

    def local_names(self) -> str:
        return self._do("mcp_list_variables")

    def evaluate(self, expression: str) -> str:
        return self._do("mcp_evaluate", expression=expression)

    def show(self, name: str) -> str:
        return self._do("mcp_inspect_variable", name=name)

    def stack(self) -> str:
        return self._do("mcp_where")

    def end(self) -> str:
        return self._do("mcp_stop_debug")

    def _do(self, tool: str, **arguments: object) -> str:
        return self.call(tool, {"session_id": self._session, **arguments})
