"""The results as tables: for a terminal, and in Markdown for the documentation."""

from collections.abc import Sequence

from bench.measurements import HotLoop, median
from bench.peers.adapter import Debugger
from bench.peers.ours import Ours
from bench.results import Results, Target, targets

Row = Sequence[str]
ABSENT = "–"


def text_table(rows: Sequence[Row]) -> str:
    """Columns padded to their widest cell; the first row is the heading."""
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows
    ]
    return "\n".join([lines[0], "-" * max(map(len, lines)), *lines[1:]])


def markdown_table(rows: Sequence[Row]) -> str:
    """The same rows for a Markdown page."""
    lines = ["| " + " | ".join(row) + " |" for row in rows]
    return "\n".join([lines[0], "|" + "---|" * len(rows[0]), *lines[1:]])


def report(results: Results) -> str:
    """Everything for a terminal."""
    parts = [f"Machine: {results.machine}"]
    parts += [f"Not measured: {name}: {reason}" for name, reason in results.missing.items()]
    titled = (
        ("One session each, the same for all", session_rows(results)),
        ("Characters by part of that session", character_rows(results)),
        ("Against the floor", floor_rows(results)),
        ("Hot loop with a breakpoint in another function, times the undebugged loop", hot_loop_rows(results)),
        ("Targets", target_rows(targets(results))),
    )
    parts += [f"\n{title}\n{text_table(rows)}" for title, rows in titled if len(rows) > 1]
    return "\n".join(parts)


def session_rows(results: Results) -> list[Row]:
    """One row per debugger: times, sizes, facts, memory."""
    rows: list[Row] = [
        (
            "debugger",
            "server up",
            "first stop",
            "step",
            "locals",
            "calls",
            "characters",
            "largest answer",
            "facts told",
            "stray lines",
            "idle session",
            "tools, tokens",
        )
    ]
    for name, record in results.sessions.items():
        stops = results.first_stops.get(name) or [record.first_stop_seconds]
        memory = results.memory.get(name)
        rows.append(
            (
                _titled(results.debuggers[name]),
                _seconds(record.server_seconds),
                _seconds(median(stops)),
                _seconds(median(record.step_seconds)) if record.step_seconds else ABSENT,
                _seconds(record.locals_seconds) if record.locals_seconds else "with the stop",
                str(record.calls),
                f"{record.total_characters:,}",
                f"{max(record.largest_answer.values(), default=0):,}",
                _facts(record.facts_told, len(record.facts), record.follow_ups, broken=bool(record.broken)),
                str(record.stray_lines),
                f"{memory.session_pss / 1024:.0f} MB" if memory else ABSENT,
                str(results.tool_list_bytes[name] // 4) if name in results.tool_list_bytes else ABSENT,
            )
        )
    return rows


def character_rows(results: Results) -> list[Row]:
    """Where each debugger's characters went."""
    parts = list(next(iter(results.sessions.values())).characters) if results.sessions else []
    rows: list[Row] = [("debugger", *parts, "total")]
    rows += [
        (
            name,
            *(f"{record.characters.get(part, 0):,}" for part in parts),
            f"{record.total_characters:,}",
        )
        for name, record in results.sessions.items()
    ]
    return rows


def floor_rows(results: Results) -> list[Row]:
    """Ours beside the bare agent, per Python version and engine."""
    rows: list[Row] = [
        ("Python", "what", "first stop", "/ floor", "step", "locals", "evaluate", "plain pytest run")
    ]
    for floor in results.floors:
        rows.append(
            (
                floor.python,
                f"floor ({floor.rules})",
                _seconds(floor.floor_first_stop),
                "1.00",
                _seconds(floor.floor_step),
                _seconds(floor.floor_locals),
                ABSENT,
                _seconds(floor.plain_pytest),
            )
        )
        rows += [
            (
                floor.python,
                name,
                _seconds(first_stop),
                f"{first_stop / floor.floor_first_stop:.2f}",
                _seconds(floor.ours_step[name]),
                _seconds(floor.ours_locals[name]),
                _seconds(floor.ours_evaluate[name]),
                "",
            )
            for name, first_stop in floor.ours_first_stop.items()
        ]
    return rows


def hot_loop_rows(results: Results) -> list[Row]:
    """Factors over the undebugged loop, for both loops."""
    rows: list[Row] = [("Python", "under", "lines only", "a call in every round")]
    for version, loops in results.hot_loops.items():
        base = loops["undebugged"]
        rows += [
            (version, name, _factor(loop, base, "crunch"), _factor(loop, base, "crunch_with_calls"))
            for name, loop in loops.items()
            if name != "undebugged"
        ]
    return rows


def target_rows(judged: Sequence[Target]) -> list[Row]:
    """Each promise with what was found."""
    rows: list[Row] = [("target", "at most", "found", "", "from")]
    for target in judged:
        digits = 0 if target.unit == "" else 2
        rows.append(
            (
                target.name,
                f"{target.limit:.{digits}f}{_unit(target.unit)}",
                f"{target.value:.{digits}f}{_unit(target.unit)}",
                "met" if target.met else "MISSED",
                target.detail,
            )
        )
    return rows


def peers_markdown(results: Results) -> str:
    """What the documentation includes: our row beside the peers', then the floor and the loop."""
    notes = [
        f"- {_titled(debugger)}: {debugger.note}." for debugger in results.debuggers.values() if debugger.note
    ]
    notes += [f"- {name}: not measured, {reason}." for name, reason in results.missing.items()]
    parts = [
        f"Measured on {results.machine} with Python 3.11 as the target, all in one run of `make bench`.",
        markdown_table(session_rows(results)),
        "\n".join(notes),
        "Characters by part of the session:",
        markdown_table(character_rows(results)),
        "Against the bare in-process agent (the floor):",
        markdown_table(floor_rows(results)),
        "A hot loop with a breakpoint armed in another function, as a multiple of the undebugged loop:",
        markdown_table(hot_loop_rows(results)),
    ]
    return "\n\n".join(part for part in parts if part)


def _titled(debugger: type[Debugger]) -> str:
    if issubclass(debugger, Ours) or debugger.version in debugger.name:
        return debugger.name
    return f"{debugger.name} {debugger.version}"


def _facts(told: int, of: int, follow_ups: int, *, broken: bool) -> str:
    asked = f", {follow_ups} asked again" if follow_ups else ""
    return f"{told}/{of}{asked}" + (", broke" if broken else "")


def _factor(loop: HotLoop, base: HotLoop, name: str) -> str:
    return f"{loop[name] / base[name]:.2f}"


def _seconds(seconds: float) -> str:
    if seconds >= 1:
        return f"{seconds:.2f} s"
    return f"{seconds * 1000:.0f} ms" if seconds >= 0.01 else f"{seconds * 1000:.2f} ms"


def _unit(unit: str) -> str:
    return f" {unit}" if unit == "ms" else unit
