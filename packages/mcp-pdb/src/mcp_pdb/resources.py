"""Program output as MCP resources, for people who attach it to a conversation.

Each session of the owner is one resource, ``debugger:///SESSION/output``: the
newest output, within a limit. Tools need none of this; ``read_output`` pages.
"""

import re
from collections.abc import Sequence

import mcp_types as types
from mcp.shared.exceptions import MCPError

from mcp_pdb.errors import DebuggerError
from mcp_pdb.session import Session
from mcp_pdb.session_store import SessionStore

MIME_TYPE = "text/plain"
TEMPLATE = "debugger:///{session_id}/output"
_URI = re.compile(r"debugger:///([\w-]{1,64})/output")
_PAST_THE_END = 1 << 62


def list_outputs(sessions: Sequence[Session]) -> types.ListResourcesResult:
    """One resource for each session."""
    return types.ListResourcesResult(
        resources=[
            types.Resource(
                uri=TEMPLATE.format(session_id=session.id),
                name=f"output of {session.id}",
                description="What the program under debug has printed.",
                mime_type=MIME_TYPE,
            )
            for session in sessions
        ]
    )


def list_templates() -> types.ListResourceTemplatesResult:
    """How the addresses are made."""
    template = types.ResourceTemplate(
        uri_template=TEMPLATE,
        name="output",
        description="What the program of a debugging session has printed.",
        mime_type=MIME_TYPE,
    )
    return types.ListResourceTemplatesResult(resource_templates=[template])


def read_output(store: SessionStore, owner: str, uri: str, limit_chars: int) -> types.ReadResourceResult:
    """The newest ``limit_chars`` of a session's output. Raises MCPError when there is no such resource."""
    found = _URI.fullmatch(uri)
    if found is None:
        raise _missing(uri, f"no such resource; they are called {TEMPLATE}")
    try:
        session = store.find(owner, found[1])
        _, end, _ = session.read_output(_PAST_THE_END, 0)
        text, _, _ = session.read_output(max(end - limit_chars, 0), limit_chars)
    except DebuggerError as error:
        raise _missing(uri, str(error)) from None
    return types.ReadResourceResult(
        contents=[types.TextResourceContents(uri=uri, mime_type=MIME_TYPE, text=text)]
    )


def _missing(uri: str, message: str) -> MCPError:
    return MCPError(types.INVALID_PARAMS, message, {"uri": uri})
