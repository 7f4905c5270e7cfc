"""What the harness asks of any debugger that a model can drive.

An adapter makes the calls that a model who knows the tool well would make, in
as few calls as the tool allows, and every call is recorded with its time and
size. A verb the tool answers as part of an earlier stop costs nothing: the
adapter returns that stop's text.
"""

import json
import re
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from bench.raw_client import Call, ClientError, RawClient

ROOT = Path(__file__).resolve().parents[2]
ENVIRONMENTS = ROOT / ".envs"


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """What is to be debugged; ``project`` is a throw-away copy of the workload."""

    project: Path
    interpreter: Path
    kind: Literal["pytest", "script"]
    target: str
    arguments: tuple[str, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict[str, str])


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """A line of the workload; ``file`` is relative to the project."""

    file: str
    line: int


class Debugger(ABC):
    """One server and at most one program in it. Verbs return the text the model reads."""

    name: str
    version: str
    speaks_mcp = True
    """False for one that is driven through its own API, so that its calls carry no protocol cost."""
    in_registry = True
    """False for one that can only be installed from a checkout."""
    note = ""
    """How it was driven, where that is not obvious."""
    location_pattern = re.compile(r"(\w+\.py)\W+(?:line\W+)?(\d+)")
    """Finds file name and line in a stop's text."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.calls: list[Call] = []
        self.client = RawClient(
            self.command(), cwd=program.project, environment={**program.environment, **self.environment()}
        )

    @classmethod
    @abstractmethod
    def missing(cls) -> str | None:
        """Why it cannot be run here; None when it can."""

    @abstractmethod
    def command(self) -> Sequence[str]:
        """The server's argv. May write files into the project first."""

    def environment(self) -> Mapping[str, str]:
        """Additions to the server's environment."""
        return {}

    def open(self) -> float:
        """Start the server; seconds until it has shaken hands."""
        self.client.start()
        return self.client.start_seconds

    @abstractmethod
    def start(self, places: Sequence[Place]) -> str:
        """Start the program and run to the first of ``places`` that is reached."""

    @abstractmethod
    def resume(self) -> str:
        """Run on to the next breakpoint or the end."""

    @abstractmethod
    def step_over(self) -> str:
        """Run to the next line of this function, or of its caller after its end."""

    @abstractmethod
    def step_into(self) -> str:
        """Run to the next line anywhere in the program's own code."""

    @abstractmethod
    def local_names(self) -> str:
        """All locals of the current frame."""

    @abstractmethod
    def evaluate(self, expression: str) -> str:
        """The value of an expression in the current frame."""

    def show(self, name: str) -> str:
        """One variable, the way this tool shows variables."""
        return self.evaluate(name)

    @abstractmethod
    def stack(self) -> str:
        """Where execution is and who called."""

    @abstractmethod
    def end(self) -> str:
        """Close the session."""

    @property
    def project(self) -> Path:
        """Where the program runs; a peer may have made a copy of its own."""
        return self.program.project

    def location(self, text: str) -> Place | None:
        """The place a stop's text says execution is at; None when it says none."""
        found = self.location_pattern.search(text)
        return Place(file=found[1], line=int(found[2])) if found else None

    def close(self) -> None:
        """End the server."""
        self.client.close()

    def call(self, tool: str, arguments: Mapping[str, Any], timeout_seconds: float = 60) -> str:
        """One recorded tool call."""
        finished = self.client.call_tool(tool, dict(arguments), timeout_seconds)
        self.calls.append(finished)
        return finished.text


def field_of(text: str, *names: str) -> str:
    """A string field of a JSON answer, by any of its names. Raises ClientError."""
    try:
        data = json.loads(text)
    except ValueError as error:
        raise ClientError(f"not JSON: {text[:200]!r}") from error
    for name in names:
        if name in data:
            return str(data[name])
    raise ClientError(f"none of {names} in {text[:200]!r}")


def executable(environment: str, command: str) -> Path:
    """A command of a peer's own environment."""
    return ENVIRONMENTS / environment / "bin" / command


def missing_file(path: Path) -> str | None:
    """The sentence that says how to get a peer, unless its file exists."""
    if path.exists():
        return None
    return f"{path.relative_to(ROOT)} is missing: run `python -m bench.setup_peers`"
