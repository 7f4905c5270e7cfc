"""mcp-pdb 0.6.0 (another project of the same name): pdb on pipes, fixed waits."""

from collections.abc import Sequence

from bench.peers.adapter import Debugger, Place, executable, missing_file


class McpPdb06(Debugger):
    """One global session; its banners land in the protocol stream."""

    name = "mcp-pdb (0.6.0)"
    version = "0.6.0"
    note = "another project of the same name; pytest through --pdb --trace"

    @classmethod
    def missing(cls) -> str | None:
        return missing_file(executable("mcp-pdb", "mcp-pdb"))

    def command(self) -> Sequence[str]:
        link = self.program.project / ".venv"
        if not link.exists():
            link.symlink_to(self.program.interpreter.parent.parent)
        return [str(executable("mcp-pdb", "mcp-pdb"))]

    def start(self, places: Sequence[Place]) -> str:
        target = self.program.target
        if self.program.kind == "pytest":
            file, _, test = target.partition("::")
            arguments = f"--trace -q -p no:cacheprovider -k {test.rpartition('::')[2]}"
            self.call("start_debug", {"file_path": file, "use_pytest": True, "args": arguments})
        else:
            arguments = " ".join(self.program.arguments)
            self.call("start_debug", {"file_path": target, "args": arguments})
        for place in places:
            path = str(self.program.project / place.file)
            self.call("set_breakpoint", {"file_path": path, "line_number": place.line})
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
        return self.call("end_debug", {})

    def _pdb(self, command: str) -> str:
        return self.call("send_pdb_command", {"command": command})
