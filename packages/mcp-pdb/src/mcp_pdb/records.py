"""The frozen records that travel between engine, session and renderer.

Values of the debuggee are already text here: they are summarised inside the
debuggee, within a budget, and never travel as live objects. Lines count from
1, frames from the innermost, 0; times are in seconds; sizes in characters.
"""

from dataclasses import dataclass, field
from typing import Literal

EngineName = Literal["pdb", "debugpy"]
TargetKind = Literal["pytest", "unittest", "script", "module", "code", "attach"]
StopReason = Literal[
    "entry", "breakpoint", "step", "pause", "exception", "post_mortem", "watch", "breakpoint_call"
]
ResumeKind = Literal["continue", "over", "into", "out", "until"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Location:
    """A place in source code. ``file`` is absolute, or a synthetic name such as ``<code>``."""

    file: str
    line: int
    function: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceLine:
    """One numbered line of source."""

    line: int
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Frame:
    """One frame of a stack; ``index`` 0 is the innermost *visible* one."""

    index: int
    location: Location
    source: str
    is_user: bool = True
    repeated: int = 1
    """How many consecutive frames of the same place this one stands for (recursion)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ThreadStack:
    """One thread (or asyncio task) and where it is."""

    ident: int
    name: str
    kind: Literal["thread", "task"] = "thread"
    frames: tuple[Frame, ...]
    waits_on: str | None = None
    """What it is blocked on, in words, where that is known."""
    is_current: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """A visible name whose value differs from the last stop in this frame.

    ``old`` is None for a new name, ``new`` is None for one that is gone.
    """

    name: str
    old: str | None
    new: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class RaisedException:
    """An exception as shown to the model; ``chain`` holds causes and group members in words."""

    type: str
    message: str
    origin: Location | None = None
    chain: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Breakpoint:
    """A breakpoint as it is bound now."""

    id: int
    at: str
    """What was asked for."""
    file: str
    line: int
    function: str
    text: str
    """The source line it is bound to, stripped."""
    pending: bool = False
    """True while its file has not been imported."""
    moved: str | None = None
    """Why it is not on the line asked for, in words; None when it is."""
    condition: str | None = None
    hits: str | None = None
    log: tuple[str, ...] = ()
    once: bool = False
    hit_count: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class BreakpointSpec:
    """What ``add_breakpoint`` asks for; ``at`` is as the caller wrote it."""

    at: str
    condition: str | None = None
    hits: str | None = None
    log: tuple[str, ...] = ()
    once: bool = False
    occurrence: int | None = None
    entry: bool = False
    """Internal: a silent one-shot that makes the first stop."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BreakpointVerdict:
    """Why a breakpoint did or did not fire, known when the program has ended."""

    breakpoint: Breakpoint
    hit_count: int
    explanation: str | None
    """None when it fired; else one sentence."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LogRecord:
    """What one log point wrote."""

    breakpoint_id: int
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Stopped:
    """The debuggee stands still."""

    reason: StopReason
    thread: str
    thread_ident: int
    location: Location
    source: tuple[SourceLine, ...]
    """The line with up to two lines either side."""
    called_from: Location | None = None
    depth: int = 0
    """Number of visible frames."""
    changes: tuple[Change, ...] = ()
    changes_omitted: int = 0
    returned: str | None = None
    """``name() -> value`` when a call has just returned."""
    exception: RaisedException | None = None
    breakpoint_ids: tuple[int, ...] = ()
    condition_error: str | None = None
    can_step: bool = True
    notes: tuple[str, ...] = ()
    logs: tuple[LogRecord, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Exited:
    """The debuggee has ended."""

    code: int | None
    """Exit status; None when a signal ended it."""
    signal: str | None = None
    summary: tuple[str, ...] = ()
    """What the runner reported: test counts, collection errors, a SyntaxError's place."""
    verdicts: tuple[BreakpointVerdict, ...] = ()
    logs: tuple[LogRecord, ...] = ()


Outcome = Stopped | Exited


@dataclass(frozen=True, slots=True, kw_only=True)
class Variable:
    """One name or child with its summary; ``path`` is what print_variable takes to open it."""

    name: str
    value: str
    type: str
    path: str
    same_as: str | None = None
    """An earlier visible name bound to the same object."""


@dataclass(frozen=True, slots=True, kw_only=True)
class VariablePage:
    """A page of names or children."""

    heading: str
    """For a value: its own summary; for locals: empty."""
    variables: tuple[Variable, ...]
    hidden: int = 0
    """Names left out by the default filter."""
    total: int = 0
    next_cursor: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Evaluation:
    """What an expression or statement gave. ``value`` is None for a statement."""

    value: str | None
    type: str | None = None
    changes: tuple[Change, ...] = ()
    error: str | None = None
    """``TypeName: message`` with help appended; None on success."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TraceTable:
    """One row per hit: ``rows[i][j]`` is expression j at hit i."""

    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    hits: int
    finished: Literal["max_hits", "exited", "stopped", "timeout"]


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineFacts:
    """What is being debugged with what; the start answer says it."""

    engine: EngineName
    interpreter: str
    python_version: str
    pid: int
    can: frozenset[str] = field(default_factory=frozenset[str])
    """Optional abilities: attach, follow_children, send_input, watch, set_next_line."""
    notes: tuple[str, ...] = ()
    """What was switched off or substituted, one sentence each."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """A target, resolved and checked on the server's side."""

    kind: TargetKind
    target: str
    """pytest: node ids separated by newlines; script: absolute path; module: dotted name."""
    args: tuple[str, ...] = ()
    interpreter: str = ""
    interpreter_source: str = ""
    """Where the interpreter was found: ``--python``, ``.venv of the project`` ..."""
    cwd: str = ""
    root: str = ""
    """The project's root: nearest parent with pyproject.toml, setup.cfg, pytest.ini or .git."""
    environment: tuple[tuple[str, str], ...] = ()
    """Additions to the server's own environment."""
    on_failure: Literal["stop", "continue"] = "stop"
    all_code: bool = False
