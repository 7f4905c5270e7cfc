"""Runs a task's tests once and says what became of each."""

import json
import random
from collections.abc import AsyncIterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import anyio
from mcp_pdb.launcher import Launcher, LaunchSpec, Process

from pdb_agent.task import TaskLimits

INSIDE = Path(__file__).with_name("suite_inside.py")
ASSERTIONS = frozenset({"AssertionError", "Failed"})
"""What a failing ``assert`` or ``pytest.raises`` is called."""
OUTPUT_BYTES = 20_000
_LINE_BYTES = 1 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class SuitePlace:
    """Where a suite runs: a workspace that lies ready, and what starts programs there."""

    launcher: Launcher
    folder: str
    python: str
    environment: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class SuiteRequest:
    """How a suite shall run."""

    paths: tuple[str, ...] = ("tests", "hidden")
    """What pytest is given: folders, files or ids of tests."""
    reverse: bool = False
    limits: TaskLimits = field(default_factory=TaskLimits)
    hash_seed: int | None = None
    """None for a random one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What became of one test."""

    outcome: str
    """passed, failed (in its body), error (before or after it), skipped, xfail, timed out, or the end
    of the run, which is what a test is that ends its process.
    """
    error: str = ""
    """The exception's type."""
    message: str = ""
    """What pytest shows for it."""
    seconds: float = 0.0

    @property
    def kind(self) -> str:
        """What has to be the same each time: the outcome and the exception's type."""
        return f"{self.outcome} ({self.error})" if self.error else self.outcome


@dataclass(frozen=True, slots=True, kw_only=True)
class SuiteRun:
    """What became of a suite."""

    outcomes: Mapping[str, Outcome]
    """By the test's id."""
    uncollected: Mapping[str, str]
    """Modules that could not be collected, and why."""
    timed_out: bool
    """Ended from outside at a limit."""
    finished: bool = True
    """False when the process ended before pytest did, or at a limit."""
    seconds: float = 0.0
    """What pytest took, without the interpreter's start."""
    python: str = ""
    left: tuple[str, ...] = ()
    """Threads and processes that live on after the last test, in words."""
    written: tuple[str, ...] = ()
    """Files written outside the folder for temporary ones."""
    network: tuple[str, ...] = ()
    """Uses of the network, as audit events."""
    output: str = ""
    """What the process printed, for runs that have no outcomes."""

    def below(self, folder: str) -> dict[str, Outcome]:
        """The outcomes of the tests of one folder, ``tests`` or ``hidden``."""
        return {test: outcome for test, outcome in self.outcomes.items() if test.startswith(f"{folder}/")}

    def failing(self, folder: str) -> list[str]:
        """Ids of the tests of a folder that did not pass."""
        return [test for test, outcome in self.below(folder).items() if outcome.outcome != "passed"]


async def run_suite(place: SuitePlace, request: SuiteRequest) -> SuiteRun:
    """Run the tests in ``place``; when this returns no process of theirs is left."""
    seed = random.randrange(1, 2**32) if request.hash_seed is None else request.hash_seed
    spec = LaunchSpec(
        argv=(
            place.python,
            "-c",
            INSIDE.read_text("utf-8"),
            "{channel}",
            "reverse" if request.reverse else "forward",
            *request.paths,
        ),
        cwd=place.folder,
        environment={**place.environment, "PYTHONHASHSEED": str(seed), "PYTHONDONTWRITEBYTECODE": "1"},
        wants_channel=True,
    )
    process = await place.launcher.launch(spec)
    record, output = _Record(), bytearray()
    try:
        async with anyio.create_task_group() as pumps:
            pumps.start_soon(_drain, process.stdout, output)
            pumps.start_soon(_drain, process.stderr, output)
            with anyio.move_on_after(request.limits.suite_seconds):
                await _follow(process, record, request.limits.test_seconds)
            pumps.cancel_scope.cancel()
    finally:
        with anyio.CancelScope(shield=True):
            await process.aclose()
    return record.run(output.decode("utf-8", "replace"))


@dataclass(slots=True, kw_only=True)
class _Record:
    """What the channel has told so far."""

    outcomes: dict[str, Outcome] = field(default_factory=dict[str, Outcome])
    uncollected: dict[str, str] = field(default_factory=dict[str, str])
    begun: str | None = None
    finish: dict[str, Any] | None = None
    ended: bool = False

    def take(self, message: dict[str, Any]) -> None:
        if "start" in message:
            self.begun = message["start"]
        elif "collect" in message:
            self.uncollected[message["collect"]] = message["message"]
        elif "finish" in message:
            self.finish, self.begun = message["finish"], None
        else:
            self._take_test(message)

    def _take_test(self, message: dict[str, Any]) -> None:
        test, outcome = message["test"], message["outcome"]
        if outcome == "failed" and message["phase"] != "call":
            outcome = "error"
        known = self.outcomes.get(test)
        if known is None or known.outcome == "passed":
            self.outcomes[test] = Outcome(
                outcome=outcome,
                error=message["error"],
                message=message["message"],
                seconds=message["seconds"],
            )

    def run(self, output: str) -> SuiteRun:
        if self.begun is not None and self.begun not in self.outcomes:
            self.outcomes[self.begun] = Outcome(outcome="the end of the run" if self.ended else "timed out")
        finish = self.finish or {}
        left = [f"thread {name}" for name in finish.get("threads", ())]
        if finish.get("processes"):
            left.append(f"{finish['processes']} processes")
        return SuiteRun(
            outcomes=self.outcomes,
            uncollected=self.uncollected,
            timed_out=not self.ended,
            finished=self.finish is not None,
            seconds=finish.get("seconds", 0.0),
            python=finish.get("python", ""),
            left=tuple(left),
            written=(*finish.get("written", ()), *finish.get("changed", ())),
            network=tuple(finish.get("network", ())),
            output=output,
        )


async def _follow(process: Process, record: _Record, test_seconds: float) -> None:
    """Take messages until the process has ended, or one test takes too long."""
    lines = _lines(process)
    while True:
        with anyio.move_on_after(test_seconds) as waiting:
            message = await anext(lines, None)
            if message is None:
                break
            record.take(message)
        if waiting.cancelled_caught:
            return
    await process.wait()
    record.ended = True


class _Readable(Protocol):
    async def receive(self, max_bytes: int = ...) -> bytes: ...


async def _drain(stream: _Readable, output: bytearray) -> None:
    """Keep the newest of what a stream gives, until it ends."""
    with suppress(anyio.EndOfStream, anyio.ClosedResourceError):
        while True:
            output += await stream.receive(_LINE_BYTES)
            del output[:-OUTPUT_BYTES]


async def _lines(process: Process) -> AsyncIterator[dict[str, Any]]:
    assert process.channel is not None
    buffer = b""
    while True:
        try:
            buffer += await process.channel.receive(_LINE_BYTES)
        except (anyio.EndOfStream, anyio.BrokenResourceError):
            return
        *lines, buffer = buffer.split(b"\n")
        for line in lines:
            yield json.loads(line)
