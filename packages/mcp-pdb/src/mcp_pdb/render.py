"""Reports of where a program is, as text for a model: stops, ends, hangs. Pure: no I/O.

Every function takes a ``View`` and returns text within the budget of its
kind. Sections come in order of importance, so what is cut is the least.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import PurePath

from mcp_pdb.budget import Budgets, Section, clip_line, compose
from mcp_pdb.records import (
    Breakpoint,
    Change,
    EngineFacts,
    Exited,
    Location,
    LogRecord,
    Stopped,
    Target,
    ThreadStack,
)

LINE_LIMIT = 160
VALUE_LIMIT = 220
STOP_OUTPUT_LIMIT = 500
NEXT_AFTER_STOP = ("step_over", "examine_locals", "continue_execution")
NEXT_AFTER_FAILURE = ("examine_locals", "where_am_i", "run_expression", "continue_execution")
NEXT_AFTER_END = ("restart_debugger", "start_debugger", "stop_debugger")
NEXT_WHILE_RUNNING = ("continue_execution", "pause_execution", "where_am_i", "stop_debugger")


_STANDARD_LIBRARY = re.compile(r"\A.*/lib/python3\.\d+/")
_ONE_LINE = 140
"""Changes that fit in this are joined on one line."""


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """What a renderer needs to know about its reader."""

    cwd: str = ""
    root: str = ""
    budgets: Budgets = field(default_factory=Budgets)
    tools: frozenset[str] = frozenset()
    """The tools the reader has; no other is ever named as a next step."""

    def path(self, file: str) -> str:
        """``file`` as short as add_breakpoint still takes it."""
        if not file.startswith("/"):
            return file
        for base in (self.cwd, self.root):
            if base and PurePath(file).is_relative_to(base):
                return str(PurePath(file).relative_to(base))
        return file

    def place(self, location: Location) -> str:
        """``file:line in function``."""
        return f"{self.path(location.file)}:{location.line} in {location.function}"

    def short(self, location: Location) -> str:
        """Like ``place``, with the folders of installed packages and the standard library left out."""
        path = self.path(location.file)
        for folder in ("/site-packages/", "/dist-packages/"):
            path = path.rpartition(folder)[2]
        path = _STANDARD_LIBRARY.sub("", path)
        return f"{path}:{location.line} in {location.function}"

    def next(self, names: Sequence[str], also: str = "") -> str:
        """The closing line that names the tools which make sense now."""
        known = [name for name in names if name in self.tools]
        steps = [*known, also] if also else known
        return f"next: {', '.join(steps)}" if steps else ""


@dataclass(frozen=True, slots=True, kw_only=True)
class OutputTail:
    """The end of what the program wrote since the last answer."""

    text: str = ""
    omitted: int = 0
    """Characters left out before ``text``."""


FrameKey = tuple[str, str, int]
"""File, function and depth: a frame, as far as a reader can tell frames apart."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """What a reader knows from the stops before, so that the next one need not repeat it."""

    lines: Mapping[FrameKey, frozenset[int]] = field(default_factory=dict[FrameKey, frozenset[int]])
    """Of the last frame and its callers: which lines were shown."""
    callers: Mapping[FrameKey, Location | None] = field(default_factory=dict[FrameKey, Location | None])
    closing: str = ""

    def has_line(self, stopped: Stopped) -> bool:
        """True when the present line was shown already."""
        return stopped.location.line in self.lines.get(_frame_of(stopped), frozenset())

    def has_caller(self, stopped: Stopped) -> bool:
        """True when it was said where this frame was called from."""
        key = _frame_of(stopped)
        return key in self.callers and self.callers[key] == stopped.called_from

    def and_then(self, stopped: Stopped, view: View) -> "Told":
        """What the reader knows after the report of ``stopped`` too; frames that were left are forgotten."""
        key = _frame_of(stopped)
        shown = frozenset(line.line for line in stopped.source)
        lines = {frame: seen for frame, seen in self.lines.items() if frame[2] < stopped.depth}
        callers = {frame: place for frame, place in self.callers.items() if frame[2] < stopped.depth}
        return Told(
            lines=lines | {key: self.lines.get(key, frozenset()) | shown},
            callers=callers | {key: stopped.called_from},
            closing=_closing(view, stopped),
        )


def stop_report(
    view: View,
    stopped: Stopped,
    output: OutputTail,
    *,
    opening: Sequence[str] = (),
    told: Told | None = None,
) -> str:
    """Where and why the program stands, and what changed on the way there.

    What ``told`` holds is left out: lines of the same frame that were shown,
    its caller, and the next steps when they are the same.
    """
    told = told or Told()
    sections = [
        Section(lines=tuple(opening), limit=900),
        Section(lines=(_headline(view, stopped),), limit=400),
        Section(lines=_exception_lines(view, stopped), limit=500),
        Section(lines=_condition_error(stopped), limit=300),
        Section(lines=_window(stopped, told), limit=600),
        Section(
            lines=(f"returned: {clip_line(stopped.returned, 300)}",) if stopped.returned else (), limit=320
        ),
        Section(lines=_changed(stopped.changes, stopped.changes_omitted), limit=500, more="more changes"),
        Section(lines=() if told.has_caller(stopped) else _called_from(view, stopped), limit=200),
        Section(lines=_log_lines(stopped.logs), limit=300, more="more log lines"),
        Section(lines=tuple(clip_line(note, 300) for note in stopped.notes), limit=400, more="more notes"),
        _output_section(view, output),
    ]
    closing = _closing(view, stopped)
    if closing == told.closing:
        closing = ""
    limit = view.budgets.stop + (sum(map(len, opening)) if opening else 0)
    return compose(sections, min(limit, view.budgets.hard_cap), closing)


def exit_report(view: View, exited: Exited, output: OutputTail, *, opening: Sequence[str] = ()) -> str:
    """How the program ended, and why each breakpoint that stayed silent did."""
    silent = tuple(
        f"breakpoint {verdict.breakpoint.id} ({verdict.breakpoint.at}) never fired: {verdict.explanation}"
        for verdict in exited.verdicts
        if verdict.explanation is not None
    )
    sections = [
        Section(lines=tuple(opening), limit=900),
        Section(lines=(ending(exited),), limit=200),
        Section(lines=tuple(clip_line(line, 400) for line in exited.summary), limit=900, more="more lines"),
        Section(
            lines=tuple(clip_line(line, 500) for line in silent), limit=1_200, more="more silent breakpoints"
        ),
        Section(lines=_log_lines(exited.logs), limit=600, more="more log lines"),
        _output_section(view, output),
    ]
    limit = view.budgets.stop + (sum(map(len, opening)) if opening else 0)
    return compose(sections, min(limit, view.budgets.hard_cap), view.next(NEXT_AFTER_END))


def ending(exited: Exited) -> str:
    """One line: the exit status or the signal."""
    if exited.signal is not None:
        return f"the program was ended by {exited.signal}"
    if exited.code is None:
        return "the program has ended; its exit code is not known"
    return f"the program exited with code {exited.code}"


def still_running(
    view: View,
    seconds: float,
    threads: Sequence[ThreadStack],
    output: OutputTail,
    *,
    pause_pending: bool = False,
) -> str:
    """A wait that ran out: where every thread is, and what it waits on."""
    headline = f"still running after {_duration(seconds)}; nothing was interrupted"
    if pause_pending:
        headline = "cannot pause yet: no thread is running Python code; it stops as soon as one does"
    sections = [
        Section(lines=(headline,), limit=200),
        Section(
            lines=tuple(thread_lines(view, threads, 4)), limit=view.budgets.stop - 450, more="more lines"
        ),
        _output_section(view, output),
    ]
    also = "" if "pause_execution" in view.tools else "add_breakpoint on a line above stops it there"
    closing = view.next(NEXT_WHILE_RUNNING, also)
    return compose(sections, view.budgets.stop, closing)


def thread_lines(view: View, threads: Sequence[ThreadStack], limit_frames: int) -> list[str]:
    """Each thread or task in user code, what it waits on and its innermost frames; the others by name."""
    in_user_code = [thread for thread in threads if _is_in_user_code(thread)]
    others = [thread.name for thread in threads if not _is_in_user_code(thread)]
    lines: list[str] = []
    for thread in sorted(in_user_code, key=lambda thread: not thread.is_current):
        mark = " (current)" if thread.is_current else ""
        waits = f": waits on {clip_line(thread.waits_on, 160)}" if thread.waits_on else ""
        lines.append(f"{thread.kind} {clip_line(thread.name, 80)}{mark}{waits}")
        user = [frame for frame in thread.frames if frame.is_user]
        shown = user[:limit_frames]
        lines.extend(
            frame_line(view, frame.location, frame.source, repeated=frame.repeated) for frame in shown
        )
        if len(user) > len(shown):
            lines.append(f"    {len(user) - len(shown)} more frames")
    if others:
        lines.append(clip_line(f"outside user code: {', '.join(others)}", 200))
    return lines or ["no thread is in user code"]


def _is_in_user_code(thread: ThreadStack) -> bool:
    return thread.kind == "task" or any(frame.is_user for frame in thread.frames)


def frame_line(
    view: View, location: Location, source: str, *, index: int | None = None, repeated: int = 1
) -> str:
    """One frame on one line."""
    head = f"#{index} " if index is not None else "    "
    times = f" (×{repeated})" if repeated > 1 else ""
    text = f" | {clip_line(source.strip(), 120)}" if source.strip() else ""
    return f"{head}{view.place(location)}{times}{text}"


def start_lines(view: View, session_id: str, target: Target, facts: EngineFacts) -> list[str]:
    """The opening of a start answer: what is debugged, with what, and what was switched off."""
    what = view.path(target.target).replace("\n", " ") if target.kind != "code" else "code"
    source = f" ({target.interpreter_source})" if target.interpreter_source else ""
    lines = [
        f"session {session_id}: {target.kind} {clip_line(what, 200)} in {target.cwd or '.'}",
        f"Python {facts.python_version}{source}: {facts.interpreter}; engine {facts.engine}; pid {facts.pid}",
    ]
    lines.extend(f"note: {clip_line(note, 240)}" for note in facts.notes[:6])
    return lines


def breakpoint_line(view: View, found: Breakpoint) -> str:
    """A breakpoint as it is bound, and whatever is not as asked."""
    kind = "log point" if found.log else "breakpoint"
    parts = [f"{kind} {found.id} at {view.path(found.file)}:{found.line} in {found.function}"]
    if found.text:
        parts.append(f": {clip_line(found.text, 120)}")
    if found.condition:
        parts.append(f" [if {clip_line(found.condition, 120)}]")
    if found.hits:
        parts.append(f" [hits {found.hits}]")
    if found.log:
        parts.append(f" [logs {clip_line(', '.join(found.log), 120)}]")
    if found.once:
        parts.append(" [once]")
    if found.moved:
        parts.append(f"\n  moved: {clip_line(found.moved, 300)}")
    if found.pending:
        parts.append("\n  pending until its file is imported")
    return "".join(parts)


def changed_text(changes: Sequence[Change], omitted: int = 0) -> str:
    """``total: 3 → 5``, new and deleted names, joined on lines."""
    return "\n".join(_changed(changes, omitted))


def output_lines(view: View, output: OutputTail) -> tuple[str, ...]:
    """The program's output, each line marked, with how much came before it."""
    if not output.text and not output.omitted:
        return ()
    lines = [clip_line(line, LINE_LIMIT) for line in output.text.splitlines()]
    head = "output:"
    if output.omitted:
        way = "read_output shows it" if "read_output" in view.tools else "kept by the server"
        head = f"output (last lines; {output.omitted:,} characters before them, {way}):"
    return (head, *(f"| {line}" for line in lines))


