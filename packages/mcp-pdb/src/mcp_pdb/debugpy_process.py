"""One process under pydevd: the debuggee itself, or a child that it started."""

import secrets
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import anyio
import anyio.abc

from mcp_pdb.dap_client import DapClient, DapError, GoneError
from mcp_pdb.errors import BreakpointError, DebuggerError, EngineError, InspectionError, StateError
from mcp_pdb.records import ResumeKind

_OWN_REQUEST = "mcpPdb"
_BREAKPOINT_OPERATIONS = frozenset({"set_breakpoint", "remove_breakpoint"})
_CLIENT = {"adapterID": "debugpy", "clientID": "mcp-pdb", "pathFormat": "path"}
_LOAD_AGENT = f"""
import sys as _sys, types as _types
if "_mcp_pdb_debuggee" not in _sys.modules:
    _package = _types.ModuleType("_mcp_pdb_debuggee")
    _package.__path__ = [{str(Path(__file__).parent / "debuggee")!r}]
    _sys.modules["_mcp_pdb_debuggee"] = _package
import _mcp_pdb_debuggee.pydevd_agent as _agent
_agent.prepare(None)
"""
_ATTACH_OPTIONS: dict[str, Any] = {
    "justMyCode": True,
    "showReturnValue": False,
    "stopAllThreadsOnSuspend": True,
    "steppingResumesAllThreads": True,
    "resolveSymlinks": True,
    "redirectOutput": False,
    "breakOnSystemExit": [],
}

Fields = dict[str, Any]
EventHandler = Callable[["DebugpyProcess", str, dict[str, Any]], None]


class DebugpyProcess:
    """A DAP session with one process, and our own request in it."""

    def __init__(self, stream: anyio.abc.ByteStream, on_event: EventHandler) -> None:
        self.client = DapClient(stream, self._on_event)
        self._on_event_ = on_event
        self.hello: dict[str, Any] = {}
        self._can_configure = anyio.Event()
        self._refusal = ""

    def _on_event(self, name: str, body: dict[str, Any]) -> None:
        if name == "initialized":
            self._can_configure.set()
        self._on_event_(self, name, body)

    @property
    def pid(self) -> int:
        """The process's id, 0 before it has said so."""
        return int(self.hello.get("pid", 0))

    async def configure(self, *, token: str, cwd: str, root: str) -> None:
        """The whole of DAP's start, sent at once, of the process that we launched.

        Raises EngineError when the process vanishes meanwhile.
        """
        client = self.client
        numbers = [
            await client.send("pydevdAuthorize", {"debugServerAccessToken": token}),
            await client.send("initialize", _CLIENT),
            await client.send("attach", _ATTACH_OPTIONS),
            await client.send("configurationDone"),
        ]
        for number in numbers:
            await client.response(number)
        self.hello = await self.ask("hello", cwd=cwd, root=root)

    async def adopt(self, *, token: str, cwd: str, root: str, breakpoints: Mapping[int, Fields]) -> None:
        """Configure a child that has connected, with the breakpoints of its parent.

        Raises EngineError when it is not one of ours, or vanishes.
        """
        client = self.client
        answer = await client.request("pydevdAuthorize", {"debugServerAccessToken": token})
        if not secrets.compare_digest(str(answer.get("clientAccessToken")), token):
            raise EngineError("a process that is not a child of the program has connected")
        await client.request("initialize", _CLIENT)
        await client.request("attach", _ATTACH_OPTIONS)
        await self.load_agent()
        self.hello = await self.ask("hello", cwd=cwd, root=root)
        await self._set_all(breakpoints)
        await client.request("configurationDone")

    async def attach(
        self, arguments: dict[str, Any], *, cwd: str, root: str, breakpoints: Mapping[int, Fields]
    ) -> None:
        """Configure a running process through an adapter. Raises EngineError when it cannot."""
        client = self.client
        await client.request("initialize", _CLIENT)
        number = await client.send("attach", _ATTACH_OPTIONS | {"redirectOutput": True} | arguments)
        async with anyio.create_task_group() as group:
            group.start_soon(self._watch_refusal, number, group.cancel_scope)
            await self._can_configure.wait()
            await self.load_agent()
            self.hello = await self.ask("hello", cwd=cwd, root=root)
            await self._set_all(breakpoints)
            await client.request("configurationDone")
            group.cancel_scope.cancel()
        if not self.hello:
            raise EngineError(self._refusal or "the adapter did not attach")

    async def _watch_refusal(self, number: int, scope: anyio.CancelScope) -> None:
        try:
            await self.client.response(number)
        except DebuggerError as error:
            self._refusal = str(error)
            scope.cancel()

    async def _set_all(self, breakpoints: Mapping[int, Fields]) -> None:
        for number, fields in breakpoints.items():
            with suppress(BreakpointError):
                await self.ask("set_breakpoint", spec=fields, number=number)

    async def load_agent(self) -> None:
        """Have the process load our side of the debuggee, by path, where it has not been launched by us."""
        await self.client.request("evaluate", {"expression": _LOAD_AGENT, "context": "repl"})

    async def ask(self, operation: str, **arguments: Any) -> dict[str, Any]:
        """Our own request. Raises what the debuggee refused, as a DebuggerError."""
        try:
            answer = await self.client.request(_OWN_REQUEST, {"op": operation, **arguments})
        except DapError as error:
            raise _error(operation, "internal", str(error)) from None
        if "refusal" in answer:
            raise _error(operation, answer["refusal"]["kind"], answer["refusal"]["message"])
        return answer

    async def move(self, kind: ResumeKind, until: tuple[str, int] | None, *, all_code: bool) -> None:
        """Let the stopped thread move and all others run."""
        arguments: dict[str, Any] = {"kind": kind, "all_code": all_code}
        if until is not None:
            arguments |= {"file": until[0], "line": until[1]}
        with suppress(GoneError):  # it ran to its end before it could answer
            await self.ask("move", **arguments)

    async def begin(self, spec: dict[str, Any]) -> None:
        """Let the program run."""
        with suppress(GoneError):  # likewise
            await self.ask("begin", spec=spec)


def _error(operation: str, kind: str, text: str) -> DebuggerError:
    match kind:
        case "refused" if operation in _BREAKPOINT_OPERATIONS:
            return BreakpointError(text)
        case "refused" | "stuck":
            return InspectionError(text)
        case "running":
            return StateError(text)
        case _:
            return EngineError(f"The debugger failed inside the program ({text}); the session goes on.")
