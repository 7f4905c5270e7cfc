"""An episode as turns and moments: everything a page shows, worked out before there is a page."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from pdb_agent.episode import Answered, Edited, Ended, Episode, Replied, Retried, Said, Started, Unlocked
from pdb_agent.messages import AssistantMessage, Stop
from pdb_agent.viewer.debugger_state import DebuggerFollower
from pdb_agent.viewer.debugger_words import test_counts
from pdb_agent.viewer.facts import Facts, read_facts
from pdb_agent.viewer.outcome import facts_of, outcome_of
from pdb_agent.viewer.records import (
    CallView,
    Debugging,
    Diff,
    EpisodeView,
    Focus,
    Moment,
    TestRun,
    TurnView,
)
from pdb_agent.viewer.sources import Sources, diff_view
from pdb_agent.viewer.visible_text import visible
from pdb_agent.viewer.wording import argument_texts, label_of, notes_of, summary_of

END = "end"
_SHELLS = ("bash", "Bash")


def view_of(episode: Episode, *, name: str = "") -> EpisodeView:
    """What a page shows of an episode, one that was cut off included."""
    builder = _Builder(episode.started)
    for event in episode.events:
        match event:
            case Said():
                builder.said(event)
            case Replied():
                builder.replied(event)
            case Answered():
                builder.answered(event)
            case Edited():
                builder.edited(event)
            case Unlocked():
                builder.unlocked(event)
            case Retried():
                builder.retried(event)
            case Started() | Ended():
                pass
    builder.finish(episode.ended)
    started = episode.started
    return EpisodeView(
        task=visible(started.task),
        name=visible(name or f"{started.arm} · {started.policy}"),
        facts=facts_of(episode),
        outcome=outcome_of(episode),
        lines=builder.sources.lines,
        sources=builder.sources.texts,
        turns=tuple(turn.view() for turn in builder.turns),
        moments=tuple(builder.moments),
        test_runs=tuple(builder.test_runs),
        targets=tuple(map(visible, started.fail_to_pass)),
    )


@dataclass(slots=True, kw_only=True)
class _Turn:
    title: str
    kind: str
    at_seconds: float
    text: str = ""
    reasoning: str = ""
    said: list[str] = field(default_factory=list[str])
    calls: list[CallView] = field(default_factory=list[CallView])
    notes: list[str] = field(default_factory=list[str])
    kinds: list[str] = field(default_factory=list[str])
    context_tokens: int = 0

    def view(self) -> TurnView:
        order = ("edit", "debugger", "tests", "done", "look")
        kind = next((one for one in order if one in self.kinds), self.kind)
        names = " · ".join(call.summary for call in self.calls)
        first_line = self.text.strip().partition("\n")[0]
        return TurnView(
            title=self.title,
            kind=kind,
            summary=names or first_line or self.title,
            at_seconds=round(self.at_seconds, 1),
            said=tuple(self.said),
            text=self.text,
            reasoning=self.reasoning,
            calls=tuple(self.calls),
            notes=tuple(self.notes),
            context_tokens=self.context_tokens,
        )


class _Builder:
    """Takes the events of an episode in order."""

    def __init__(self, started: Started) -> None:
        self.sources = Sources(started.files)
        self.turns = [_Turn(title="0", kind="task", at_seconds=0.0, said=[visible(started.system)])]
        self.moments: list[Moment] = []
        self.test_runs: list[TestRun] = []
        self._follower = DebuggerFollower(started.files.keys())
        self._debugging = Debugging()
        self._path = _first_path(started)
        self._line = _first_line(started, self._path)
        self._paused: list[AssistantMessage] = []
        self._pending_said: list[str] = []
        self._pending_notes: list[str] = []
        self._edits: list[Edited] = []
        self._moment("The task", None, None)

    def said(self, event: Said) -> None:
        """Words of the harness: the task, or a nudge, which belongs to the reply that it brings about."""
        if event.why == "task":
            self.turns[0].text = visible(event.text)
        else:
            self._pending_said.append(visible(event.text))

    def retried(self, event: Retried) -> None:
        """A request that failed."""
        self._pending_notes.append(f"asked again after {event.wait_seconds:g} s: {visible(event.error)}")

    def replied(self, event: Replied) -> None:
        """A turn begins."""
        reply = event.reply
        if reply.stop is Stop.PAUSE:  # no turn of its own: what it says belongs to the reply that goes on
            self._paused.append(reply.message)
            return
        self._without_calls()
        messages = [*self._paused, reply.message]
        self._paused = []
        self.turns.append(
            _Turn(
                title=str(event.turn),
                kind="words",
                at_seconds=event.at,
                text=visible("\n".join(one.text for one in messages if one.text)),
                reasoning=visible("\n".join(one.reasoning for one in messages if one.reasoning)),
                said=self._pending_said,
                notes=[*self._pending_notes, *notes_of(reply)],
                context_tokens=reply.usage.context,
            )
        )
        self._pending_said, self._pending_notes = [], []

    def edited(self, event: Edited) -> None:
        """A change, which the call that made it has yet to answer."""
        self._edits.append(event)

    def unlocked(self, event: Unlocked) -> None:
        """Tools that the next reply can call."""
        self._pending_notes.append(f"new tools: {visible(', '.join(event.tools))}")

    def answered(self, event: Answered) -> None:
        """A call and all that came of it: one moment, or one per stop of a table of values."""
        result, arguments = event.result, event.arguments or {}
        facts = read_facts(result.facts)
        focus = self._apply_edits()
        heard = self._follower.hear(arguments, result)
        self._note_tests(event, facts)
        turn = self.turns[-1]
        turn.kinds.append(self._kind(event, facts, is_debugger=heard.is_debugger))
        turn.calls.append(
            CallView(
                name=visible(result.name),
                summary=summary_of(result.name, arguments),
                arguments=argument_texts(arguments),
                status=result.status.value,
                text=visible(result.text),
                seconds=round(result.seconds, 2),
                diffs=self._take_diffs(),
            )
        )
        for state in heard.states:
            self._debugging = state
            self._look_at(state, facts, focus, moved=heard.is_debugger)
            label = label_of(turn.title, turn.calls[-1], state if heard.is_debugger else None)
            self._moment(label, len(turn.calls) - 1, focus or self._reading(facts))

    def finish(self, ended: Ended | None) -> None:
        """The last turn: how it came out."""
        self._without_calls()
        at = ended.at if ended else self.turns[-1].at_seconds
        self.turns.append(
            _Turn(title=END, kind=END, at_seconds=at, said=self._pending_said, notes=self._pending_notes)
        )
        self._debugging = Debugging()
        self._line = None
        self._moment("The end", None, None)

    def _without_calls(self) -> None:
        """A reply without a call is a moment too."""
        if self.moments[-1].turn < len(self.turns) - 1:
            self._moment(f"Turn {self.turns[-1].title}: words, no call", None, None)

    def _moment(self, label: str, call: int | None, focus: Focus | None) -> None:
        turn = self.turns[-1]
        self.moments.append(
            Moment(
                turn=len(self.turns) - 1,
                call=call,
                kind=turn.kinds[call] if call is not None else turn.kind,
                label=label,
                versions=self.sources.versions,
                path=self._path,
                line=self._line,
                focus=focus,
                debugging=self._debugging,
                test_run=len(self.test_runs) - 1 if self.test_runs else None,
            )
        )

    def _apply_edits(self) -> Focus | None:
        """The files as the call has left them; the lines to look at."""
        focus = None
        for edit in self._edits:
            found = self.sources.apply(edit.path, edit.diff)
            if found is not None and (focus is None or edit.is_editable):
                focus, self._path, self._line = found, edit.path, found.first
        return focus

    def _take_diffs(self) -> tuple[Diff, ...]:
        edits, self._edits = self._edits, []
        return tuple(diff_view(visible(edit.path), edit.diff, is_editable=edit.is_editable) for edit in edits)

    def _look_at(self, state: Debugging, facts: Facts, focus: Focus | None, *, moved: bool) -> None:
        """Turn to the file and line that the call is about; an edit has the last word."""
        if focus is not None:
            return
        if moved and state.where is not None and state.where.path in self.sources.versions:
            self._path, self._line = state.where.path, state.where.line
        elif facts.path is not None and facts.first is not None and facts.path in self.sources.versions:
            self._path, self._line = facts.path, facts.first

    def _reading(self, facts: Facts) -> Focus | None:
        if facts.path != self._path or facts.first is None or facts.last is None:
            return None
        return Focus(first=facts.first, last=facts.last, kind="read")

    def _note_tests(self, event: Answered, facts: Facts) -> None:
        turn = len(self.turns) - 1
        if facts.passed is not None and facts.failed is not None:
            passed, failed = tuple(map(visible, facts.passed)), tuple(map(visible, facts.failed))
            counts = len(passed), len(failed)
        elif event.result.name in _SHELLS and (found := test_counts(visible(event.result.text))) is not None:
            passed, failed, counts = (), (), found
        else:
            return
        self.test_runs.append(TestRun(turn=turn, passed=passed, failed=failed, counts=counts))

    def _kind(self, event: Answered, facts: Facts, *, is_debugger: bool) -> str:
        ran_tests = bool(self.test_runs) and self.test_runs[-1].turn == len(self.turns) - 1
        if self._edits:
            return "edit"
        if is_debugger:
            return "debugger"
        if event.result.name == "done":
            return "done"
        return "tests" if facts.passed is not None or ran_tests else "look"


def _first_line(started: Started, path: str) -> int | None:
    """Where the first test to repair begins in its file."""
    name = next(iter(started.fail_to_pass), "").rpartition("::")[2].partition("[")[0]
    lines = started.files.get(path, "").split("\n")
    return next((number for number, line in enumerate(lines, start=1) if f"def {name}(" in line), None)


def _first_path(started: Started) -> str:
    """The file to open a page with: that of the first test to repair."""
    paths: Mapping[str, str] = started.files
    tests = [test.partition("::")[0] for test in started.fail_to_pass]
    python = [path for path in sorted(paths) if path.endswith(".py")]
    return next((path for path in [*tests, *python, *sorted(paths)] if path in paths), "")
