"""Children of a debugged program: each connects by itself and becomes one more process to stop in."""

import logging
import secrets
from collections import Counter
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any

import anyio
import anyio.abc

from mcp_pdb.debugpy_process import DebugpyProcess, EventHandler, Fields
from mcp_pdb.errors import DebuggerError
from mcp_pdb.records import Target

logger = logging.getLogger(__name__)


class Children:
    """Accepts children over the loopback interface and keeps them supplied with breakpoints."""

    def __init__(self, target: Target, on_event: EventHandler) -> None:
        self.token = secrets.token_hex(16)
        self.port = 0
        self.living: list[DebugpyProcess] = []
        self.breakpoints: dict[int, Fields] = {}
        self._target = target
        self._on_event = on_event
        self._hits_of_the_dead: Counter[int] = Counter()

    async def serve(self, *, task_status: anyio.abc.TaskStatus[None]) -> None:
        """Listen until cancelled; ``port`` is known once started."""
        async with await anyio.create_tcp_listener(local_host="127.0.0.1") as listener:
            self.port = listener.extra(anyio.abc.SocketAttribute.local_port)
            task_status.started()
            await listener.serve(self._welcome)

    async def _welcome(self, stream: anyio.abc.SocketStream) -> None:
        child = DebugpyProcess(stream, self._on_child_event)
        await self._keep(
            child,
            partial(
                child.adopt,
                token=self.token,
                cwd=self._target.cwd,
                root=self._target.root or self._target.cwd,
                breakpoints=self.breakpoints,
            ),
        )

    async def fetch(self, address: dict[str, Any], arguments: dict[str, Any]) -> None:
        """Follow a child that the adapter of an attached process has announced."""
        try:
            stream = await anyio.connect_tcp(address["host"], address["port"])
        except OSError as error:
            logger.debug("the adapter cannot be reached for a child: %s", error)
            return
        child = DebugpyProcess(stream, self._on_child_event)
        await self._keep(
            child,
            partial(
                child.attach,
                arguments,
                cwd=self._target.cwd,
                root=self._target.root or self._target.cwd,
                breakpoints=self.breakpoints,
            ),
        )

    async def _keep(self, child: DebugpyProcess, configure: Callable[[], Awaitable[None]]) -> None:
        async with anyio.create_task_group() as group:
            group.start_soon(child.client.serve)
            try:
                await configure()
            except DebuggerError as error:
                logger.debug("a connection of a child ended early: %s", error)
                await child.client.aclose()
                return
            self.living.append(child)
            await child.client.closed.wait()
            self.living.remove(child)

    def _on_child_event(self, child: DebugpyProcess, name: str, body: dict[str, Any]) -> None:
        if name == "mcpPdbEnded":
            for verdict in body["verdicts"]:
                self._hits_of_the_dead[verdict["breakpoint"]["id"]] += verdict["hit_count"]
        self._on_event(child, name, body)

    async def set_breakpoint(self, number: int, fields: Fields) -> None:
        """Give a breakpoint of the parent to all children, present and to come."""
        self.breakpoints[number] = fields
        for child in tuple(self.living):
            await self._tell(child, "set_breakpoint", spec=fields, number=number)

    async def remove_breakpoint(self, number: int) -> None:
        """Take a breakpoint away from all children."""
        self.breakpoints.pop(number, None)
        for child in tuple(self.living):
            await self._tell(child, "remove_breakpoint", number=number)

    async def hits(self) -> Counter[int]:
        """How often each breakpoint was hit in children, those that have ended included."""
        hits = Counter(self._hits_of_the_dead)
        for child in tuple(self.living):
            answer = await self._tell(child, "breakpoints")
            for found in answer.get("breakpoints", ()):
                hits[found["id"]] += found["hit_count"]
        return hits

    @property
    def hits_of_the_dead(self) -> Counter[int]:
        """How often each breakpoint was hit in children that have ended."""
        return self._hits_of_the_dead

    async def _tell(self, child: DebugpyProcess, operation: str, **arguments: Any) -> dict[str, Any]:
        try:
            return await child.ask(operation, **arguments)
        except DebuggerError as error:
            logger.debug("child %d did not answer %s: %s", child.pid, operation, error)
            return {}