def _output_section(view: View, output: OutputTail) -> Section:
    limit = STOP_OUTPUT_LIMIT + 120
    return Section(lines=output_lines(view, output), limit=limit, more="lines left out", keeps_end=True)


def _headline(view: View, stopped: Stopped) -> str:
    numbers = ", ".join(map(str, stopped.breakpoint_ids))
    why = {
        "entry": "stopped at the start",
        "breakpoint": f"breakpoint {numbers}",
        "step": "stepped",
        "pause": "paused",
        "exception": "stopped on an exception",
        "post_mortem": "failed (post-mortem: look and evaluate, no stepping)",
        "watch": "a watched value changed",
        "breakpoint_call": "stopped at breakpoint()",
    }[stopped.reason]
    if numbers and stopped.reason not in ("breakpoint",):
        why += f" (also breakpoint {numbers})"
    thread = "" if stopped.thread in ("", "MainThread") else f" [thread {clip_line(stopped.thread, 60)}]"
    return f"{why}: {view.place(stopped.location)}{thread}"


def _frame_of(stopped: Stopped) -> FrameKey:
    return stopped.location.file, stopped.location.function, stopped.depth


def _closing(view: View, stopped: Stopped) -> str:
    return view.next(NEXT_AFTER_FAILURE if stopped.reason == "post_mortem" else NEXT_AFTER_STOP)


