"""Every open session: opened, found by its owner, expired when idle, closed at the end.

Ids are unguessable and a session answers only to its owner; a wrong owner
hears the same as for an id that never existed.
"""

import secrets
from collections import OrderedDict
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import anyio
from anyio.abc import TaskGroup

from mcp_pdb.catalog import tools_of
from mcp_pdb.engines import BackendFactory, create_backend
from mcp_pdb.errors import DebuggerError, SessionError
from mcp_pdb.launcher import Launcher
from mcp_pdb.options import ServerOptions
from mcp_pdb.pdb_backend import launch_spec
from mcp_pdb.project_files import project_root
from mcp_pdb.session import Session, Workshop
from mcp_pdb.standby import StandbyLauncher
from mcp_pdb.targets import resolve_target

CLOSE_SECONDS = 10.0
REMEMBERED_ENDINGS = 64


class SessionStore:
    """The sessions of one server; lives in a task group that owns all their programs."""

    def __init__(self, options: ServerOptions, workshop: Workshop) -> None:
        self.options = options
        self._workshop = workshop
        self._sessions: dict[str, Session] = {}
        self._endings: OrderedDict[tuple[str, str], str] = OrderedDict()

    def open(self, owner: str) -> Session:
        """A new session without a program. Raises SessionError when there are too many."""
        if len(self._sessions) >= self.options.max_sessions:
            self._drop_oldest_finished()
        session = Session(f"dbg-{secrets.token_urlsafe(6)}", owner, self._workshop)
        self._sessions[session.id] = session
        return session

    def of_owner(self, owner: str) -> list[Session]:
        """The owner's sessions, oldest first."""
        return [session for session in self._sessions.values() if session.owner == owner]

    def find(self, owner: str, session_id: str | None) -> Session:
        """The session asked for, or the only one. Raises SessionError with what to do."""
        session = self._only(owner) if session_id is None else self._named(owner, session_id)
        session.last_used = anyio.current_time()
        return session

    async def close(self, session: Session, why: str) -> None:
        """End the session's program and forget the session; idempotent."""
        if self._sessions.pop(session.id, None) is None:
            return
        self._endings[session.owner, session.id] = why
        while len(self._endings) > REMEMBERED_ENDINGS:
            self._endings.popitem(last=False)
        await session.stop()

    async def close_all(self) -> None:
        """End every session at once."""
        async with anyio.create_task_group() as group:
            for session in list(self._sessions.values()):
                group.start_soon(self.close, session, "the server was stopped")

    async def sweep(self) -> None:
        """End sessions that nobody asked about for too long; runs until cancelled."""
        idle_seconds = self.options.idle_seconds
        while True:
            now = anyio.current_time()
            for session in list(self._sessions.values()):
                if session.is_waited_for:
                    session.last_used = now
                elif now - session.last_used >= idle_seconds:
                    await self.close(session, f"it was idle for {_minutes(idle_seconds)}")
            oldest = min((session.last_used for session in self._sessions.values()), default=now)
            await anyio.sleep(max(oldest + idle_seconds - anyio.current_time(), min(idle_seconds / 4, 5.0)))

    def _only(self, owner: str) -> Session:
        sessions = self.of_owner(owner)
        live = [session for session in sessions if not session.is_over]
        candidates = live or sessions
        match candidates:
            case []:
                raise SessionError("no debugging session is open; start_debugger opens one")
            case [session]:
                return session
            case _:
                listed = "; ".join(f"{session.id} ({session.state})" for session in candidates[:8])
                raise SessionError(f"{len(candidates)} sessions are open, pass session_id: {listed}")

    def _named(self, owner: str, session_id: str) -> Session:
        session = self._sessions.get(session_id)
        if session is not None and session.owner == owner:
            return session
        if (ending := self._endings.get((owner, session_id))) is not None:
            raise SessionError(f"session {session_id} is closed: {ending}; start_debugger opens another")
        mine = [session.id for session in self.of_owner(owner)]
        known = f"yours: {', '.join(mine[:8])}" if mine else "none is open; start_debugger opens one"
        raise SessionError(f"no session {session_id[:40]!r}; {known}")

    def _drop_oldest_finished(self) -> None:
        finished = [session for session in self._sessions.values() if session.is_over]
        if not finished:
            raise SessionError(
                f"{len(self._sessions)} sessions are open, which is the most this server allows; "
                "stop_debugger ends one"
            )
        oldest = min(finished, key=lambda session: session.last_used)
        self._workshop.tasks.start_soon(self.close, oldest, "it had ended and its place was needed")


@asynccontextmanager
async def open_store(
    options: ServerOptions, launcher: Launcher, make_backend: BackendFactory = create_backend
) -> AsyncGenerator[SessionStore]:
    """A store whose sessions all end with the block."""
    async with anyio.create_task_group() as tasks:
        tools = frozenset(spec.name for spec in tools_of(options.toolset))
        if options.standby:
            launcher = _with_standby(launcher, tasks, options)
        workshop = Workshop(tasks=tasks, launcher=launcher, make_backend=make_backend, tools=tools)
        store = SessionStore(options, workshop)
        tasks.start_soon(store.sweep)
        try:
            yield store
        finally:
            with anyio.move_on_after(CLOSE_SECONDS, shield=True):
                await store.close_all()
            tasks.cancel_scope.cancel()


def _with_standby(launcher: Launcher, tasks: TaskGroup, options: ServerOptions) -> Launcher:
    """The launcher with a debuggee ready for a test of the project the server was started in."""
    standby = StandbyLauncher(launcher, tasks)
    if options.engine == "pdb" and project_root(Path.cwd()) is not None:
        with suppress(DebuggerError):
            likely = resolve_target(
                "", args=("-q",), kind="pytest", python=options.python, roots=options.roots
            )
            standby.prepare(launch_spec(likely), after_seconds=0)
    return standby


def _minutes(seconds: float) -> str:
    return f"{seconds / 60:.0f} minutes" if seconds >= 120 else f"{seconds:.0f} s"
