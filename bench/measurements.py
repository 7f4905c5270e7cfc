"""What is measured, one function per question. Nothing here judges.

The machine is assumed to be noisy: what is compared runs in turns (A B A B),
and times are medians, or minima where only slowness can be added.
"""

import json
import os
import re
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from bench.floor import Floor, Rules, best_rules
from bench.peers.adapter import ROOT, Debugger, Place, Program
from bench.peers.ours import Ours, OursCold
from bench.processes import (
    marked,
    new_mark,
    proportional_kilobytes,
    resident_kilobytes,
    seconds_until_gone,
)
from bench.raw_client import ClientError, text_of
from bench.shared_workload import FIRST_STOP, PYTEST_TARGET, Session, SessionRecord

WORKLOAD = Path(__file__).with_name("workload")
COLD_LINE = Place(file="hot_loop.py", line=10)
IDLE_LINE = Place(file="idle.py", line=8)
RESULT_WAIT_SECONDS = 30
DebuggerClass = type[Debugger]


THINKING_SECONDS = 1.0
"""Between a server's handshake and the first call; a short time for a language model."""


def median(values: Sequence[float]) -> float:
    """The median, or NaN of nothing."""
    return statistics.median(values) if values else float("nan")


def interpreter(version: str) -> Path:
    """The target interpreter of that version, as ``make setup`` makes it."""
    return ROOT / ".targets" / f"py{version}" / "bin" / "python"


@contextmanager
def fresh_program(version: str, target: str = PYTEST_TARGET, *arguments: str) -> Generator[Program]:
    """A throw-away copy of the workload and how to run ``target`` in it."""
    with tempfile.TemporaryDirectory(prefix="debugger-bench-") as folder:
        project = Path(folder).resolve() / "shop"
        shutil.copytree(WORKLOAD, project, ignore=shutil.ignore_patterns("__pycache__"))
        yield Program(
            project=project,
            interpreter=interpreter(version),
            kind="pytest" if "::" in target else "script",
            target=target,
            arguments=arguments,
        )


def play_workload(debugger: DebuggerClass, version: str) -> SessionRecord:
    """The shared session on one debugger."""
    with fresh_program(version) as program:
        return Session(debugger(program)).play()


def first_stops(debuggers: Sequence[DebuggerClass], version: str, rounds: int) -> dict[str, list[float]]:
    """Seconds from the first call to the first stop, a fresh server each time.

    Every server has been up for as long as a model thinks before its first call.
    """
    seconds: dict[str, list[float]] = {debugger.name: [] for debugger in debuggers}
    for _ in range(rounds):
        for debugger in debuggers:
            with fresh_program(version) as program:
                running = debugger(program)
                try:
                    running.open()
                    time.sleep(THINKING_SECONDS)
                    text = running.start([FIRST_STOP])
                    taken = sum(call.seconds for call in running.calls)
                    _require_place(running, text, FIRST_STOP)
                    seconds[debugger.name].append(taken)
                    running.end()
                except ClientError:
                    continue
                finally:
                    running.close()
    return seconds


def _require_place(debugger: Debugger, text: str, place: Place) -> None:
    """A time counts only for an answer that says the program stands there. Raises ClientError."""
    here = debugger.location(text)
    if here != Place(file=Path(place.file).name, line=place.line):
        raise ClientError(f"{debugger.name} did not stop at {place.file}:{place.line}: {text[-300:]}")


@dataclass(frozen=True, slots=True, kw_only=True)
class FloorComparison:
    """One Python version: the floor's times and ours, in seconds; NaN for an engine that failed."""

    python: str
    rules: Rules
    floor_first_stop: float
    floor_step: float
    floor_locals: float
    plain_pytest: float
    """The whole test run, without any debugger."""
    ours_first_stop: dict[str, float]
    ours_step: dict[str, float]
    ours_locals: dict[str, float]
    ours_evaluate: dict[str, float]


def compare_with_floor(engines: Sequence[type[Ours]], version: str, rounds: int) -> FloorComparison:
    """Floor, plain pytest and our engines in turns on one version; one server per engine stays up."""
    floor_samples = _Samples()
    samples = {engine.name: _Samples() for engine in engines}
    plain: list[float] = []
    with fresh_program(version) as program:
        servers = [engine(program) for engine in engines]
        try:
            for server in servers:
                server.open()
            for _ in range(rounds):
                _sample_floor(program, best_rules(version), floor_samples)
                plain.append(_time_plain_pytest(program))
                for server in servers:
                    _sample_ours(server, samples[server.name])
        finally:
            for server in servers:
                server.close()
    return FloorComparison(
        python=version,
        rules=best_rules(version),
        floor_first_stop=median(floor_samples.first_stop),
        floor_step=median(floor_samples.step),
        floor_locals=median(floor_samples.local_names),
        plain_pytest=median(plain),
        ours_first_stop={name: median(each.first_stop) for name, each in samples.items()},
        ours_step={name: median(each.step) for name, each in samples.items()},
        ours_locals={name: median(each.local_names) for name, each in samples.items()},
        ours_evaluate={name: median(each.evaluate) for name, each in samples.items()},
    )