def _window(stopped: Stopped, told: Told) -> tuple[str, ...]:
    if not stopped.source:
        return ("  (no source is available here)",)
    shown = list(stopped.source)
    if told.has_line(stopped):
        shown = [line for line in shown if line.line == stopped.location.line]
    while len(shown) > 1 and not shown[-1].text.strip() and shown[-1].line != stopped.location.line:
        shown.pop()
    while len(shown) > 1 and not shown[0].text.strip() and shown[0].line != stopped.location.line:
        shown.pop(0)
    width = len(str(shown[-1].line))
    lines: list[str] = []
    for line in shown:
        mark = "->" if line.line == stopped.location.line else "  "
        lines.append(f"{mark} {line.line:>{width}} {clip_line(line.text, LINE_LIMIT)}".rstrip())
    return tuple(lines)


def _exception_lines(view: View, stopped: Stopped) -> tuple[str, ...]:
    raised = stopped.exception
    if raised is None:
        return ()
    message = clip_line(raised.message, 320)
    lines = [f"raised: {raised.type}: {message}" if message else f"raised: {raised.type}"]
    if raised.origin is not None and raised.origin != stopped.location:
        lines[0] += f" (in {view.short(raised.origin)})"
    lines.extend(f"  {clip_line(link, 240)}" for link in raised.chain)
    return tuple(lines)


