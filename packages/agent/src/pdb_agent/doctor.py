"""What ``pdb-agent doctor`` does: finds the backend for this machine, or tries all attacks on all of them."""

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

from pdb_agent.sandbox import Backend
from pdb_agent.sandboxes.attacks.judging import CannotTell, NotStopped, Stopped
from pdb_agent.sandboxes.attacks.running import Outcome, carry_out, prepare_ground
from pdb_agent.sandboxes.attacks.table import ATTACKS, Attack
from pdb_agent.sandboxes.interpreters import task_interpreter
from pdb_agent.sandboxes.opening import open_sandbox
from pdb_agent.sandboxes.probe import (
    ORDER,
    BackendOpener,
    Chosen,
    Rejected,
    choose,
    nothing_works,
    try_backend,
)
from pdb_agent.sandboxes.unsafe_none import BANNER

SYSTEM_PYTHON = Path("/usr/bin/python3")
"""Can be read by everybody: shows what a backend holds in where the tasks' Python cannot get into it."""
_TITLE_WIDTH = 58
_COLUMN_WIDTH = 14


@dataclass(frozen=True, slots=True, kw_only=True)
class Examined:
    """One backend with what became of each attack; without attacks where it does not work."""

    found: Chosen | Rejected
    outcomes: tuple[Outcome, ...] = ()
    note: str = ""
    """Why it would not be taken all the same; empty for one that would."""

    @property
    def backend(self) -> Backend:
        """Which one."""
        return self.found.backend

    @property
    def holds(self) -> bool:
        """True when it works and every attack came to nothing."""
        return isinstance(self.found, Chosen) and all(outcome.is_stopped for outcome in self.outcomes)


async def run(arguments: argparse.Namespace) -> int:
    """The command: with ``--sandbox`` all attacks, else the probe alone; returns the exit code."""
    if arguments.sandbox:
        return await examine_backends(
            out=sys.stdout, progress=sys.stderr, backend=arguments.backend, as_json=arguments.json
        )
    chosen = await choose(open_sandbox, wanted=arguments.backend)
    if arguments.json:
        sys.stdout.write(json.dumps(chosen.as_dict(), indent=2) + "\n")
        return 0
    if chosen.backend is Backend.UNSAFE_NONE:
        sys.stderr.write(f"{BANNER}\n")
    for rejected in chosen.rejected:
        sys.stdout.write(f"not here: {rejected.sentence}\n")
    sys.stdout.write(
        f"{chosen.backend} ({chosen.version}) works here and stopped {len(chosen.stops)} attacks; "
        "pdb-agent doctor --sandbox tries all of them.\n"
    )
    return 0


async def examine_backends(
    *,
    out: TextIO,
    progress: TextIO,
    backend: Backend | None = None,
    python: Path | None = None,
    as_json: bool = False,
    attacks: Sequence[Attack] = ATTACKS,
    opener: BackendOpener = open_sandbox,
) -> int:
    """Write a line per attack to ``progress`` and the table to ``out``; returns the exit code.

    0 when the backend that would be taken stops every attack and leaves no process, else 1.
    ``backend`` tries that one alone. Raises SandboxError when no interpreter can be had.
    """
    interpreter = python or task_interpreter()
    examined = [
        await _examine(one, interpreter, attacks, opener, progress)
        for one in (ORDER if backend is None else (backend,))
    ]
    default = next((one for one in examined if isinstance(one.found, Chosen) and not one.note), None)
    out.write(_as_json(examined, default) if as_json else _as_table(examined, default, attacks))
    return 0 if default is not None and default.holds else 1


