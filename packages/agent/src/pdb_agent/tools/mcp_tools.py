"""Tools of an MCP server, as its client sees them: the debugger's, or any other's."""

from collections.abc import Collection, Mapping
from typing import Any, cast

from mcp.client.client import Client
from mcp.types import TextContent

from pdb_agent.messages import CallStatus, ToolSpec
from pdb_agent.tools.tool import ANSWER_CHARS, Answer, clip

MACHINE_FIELDS = "mcp-pdb"
"""Where the debugger's server puts what a program reads, in a result's metadata."""


class McpTool:
    """One tool of a server (meets ``pdb_agent.tools.tool.Tool``)."""

    def __init__(self, client: Client, name: str, spec: ToolSpec, limit_chars: int) -> None:
        self._client = client
        self._name = name
        self._spec = spec
        self._limit_chars = limit_chars

    @property
    def spec(self) -> ToolSpec:
        """As the server describes it."""
        return self._spec

    async def run(self, arguments: Mapping[str, Any]) -> Answer:
        """Call it; a refusal of the server is a failed call, and its machine fields are facts."""
        result = await self._client.call_tool(self._name, dict(arguments))
        text = "\n".join(block.text for block in result.content if isinstance(block, TextContent))
        return Answer(
            text=clip(text, self._limit_chars, way_on="ask for less"),
            status=CallStatus.FAILED if result.is_error else CallStatus.OK,
            facts=machine_fields(result.meta),
        )


async def mcp_tools(
    client: Client,
    *,
    limit_chars: int = ANSWER_CHARS,
    leave_out: Collection[str] = (),
    named: str = "{}",
) -> tuple[McpTool, ...]:
    """All tools of a server, in its order; ``named`` says what the model calls each."""
    listed = await client.list_tools()
    return tuple(
        McpTool(
            client,
            tool.name,
            ToolSpec(
                name=named.format(tool.name), description=tool.description or "", schema=tool.input_schema
            ),
            limit_chars,
        )
        for tool in listed.tools
        if tool.name not in leave_out
    )


def machine_fields(meta: Mapping[str, Any] | None) -> dict[str, Any]:
    """What the debugger's server tells programs beside the text of a result."""
    fields = (meta or {}).get(MACHINE_FIELDS)
    return dict(cast("Mapping[str, Any]", fields)) if isinstance(fields, dict) else {}
