"""How a debugger was used in an episode: one pass over its calls, counting."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from pdb_agent.debugger_sessions import Outcome, Session, texts_of
from pdb_agent.episode_steps import STARTERS, STEPPERS, Gold, Step, in_workspace, plain_code

_UNDEFINED = re.compile(
    r"\A(?:NameError|UnboundLocalError|AttributeError)\b|\Athere is no name |\A[^\n]{1,200} has no attribute "
)
_UNDEFINED_ROW = re.compile(r"^  .+ = (?:NameError|UnboundLocalError|AttributeError)\b", re.MULTILINE)
"""A cell of the compound tool's table."""
_READS = frozenset({"examine_locals", "print_variable", "run_expression", "trace_lines", "watch"})
_READING_WORDS = frozenset({"p", "pp", "a", "args", "display", "whatis", "retval"})
_FRAME = re.compile(r"^(?:#\d+|called from) (\S+):\d+ in (\S+)", re.MULTILINE)
_ROW = re.compile(r"^stop \d+: line (\d+) in (\S+)", re.MULTILINE)
_BLIND_STEPS = 3
STRICT_TURNS = 10
"""Within so many turns an edit follows from an inspection, in the strict sense."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Inspection:
    """State of the program that was read while it stood still."""

    index: int
    turn: int
    files: frozenset[str]
    """Files of the frames that had been seen until then."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DebuggerUse:
    """Counts of one episode. A session lasts from an accepted start to its stop, or to the next start."""

    first_open_turn: int | None
    """Of the first accepted start; None when there was none."""
    sessions: int
    refused_starts: int
    targeted_starts: int
    """Accepted, of exactly one test, which is among those to be repaired."""
    calls: int
    """To the debugger's tools, starts included."""
    longest_run: int
    """Most debugger calls in a row."""
    session_calls: tuple[int, ...]
    """Of each session, its start left out."""
    sessions_with_stop: int
    """Sessions that stopped at a breakpoint."""
    empty_runs: int
    """Programs that were run to their end without having stopped at a breakpoint or a failure."""
    breakpoints: Mapping[Outcome, int]
    """By what became of each request, all outcomes named."""
    moved: int
    """Requests that were bound to another line, whether it was then reached or not."""
    inspections: tuple[Inspection, ...]
    undefined_reads: int
    blind_step_runs: int
    """Runs of three or more steps in a row without an inspection."""
    longest_step_run: int
    gold_stop: int | None
    """Index of the first call that stood in a gold function or evaluated a witness's expression."""

    @property
    def opened(self) -> bool:
        """Whether a start was accepted."""
        return self.first_open_turn is not None

    @property
    def requests(self) -> int:
        """Breakpoints that were asked for."""
        return sum(self.breakpoints.values())

    @property
    def wasted(self) -> int:
        """Breakpoints that could never stop the program."""
        return sum(self.breakpoints[one] for one in (Outcome.REJECTED, Outcome.UNBOUND, Outcome.UNREACHED))


def debugger_use(
    steps: Sequence[Step], fail_to_pass: Sequence[str], files: Mapping[str, str], gold: Gold | None
) -> DebuggerUse:
    """Of an episode's calls; ``files`` are the workspace's."""
    watcher = _Watcher(frozenset(fail_to_pass), files, gold)
    for step in steps:
        watcher.see(step)
    return watcher.result()


