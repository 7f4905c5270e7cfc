"""MCP over standard input and output where an event loop cannot watch them: the SDK's transport.

Windows is served so. There Ctrl-C ends the server as it ends any Python, and the end
of the process, however it comes, ends every program (see ``windows_launcher``).
"""

import sys
from typing import Any

import anyio
from mcp.server.lowlevel.server import Server
from mcp.server.stdio import stdio_server
from mcp.shared._stream_protocols import ReadStream, WriteStream
from mcp.shared.message import SessionMessage

from mcp_pdb.stdio import serve_pipes


async def serve_stdio(server: Server[Any]) -> int:
    """Serve one client until it leaves; the exit status."""
    sys.stdout = sys.__stdout__  # by this name the SDK finds the protocol, and then keeps prints away
    async with stdio_server() as (incoming, outgoing), outgoing, server.lifespan(server) as state:
        await serve_pipes(server, ThreadedPipes(incoming, outgoing), state)
    return 0


class ThreadedPipes:
    """Whole messages in and out, by way of the SDK's streams (meets ``mcp_pdb.stdio.MessagePipes``)."""

    def __init__(
        self, incoming: ReadStream[SessionMessage | Exception], outgoing: WriteStream[SessionMessage]
    ) -> None:
        self._incoming = incoming
        self._outgoing = outgoing
        self._unread: list[SessionMessage] = []

    def unread(self, message: SessionMessage) -> None:
        """Deliver ``message`` again to whoever receives next."""
        self._unread.append(message)

    async def receive(self) -> SessionMessage | Exception:
        """The next message, or what was wrong with it. Raises EndOfStream."""
        if self._unread:
            return self._unread.pop()
        return await self._incoming.receive()

    async def send(self, item: SessionMessage) -> None:
        """Write one message. Raises BrokenResourceError when the client is gone."""
        try:
            await self._outgoing.send(item)
        except anyio.ClosedResourceError:
            raise anyio.BrokenResourceError from None
