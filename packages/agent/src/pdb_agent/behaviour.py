"""What a model did in one episode, measured: debugger, discipline and errors of tools.

Every count is made from the episode's record alone, but for what needs ``Gold``, which is
held back from models. A turn is one reply; an edit is effective when it changes the content
of a file that grading takes.
"""

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from pdb_agent.call_faults import is_refused_for_its_arguments
from pdb_agent.debugger_use import STRICT_TURNS, DebuggerUse, debugger_use
from pdb_agent.episode import Edited, Episode, ExitReason, Replied, Said, Unlocked
from pdb_agent.episode_steps import (
    DEBUGGER_TOOLS,
    EDITORS,
    READERS,
    SHELLS,
    Gold,
    Step,
    in_workspace,
    is_protected,
    run_of_tests,
    steps_of,
)
from pdb_agent.messages import CallStatus

UNKNOWN_TOOL = "(no such tool)"
"""Under this name calls to tools that there are not are counted."""
_SECONDS = re.compile(r"\b\d+\.\d+ ?s\b")
_SESSION = re.compile(r"\bdbg-\w+|\bpid \d+|0x[0-9a-f]+")
_FAILED_PROGRAM = frozenset({"post_mortem", "exception"})


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCounts:
    """Calls of one tool by how they ended; each call is in at most one of the last three."""

    calls: int
    malformed: int
    """They do not parse, do not fit the schema, or name no tool."""
    failed: int
    """Well formed, and the tool refused."""
    timed_out: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Discipline:
    """Habits around the edits of one episode."""

    first_edit_turn: int | None
    """Of the first effective edit: one that changes what grading takes."""
    effective_edits: int
    reverted_edits: int
    """Effective edits that only undo the last one of their file."""
    no_change_edits: int
    """Calls to edit that left every file as it was, among them those that give the same text twice."""
    edited_after_reading: bool | None
    """Whether every file was read before it was first edited; None without an edit."""
    reproduced_before_edit: bool
    """Whether a test was seen to fail, by running tests or the debugger, before the first edit."""
    test_runs: int
    retested: bool | None
    """Whether a test to be repaired was run after the last edit; None without an edit."""
    false_done: bool
    """Whether it said that it was done while tests that it can see fail."""
    repeats: int
    """Calls equal to an earlier one, with an equal answer."""
    longest_repeat: int
    """Equal calls with equal answers in a row, at the most; 1 when there are none."""
    test_edit_attempts: int
    """Calls that try to change tests or what sets them up, or do."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Localisation:
    """When an episode first touched the cause, by reading, stopping or editing; turns, None for never."""

    file_turn: int | None
    function_turn: int | None
    """By a stop or a witness's expression alone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Behaviour:
    """One episode, measured."""

    turns: int
    debugger_from_turn: int | None
    """In which turn the debugger appeared, 0 from the start; None where there was none at any time."""
    debugger: DebuggerUse
    discipline: Discipline
    inspection_led_to_edit: bool
    """An inspection, and an effective edit in a later turn."""
    inspection_led_to_edit_strictly: bool
    """The edit within ten turns, of a file that was seen in a stopped frame."""
    witness_before_edit: bool | None
    """Whether the cause was in sight before the first edit; None when it is not known where it is."""
    localisation: Localisation | None
    """None when it is not known where the cause is."""
    tools: Mapping[str, ToolCounts]
    format_error_turns: int
    """Turns with a call that does not parse."""
    parser_fallbacks: int
    """Replies whose calls had to be found in the text."""
    nudges: Mapping[str, int]
    """What the harness had to say in between, by its reason."""


