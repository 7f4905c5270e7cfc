"""What a page shows of an episode, moment by moment: plain values, ready to become JSON."""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """A line of a program."""

    path: str
    """Relative to the workspace where it lies there, otherwise as the debugger named it."""
    line: int
    function: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Breakpoint:
    """A breakpoint as it is bound."""

    number: int
    path: str
    line: int
    condition: str = ""
    note: str = ""
    """That it was moved, or why it never fired."""
    is_hit: bool = False
    """True while the program stands at it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Value:
    """A name and what it holds."""

    name: str
    value: str
    was: str = ""
    """Before the last step, when that changed it."""
    mark: str = ""
    """new or changed, by the last step."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """Something that the model asked to see at this stop."""

    expression: str
    value: str
    failed: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Debugging:
    """Where the program under the debugger stands, as far as the model has been told."""

    state: str = "none"
    """none, stopped, running or exited."""
    reason: str = ""
    where: Place | None = None
    notes: tuple[str, ...] = ()
    """What was raised or returned, or how the program ended."""
    breakpoints: tuple[Breakpoint, ...] = ()
    values: tuple[Value, ...] = ()
    looks: tuple[Look, ...] = ()
    stack: tuple[Place, ...] = ()
    """Innermost first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Focus:
    """Lines that a call is about."""

    first: int
    last: int
    kind: str
    """read or edit."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Diff:
    """A change of one file: its lines, each with its mark (space, minus, plus or @)."""

    path: str
    is_editable: bool
    lines: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class CallView:
    """A call and its answer."""

    name: str
    summary: str
    arguments: tuple[tuple[str, str], ...]
    status: str
    text: str
    seconds: float
    diffs: tuple[Diff, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnView:
    """One reply of the model with what came of it. Turn 0 is the task, the last one is the end."""

    title: str
    """0, 1, 2, …; the last one is ``end``."""
    kind: str
    """task, look, debugger, edit, tests, words, done or end: what was chiefly done."""
    summary: str
    at_seconds: float
    said: tuple[str, ...] = ()
    """Words of the harness before the reply."""
    text: str = ""
    reasoning: str = ""
    calls: tuple[CallView, ...] = ()
    notes: tuple[str, ...] = ()
    """Retries, a reply cut short, and the like."""
    context_tokens: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Moment:
    """What is to be seen at one position of the scrubber."""

    turn: int
    call: int | None
    """Of the turn's calls, from 0."""
    kind: str
    """As of a turn; of this call."""
    label: str
    """For a screen reader, one sentence."""
    versions: Mapping[str, int]
    """Of each file, which of its texts is current."""
    path: str
    """The file to show."""
    line: int | None
    """The line to bring into view."""
    focus: Focus | None
    debugging: Debugging
    test_run: int | None
    """The last run of tests up to now."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TestRun:
    """Outcomes of one run of tests."""

    __test__ = False

    turn: int
    passed: tuple[str, ...]
    failed: tuple[str, ...]
    counts: tuple[int, int]
    """Passed and failed: all that is known of a run in a shell."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """How it all came out."""

    solved: bool | None
    """None when it was not graded."""
    words: str
    groups: tuple[tuple[str, int, int], ...] = ()
    """Of tests: name, passed, total."""


Segments = tuple[str, ...]
"""A line in pieces: class, text, class, text, …"""


@dataclass(frozen=True, slots=True, kw_only=True)
class EpisodeView:
    """An episode as a page shows it."""

    task: str
    name: str
    """What tells it from the other one on the page."""
    facts: tuple[tuple[str, str], ...]
    outcome: Outcome
    lines: tuple[Segments, ...]
    """Every different line of source, once."""
    sources: Mapping[str, tuple[tuple[int, ...], ...]]
    """Of each file its texts in order, as indexes into ``lines``."""
    turns: tuple[TurnView, ...]
    moments: tuple[Moment, ...]
    test_runs: tuple[TestRun, ...]
    targets: tuple[str, ...] = field(default=())
    """Tests that the model was asked to make pass."""
