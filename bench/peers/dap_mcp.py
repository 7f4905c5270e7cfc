"""dap-mcp 0.1.5: an asyncio DAP client on debugpy's adapter; the program is fixed at server start."""

import json
import re
from collections.abc import Sequence

from bench.peers.adapter import Debugger, Place, executable, missing_file


class DapMcp(Debugger):
    """Every stop carries all variables and frames, so asking for them costs no call."""

    name = "dap-mcp"
    version = "0.1.5"
    note = "locals and stack are part of every stop"

    location_pattern = re.compile(r"path=\S*?(\w+\.py)\tline=(\d+)")

    _stop = ""

    @classmethod
    def missing(cls) -> str | None:
        return missing_file(executable("dap-mcp", "dap-mcp"))

    def command(self) -> Sequence[str]:
        server = executable("dap-mcp", "python")
        config: dict[str, object] = {
            "type": "debugpy",
            "debuggerPath": str(server),
            "debuggerArgs": ["-m", "debugpy.adapter"],
            "sourceDirs": [str(self.program.project)],
            "python": [str(self.program.interpreter)],
            "cwd": str(self.program.project),
        }
        if self.program.kind == "pytest":
            config |= {"module": "pytest", "args": ["-q", "-p", "no:cacheprovider", self.program.target]}
        else:
            program = str(self.program.project / self.program.target)
            config |= {"program": program, "args": list(self.program.arguments)}
        path = self.program.project / "dap_config.json"
        path.write_text(json.dumps(config), encoding="utf-8")
        return [str(executable("dap-mcp", "dap-mcp")), "--config", str(path)]

    def start(self, places: Sequence[Place]) -> str:
        for place in places:
            path = str(self.program.project / place.file)
            self.call("set_breakpoint", {"path": path, "line": place.line})
        return self._stopping("launch")

    def resume(self) -> str:
        return self._stopping("continue_execution")

    def step_over(self) -> str:
        return self._stopping("next")

    def step_into(self) -> str:
        return self._stopping("step_in")

    def local_names(self) -> str:
        return self._stop

    def evaluate(self, expression: str) -> str:
        return self.call("evaluate", {"expression": expression})

    def stack(self) -> str:
        return self._stop

    def end(self) -> str:
        return self.call("terminate", {})

    def _stopping(self, tool: str) -> str:
        self._stop = self.call(tool, {})
        return self._stop
