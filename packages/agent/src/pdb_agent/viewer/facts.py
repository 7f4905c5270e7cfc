"""The facts of a result that a page reads; what is not as expected is as if it were not there."""

from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError


class _Read(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")


class Location(_Read):
    """Where the program stands."""

    file: str
    line: int
    function: str = ""


class BoundBreakpoint(_Read):
    """A breakpoint, and at the program's end how it fared."""

    id: int
    file: str
    line: int
    is_moved: bool = False
    explanation: str | None = None
    """Why it never fired."""


class Facts(_Read):
    """Of any tool."""

    session_id: str | None = None
    state: str = ""
    reason: str = ""
    location: Location | None = None
    breakpoints: tuple[BoundBreakpoint, ...] = ()
    breakpoint_ids: tuple[int, ...] = ()
    verdicts: tuple[BoundBreakpoint, ...] = ()
    exit_code: int | None = None
    signal: str | None = None
    passed: tuple[str, ...] | None = None
    failed: tuple[str, ...] | None = None
    path: str | None = None
    first: int | None = None
    last: int | None = None


def read_facts(facts: Mapping[str, Any]) -> Facts:
    """The facts of a result."""
    try:
        return Facts.model_validate(dict(facts))
    except ValidationError:
        return Facts()
