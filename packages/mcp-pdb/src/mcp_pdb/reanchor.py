"""Breakpoints that follow their line when a file was edited between two runs."""

import re
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from mcp_pdb.records import Breakpoint, BreakpointSpec

_FILE_AND_LINE = re.compile(r".+:\d+\Z", re.DOTALL)


def reanchor(
    breakpoints: Iterable[tuple[BreakpointSpec, Breakpoint]],
) -> tuple[tuple[BreakpointSpec, ...], tuple[str, ...]]:
    """Specs for the next run, and a sentence for each one that had to move."""
    specs: list[BreakpointSpec] = []
    notes: list[str] = []
    for spec, bound in breakpoints:
        line, note = _line_now(spec, bound)
        specs.append(spec if line is None else replace(spec, at=f"{bound.file}:{line}"))
        if note:
            notes.append(note)
    return tuple(specs), tuple(notes)


def _line_now(spec: BreakpointSpec, bound: Breakpoint) -> tuple[int | None, str | None]:
    """The line to use now, None to ask again as before; functions and pieces of text follow by themselves."""
    if not _FILE_AND_LINE.match(spec.at) or not bound.text:
        return None, None
    try:
        lines = Path(bound.file).read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return None, f"breakpoint {spec.at}: its file cannot be read any more"
    if 0 < bound.line <= len(lines) and lines[bound.line - 1].strip() == bound.text:
        return bound.line, None
    same = [number for number, text in enumerate(lines, start=1) if text.strip() == bound.text]
    if not same:
        return None, f"breakpoint {spec.at}: its line was edited; it is asked for by number again"
    nearest = min(same, key=lambda number: abs(number - bound.line))
    return nearest, f"breakpoint {spec.at} moved to line {nearest}: the file was edited"
