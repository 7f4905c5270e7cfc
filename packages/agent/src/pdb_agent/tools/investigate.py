"""One call to the debugger: where to stop and what to look at in, a table of values out."""

import anyio
from mcp.client.client import Client
from mcp.types import CallToolResult, TextContent
from pydantic import Field

from pdb_agent.messages import CallStatus
from pdb_agent.tools.mcp_tools import machine_fields
from pdb_agent.tools.tool import Answer, Arguments, CheckedTool, clip

STOP_LIMIT = 30
END_SECONDS = 10.0
_VALUE_CHARS = 200
_STOP = "stop "


class InvestigateArguments(Arguments):
    """A run of one test, and what to see of it."""

    target: str = Field(description="tests/test_x.py::test_y")
    breakpoints: list[str] = Field(
        min_length=1, max_length=8, description="file.py:62 | module.Class.method | file.py~piece of the line"
    )
    expressions: list[str] = Field(
        min_length=1, max_length=8, description="evaluated at every stop, in the frame that stops"
    )
    condition: str | None = Field(default=None, description="stop only where this is true")
    stops: int = Field(default=8, ge=1, le=STOP_LIMIT, description="look at this many stops at most")


def investigate_tool(client: Client) -> CheckedTool[InvestigateArguments]:
    """The tool, over a client of the debugger's server."""

    async def investigate(arguments: InvestigateArguments) -> Answer:
        return await _Investigation(client).run(arguments)

    description = (
        "Run a test under the debugger, stop at breakpoints, evaluate expressions at each stop: "
        "a table of values."
    )
    return CheckedTool("investigate", description, InvestigateArguments, investigate)


class _Investigation:
    """One session from its start to its end."""

    def __init__(self, client: Client) -> None:
        self._client = client

    async def run(self, arguments: InvestigateArguments) -> Answer:
        started = await self._call("start_debugger", target=arguments.target, on_failure="continue")
        if started.is_error:
            return Answer(text=_text(started), status=CallStatus.FAILED)
        rows: list[str] = []
        try:
            for place in arguments.breakpoints:
                condition = {"condition": arguments.condition} if arguments.condition else {}
                answer = await self._call("add_breakpoint", at=place, **condition)
                said = [line for line in _text(answer).splitlines() if not line.startswith("next:")]
                if answer.is_error or len(said) > 1:  # refused, or moved to another line
                    rows += said
            last = await self._stops(arguments, rows)
        finally:
            with anyio.move_on_after(END_SECONDS, shield=True):  # also when there is no time left for it
                await self._call("stop_debugger")
        stops = sum(row.startswith(_STOP) for row in rows)
        facts = {**machine_fields(last.meta), "stops": stops}
        return Answer(text=clip("\n".join([*rows, _text(last)]), way_on="ask for fewer stops"), facts=facts)

    async def _stops(self, arguments: InvestigateArguments, rows: list[str]) -> CallToolResult:
        answer = await self._call("continue_execution")
        for number in range(1, arguments.stops + 1):
            fields = machine_fields(answer.meta)
            if fields.get("reason") != "breakpoint":
                return answer
            place = fields["location"]
            rows.append(f"{_STOP}{number}: line {place['line']} in {place['function']}")
            for expression in arguments.expressions:
                value = await self._call("run_expression", code=expression)
                rows.append(f"  {expression} = {clip(_text(value), _VALUE_CHARS)}")
            if number < arguments.stops:
                answer = await self._call("continue_execution")
        return answer

    async def _call(self, tool: str, **arguments: object) -> CallToolResult:
        return await self._client.call_tool(tool, arguments)


def _text(result: CallToolResult) -> str:
    return "\n".join(block.text for block in result.content if isinstance(block, TextContent))
