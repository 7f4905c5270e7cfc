"""A Debug Adapter Protocol client over any byte stream."""

import itertools
from collections.abc import Callable
from typing import Any

import anyio
import anyio.abc

from mcp_pdb.dap_codec import DapFormatError, Decoder, Message, encode
from mcp_pdb.errors import DebuggerError, EngineError


class DapError(DebuggerError):
    """A request was refused; the text is what the other side says about it."""


class GoneError(EngineError):
    """Nobody is there to answer."""

    def __init__(self) -> None:
        super().__init__(
            "The program has ended or its process vanished; stop_debugger, then start_debugger runs it again."
        )


class _Pending:
    def __init__(self) -> None:
        self.arrived = anyio.Event()
        self.response: Message | None = None


class DapClient:
    """Sends requests and hands events on, in order.

    ``serve`` must run in a task of the owner. A cancelled ``request`` only stops
    waiting. When the stream ends, waiting requests raise GoneError.
    """

    def __init__(self, stream: anyio.abc.ByteStream, on_event: Callable[[str, dict[str, Any]], None]) -> None:
        self._stream = stream
        self._on_event = on_event
        self._decoder = Decoder()
        self._numbers = itertools.count(1)
        self._pending: dict[int, _Pending] = {}
        self._send_lock = anyio.Lock()
        self._is_closing = False
        self.closed = anyio.Event()

    async def serve(self) -> None:
        """Read until the stream ends, then close it: pydevd waits for that at its end."""
        try:
            while True:
                for message in self._decoder.feed(await self._stream.receive()):
                    self._handle(message)
        except (anyio.EndOfStream, anyio.ClosedResourceError, anyio.BrokenResourceError, DapFormatError):
            pass
        finally:
            self.closed.set()
            for pending in self._pending.values():
                pending.arrived.set()
            with anyio.CancelScope(shield=True):
                await self.aclose()

    def _handle(self, message: Message) -> None:
        match message.get("type"):
            case "response":
                pending = self._pending.get(message.get("request_seq", -1))
                if pending is not None:
                    pending.response = message
                    pending.arrived.set()
            case "event":
                self._on_event(message.get("event", ""), message.get("body") or {})
            case _:
                pass

    async def request(self, command: str, arguments: dict[str, Any] | None = None) -> dict[str, Any]:
        """The response's body. Raises DapError when it is refused, GoneError when nobody is there."""
        number = await self.send(command, arguments)
        return await self.response(number)

    async def send(self, command: str, arguments: dict[str, Any] | None = None) -> int:
        """Send a request without waiting; the number is for ``response``."""
        number = next(self._numbers)
        message = {"seq": number, "type": "request", "command": command, "arguments": arguments or {}}
        self._pending[number] = _Pending()
        try:
            async with self._send_lock:
                with anyio.CancelScope(shield=True):
                    await self._stream.send(encode(message))
        except (anyio.BrokenResourceError, anyio.ClosedResourceError):
            del self._pending[number]
            raise GoneError from None
        return number

    async def response(self, number: int) -> dict[str, Any]:
        """The body of the response to request ``number``; raises like ``request``."""
        pending = self._pending[number]
        try:
            if not self.closed.is_set():
                await pending.arrived.wait()
        finally:
            del self._pending[number]
        response = pending.response
        if response is None:
            raise GoneError
        body: dict[str, Any] = response.get("body") or {}
        if not response.get("success"):
            raise DapError(response.get("message") or "refused")
        return body

    async def aclose(self) -> None:
        """Close the stream; ``serve`` ends. Idempotent."""
        if not self._is_closing:
            self._is_closing = True
            await self._stream.aclose()
