"""What an attack came to, judged by the host: what the host can see itself counts, not what is reported."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, cast

from pdb_agent.sandbox import CommandResult, Limits
from pdb_agent.sandboxes.attacks.scene import UNTOUCHED_STATES, VICTIM_FILES, Scene

_OUTPUT_CHARS = 200
_REFUSALS_SHOWN = 2
_REPORT = "REPORT "


@dataclass(frozen=True, slots=True, kw_only=True)
class Stopped:
    """The attack came to nothing."""

    evidence: str


@dataclass(frozen=True, slots=True, kw_only=True)
class NotStopped:
    """The attack had its way."""

    evidence: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CannotTell:
    """The attack could not be tried here, or left no trace either way."""

    evidence: str


Verdict = Stopped | NotStopped | CannotTell


@dataclass(frozen=True, slots=True, kw_only=True)
class Observed:
    """What was seen of an attack, inside and on the host."""

    limits: Limits
    timeout_seconds: float
    report: Mapping[str, Any]
    """What its program said."""
    result: CommandResult | None
    """How its command ended; None when the sandbox ended first."""
    ended_because: str | None
    """What SandboxEndedError said, if it was raised."""
    is_hung: bool
    """The host waited for the command in vain."""
    is_alive: bool
    """A further command still runs in the sandbox."""
    fetched: Mapping[str, bytes | None]
    """Files that the host took out of the workspace afterwards."""
    inodes_lost: int
    """How many fewer files the host's file systems have room for than before."""
    strays: tuple[str, ...]
    """Files of the attack in places of the host."""


Judge = Callable[[Observed, Scene], Verdict]


def read_report(output: str) -> dict[str, Any]:
    """All reports in a program's output, later ones over earlier ones."""
    report: dict[str, Any] = {}
    for line in output.splitlines():
        if line.startswith(_REPORT):
            try:
                said = json.loads(line.removeprefix(_REPORT))
            except ValueError:
                continue  # cut off by a kill
            report |= cast("dict[str, Any]", said)
    return report


def refused(observed: Observed, scene: Scene) -> Verdict:
    """Stopped when the program did none of what it tried."""
    if "done" not in observed.report:
        return _silent(observed)
    if observed.report["done"]:
        return NotStopped(evidence=f"done: {', '.join(observed.report['done'])}")
    refusals = [f"{name}: {why}" for name, why in observed.report["refused"].items()]
    more = len(refusals) - _REFUSALS_SHOWN
    shown = "; ".join(refusals[:_REFUSALS_SHOWN]) or "nothing was there to try"
    return Stopped(evidence=shown + (f"; and {more} more" if more > 0 else ""))


def bounded(amount: str, unit: str, most: Callable[[Limits], float]) -> Judge:
    """Stopped when the program got no more of ``amount`` than ``most`` of the limits."""

    def judge(observed: Observed, scene: Scene) -> Verdict:
        if observed.ended_because is not None:
            return Stopped(evidence=observed.ended_because)
        if observed.result is not None and observed.result.out_of_memory:
            said = observed.report.get(amount, 0)
            return Stopped(evidence=f"killed by the watchdog; {said} {unit} reported before")
        if amount not in observed.report:
            return _silent(observed)
        got, why = observed.report[amount], observed.report.get("stopped_by", "nothing")
        evidence = f"{got} {unit}, then {why}"
        return Stopped(evidence=evidence) if got <= most(observed.limits) else NotStopped(evidence=evidence)

    return judge


def no_inodes_lost(observed: Observed, scene: Scene) -> Verdict:
    """Stopped when the files did not take the host's room for files."""
    if "count" not in observed.report:
        return _silent(observed)
    made = observed.report["count"]
    if observed.inodes_lost > made // 2:
        return NotStopped(evidence=f"{made} files made, {observed.inodes_lost} of them on the host's disk")
    return Stopped(evidence=f"{made} files made, none of them on the host's disk")


def flooded(observed: Observed, scene: Scene) -> Verdict:
    """Stopped when the command was killed for its output, and little of that was kept."""
    result = observed.result
    if result is None:
        return _silent(observed)
    evidence = f"{len(result.output)} characters kept, {result.omitted_bytes >> 20} MB dropped"
    stopped = result.flooded and result.seconds < observed.timeout_seconds
    return Stopped(evidence=f"killed, {evidence}") if stopped else NotStopped(evidence=evidence)