@dataclass(slots=True)
class _Samples:
    first_stop: list[float] = field(default_factory=list[float])
    step: list[float] = field(default_factory=list[float])
    local_names: list[float] = field(default_factory=list[float])
    evaluate: list[float] = field(default_factory=list[float])


def _sample_floor(program: Program, rules: Rules, samples: _Samples) -> None:
    floor = Floor(program, rules)
    samples.first_stop.append(floor.start([FIRST_STOP]))
    samples.local_names.append(floor.ask("locals")[1])
    floor.ask("into")
    samples.step += [floor.ask("over")[1] for _ in range(10)]
    floor.ask("continue")
    floor.close()


def _sample_ours(server: Ours, samples: _Samples) -> None:
    """One session; an engine that errs leaves no sample, so that nothing quick and wrong is counted."""

    def timed(verb: Callable[[], str]) -> float:
        text = verb()
        if server.calls[-1].failed:
            raise ClientError(text)
        return server.calls[-1].seconds

    try:
        text = server.start([FIRST_STOP])
        taken = server.calls[-1].seconds
        _require_place(server, text, FIRST_STOP)
        samples.first_stop.append(taken)
        samples.local_names.append(timed(server.local_names))
        samples.evaluate += [timed(lambda: server.evaluate("len(lines)")) for _ in range(5)]
        timed(server.step_into)
        samples.step += [timed(server.step_over) for _ in range(10)]
        server.end()
    except ClientError as error:
        print(f"  {server.name}: {error}", file=sys.stderr)


def _time_plain_pytest(program: Program) -> float:
    argv = [str(program.interpreter), "-m", "pytest", "-q", "-p", "no:cacheprovider", program.target]
    begin = time.perf_counter()
    subprocess.run(argv, cwd=program.project, capture_output=True, check=False)
    return time.perf_counter() - begin


HotLoop = dict[str, float]
"""Seconds by loop: ``crunch`` has lines only, ``crunch_with_calls`` a call in every round."""


def hot_loops(
    debuggers: Sequence[DebuggerClass], version: str, rounds: int, scale: int
) -> dict[str, HotLoop]:
    """The hot loop undebugged, under the floor, the stdlib's rules and each debugger, in turns.

    A breakpoint is armed in another function of the same file, reached after the clock has stopped.
    """
    runs: dict[str, list[HotLoop]] = {}
    with fresh_program(version, "hot_loop.py", str(scale)) as program:
        for number in range(rounds):
            runs.setdefault("undebugged", []).append(_loop_undebugged(program))
            runs.setdefault("floor", []).append(_loop_under_floor(program, best_rules(version)))
            if number == 0:
                runs["stdlib pdb rules"] = [_loop_under_floor(program, "bdb")]
            for debugger in debuggers:
                failed = number > 0 and debugger.name not in runs
                if not failed and (loop := _loop_under(debugger, program)):
                    runs.setdefault(debugger.name, []).append(loop)
    return {
        name: {loop: min(run[loop] for run in timed) for loop in timed[0]} for name, timed in runs.items()
    }


def _loop_undebugged(program: Program) -> HotLoop:
    argv = [str(program.interpreter), program.target, *program.arguments]
    subprocess.run(argv, cwd=program.project, capture_output=True, check=True)
    return _loop_result(program.project)


def _loop_under_floor(program: Program, rules: Rules) -> HotLoop:
    floor = Floor(program, rules)
    floor.start([COLD_LINE])
    floor.close()
    return _loop_result(program.project)


def _loop_under(debugger: DebuggerClass, program: Program) -> HotLoop | None:
    running = debugger(program)
    try:
        running.open()
        text = running.start([COLD_LINE])
        if isinstance(running, Ours):
            _require_place(running, text, COLD_LINE)
        loop = _loop_result(running.project)
        running.end()
        return loop
    except ClientError:
        return None
    finally:
        running.close()


