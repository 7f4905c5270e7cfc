"""Folders of runs with plausible episodes, the same each time."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

from pdb_agent.episode import Episode, EpisodeLog, ExitReason, FailureClass
from pdb_agent.messages import CallStatus

from tests.pdb_agent.episode_making import TEST, Act, act, debugging, done, edit, ended, episode, shell

FAMILIES = ("aliasing", "locks", "asyncio", "caching", "serialisation", "dates", "parsing", "iterators")
PREFERENCES = ("recommended", "optional", "avoid")


@dataclass(frozen=True, kw_only=True)
class Habit:
    """How the episodes of an arm go."""

    skill: float
    toolset: str = "debug"
    open_rate: float = 0.0
    waste: float = 0.5
    policy: str = "vllm/coder"


BASE = Habit(skill=0.1, open_rate=0.9, waste=0.7)
PLAIN = Habit(skill=0.35, toolset="no-debugger")
TRAINED = Habit(skill=0.4, open_rate=0.7, waste=0.15, policy="vllm/coder-rl")


def write_run(
    path: Path, arms: Mapping[str, Habit], *, tasks: int = 30, repetitions: int = 8, seed: int = 1
) -> Path:
    """A run's folder, as an evaluation leaves it."""
    draw = Random(seed)
    names = [
        f"{draw.choice(FAMILIES)}_{draw.choice(('cart', 'queue', 'gate', 'ledger'))}_{n:02}"
        for n in range(tasks)
    ]
    hardness = {name: draw.gauss(0, 0.3) for name in names}
    for arm, habit in arms.items():
        for place, name in enumerate(names):
            start = _task_facts(name, place) | {"arm": arm, "toolset": habit.toolset, "policy": habit.policy}
            folder = path / "episodes" / arm / name
            folder.mkdir(parents=True)
            for number in range(repetitions):
                one = _episode(draw, habit, hardness[name], {**start, "number": number})
                with EpisodeLog(folder / f"{number}.jsonl") as log:
                    for event in (one.started, *one.events, one.ended):
                        if event is not None:
                            log.append(event)
    manifest = {"commit": "0123456789abcdef", "packages": {"pdb-agent": "0.1.0"}, "python": "3.11.7"}
    (path / "manifest.json").write_text(json.dumps(manifest))
    sizes = {
        name: _task_facts(name, place)
        | {"source_lines": int(40 * 4 ** draw.random() * 1.8), "source_files": draw.randint(1, 6)}
        for place, name in enumerate(names)
    }
    (path / "tasks.json").write_text(json.dumps(sizes))
    return path


def _task_facts(name: str, place: int) -> dict[str, Any]:
    return {
        "task": name,
        "family": name.partition("_")[0],
        "preference": PREFERENCES[place % 3],
        "difficulty": 1 + place % 5,
        "split": ("test", "test", "validation")[place % 3] if name.endswith("x") else "test",
    }


def _episode(draw: Random, habit: Habit, hardness: float, start: Mapping[str, Any]) -> Episode:
    solved = draw.random() < 0.5 + habit.skill - hardness
    turns: list[list[Act]] = [[shell("python -m pytest -q", "1 failed, 3 passed in 0.1s", 1)]]
    turns += [[Act(name="read_file", arguments={"path": "shop/cart.py"}, facts={"path": "shop/cart.py"})]]
    if habit.open_rate and draw.random() < habit.open_rate:
        turns += _debugging(draw, habit)
    turns += [[shell(f"grep -n x{n} shop/cart.py")] for n in range(draw.randint(2, 12 if solved else 40))]
    never_edits = not solved and draw.random() < 0.3
    if not never_edits:
        turns += [[edit()], [shell("python -m pytest -q", "4 passed in 0.1s")]]
    reason, failure = _end(draw, len(turns), solved=solved, never_edits=never_edits)
    if reason is ExitReason.DONE:
        turns.append([done()])
    turns = turns[:50]
    end = ended(
        solved=solved and not reason.is_infrastructure,
        turns=len(turns),
        reason=reason,
        detail="repeat" if reason is ExitReason.GUARD else "",
        failure=None if solved or reason.is_infrastructure else failure,
        visible=2 if solved or failure is FailureClass.HIDDEN_FAIL else 1,
    )
    return episode(turns, end=end, **start)


def _end(draw: Random, turns: int, *, solved: bool, never_edits: bool) -> tuple[ExitReason, FailureClass]:
    failure = draw.choice([FailureClass.HIDDEN_FAIL, FailureClass.VISIBLE_FAIL, FailureClass.TEST_TIMEOUT])
    if never_edits:
        failure = FailureClass.NEVER_EDIT
    if turns >= 50:
        return ExitReason.TURN_CAP, failure
    if draw.random() < 0.01:
        return ExitReason.PROVIDER_FATAL, failure
    if not solved and draw.random() < 0.2:
        return draw.choice([ExitReason.GUARD, ExitReason.CONTEXT]), failure
    return ExitReason.DONE, failure


def _debugging(draw: Random, habit: Habit) -> list[list[Act]]:
    place = {
        "id": 1,
        "at": "shop/cart.py:1",
        "file": "/tmp/x/project/shop/cart.py",
        "line": 1,
        "is_moved": False,
    }
    target = TEST if draw.random() > habit.waste / 2 else "tests/test_cart.py"
    acts = [debugging("start_debugger", facts={"reason": "entry"}, target=target)]
    acts.append(debugging("add_breakpoint", "breakpoint 1 at shop/cart.py:1", facts={"breakpoints": [place]}))
    if draw.random() < habit.waste:
        acts.append(debugging("add_breakpoint", "Line 90 is past the end", status=CallStatus.FAILED))
        acts.append(
            act("run_expression", "NameError: name 'x' is not defined", status=CallStatus.FAILED, code="x")
        )
    is_hit = draw.random() > habit.waste
    if is_hit:
        facts = {"reason": "breakpoint", "breakpoint_ids": [1], "breakpoints": [place]}
        acts.append(debugging("continue_execution", facts=facts))
        acts += [debugging("examine_locals"), debugging("run_expression", "3", code="t")]
        acts += [debugging("step_over") for _ in range(draw.randint(0, 8))]
    else:
        verdict = {**place, "hit_count": 0, "explanation": "total ran, but never reached this line"}
        facts = {"state": "exited", "reason": None, "location": None, "exit_code": 1, "verdicts": [verdict]}
        acts.append(debugging("continue_execution", facts=facts))
    return [[one] for one in acts]