async def _examine(
    backend: Backend, python: Path, attacks: Sequence[Attack], opener: BackendOpener, progress: TextIO
) -> Examined:
    progress.write(f"{backend}: probing\n")
    progress.flush()
    found = (
        Chosen(backend=backend, version="none", stops=())
        if backend is Backend.UNSAFE_NONE
        else await try_backend(opener, backend, python)
    )
    note = ""
    if isinstance(found, Rejected) and python != SYSTEM_PYTHON:
        with_system_python = await try_backend(opener, backend, SYSTEM_PYTHON)
        if isinstance(with_system_python, Chosen):
            note = f"{backend} was tried with {SYSTEM_PYTHON} only: {found.reason}"
            found, python = with_system_python, SYSTEM_PYTHON
    if isinstance(found, Rejected):
        progress.write(f"{found.sentence}\n")
        return Examined(found=found)
    outcomes: list[Outcome] = []
    ground = await prepare_ground(lambda spec: opener(spec, backend), python)
    for attack in attacks:
        progress.write(f"{backend}: {attack.title} ... ")
        progress.flush()
        outcome = await carry_out(attack, ground)
        outcomes.append(outcome)
        progress.write(f"{_word(outcome)}: {outcome.verdict.evidence} ({outcome.seconds:.1f} s)\n")
    return Examined(found=found, outcomes=tuple(outcomes), note=note)


def _word(outcome: Outcome) -> str:
    match outcome.verdict:
        case Stopped():
            return "stopped"
        case NotStopped():
            return "NOT STOPPED"
        case CannotTell():
            return "cannot tell"


def _as_table(examined: Sequence[Examined], default: Examined | None, attacks: Sequence[Attack]) -> str:
    working = [one for one in examined if isinstance(one.found, Chosen)]
    lines: list[str] = []
    if working:
        lines.append(_row("attack", [str(one.backend) for one in working]))
        for index, attack in enumerate(attacks):
            lines.append(_row(attack.title, [_word(one.outcomes[index]) for one in working]))
        lines.append("")
    lines += [
        f"{one.backend} does not stop this: {outcome.attack.title} ({outcome.verdict.evidence})"
        for one in working
        for outcome in one.outcomes
        if not outcome.is_stopped
    ]
    lines += [one.note for one in working if one.note]
    rejected = [one.found for one in examined if isinstance(one.found, Rejected)]
    lines += [f"not here: {one.sentence}" for one in rejected]
    lines.append(_conclusion(default, rejected))
    return "\n".join(lines) + "\n"


def _row(title: str, cells: Sequence[str]) -> str:
    return (f"{title:<{_TITLE_WIDTH}}" + "".join(f"{cell:<{_COLUMN_WIDTH}}" for cell in cells)).rstrip()


def _conclusion(default: Examined | None, rejected: Sequence[Rejected]) -> str:
    if default is None or not isinstance(default.found, Chosen):
        return nothing_works(rejected)
    survivors = sum(outcome.survivors for outcome in default.outcomes)
    stopped = sum(outcome.is_stopped for outcome in default.outcomes)
    return (
        f"{default.backend} ({default.found.version}) is taken here: {stopped} of {len(default.outcomes)} "
        f"attacks stopped, {survivors} processes left."
    )


def _as_json(examined: Sequence[Examined], default: Examined | None) -> str:
    report = {
        "default": None if default is None else str(default.backend),
        "holds": default is not None and default.holds,
        "backends": [_backend_as_dict(one) for one in examined],
    }
    return json.dumps(report, indent=2) + "\n"


def _backend_as_dict(one: Examined) -> Mapping[str, object]:
    if isinstance(one.found, Rejected):
        return {
            "backend": str(one.backend),
            "works": False,
            "reason": one.found.reason,
            "fix": one.found.fix,
        }
    return {
        **one.found.as_dict(),
        "works": not one.note,
        "note": one.note,
        "attacks": [
            {
                "name": outcome.attack.name,
                "title": outcome.attack.title,
                "verdict": _word(outcome).lower(),
                "evidence": outcome.verdict.evidence,
                "survivors": outcome.survivors,
                "seconds": round(outcome.seconds, 2),
            }
            for outcome in one.outcomes
        ],
    }