def _loop_result(folder: Path) -> HotLoop:
    """Read and remove what the program left; some peers answer before it has."""
    path = folder / "hot_loop.result"
    deadline = time.monotonic() + RESULT_WAIT_SECONDS
    while not path.exists():
        if time.monotonic() > deadline:
            raise ClientError("the hot loop left no result")
        time.sleep(0.05)
    lines = path.read_text(encoding="utf-8").splitlines()
    path.unlink()
    return {name: float(seconds) for name, seconds in (line.split() for line in lines)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Memory:
    """Kilobytes; PSS splits shared pages, RSS counts them in each process."""

    debugger: str
    sessions: int
    server_pss: int
    session_pss: int
    """Per stopped session: everything the sessions added, divided by their number."""
    session_rss: int


def idle_memory(debugger: DebuggerClass, version: str, sessions: int = 1) -> Memory | None:
    """What a server holds, and what each session adds that stands still in a tiny script."""
    mark = new_mark()
    with fresh_program(version, "idle.py") as program:
        running = debugger(replace(program, environment=mark))
        try:
            running.open()
            before = marked(mark)
            server = proportional_kilobytes(before), resident_kilobytes(before)
            for _ in range(sessions):
                running.start([IDLE_LINE])
            after = marked(mark)
            pss, rss = proportional_kilobytes(after), resident_kilobytes(after)
        except ClientError:
            return None
        finally:
            running.close()
            _end_leftovers(mark)
    return Memory(
        debugger=debugger.name,
        sessions=sessions,
        server_pss=server[0],
        session_pss=(pss - server[0]) // sessions,
        session_rss=(rss - server[1]) // sessions,
    )


def _end_leftovers(mark: dict[str, str]) -> None:
    """Peers leave programs behind; the next measurement shall not pay for them."""
    for process in seconds_until_gone(mark, 3)[1]:
        try:
            os.kill(process, signal.SIGKILL)
        except ProcessLookupError:
            continue


@dataclass(frozen=True, slots=True, kw_only=True)
class Fleet:
    """Many sessions at once, and who was left when the server had gone."""

    sessions: int
    stopped: int
    """How many reached their first stop."""
    stepped: int
    start_seconds: float
    step_seconds: float
    """All of them stepping once, at the same time."""
    processes_at_peak: int
    gone_after: dict[str, float]
    """Seconds until no process was left, by how the server ended."""
    left: dict[str, int]


def fleet(version: str, sessions: int) -> Fleet:
    """Start ``sessions`` programs at once, step each, then end the server twice over: kindly and not."""
    results = {ending: _one_fleet(version, sessions, ending) for ending in ("end of file", "SIGKILL")}
    first = results["end of file"]
    return replace(
        first,
        gone_after={ending: result.gone_after[ending] for ending, result in results.items()},
        left={ending: result.left[ending] for ending, result in results.items()},
        stopped=min(result.stopped for result in results.values()),
        stepped=min(result.stepped for result in results.values()),
    )


def _one_fleet(version: str, sessions: int, ending: str) -> Fleet:
    mark = new_mark()
    with fresh_program(version, "idle.py") as program:
        server = OursCold(replace(program, environment=mark), "--max-sessions", str(sessions + 5))
        server.open()
        try:
            begin = time.perf_counter()
            started = _all_at_once(server, "start_debugger", [server.start_arguments([IDLE_LINE])] * sessions)
            start_seconds = time.perf_counter() - begin
            ids = [found[1] for text in started if (found := re.search(r"session (\S+?):", text))]
            begin = time.perf_counter()
            stepped = _all_at_once(server, "step_over", [{"session_id": each} for each in ids])
            step_seconds = time.perf_counter() - begin
            peak = len(marked(mark))
        finally:
            begin = time.monotonic()
            server.client.kill() if ending == "SIGKILL" else server.close()
        _, left = seconds_until_gone(mark)
        gone = time.monotonic() - begin
        server.close()
        _end_leftovers(mark)
    return Fleet(
        sessions=sessions,
        stopped=sum("idle.py:8" in text for text in started),
        stepped=sum("idle.py:9" in text for text in stepped),
        start_seconds=start_seconds,
        step_seconds=step_seconds,
        processes_at_peak=peak,
        gone_after={ending: gone},
        left={ending: len(left)},
    )


def _all_at_once(server: Ours, tool: str, arguments: Sequence[dict[str, object]]) -> list[str]:
    client = server.client
    requests = [client.send("tools/call", {"name": tool, "arguments": each}) for each in arguments]
    return [text_of(client.result_of(request, 120)) for request in requests]


def tool_list_bytes(debugger: DebuggerClass, version: str) -> int:
    """Size of what the client puts before the model before anything has happened."""
    with fresh_program(version, "idle.py") as program:
        running = debugger(program)
        try:
            running.open()
            tools = running.client.request("tools/list", {}, 30)["tools"]
        finally:
            running.close()
    return len(json.dumps(tools, separators=(",", ":")).encode())
