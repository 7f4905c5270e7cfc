"""The tools of one episode with all that they need, opened and closed together."""

import time
from collections.abc import AsyncGenerator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass

import anyio
from mcp.client.client import Client
from mcp.shared.exceptions import MCPError

from pdb_agent.errors import TaskError
from pdb_agent.messages import Call, CallStatus, ToolResult, ToolSpec
from pdb_agent.sandbox import Backend, Sandbox, SandboxSpec
from pdb_agent.sandboxes.debugging import open_debugger_in
from pdb_agent.sandboxes.opening import open_sandbox
from pdb_agent.task import Task
from pdb_agent.tools.coding import coding_tools
from pdb_agent.tools.files import Files
from pdb_agent.tools.investigate import investigate_tool
from pdb_agent.tools.mcp_servers import McpServer
from pdb_agent.tools.mcp_tools import mcp_tools
from pdb_agent.tools.menu import Menu, menu_tools
from pdb_agent.tools.shell import Shell
from pdb_agent.tools.tool import Answer, Tool, result_of
from pdb_agent.tools.visible_tests import VisibleTests, done_tool
from pdb_agent.tools.workspace import FileChange, Workspace
from pdb_agent.toolsets import Toolset, ToolsetName

CALL_SECONDS = 180.0
"""No tool takes longer; each has deadlines of its own below this."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CallOutcome:
    """A call's result and what it changed."""

    result: ToolResult
    changes: tuple[FileChange, ...]
    unlocked: tuple[ToolSpec, ...]
    """Tools that there are since this call."""
    ends: bool


class Toolbox:
    """What a model can call at the moment."""

    def __init__(
        self,
        workspace: Workspace,
        tools: Sequence[Tool],
        debugger: Sequence[Tool],
        toolset: Toolset,
        *,
        call_seconds: float = CALL_SECONDS,
    ) -> None:
        self.workspace = workspace
        self._call_seconds = call_seconds
        self._tools = {tool.spec.name: tool for tool in tools}
        self._debugger = {tool.spec.name: tool for tool in debugger}
        self._toolset = toolset
        self._edits = 0

    @property
    def sandbox(self) -> Sandbox:
        """Where it all happens."""
        return self.workspace.sandbox

    @property
    def debugger_tools(self) -> frozenset[str]:
        """Names of the debugger's tools, those that are not unlocked yet included."""
        return frozenset(self._debugger)

    @property
    def specs(self) -> tuple[ToolSpec, ...]:
        """Of the tools that are there now."""
        return tuple(tool.spec for tool in self._present().values())

    @property
    def all_specs(self) -> tuple[ToolSpec, ...]:
        """Of all tools, those that are not unlocked yet included."""
        return tuple(tool.spec for tool in (*self._tools.values(), *self._debugger.values()))

    async def call(self, call: Call) -> CallOutcome:
        """Answer one call. Raises SandboxEndedError."""
        began = time.monotonic()
        try:
            with anyio.fail_after(self._call_seconds):
                answer = await self._answer(call)
        except TimeoutError:
            answer = Answer(
                text=f"{call.name} did not answer within {self._call_seconds:g} s: try something smaller.",
                status=CallStatus.TIMED_OUT,
            )
        changes = await self.workspace.changes()
        before = self._present()
        self._edits += any(change.is_editable for change in changes)
        return CallOutcome(
            result=result_of(call, answer, time.monotonic() - began),
            changes=changes,
            unlocked=tuple(tool.spec for name, tool in self._present().items() if name not in before),
            ends=answer.ends,
        )

    async def _answer(self, call: Call) -> Answer:
        if call.error is not None or call.arguments is None:
            text = call.error or f"The arguments of {call.name} do not parse: give a JSON object."
            return Answer(text=text, status=CallStatus.MALFORMED)
        present = self._present()
        tool = present.get(call.name)
        if tool is None:
            return Answer(
                text=f"There is no tool {call.name}: there are {', '.join(present)}.",
                status=CallStatus.MALFORMED,
            )
        try:
            return await tool.run(call.arguments)
        except MCPError as error:
            return Answer(text=f"{call.name} could not be answered: {error}", status=CallStatus.FAILED)

    def _present(self) -> dict[str, Tool]:
        is_locked = self._edits < self._toolset.unlock_after_edits
        if self._toolset.name is ToolsetName.UNLOCK_AFTER_EDITS and is_locked:
            return self._tools
        return self._tools | self._debugger


@asynccontextmanager
async def open_toolbox(
    task: Task,
    toolset: Toolset,
    *,
    spec: SandboxSpec,
    backend: Backend | None = None,
    menu: Menu | None = None,
    servers: Sequence[McpServer] = (),
) -> AsyncGenerator[Toolbox]:
    """A fresh sandbox of ``spec``, which has the task's workspace, and its tools; some need ``menu``.

    Tools of further ``servers`` bear their server's name in front.

    Raises SandboxError, and TaskError for a toolset that does not suit the task.
    """
    async with AsyncExitStack() as stack:
        sandbox = await stack.enter_async_context(open_sandbox(spec, backend))
        workspace = Workspace(sandbox, task)
        debugger: list[Tool] = []
        if toolset.has_debugger:
            client = await stack.enter_async_context(open_debugger_in(sandbox))
            if toolset.name is ToolsetName.COMPOUND:
                debugger.append(investigate_tool(client))
            else:
                debugger += await mcp_tools(client)
        own = _own_tools(workspace, toolset, menu)
        for server in servers:
            own += await mcp_tools(
                await stack.enter_async_context(Client(server.target)), named=f"{server.name}__{{}}"
            )
        yield Toolbox(workspace, own, debugger, toolset)


def _own_tools(workspace: Workspace, toolset: Toolset, menu: Menu | None) -> list[Tool]:
    tests = VisibleTests(workspace)
    match toolset.name:
        case ToolsetName.CODING_TOOLS:
            return coding_tools(workspace)
        case ToolsetName.EDIT_MENU:
            if menu is None:
                raise TaskError(
                    f"{workspace.task.id} has no edit menu: use that toolset with tasks of the gym."
                )
            return menu_tools(workspace, tests, menu)
        case _:
            files = Files(workspace)
            return [
                Shell(workspace).tool(),
                files.read_tool(),
                files.edit_tool(),
                tests.run_tool(),
                done_tool(),
            ]