def measure(episode: Episode, gold: Gold | None = None) -> Behaviour:
    """Measure an episode, also one that was cut off."""
    steps = steps_of(episode)
    started = episode.started
    use = debugger_use(steps, started.fail_to_pass, started.files, gold)
    replies = [event for event in episode.events if isinstance(event, Replied)]
    turns = episode.ended.turns if episode.ended else max((one.turn for one in replies), default=0)
    nudges = Counter(event.why for event in episode.events if isinstance(event, Said) and event.why != "task")
    first_edit = next((step for step in steps if step.effective_edits), None)
    return Behaviour(
        turns=turns,
        debugger_from_turn=_debugger_from_turn(episode),
        debugger=use,
        discipline=_discipline(episode, steps, use),
        inspection_led_to_edit=any(_leads(use, step) for step in steps),
        inspection_led_to_edit_strictly=any(_leads_strictly(use, step) for step in steps),
        witness_before_edit=None if gold is None or not gold.functions else _is_before(use, first_edit),
        localisation=None if gold is None else _localisation(steps, use, gold, started.files),
        tools=_tools(steps, episode),
        format_error_turns=len(
            {one.turn for one in replies if any(c.error for c in one.reply.message.calls)}
        ),
        parser_fallbacks=sum(one.reply.parser_fallback for one in replies),
        nudges=nudges,
    )


def _debugger_from_turn(episode: Episode) -> int | None:
    appeared = [(0, tool.name) for tool in episode.started.tools]
    appeared += [
        (event.turn, name) for event in episode.events if isinstance(event, Unlocked) for name in event.tools
    ]
    return min((turn for turn, name in appeared if name in DEBUGGER_TOOLS), default=None)


def _leads(use: DebuggerUse, step: Step) -> bool:
    return bool(step.effective_edits) and any(seen.turn < step.turn for seen in use.inspections)


def _leads_strictly(use: DebuggerUse, step: Step) -> bool:
    return any(
        0 < step.turn - seen.turn <= STRICT_TURNS and edit.path in seen.files
        for edit in step.effective_edits
        for seen in use.inspections
    )


def _is_before(use: DebuggerUse, first_edit: Step | None) -> bool:
    return use.gold_stop is not None and (first_edit is None or use.gold_stop < first_edit.index)


def _discipline(episode: Episode, steps: Sequence[Step], use: DebuggerUse) -> Discipline:
    edits = [step for step in steps if step.effective_edits]
    first = edits[0].index if edits else len(steps)
    repeats, longest = _repeats(steps)
    return Discipline(
        first_edit_turn=edits[0].turn if edits else None,
        effective_edits=sum(len(step.effective_edits) for step in edits),
        reverted_edits=_reverted(edit for step in edits for edit in step.effective_edits),
        no_change_edits=sum(_changes_nothing(step) for step in steps),
        edited_after_reading=_edited_after_reading(steps, episode.started.files) if edits else None,
        reproduced_before_edit=any(_shows_failure(step) for step in steps[:first]),
        test_runs=sum(run_of_tests(step) is not None for step in steps),
        retested=_retested(steps[edits[-1].index + 1 :], episode) if edits else None,
        false_done=_is_false_done(episode),
        repeats=repeats,
        longest_repeat=longest,
        test_edit_attempts=sum(_touches_tests(step, episode.started.files) for step in steps),
    )


def _shows_failure(step: Step) -> bool:
    run = run_of_tests(step)
    if run is not None:
        return run.failed
    facts = step.result.facts
    return step.is_debugger and (
        facts.get("reason") in _FAILED_PROGRAM or facts.get("exit_code") not in (None, 0, 5)
    )


def _retested(later: Sequence[Step], episode: Episode) -> bool:
    runs = [run for step in later if (run := run_of_tests(step)) is not None]
    return any(run.covers(test) for run in runs for test in episode.started.fail_to_pass)


def _reverted(edits: Iterator[Edited]) -> int:
    """Edits that take back, line by line, the last one of their file that stands."""
    standing: dict[str, list[tuple[list[str], list[str]]]] = {}
    count = 0
    for edit in edits:
        gone, new = _changed_lines(edit.diff)
        stack = standing.setdefault(edit.path, [])
        if stack and stack[-1] == (new, gone):
            stack.pop()
            count += 1
        else:
            stack.append((gone, new))
    return count


def _changed_lines(diff: str) -> tuple[list[str], list[str]]:
    lines = [line for line in diff.splitlines() if not line.startswith(("---", "+++"))]
    return (
        [line[1:] for line in lines if line.startswith("-")],
        [line[1:] for line in lines if line.startswith("+")],
    )