class _Watcher:
    def __init__(self, fail_to_pass: frozenset[str], files: Mapping[str, str], gold: Gold | None) -> None:
        self._fail_to_pass = fail_to_pass
        self._files = files
        self._gold = gold
        self._sessions: list[Session] = []
        self._first_open_turn: int | None = None
        self._refused_starts = self._targeted_starts = self._calls = self._undefined = 0
        self._run = self._longest_run = 0
        self._step_run = self._longest_step_run = self._blind = 0
        self._inspections: list[Inspection] = []
        self._seen_files: set[str] = set()
        self._gold_stop: int | None = None
        self._orphans: list[Outcome] = []

    def see(self, step: Step) -> None:
        """Take in the next call."""
        if not step.is_debugger:
            self._run = 0
            self._end_of_steps()
            return
        self._calls += 1
        self._run += 1
        self._longest_run = max(self._longest_run, self._run)
        session = self._started(step) if step.name in STARTERS else self._session_of(step)
        if session is not None:
            session.take(step)
        elif step.name == "add_breakpoint":
            self._orphans.append(Outcome.REJECTED)
        self._look_at_place(step)
        self._look_at_reading(step)
        self._look_at_step(step)

    def result(self) -> DebuggerUse:
        """All that was counted."""
        self._end_of_steps()
        outcomes = [*self._orphans, *(one for session in self._sessions for one in session.outcomes())]
        return DebuggerUse(
            first_open_turn=self._first_open_turn,
            sessions=len(self._sessions),
            refused_starts=self._refused_starts,
            targeted_starts=self._targeted_starts,
            calls=self._calls,
            longest_run=self._longest_run,
            session_calls=tuple(session.calls for session in self._sessions),
            sessions_with_stop=sum(session.has_stopped for session in self._sessions),
            empty_runs=sum(session.empty_runs for session in self._sessions),
            breakpoints={one: outcomes.count(one) for one in Outcome},
            moved=sum(session.moved for session in self._sessions),
            inspections=tuple(self._inspections),
            undefined_reads=self._undefined,
            blind_step_runs=self._blind,
            longest_step_run=self._longest_step_run,
            gold_stop=self._gold_stop,
        )

    def _started(self, step: Step) -> Session | None:
        name = step.result.facts.get("session_id")
        if not isinstance(name, str):
            self._refused_starts += 1
            return None
        if self._first_open_turn is None:
            self._first_open_turn = step.turn
        self._targeted_starts += self._is_targeted(step)
        session = Session(name)
        self._sessions.append(session)
        return session

    def _session_of(self, step: Step) -> Session | None:
        name = step.result.facts.get("session_id") or step.text("session_id")
        named = [session for session in self._sessions if session.name == name]
        open_ones = [session for session in self._sessions if not session.is_closed]
        return (named or open_ones or [None])[-1]

    def _is_targeted(self, step: Step) -> bool:
        test = step.text("target").strip()
        path, colons, name = test.partition("::")
        known = in_workspace(path, self._files) + colons + name
        extra = [word for word in texts_of(step.arguments.get("args")) if "::" in word or ".py" in word]
        return known in self._fail_to_pass and not extra

    def _look_at_place(self, step: Step) -> None:
        """Which files and functions the frames belong to that this call showed."""
        places = list(_FRAME.findall(step.result.text)) if step.is_ok else []
        location = step.result.facts.get("location")
        if isinstance(location, Mapping):
            place = cast("Mapping[str, Any]", location)
            places.insert(0, (str(place.get("file")), str(place.get("function"))))
            places += [(str(place.get("file")), name) for _, name in _ROW.findall(step.result.text)]
        found = [(in_workspace(file, self._files), name.replace(".<locals>", "")) for file, name in places]
        self._seen_files |= {file for file, _ in found}
        if self._gold is None or self._gold_stop is not None:
            return
        stood = found[:1] if step.name != "investigate" else found
        if self._gold.functions.intersection(stood) or self._evaluates_gold(step, self._gold):
            self._gold_stop = step.index

    def _evaluates_gold(self, step: Step, gold: Gold) -> bool:
        if step.name == "investigate":
            codes = texts_of(step.arguments.get("expressions")) if _ROW.search(step.result.text) else []
        else:
            codes = [step.text("code") or step.text("path")] if step.is_ok else []
        return any(plain_code(code) in gold.expressions for code in codes if code)

    def _look_at_reading(self, step: Step) -> None:
        if step.name == "investigate":
            self._undefined += len(_UNDEFINED_ROW.findall(step.result.text))
        elif step.name in ("run_expression", "print_variable") and not step.is_ok:
            self._undefined += bool(_UNDEFINED.search(step.result.text))
        if not _inspects(step):
            return
        files = frozenset(self._seen_files)
        self._inspections.append(Inspection(index=step.index, turn=step.turn, files=files))
        self._end_of_steps()

    def _look_at_step(self, step: Step) -> None:
        if step.name in STEPPERS and step.is_ok:
            self._step_run += 1
        elif step.name != "where_am_i":  # a look at the place shows no value
            self._end_of_steps()

    def _end_of_steps(self) -> None:
        self._blind += self._step_run >= _BLIND_STEPS
        self._longest_step_run = max(self._longest_step_run, self._step_run)
        self._step_run = 0


def _inspects(step: Step) -> bool:
    """Whether a call read the state of a program that stood still."""
    if step.name == "investigate":
        return _ROW.search(step.result.text) is not None
    if not step.is_ok or step.result.facts.get("state") != "stopped":
        return False
    if step.name == "pdb_command":
        word = step.text("command").strip().partition(" ")[0]
        return word in _READING_WORDS or word.startswith("!")
    return step.name in _READS