def ended_in_time(observed: Observed, scene: Scene) -> Verdict:
    """Stopped when the command was ended by a limit, soon after it was due."""
    result = observed.result
    if result is None:
        return _silent(observed)
    how = "at the time limit" if result.timed_out else f"by a limit (exit code {result.exit_code})"
    evidence = f"ended {how} after {result.seconds:.1f} s"
    is_late = result.seconds > observed.timeout_seconds + 2
    return NotStopped(evidence=evidence) if is_late or result.exit_code == 0 else Stopped(evidence=evidence)


def nothing_left(observed: Observed, scene: Scene) -> Verdict:
    """Stopped when the program did its worst and yet (see the survivors) nothing lives on."""
    if not observed.report.get("ready"):
        return _silent(observed)
    return Stopped(evidence="it is gone with its command")


def other_accounts(observed: Observed, scene: Scene) -> Verdict:
    """Stopped when the program read no list of accounts, or not the host's."""
    if "digest" not in observed.report:
        return _silent(observed)
    if observed.report["digest"] == scene.accounts_digest():
        return NotStopped(evidence="the host's file was read")
    return Stopped(evidence=observed.report["stopped_by"])


def unreached(listener: str) -> Judge:
    """Stopped when nobody came to this listener of the host."""

    def judge(observed: Observed, scene: Scene) -> Verdict:
        if scene.listeners.reached(listener):
            return NotStopped(evidence="the host's listener was reached")
        if observed.report.get("done"):
            return Stopped(evidence="it went nowhere: nothing came to the host's listener")
        return refused(observed, scene)

    return judge


def no_strays(observed: Observed, scene: Scene) -> Verdict:
    """Stopped when the host finds no file of the attack."""
    if observed.strays:
        return NotStopped(evidence=f"left on the host: {', '.join(observed.strays)}")
    if "done" not in observed.report:
        return _silent(observed)
    if observed.report["done"]:
        return Stopped(evidence="only the sandbox's own folders took it")
    return refused(observed, scene)


def no_key_fetched(observed: Observed, scene: Scene) -> Verdict:
    """Stopped when no file that the host took out holds the key."""
    leaked = [path for path, content in observed.fetched.items() if scene.secret.encode() in (content or b"")]
    if leaked:
        return NotStopped(evidence=f"the host copied the key as {leaked[0]}")
    if "done" not in observed.report:
        return _silent(observed)
    made = ", ".join(observed.report["done"]) or "no link could be made"
    return Stopped(evidence=f"{made}: the host copied nothing through it")


def victim_untouched(observed: Observed, scene: Scene) -> Verdict:
    """Stopped when the host's process goes on as before."""
    state = scene.victim_state()
    if state not in UNTOUCHED_STATES:
        return NotStopped(evidence=f"the host's process is in state {state or 'gone'}")
    if scene.victim_limit() != VICTIM_FILES:
        return NotStopped(evidence="the host's process has other limits now")
    return refused(observed, scene)


def key_untouched(observed: Observed, scene: Scene) -> Verdict:
    """Stopped when the key's mode and content are what they were."""
    if not scene.key_is_untouched():
        return NotStopped(evidence="the mode of the host's key was changed")
    if observed.report.get("done"):
        return Stopped(evidence="it was told so, but nothing changed")
    return refused(observed, scene)


def agent_held(observed: Observed, scene: Scene) -> Verdict:
    """Stopped when the sandbox lives on, or has ended as one that was attacked."""
    if observed.ended_because is not None:
        return Stopped(evidence=f"the sandbox ended: {observed.ended_because}")
    if observed.is_alive:
        return Stopped(evidence="the sandbox lives on")
    return NotStopped(evidence="the sandbox neither works nor has ended")


def _silent(observed: Observed) -> Verdict:
    if observed.is_hung:
        return NotStopped(evidence="the host waited for it in vain")
    if observed.ended_because is not None:
        return CannotTell(evidence=f"the sandbox ended first: {observed.ended_because}")
    output = "" if observed.result is None else observed.result.output.strip()[-_OUTPUT_CHARS:]
    return CannotTell(evidence=f"it reported nothing; it wrote {output!r}")