def _changes_nothing(step: Step) -> bool:
    if step.name not in EDITORS or step.edits:
        return False
    if step.is_ok:
        return True
    pairs = (("old", "new"), ("old_string", "new_string"))
    return any(old in step.arguments and step.text(old) == step.text(new) for old, new in pairs)


def _edited_after_reading(steps: Sequence[Step], files: Mapping[str, str]) -> bool:
    read: set[str] = set()
    edited: set[str] = set()
    for step in steps:
        for edit in step.effective_edits:
            if edit.path in files and edit.path not in edited | read:
                return False
            edited.add(edit.path)
        read |= _read_by(step, files)
    return True


def _read_by(step: Step, files: Mapping[str, str]) -> set[str]:
    """Files whose text a call showed."""
    if step.name in READERS and step.is_ok:
        path = str(step.result.facts.get("path") or step.text("path") or step.text("file_path"))
        return {in_workspace(path, files)}
    if step.name in SHELLS and not step.effective_edits:
        command = step.text("command")
        return {path for path in files if re.search(rf"(?<![\w-]){re.escape(path)}\b", command)} | {
            path
            for path in files
            if re.search(rf"(?<![\w/-]){re.escape(path.rpartition('/')[2])}\b", command) or "*.py" in command
        }
    return set()


def _is_false_done(episode: Episode) -> bool:
    ended = episode.ended
    if ended is None or ended.graded is None:
        return False
    has_done = any(tool.name == "done" for tool in episode.tools)
    last_word = ExitReason.DONE if has_done else ExitReason.NO_CALL_END
    visible = [group for group in ended.graded.groups if group.name in ("fail_to_pass", "pass_to_pass")]
    return ended.reason is last_word and any(group.passed < group.total for group in visible)


def _repeats(steps: Sequence[Step]) -> tuple[int, int]:
    seen: set[str] = set()
    repeats, longest, run, last = 0, min(1, len(steps)), 0, ""
    for step in steps:
        text = _SESSION.sub("", _SECONDS.sub("", step.result.text))
        key = json.dumps([step.name, dict(step.arguments) or step.raw, text], sort_keys=True, default=str)
        repeats += key in seen
        seen.add(key)
        run = run + 1 if key == last else 1
        longest = max(longest, run)
        last = key
    return repeats, longest


def _touches_tests(step: Step, files: Mapping[str, str]) -> bool:
    if any(is_protected(edit.path) for edit in step.edits):
        return True
    path = step.text("path") or step.text("file_path")
    return step.name in EDITORS and is_protected(in_workspace(path, files))


def _localisation(
    steps: Sequence[Step], use: DebuggerUse, gold: Gold, files: Mapping[str, str]
) -> Localisation:
    turns = [
        step.turn
        for step in steps
        if gold.files & (_read_by(step, files) | {edit.path for edit in step.effective_edits})
    ]
    turns += [seen.turn for seen in use.inspections if gold.files & seen.files]
    function_turn = steps[use.gold_stop].turn if use.gold_stop is not None else None
    return Localisation(file_turn=min(turns, default=None), function_turn=function_turn)


def _tools(steps: Sequence[Step], episode: Episode) -> dict[str, ToolCounts]:
    started = episode.started
    schemas = {tool.name: tool.schema for tool in (*started.tools, *started.later_tools)}
    endings: dict[str, Counter[CallStatus]] = {}
    for step in steps:
        is_known = step.name in schemas or step.name in DEBUGGER_TOOLS
        status = step.result.status
        if status is CallStatus.FAILED and is_refused_for_its_arguments(step, schemas.get(step.name)):
            status = CallStatus.MALFORMED
        endings.setdefault(step.name if is_known else UNKNOWN_TOOL, Counter())[status] += 1
    return {
        name: ToolCounts(
            calls=counts.total(),
            malformed=counts[CallStatus.MALFORMED],
            failed=counts[CallStatus.FAILED],
            timed_out=counts[CallStatus.TIMED_OUT],
        )
        for name, counts in sorted(endings.items())
    }
