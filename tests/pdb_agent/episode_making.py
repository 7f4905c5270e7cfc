"""Episodes made of nothing, for tests of what is counted in them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from pdb_agent.episode import (
    Answered,
    Clock,
    Edited,
    Ended,
    Episode,
    Event,
    ExitReason,
    FailureClass,
    Graded,
    GroupCount,
    Replied,
    Started,
    Unlocked,
)
from pdb_agent.messages import AssistantMessage, Call, CallStatus, Reply, Stop, ToolResult, ToolSpec, Usage
from pdb_agent.policy import Sampling

TEST = "tests/test_cart.py::test_total"
FILES = {"shop/cart.py": "t = 0\n", "shop/pricing.py": "p = 1\n", "tests/test_cart.py": "", "pytest.ini": ""}
TOOLS = ("bash", "read_file", "edit_file", "run_tests", "done", "start_debugger", "add_breakpoint")
USAGE = Usage(input=100, cache_read=50, cache_write=10, output=20, reasoning=5)


@dataclass(frozen=True, kw_only=True)
class Act:
    """A call, its answer and what it changed."""

    name: str
    arguments: Mapping[str, Any] = field(default_factory=dict)
    text: str = "ok"
    status: CallStatus = CallStatus.OK
    facts: Mapping[str, Any] = field(default_factory=dict)
    changes: tuple[str, ...] = ()
    diff: str = "-old\n+new\n"


def act(name: str, /, text: str = "ok", status: CallStatus = CallStatus.OK, **arguments: Any) -> Act:
    return Act(name=name, arguments=arguments, text=text, status=status)


def edit(path: str = "shop/cart.py", gone: str = "a", new: str = "b") -> Act:
    return Act(
        name="edit_file",
        arguments={"path": path, "old": gone, "new": new},
        facts={"path": path},
        changes=(path,),
        diff=f"--- a/{path}\n+++ b/{path}\n@@ -1 +1 @@\n-{gone}\n+{new}\n",
    )


def shell(command: str, text: str = "", exit_code: int = 0) -> Act:
    return Act(name="bash", arguments={"command": command}, text=text, facts={"exit_code": exit_code})


def done() -> Act:
    return Act(name="done")


def started(**changes: Any) -> Started:
    given: dict[str, Any] = {
        "task": "cart",
        "task_hash": "c0ffee",
        "preference": "recommended",
        "difficulty": 3,
        "family": "aliasing",
        "split": "test",
        "fail_to_pass": (TEST,),
        "editable": ("shop/*.py",),
        "arm": "debug",
        "toolset": "debug",
        "policy": "vllm/small",
        "number": 0,
        "sampling": Sampling(),
        "limits": {"turns": 50.0, "context_tokens": 30_000.0},
        "system": "Repair it.",
        "tools": tuple(ToolSpec(name=name, description="", schema={}) for name in TOOLS),
        "backend": "bubblewrap",
        "began": "2026-11-01T10:00:00+00:00",
        "files": FILES,
    }
    return Started(**given | changes)


def ended(*, solved: bool, turns: int, reason: ExitReason = ExitReason.DONE, **changes: Any) -> Ended:
    """``visible`` tests that pass, of two; ``failure``'s default is hidden_fail."""
    visible = changes.pop("visible", 2)
    graded = Graded(
        solved=solved,
        groups=(
            GroupCount(name="fail_to_pass", passed=min(visible, 1), total=1),
            GroupCount(name="pass_to_pass", passed=max(0, visible - 1), total=1),
            GroupCount(name="hidden", passed=3 if solved else 1, total=3),
        ),
        tamper=(),
        tier="A",
        reason="",
        seconds=0.5,
    )
    given: dict[str, Any] = {
        "at": float(turns),
        "reason": reason,
        "detail": "",
        "turns": turns,
        "failure": None if solved or reason.is_infrastructure else FailureClass.HIDDEN_FAIL,
        "graded": None if reason.is_infrastructure else graded,
        "usage": Usage(input=100 * turns, output=20 * turns),
        "peak_context": 120 * turns,
        "clock": Clock(total=turns + 2.0, model=turns * 0.7, tools=turns * 0.3, sandbox=1.0, grading=0.5),
    }
    return Ended(**given | changes)


def episode(
    turns: Sequence[Sequence[Act]], *, solved: bool = True, end: Ended | None = None, **start: Any
) -> Episode:
    """One episode; each turn is a series of parallel calls."""
    events: list[Event] = []
    for turn, acts in enumerate(turns, start=1):
        calls = tuple(
            Call(id=f"call_{place}", name=one.name, arguments=dict(one.arguments), raw=str(one.arguments))
            for place, one in enumerate(acts)
        )
        message = AssistantMessage(text="", calls=calls)
        reply = Reply(
            message=message, stop=Stop.CALLS, usage=USAGE, model="small-1", sent={"temperature": 0.1}
        )
        events.append(Replied(at=turn, turn=turn, reply=reply))
        for call, one in zip(calls, acts, strict=True):
            events += [
                Edited(
                    at=turn,
                    turn=turn,
                    call_id=call.id,
                    path=path,
                    is_editable=path.startswith("shop/"),
                    diff=one.diff,
                )
                for path in one.changes
            ]
            result = ToolResult(
                call_id=call.id, name=one.name, status=one.status, text=one.text, facts=one.facts
            )
            events.append(Answered(at=turn, turn=turn, arguments=one.arguments, result=result))
    last = end or ended(solved=solved, turns=len(turns))
    return Episode(started=started(**start), events=tuple(events), ended=last)


def unlocking(turns: Sequence[Sequence[Act]], turn: int, **start: Any) -> Episode:
    """An episode whose debugger appears by the first call of a turn."""
    specs = [ToolSpec(name=name, description="", schema={}) for name in TOOLS]
    first, later = tuple(specs[:5]), tuple(specs[5:])
    made = episode(turns, tools=first, later_tools=later, toolset="unlock-after-k", arm="unlock", **start)
    place = next(
        index for index, event in enumerate(made.events) if isinstance(event, Answered) and event.turn == turn
    )
    unlocked = Unlocked(at=turn, turn=turn, tools=tuple(tool.name for tool in later))
    return replace(made, events=(*made.events[:place], unlocked, *made.events[place:]))


def debugging(
    name: str,
    /,
    text: str = "",
    *,
    status: CallStatus = CallStatus.OK,
    facts: Mapping[str, Any] | None = None,
    **arguments: Any,
) -> Act:
    """A debugger call of session dbg-1, stopped at shop/cart.py:1 in total unless ``facts`` say otherwise."""
    given = {
        "session_id": "dbg-1",
        "state": "stopped",
        "reason": "step",
        "location": {"file": "/tmp/x/project/shop/cart.py", "line": 1, "function": "total"},
        "breakpoint_ids": [],
        "breakpoints": [],
    }
    shown = {} if status is not CallStatus.OK else given | dict(facts or {})
    return Act(name=name, arguments=arguments, text=text, status=status, facts=shown)
