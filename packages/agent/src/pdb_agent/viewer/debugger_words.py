"""Reads what the debugger's tools say to a model: changes, names, frames. Lenient: no text is an error."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from pdb_agent.viewer.records import Look, Place

_NAME = r"[^\W\d][\w.\[\]'\"]*"
_NEXT_CHANGED = re.compile(rf"; (?={_NAME}: .* → )")
_NEXT_NEW = re.compile(rf"; (?={_NAME} = )")
_PLACE = re.compile(
    r"(?P<path>.+?):(?P<line>\d+) in (?P<function>.+?)(?: \(×\d+\))?(?: \| .*| \[thread .*)?$"
)
_FRAME = re.compile(r"#\d+ ")
_IS = re.compile(rf"({_NAME}) is ({_NAME})$")
_ATTRIBUTES = re.compile(r", \d+ attributes?:$")
_STARTED = re.compile(r"session \S+: .* in (\S+)$")
_STOP = re.compile(r"stop \d+: line (\d+) in (.*)$")
_CONDITION = re.compile(r"(?:breakpoint|log point) (\d+) at .*? \[if (.*?)\](?: \[|$)")
_SUMMARY = re.compile(r"(?m)^=*\s*((?:\d+ \w+,? )+)in [\d.]+s(?: \([\d:]+\))?\s*=*$")
_COUNT = re.compile(r"(\d+) (\w+)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Changes:
    """What a step did to the names of a frame."""

    new: tuple[tuple[str, str], ...] = ()
    """Name and value."""
    changed: tuple[tuple[str, str, str], ...] = ()
    """Name, old and new value."""
    gone: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class TableStop:
    """One stop in a table of values."""

    line: int
    function: str
    looks: tuple[Look, ...]


def changes_in(text: str) -> Changes:
    """The lines ``new: …``, ``changed: …`` and ``gone: …`` with those that continue them."""
    found: dict[str, list[str]] = {"new": [], "changed": [], "gone": []}
    splitters = {"new": _NEXT_NEW, "changed": _NEXT_CHANGED, "gone": re.compile("; ")}
    title = ""
    for line in text.split("\n"):
        head, colon, rest = line.partition(": ")
        if colon and head in found:
            title = head
            found[title] += splitters[title].split(rest)
        elif title and line.startswith("  "):
            found[title].append(line.strip())
        else:
            title = ""
    return Changes(
        new=tuple((name, value) for name, equals, value in map(_at_equals, found["new"]) if equals),
        changed=tuple(change for part in found["changed"] if (change := _change(part))),
        gone=tuple(found["gone"]),
    )


def line_after(text: str, title: str) -> str:
    """The rest of the first line that begins with ``title``; empty when there is none."""
    return next((line.removeprefix(title) for line in text.split("\n") if line.startswith(title)), "")


def called_from(text: str) -> Place | None:
    """The caller, where a stop names it."""
    return place_in(line_after(text, "called from "))


def place_in(text: str) -> Place | None:
    """``file:line in function``, or None."""
    found = _PLACE.match(text)
    if found is None:
        return None
    return Place(path=found["path"], line=int(found["line"]), function=found["function"])


def names_in(text: str) -> tuple[tuple[str, str], ...]:
    """Names and values of a page of locals."""
    names: list[tuple[str, str]] = []
    for line in text.split("\n"):
        if found := _IS.match(line):
            names.append((found[1], found[2]))
            continue
        name, equals, value = _at_equals(line)
        if equals and re.fullmatch(_NAME, name):
            names.append((name, _ATTRIBUTES.sub("", value)))
    return tuple(names)


def frames_in(text: str) -> tuple[Place, ...]:
    """The frames of a stack, innermost first."""
    heads = ((line, _FRAME.match(line)) for line in text.split("\n"))
    places = (place_in(line[head.end() :]) for line, head in heads if head)
    return tuple(place for place in places if place)


def started_in(text: str) -> str:
    """The folder in which a session's program runs; empty when the text does not say."""
    found = _STARTED.match(text.partition("\n")[0])
    return found[1] if found else ""


def condition_in(text: str) -> tuple[int, str] | None:
    """The number and the condition of a breakpoint that was set."""
    found = _CONDITION.match(text.partition("\n")[0])
    return (int(found[1]), found[2]) if found else None


def answer_of(text: str) -> str:
    """The answer to a look: what is said before changes and next steps."""
    kept = [line for line in text.split("\n") if not line.startswith(("next: ", "new: ", "changed: "))]
    return "\n".join(kept).strip("\n")


def table_stops(text: str, expressions: Sequence[str]) -> tuple[TableStop, ...]:
    """The stops in a table of values, each with what was asked for."""
    return tuple(_table_stops(text, expressions))


def test_counts(text: str) -> tuple[int, int] | None:
    """Passed and failed (errors too) in pytest's last line of summary, or None."""
    summaries = _SUMMARY.findall(text)
    if not summaries:
        return None
    counts = {word.rstrip("s"): int(number) for number, word in _COUNT.findall(summaries[-1])}
    if not counts.keys() & {"passed", "failed", "error"}:
        return None
    return counts.get("passed", 0), counts.get("failed", 0) + counts.get("error", 0)


def _table_stops(text: str, expressions: Sequence[str]) -> Iterator[TableStop]:
    head: re.Match[str] | None = None
    looks: list[Look] = []
    for line in text.split("\n"):
        if found := _STOP.match(line):
            if head is not None:
                yield _table_stop(head, looks)
            head, looks = found, []
        elif head is not None:
            asked = next((one for one in expressions if line.startswith(f"  {one} = ")), None)
            if asked is not None:
                looks.append(Look(expression=asked, value=line.removeprefix(f"  {asked} = ")))
    if head is not None:
        yield _table_stop(head, looks)


def _table_stop(head: re.Match[str], looks: list[Look]) -> TableStop:
    return TableStop(line=int(head[1]), function=head[2], looks=tuple(looks))


def _at_equals(part: str) -> tuple[str, str, str]:
    return part.partition(" = ")


def _change(part: str) -> tuple[str, str, str] | None:
    name, colon, rest = part.partition(": ")
    old, arrow, new = rest.partition(" → ")
    return (name, old, new) if colon and arrow else None
