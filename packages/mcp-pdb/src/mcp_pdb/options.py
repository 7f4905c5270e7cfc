"""Everything a server can be told, with the only defaults. Pure: no I/O."""

from dataclasses import dataclass, field
from typing import Literal

from mcp_pdb.budget import Budgets
from mcp_pdb.records import EngineName

DEFAULT_TIMEOUT_SECONDS = 20.0
LONGEST_TIMEOUT_SECONDS = 50.0
"""Clients give up on a call after about 60 s, so no call waits longer than this."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerOptions:
    """How a server behaves."""

    toolset: Literal["default", "all"] = "default"
    engine: EngineName = "pdb"
    """Used when start_debugger names none."""
    python: str | None = None
    """Interpreter for targets; None finds the project's own."""
    roots: tuple[str, ...] = ()
    """Folders that targets and breakpoints must lie in; empty allows any."""
    max_sessions: int = 64
    idle_seconds: float = 1_800.0
    """A session that nobody asked about for this long is ended."""
    launch_seconds: float = 30.0
    """A debuggee that has not connected after this long has failed."""
    standby: bool = False
    """Keep one debuggee started ahead of time, so that tests stop sooner; the commands that serve do."""
    budgets: Budgets = field(default_factory=Budgets)


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpOptions:
    """How the HTTP transport is reached."""

    host: str = "127.0.0.1"
    port: int = 8765
    tokens: tuple[str, ...] = ()
    """Bearer tokens, each its own owner of sessions; may be empty on loopback only."""
    allowed_hosts: tuple[str, ...] = ()
    """Names accepted in Host and Origin besides loopback and literal addresses."""
    idle_seconds: float = 600.0
    """Shorter than on stdio: an HTTP client can leave without a word."""
