"""Calls in both directions over one wire, each thread with a partner thread at the other side.

Stand-alone: standard library only, Python 3.10 and later; both sides load it.

A thread that calls has a *conversation*: its calls, and the calls that come
back while it waits, are answered by one and the same thread at the other side.
So locks, barriers and thread-local state behave as if there were no boundary.
A frame is ``[conversation, kind, number, payload]`` with kind open (whose
payload names the thread), call, reply or end; a side opens conversations of its
own parity only.
"""

import queue
import threading
from collections.abc import Callable
from typing import Any, NoReturn

from pdb_agent.grading.boundary_wire import Wire, WireError

MAIN_CONVERSATION = 0
_CONVERSATION_LIMIT = 24
"""Threads of the other side that are served at once; a sandbox has room for 64 of all kinds."""
UNSAYABLE = {"unsayable": True}
"""The answer that stands for one too large to send."""
_OPEN, _CALL, _REPLY, _END = "open", "call", "reply", "end"


class LineDownError(Exception):
    """The other side is gone, silent for too long, or has broken the protocol."""


class _Conversation:
    """One thread's talk; dropping the last reference to it ends the partner thread."""

    def __init__(self, line: "Line", number: int, *, is_ours: bool) -> None:
        self.number = number
        self.inbox: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self.calls = 0
        self._line = line
        self._is_ours = is_ours

    def __del__(self) -> None:
        if self._is_ours:
            self._line.end(self.number)


class Line:
    """One side's end. ``handle`` answers a call's payload and never raises."""

    def __init__(self, wire: Wire, *, opens_even: bool, handle: Callable[[Any], Any]) -> None:
        self.fault: str | None = None
        """Why the line is down: gone, silent, or broken; None while it is up."""
        self._wire = wire
        self._parity = 0 if opens_even else 1
        self._handle = handle
        self._next = MAIN_CONVERSATION if opens_even else 1
        self._own = threading.local()
        self._lock = threading.Lock()
        self._inboxes: dict[int, queue.SimpleQueue[Any]] = {}
        self._main = None if opens_even else self._partner(MAIN_CONVERSATION)
        self._reader = threading.Thread(target=self._read, daemon=True)

    def start(self) -> None:
        """Begin to read; the side that opens odd conversations then calls ``serve_main``."""
        self._reader.start()

    def call(self, payload: Any, timeout_seconds: float | None) -> Any:
        """Call and wait; calls that come back meanwhile are answered by this thread.

        Raises LineDownError; a silence of ``timeout_seconds`` takes the line down. Raises WireError
        when the payload cannot be sent, which leaves the line as it was.
        """
        conversation = self._conversation()
        conversation.calls += 1
        number = conversation.calls
        self._send([conversation.number, _CALL, number, payload])
        while True:
            kind, reply_number, answer = self._next_frame(conversation, timeout_seconds)
            if kind == _CALL:
                self._reply(conversation.number, reply_number, self._handle(answer))
            elif kind == _REPLY and reply_number == number:
                return answer
            else:
                self.take_down("broken")
                self._refuse()

    def serve_main(self) -> None:
        """Answer the other side's main thread until it ends or the line is down."""
        assert self._main is not None
        self._serve(self._main)

    def end(self, number: int) -> None:
        """Tell the other side that a thread here is over."""
        with self._lock:
            self._inboxes.pop(number, None)
        if self.fault is None:
            try:
                self._wire.send([number, _END, 0, None])
            except OSError:
                pass  # nobody is left to tell

    def take_down(self, fault: str) -> None:
        """End all conversations, for the first reason given."""
        with self._lock:
            self.fault = self.fault or fault
            inboxes = list(self._inboxes.values())
        for inbox in inboxes:
            inbox.put(None)

    def _refuse(self) -> NoReturn:
        raise LineDownError(f"The program's process is {self.fault}.")

    def _conversation(self) -> _Conversation:
        conversation: _Conversation | None = getattr(self._own, "conversation", None)
        if conversation is None:
            with self._lock:
                number = self._next
                self._next += 2
                conversation = _Conversation(self, number, is_ours=True)
                self._inboxes[number] = conversation.inbox
            self._own.conversation = conversation
            if number != MAIN_CONVERSATION:
                self._send([number, _OPEN, 0, threading.current_thread().name])
        return conversation

    def _partner(self, number: int) -> _Conversation:
        conversation = _Conversation(self, number, is_ours=False)
        with self._lock:
            self._inboxes[number] = conversation.inbox
        return conversation

    def _send(self, frame: list[Any]) -> None:
        if self.fault is not None:
            self._refuse()
        try:
            self._wire.send(frame)
        except OSError:
            self.take_down("gone")
            self._refuse()

    def _reply(self, conversation: int, number: int, answer: Any) -> None:
        try:
            self._send([conversation, _REPLY, number, answer])
        except WireError:
            self._send([conversation, _REPLY, number, UNSAYABLE])

    def _next_frame(self, conversation: _Conversation, timeout_seconds: float | None) -> tuple[str, int, Any]:
        try:
            frame = conversation.inbox.get(timeout=timeout_seconds)
        except queue.Empty:
            self.take_down("silent")
            frame = None
        if frame is None:
            self._refuse()
        return frame

    def _serve(self, conversation: _Conversation) -> None:
        self._own.conversation = conversation
        while True:
            frame = conversation.inbox.get()
            if frame is None or frame[0] == _END:
                break
            kind, number, payload = frame
            if kind != _CALL:
                self.take_down("broken")
                break
            try:
                self._reply(conversation.number, number, self._handle(payload))
            except LineDownError:
                break
            payload = frame = None
        with self._lock:
            self._inboxes.pop(conversation.number, None)

    def _read(self) -> None:
        try:
            while True:
                self._dispatch(self._wire.receive())
        except (EOFError, OSError):
            self.take_down("gone")
        except (WireError, RuntimeError):  # no frame, or more threads than the sandbox has room for
            self.take_down("broken")

    def _dispatch(self, frame: Any) -> None:
        match frame:
            case [int(conversation), "open", _, str(name)]:
                self._open(conversation, name)
            case [int(conversation), "call" | "reply" | "end" as kind, int(number), payload]:
                inbox = self._inboxes.get(conversation)
                if inbox is not None:
                    inbox.put((kind, number, payload))
                elif kind != _END:
                    raise WireError("no such conversation")
            case _:
                raise WireError("no such frame")

    def _open(self, number: int, name: str) -> None:
        is_theirs = number % 2 != self._parity and number not in self._inboxes
        if not is_theirs or len(self._inboxes) >= _CONVERSATION_LIMIT:
            raise WireError("no such conversation can be opened")
        partner = self._partner(number)
        threading.Thread(target=self._serve, args=(partner,), name=name, daemon=True).start()