def _condition_error(stopped: Stopped) -> tuple[str, ...]:
    if not stopped.condition_error:
        return ()
    return (
        f"its condition raised {clip_line(stopped.condition_error, 240)}; stopped so that you can see why",
    )


def _called_from(view: View, stopped: Stopped) -> tuple[str, ...]:
    if stopped.called_from is None:
        return ()
    return (f"called from {view.place(stopped.called_from)}",)


def _changed(changes: Sequence[Change], omitted: int) -> tuple[str, ...]:
    new = [_new(change) for change in changes if change.old is None and change.new is not None]
    gone = [change.name for change in changes if change.new is None]
    other = [_change(change) for change in changes if change.old is not None and change.new is not None]
    lines = [*_titled("changed", other), *_titled("new", new), *_titled("gone", gone)]
    if omitted:
        lines.append(f"and {omitted} more names")
    return tuple(lines)


def _titled(title: str, parts: list[str]) -> list[str]:
    joined = f"{title}: {'; '.join(parts)}"
    if not parts or len(joined) <= _ONE_LINE:
        return [joined] if parts else []
    return [f"{title}: {parts[0]}", *(f"  {part}" for part in parts[1:])]


def _new(change: Change) -> str:
    return f"{change.name} = {clip_line(change.new or '', VALUE_LIMIT)}"


def _change(change: Change) -> str:
    old = clip_line(change.old or "", VALUE_LIMIT // 2)
    return f"{change.name}: {old} → {clip_line(change.new or '', VALUE_LIMIT)}"


def _log_lines(logs: Sequence[LogRecord]) -> tuple[str, ...]:
    return tuple(f"log {record.breakpoint_id}: {clip_line(record.text, 200)}" for record in logs)


def _duration(seconds: float) -> str:
    return f"{seconds:.1f} s" if seconds < 10 else f"{seconds:.0f} s"
