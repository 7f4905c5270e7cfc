"""The server's end of the channel to a debuggee: requests, their answers, events."""

from collections.abc import Awaitable, Callable
from typing import Any

import anyio
from anyio.abc import ByteStream

from mcp_pdb.debuggee import wire
from mcp_pdb.errors import (
    BreakpointError,
    DebuggerError,
    EngineError,
    InspectionError,
    StateError,
)

Message = dict[str, Any]
EventHandler = Callable[[Message], None]
_GONE = "The program has ended or its process vanished; stop_debugger, then start_debugger runs it again."
_BREAKPOINT_METHODS = frozenset({"set_breakpoint", "remove_breakpoint"})


class AgentChannel:
    """Requests by number over a byte stream; answers may come in any order.

    ``read`` runs in a task for as long as the debuggee lives. A request that is
    cancelled is forgotten: its late answer is dropped.
    """

    def __init__(self, stream: ByteStream, on_event: EventHandler) -> None:
        self._stream = stream
        self._on_event = on_event
        self._decoder = wire.Decoder()
        self._send_lock = anyio.Lock()
        self._next_id = 1
        self._answers: dict[int, Message] = {}
        self._waiting: dict[int, anyio.Event] = {}
        self.closed = anyio.Event()

    async def read(self, after_end: Callable[[], Awaitable[None]]) -> None:
        """Hand on answers and events until the debuggee closes its end."""
        try:
            while True:
                for message in self._decoder.feed(await self._stream.receive()):
                    self._dispatch(message)
        except (anyio.EndOfStream, anyio.ClosedResourceError, anyio.BrokenResourceError, ValueError):
            pass
        finally:
            self.closed.set()
            for event in self._waiting.values():
                event.set()
        await after_end()

    def _dispatch(self, message: Message) -> None:
        if "event" in message:
            self._on_event(message)
            return
        event = self._waiting.get(message["id"])
        if event is not None:
            self._answers[message["id"]] = message
            event.set()

    async def request(self, method: str, **params: Any) -> Any:
        """The result of a request. Raises what the debuggee refused, as a DebuggerError."""
        number = self._next_id
        self._next_id += 1
        answered = self._waiting[number] = anyio.Event()
        try:
            await self._send({"id": number, "method": method, "params": params})
            if self.closed.is_set():
                answered.set()
            await answered.wait()
            answer = self._answers.pop(number, None)
        finally:
            del self._waiting[number]
            self._answers.pop(number, None)
        if answer is None:
            raise StateError(_GONE)
        if "error" in answer:
            raise _error(method, answer["error"])
        return answer["result"]

    async def _send(self, message: Message) -> None:
        try:
            with anyio.CancelScope(shield=True):
                async with self._send_lock:
                    await self._stream.send(wire.encode(message))
        except (anyio.BrokenResourceError, anyio.ClosedResourceError):
            raise StateError(_GONE) from None


def _error(method: str, error: Message) -> DebuggerError:
    text = str(error["message"])
    match error["kind"]:
        case "refused" if method in _BREAKPOINT_METHODS:
            return BreakpointError(text)
        case "refused" | "stuck":
            return InspectionError(text)
        case "running":
            return StateError(text)
        case _:
            return EngineError(f"The debugger failed inside the program ({text}); the session goes on.")
