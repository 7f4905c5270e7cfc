"""Turns what a debuggee says into records."""

from typing import Any

from mcp_pdb.records import (
    Breakpoint,
    BreakpointSpec,
    BreakpointVerdict,
    Change,
    Evaluation,
    Frame,
    Location,
    LogRecord,
    RaisedException,
    SourceLine,
    Stopped,
    Target,
    ThreadStack,
    Variable,
    VariablePage,
)

Fields = dict[str, Any]


def location_of(fields: Fields | None) -> Location | None:
    """A place, or None."""
    if fields is None:
        return None
    return Location(file=fields["file"], line=fields["line"], function=fields.get("function") or "<module>")


def place_of(fields: Fields) -> Location:
    """A place that is there."""
    return Location(file=fields["file"], line=fields["line"], function=fields.get("function") or "<module>")


def changes_of(items: list[Fields]) -> tuple[Change, ...]:
    """Changed names."""
    return tuple(Change(name=item["name"], old=item["old"], new=item["new"]) for item in items)


def logs_of(items: list[Fields]) -> tuple[LogRecord, ...]:
    """Lines of log points."""
    return tuple(LogRecord(breakpoint_id=item["breakpoint_id"], text=item["text"]) for item in items)


def exception_of(fields: Fields | None) -> RaisedException | None:
    """An exception, or None."""
    if fields is None:
        return None
    return RaisedException(
        type=fields["type"],
        message=fields["message"],
        origin=location_of(fields.get("origin")),
        chain=tuple(fields.get("chain") or ()),
    )


def stopped_of(event: Fields) -> Stopped:
    """A stop from its event."""
    notes = tuple(event.get("notes") or ())
    watched = changes_of(event.get("watch") or [])
    names = {change.name for change in watched}
    changes = watched + tuple(change for change in changes_of(event["changes"]) if change.name not in names)
    where = location_of(event.get("watch_line"))
    if where is not None:
        notes += (f"The change was made by line {where.line} in {where.function}.",)
    return Stopped(
        reason=event["reason"],
        thread=event["thread"],
        thread_ident=event["thread_ident"],
        location=place_of(event["location"]),
        source=tuple(SourceLine(line=line, text=text) for line, text in event["source"]),
        called_from=location_of(event.get("called_from")),
        depth=event["depth"],
        changes=changes,
        changes_omitted=event["changes_omitted"],
        returned=event.get("returned"),
        exception=exception_of(event.get("exception")),
        breakpoint_ids=tuple(event.get("breakpoint_ids") or ()),
        condition_error=event.get("condition_error"),
        can_step=event["can_step"],
        notes=notes,
        logs=logs_of(event["logs"]),
    )


def breakpoint_of(fields: Fields) -> Breakpoint:
    """A breakpoint as it is bound."""
    known: Fields = {**fields, "log": tuple(fields["log"])}
    return Breakpoint(**known)


def verdict_of(fields: Fields) -> BreakpointVerdict:
    """What became of a breakpoint."""
    return BreakpointVerdict(
        breakpoint=breakpoint_of(fields["breakpoint"]),
        hit_count=fields["hit_count"],
        explanation=fields["explanation"],
    )


def frame_of(fields: Fields, index: int | None = None) -> Frame:
    """One frame."""
    place = fields.get("location") or fields
    return Frame(
        index=fields.get("index", index or 0),
        location=place_of(place),
        source=fields.get("source") or "",
        is_user=fields.get("is_user", True),
        repeated=fields.get("repeated", 1),
    )


def thread_of(fields: Fields, current: int | None) -> ThreadStack:
    """One thread or task."""
    return ThreadStack(
        ident=fields["ident"],
        name=fields["name"],
        kind=fields.get("kind", "thread"),
        frames=tuple(frame_of(frame, index) for index, frame in enumerate(fields["frames"])),
        waits_on=fields.get("waits_on"),
        is_current=fields["ident"] == current,
    )


def page_of(fields: Fields) -> VariablePage:
    """A page of names or children."""
    return VariablePage(
        heading=fields.get("heading", ""),
        variables=tuple(
            Variable(
                name=item["name"],
                value=item["value"],
                type=item["type"],
                path=item["path"],
                same_as=item.get("same_as"),
            )
            for item in fields["variables"]
        ),
        hidden=fields.get("hidden", 0),
        total=fields.get("total", 0),
        next_cursor=fields.get("next_cursor"),
    )


def evaluation_of(fields: Fields) -> Evaluation:
    """What an evaluation gave."""
    return Evaluation(
        value=fields.get("value"),
        type=fields.get("type"),
        changes=changes_of(fields.get("changes") or []),
        error=fields.get("error"),
    )


def spec_fields(spec: BreakpointSpec) -> Fields:
    """A breakpoint request for the debuggee."""
    return {
        "at": spec.at,
        "condition": spec.condition,
        "hits": spec.hits,
        "log": list(spec.log),
        "once": spec.once,
        "occurrence": spec.occurrence,
    }


def run_fields(target: Target, *, stop_at_entry: bool) -> Fields:
    """What ``run_target`` is to run."""
    return {
        "kind": target.kind,
        "target": target.target,
        "args": list(target.args),
        "on_failure": target.on_failure,
        "stop_at_entry": stop_at_entry,
        "cwd": target.cwd,
        "root": target.root or target.cwd,
    }
