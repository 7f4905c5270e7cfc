"""What one run of the benchmark found, and which of the targets it meets."""

import os
import platform
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from bench.measurements import Fleet, FloorComparison, HotLoop, Memory, median
from bench.peers.adapter import Debugger
from bench.peers.ours import Ours, OursOnDebugpy
from bench.shared_workload import SessionRecord

BUDGETS = {
    "start": 1500,
    "locals": 2500,
    "step into": 1500,
    "step over": 1500,
    "evaluate": 3000,
    "stack": 2500,
    "resume": 1500,
    "big values": 3000,
    "end": 1500,
}
"""Characters that one answer may have, by part of the shared workload."""


def machine_kind() -> str:
    """What kind of machine this is, without saying which one."""
    return f"{platform.system()}-{platform.machine()}-{os.cpu_count()}cpu".lower()


@dataclass(frozen=True, slots=True, kw_only=True)
class Results:
    """Everything measured in one run. Times are seconds, memory kilobytes."""

    debuggers: Mapping[str, type[Debugger]]
    missing: Mapping[str, str]
    """Peers that did not take part, and why."""
    sessions: Mapping[str, SessionRecord]
    first_stops: Mapping[str, Sequence[float]]
    floors: Sequence[FloorComparison]
    hot_loops: Mapping[str, Mapping[str, HotLoop]]
    """By Python version, then by what ran it; ``undebugged`` and ``floor`` among them."""
    memory: Mapping[str, Memory]
    tool_list_bytes: Mapping[str, int]
    fleet: Fleet | None = None
    machine: str = field(default_factory=machine_kind)

    def peers(self, *, mcp_only: bool = False, registry_only: bool = False) -> list[str]:
        """Names of the peers that took part."""
        return [
            name
            for name, debugger in self.debuggers.items()
            if not issubclass(debugger, Ours)
            and (debugger.speaks_mcp or not mcp_only)
            and (debugger.in_registry or not registry_only)
        ]

    def as_json(self) -> dict[str, Any]:
        """For the baseline file."""
        return {
            "machine": self.machine,
            "missing": dict(self.missing),
            "sessions": {
                name: {
                    **{key: value for key, value in asdict(record).items() if key != "step_seconds"},
                    "step_seconds_median": median(record.step_seconds),
                    "total_characters": record.total_characters,
                }
                for name, record in self.sessions.items()
            },
            "first_stop_seconds_median": {name: median(each) for name, each in self.first_stops.items()},
            "floors": [asdict(each) for each in self.floors],
            "hot_loop_seconds": {version: dict(loops) for version, loops in self.hot_loops.items()},
            "memory_kilobytes": {name: asdict(each) for name, each in self.memory.items()},
            "tool_list_bytes": dict(self.tool_list_bytes),
            "fleet": asdict(self.fleet) if self.fleet else None,
            "targets": [{**asdict(target), "met": target.met} for target in targets(self)],
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """One promise: ``value`` may be at most ``limit``."""

    name: str
    value: float
    limit: float
    unit: str = "x"
    detail: str = ""

    @property
    def met(self) -> bool:
        """Whether the promise is kept; a value that could not be had keeps none."""
        return self.value <= self.limit


def targets(results: Results) -> list[Target]:
    """Every target that this run has the data for."""
    return [
        *_first_stop_targets(results),
        *_step_targets(results),
        *_size_targets(results),
        *_hot_loop_targets(results),
        *_debugpy_targets(results),
        *_fleet_targets(results),
    ]


def _first_stop_targets(results: Results) -> Iterator[Target]:
    for floor in results.floors:
        ours = floor.ours_first_stop[Ours.name]
        yield Target(
            name=f"first stop of a pytest target, ours / floor, Python {floor.python}",
            value=ours / floor.floor_first_stop,
            limit=1.5,
            detail=f"{ours * 1000:.0f} ms / {floor.floor_first_stop * 1000:.0f} ms",
        )
    medians = {name: median(each) for name, each in results.first_stops.items() if each}
    for target in _against_fastest(results, "first stop", medians, limit=0.4, digits=0, mcp_only=False):
        floor = next((each.floor_first_stop for each in results.floors if each.python == "3.11"), None)
        rival = medians[Ours.name] / target.value
        bound = f"; the floor itself: {floor / rival:.2f}x" if floor else ""
        yield replace(target, detail=target.detail + bound)


def _step_targets(results: Results) -> Iterator[Target]:
    medians = {
        name: median(record.step_seconds)
        for name, record in results.sessions.items()
        if record.step_seconds and record.facts.get("step 1")
    }
    yield from _against_fastest(results, "step over", medians, limit=0.5, digits=2, mcp_only=True)


def _against_fastest(
    results: Results, what: str, seconds: Mapping[str, float], *, limit: float, digits: int, mcp_only: bool
) -> Iterator[Target]:
    """Against the fastest peer of the registries, and of all where that is another one."""
    seen: set[str] = set()
    for registry_only, wording in ((True, "fastest peer from a registry"), (False, "fastest peer of all")):
        rivals = [
            name for name in results.peers(mcp_only=mcp_only, registry_only=registry_only) if name in seconds
        ]
        if not rivals or Ours.name not in seconds:
            continue
        fastest = min(rivals, key=seconds.__getitem__)
        if fastest in seen:
            continue
        seen.add(fastest)
        ours = seconds[Ours.name]
        yield Target(
            name=f"{what}, ours / {wording}",
            value=ours / seconds[fastest],
            limit=limit,
            detail=f"{ours * 1000:.{digits}f} ms / {seconds[fastest] * 1000:.{digits}f} ms ({fastest})",
        )


def _size_targets(results: Results) -> Iterator[Target]:
    for engine in (Ours, OursOnDebugpy):
        record = results.sessions.get(engine.name)
        if record is None:
            continue
        over = [
            f"{part}: {size} of {BUDGETS[part]}"
            for part, size in record.largest_answer.items()
            if size > BUDGETS[part]
        ]
        detail = "; ".join(over) or "largest: " + str(max(record.largest_answer.values(), default=0))
        yield Target(
            name=f"answers over their budget ({engine.name})",
            value=len(over),
            limit=0,
            unit="",
            detail=detail,
        )
        untold = [fact for fact, told in record.facts.items() if not told]
        detail = (
            "; ".join(untold) or f"all {len(record.facts)} told, {record.follow_ups} by a second question"
        )
        yield Target(
            name=f"facts not told ({engine.name})", value=len(untold), limit=0, unit="", detail=detail
        )
    yield from _frugality_target(results)
    yield from _tool_list_target(results)


def _tool_list_target(results: Results) -> Iterator[Target]:
    if (size := results.tool_list_bytes.get(Ours.name)) is not None:
        yield Target(
            name="tools/list of the default toolset, tokens (bytes / 4)", value=size / 4, limit=2000, unit=""
        )


def _frugality_target(results: Results) -> Iterator[Target]:
    equals = {
        name: results.sessions[name].total_characters
        for name in results.peers()
        if name in results.sessions
        and all(results.sessions[name].facts.values())
        and not results.sessions[name].broken
    }
    if equals and Ours.name in results.sessions:
        ours = results.sessions[Ours.name].total_characters
        frugal = min(equals, key=equals.__getitem__)
        yield Target(
            name="characters of the whole workload, ours / most frugal peer that tells the same facts",
            value=ours / equals[frugal],
            limit=1 / 3,
            detail=f"{ours} / {equals[frugal]} ({frugal})",
        )


def _hot_loop_targets(results: Results) -> Iterator[Target]:
    for version, loops in results.hot_loops.items():
        if Ours.name not in loops:
            continue
        base = loops["undebugged"]["crunch"]
        parts = [f"floor {loops['floor']['crunch'] / base:.2f}"]
        if "stdlib pdb rules" in loops:
            parts.append(f"stdlib pdb rules {loops['stdlib pdb rules']['crunch'] / base:.0f}")
        yield Target(
            name=f"hot loop with a breakpoint elsewhere / undebugged, Python {version}",
            value=loops[Ours.name]["crunch"] / base,
            limit=1.2 if _minor(version) >= 12 else 2.5,
            detail=", ".join(parts),
        )


def _minor(version: str) -> int:
    return int(version.split(".")[1])


def _debugpy_targets(results: Results) -> Iterator[Target]:
    for floor in results.floors:
        for tool, seconds in (("run_expression", floor.ours_evaluate), ("step_over", floor.ours_step)):
            if OursOnDebugpy.name in seconds:
                yield Target(
                    name=f"round trip of the debugpy engine ({tool}), Python {floor.python}",
                    value=seconds[OursOnDebugpy.name] * 1000,
                    limit=5,
                    unit="ms",
                )


def _fleet_targets(results: Results) -> Iterator[Target]:
    fleet = results.fleet
    if fleet is None:
        return
    failed = fleet.sessions - min(fleet.stopped, fleet.stepped)
    yield Target(
        name=f"{fleet.sessions} sessions at once: sessions that failed",
        value=failed,
        limit=0,
        unit="",
        detail=f"started in {fleet.start_seconds:.1f} s, one step of all: {fleet.step_seconds * 1000:.0f} ms",
    )
    for ending, left in fleet.left.items():
        yield Target(
            name=f"{fleet.sessions} sessions at once: processes left after {ending}",
            value=left,
            limit=0,
            unit="",
            detail=f"{fleet.processes_at_peak} at the peak, gone in {fleet.gone_after[ending]:.2f} s",
        )
