"""A task's witness, seen through the debugger server that models use, inside the sandbox."""

import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

from mcp.client.client import Client
from mcp.types import TextContent

from pdb_agent.errors import AgentError
from pdb_agent.patches import apply_patch
from pdb_agent.sandbox import Backend, Sandbox, SandboxSpec
from pdb_agent.sandboxes.debugging import open_debugger_in
from pdb_agent.sandboxes.interpreters import task_interpreter
from pdb_agent.sandboxes.opening import open_sandbox
from pdb_agent.task import Preference, Task, Witness, WitnessStop
from pdb_agent.task_files import load_task

ENGINES = ("pdb", "debugpy")
REACH_SECONDS = 2.0
"""From the first line of the program to a stop, at most."""
HIT_LIMIT = 20
WAIT_SECONDS = 15.0
"""How long one continue is waited for; more than REACH_SECONDS, for a loaded machine."""
_AT_BREAKPOINTS = re.compile(r"breakpoints? (?P<ids>\d+(?:, \d+)*):")
_SET = re.compile(r"breakpoint (?P<id>\d+)\b")


class WitnessError(AgentError):
    """The debugger refused something that the witness asks for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SeenStop:
    """A stop that was reached."""

    values: tuple[str, ...]
    """What each expression showed, in the witness's order."""
    seconds: float
    """From the start of the program's first line to here."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Observation:
    """What one run of the target showed."""

    engine: str
    stops: tuple[SeenStop | None, ...]
    """For each stop of the witness; None when the program ended or hung before it."""


async def observe(
    witness: Witness,
    files: Mapping[str, bytes],
    *,
    engine: str,
    python: Path | None = None,
    backend: Backend | None = None,
) -> Observation:
    """Run the witness's target under the debugger in a fresh sandbox and look at its stops.

    Raises WitnessError with the server's sentence, SandboxError.
    """
    spec = SandboxSpec(python=python or task_interpreter(), files=files)
    async with open_sandbox(spec, backend) as sandbox:
        return await observe_in(sandbox, witness, engine=engine)


async def observe_in(sandbox: Sandbox, witness: Witness, *, engine: str) -> Observation:
    """Like ``observe``, in a sandbox whose workspace is laid out."""
    async with open_debugger_in(sandbox) as client:
        debugger = _Debugger(client)
        await debugger.call(
            "start_debugger",
            target=witness.target,
            engine=engine,
            on_failure="continue",
        )
        waiting = {await debugger.set_breakpoint(stop): index for index, stop in enumerate(witness.stops)}
        seen: list[SeenStop | None] = [None] * len(witness.stops)
        began, spent = time.monotonic(), 0.0
        while waiting:
            answer = await debugger.call("continue_execution", timeout_seconds=WAIT_SECONDS)
            at = _AT_BREAKPOINTS.match(answer)
            if at is None:
                break
            arrived = time.monotonic() - began - spent
            looking = time.monotonic()
            for number in at["ids"].split(", "):
                index = waiting.pop(number)
                values = [await debugger.evaluate(value.expression) for value in witness.stops[index].values]
                seen[index] = SeenStop(values=tuple(values), seconds=arrived)
                await debugger.call("remove_breakpoint", id=number)
            spent += time.monotonic() - looking
        await debugger.call("stop_debugger")
    return Observation(engine=engine, stops=tuple(seen))


async def complaints(
    task: Task,
    *,
    engines: Sequence[str] = ENGINES,
    python: Path | None = None,
    backend: Backend | None = None,
) -> tuple[str, ...]:
    """What does not hold of a task's witness, as sentences; empty when it proves what it says.

    Every stop has to be reached on every engine, before and after the solution, and show
    the values that the witness names, of which at least one differs.
    """
    witness = task.witness
    if witness is None:
        return ("There is no witness.toml: write the stop at which the cause can be seen.",)
    found = list(_complaints_on_paper(witness))
    fixed = apply_patch(task.solution, task.workspace)
    for engine in engines:
        for files, state in ((task.workspace, "buggy"), (fixed, "fixed")):
            try:
                observation = await observe(witness, files, engine=engine, python=python, backend=backend)
            except WitnessError as error:
                found.append(f"{engine}, {state}: {error}")
                continue
            found += [
                f"{engine}, {state}: {sentence}" for sentence in _mismatches(witness, observation, state)
            ]
    return tuple(found)


def _complaints_on_paper(witness: Witness) -> list[str]:
    found: list[str] = []
    for stop in witness.stops:
        if stop.file.startswith("tests/"):
            found.append(f"The stop in {stop.file} is in a test: the cause has to be seen in the program.")
        if stop.hit > HIT_LIMIT:
            found.append(f"The stop in {stop.file} is on hit {stop.hit}: {HIT_LIMIT} at most.")
    values = [value for stop in witness.stops for value in stop.values]
    if all(value.buggy == value.fixed for value in values):
        found.append("No value differs between the buggy and the fixed program: find the deciding one.")
    return found


def _mismatches(witness: Witness, observation: Observation, state: str) -> list[str]:
    found: list[str] = []
    for stop, seen in zip(witness.stops, observation.stops, strict=True):
        place = f"{stop.file} {stop.function or stop.line}"
        if seen is None:
            found.append(f"{place} was not reached.")
            continue
        if seen.seconds > REACH_SECONDS:
            found.append(f"{place} was reached after {seen.seconds:.1f} s, {REACH_SECONDS:g} s at most.")
        for value, shown in zip(stop.values, seen.values, strict=True):
            expected = value.buggy if state == "buggy" else value.fixed
            if shown != expected:
                found.append(f"{place}: {value.expression} is {shown}, not {expected}.")
    return found


class _Debugger:
    """One session, spoken to as a model does."""

    def __init__(self, client: Client) -> None:
        self._client = client

    async def call(self, tool: str, **arguments: object) -> str:
        """A tool's answer. Raises WitnessError when it is a refusal."""
        result = await self._client.call_tool(tool, arguments)
        text = "\n".join(block.text for block in result.content if isinstance(block, TextContent))
        if result.is_error:
            raise WitnessError(text)
        return text

    async def set_breakpoint(self, stop: WitnessStop) -> str:
        """The number of the breakpoint for a stop."""
        at = f"{stop.file}~{stop.line}" if stop.line is not None else f"{_dotted(stop.file)}.{stop.function}"
        asked: dict[str, object] = {"at": at}
        if stop.condition is not None:
            asked["condition"] = stop.condition
        if stop.hit > 1:
            asked["hits"] = str(stop.hit)
        answer = await self.call("add_breakpoint", **asked)
        number = _SET.search(answer)
        if number is None:
            raise WitnessError(answer)
        return number["id"]

    async def evaluate(self, expression: str) -> str:
        """What an expression shows; what it raises is an answer too."""
        try:
            return (await self.call("run_expression", code=expression)).strip()
        except WitnessError as error:
            return str(error).strip()


def _dotted(file: str) -> str:
    return file.removesuffix("/__init__.py").removesuffix(".py").replace("/", ".")


async def report(folders: Sequence[Path], stream: TextIO) -> int:
    """Write what holds and what does not of the witnesses in ``folders``; the exit code."""
    failures = 0
    for folder in folders:
        try:
            task = load_task(folder)
            needed = task.witness is not None or task.preference is not Preference.AVOID
            found = await complaints(task) if needed else ()
        except AgentError as error:
            found = (str(error),)
        stream.write(f"{folder.name}: {'; '.join(found) or 'the witness holds on both engines'}\n")
        stream.flush()
        failures += bool(found)
    return 1 if failures else 0
