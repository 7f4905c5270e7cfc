"""Names, values, stacks and tables as text for a model. Pure: no I/O."""

from collections.abc import Sequence

from mcp_pdb.budget import Section, clip, clip_line, compose
from mcp_pdb.records import Breakpoint, Evaluation, Frame, ThreadStack, TraceTable, Variable, VariablePage
from mcp_pdb.render import View, breakpoint_line, changed_text, frame_line, thread_lines

PLAIN_TYPES = frozenset(
    {"int", "str", "float", "bool", "NoneType", "complex", "bytes", "list", "dict", "tuple", "set"}
)


def locals_page(view: View, page: VariablePage, frame: int) -> str:
    """A page of a frame's names with what was left out and how to see it."""
    empty = f"no more names; there are {page.total}" if page.total else "no visible names"
    lines = [_variable(variable) for variable in page.variables] or [empty]
    footer = [_next_page(page), _hidden(page)]
    body = Section(
        lines=tuple(lines),
        limit=view.budgets.locals - 300,
        more="more names: narrow with filter='part of the name'",
    )
    closing = view.next(("print_variable", "run_expression", "step_over"))
    head = Section(lines=(page.heading or f"frame {frame}:",), limit=300)
    return compose(
        [head, body, Section(lines=tuple(filter(None, footer)), limit=240)], view.budgets.locals, closing
    )


def value_page(view: View, page: VariablePage, path: str) -> str:
    """One value opened: its own summary, then its children."""
    heading = f"{path} = {page.heading}" if page.heading else f"{path}:"
    budget = view.budgets.value
    room = budget - 300 if page.variables else budget - 120
    head = clip(heading, room, "print_variable with a longer path opens one part")
    children = tuple(f"  {_variable(variable)}" for variable in page.variables)
    return compose(
        [
            Section(lines=tuple(head.split("\n")), limit=room),
            Section(lines=children, limit=budget, more="more children: open one by its path"),
            Section(lines=tuple(filter(None, [_next_page(page)])), limit=200),
        ],
        budget,
        view.next(("run_expression", "step_over")),
    )


def stack_report(view: View, frames: Sequence[Frame], depth: int = 0) -> str:
    """The stopped thread's stack, innermost first; ``depth`` is how many frames there are in all."""
    lines = [
        frame_line(view, frame.location, frame.source, index=frame.index, repeated=frame.repeated)
        for frame in frames
    ]
    left = depth - sum(frame.repeated for frame in frames)
    if left > 0:
        lines.append(f"{left} frames further out left out")
    body = Section(
        lines=tuple(lines) or ("the stack is empty",),
        limit=view.budgets.stack - 150,
        more="frames further out left out",
    )
    also = "examine_locals(frame=1) for the caller" if len(frames) > 1 else ""
    return compose([body], view.budgets.stack, view.next(("examine_locals", "run_expression"), also))


def threads_report(view: View, threads: Sequence[ThreadStack], *, running_for: float | None = None) -> str:
    """Every thread and task, where it is and what it waits on."""
    head = (f"running for {running_for:.1f} s",) if running_for is not None else ()
    sections = [
        Section(lines=head, limit=100),
        Section(
            lines=tuple(thread_lines(view, threads, 8)),
            limit=view.budgets.stack - 200,
            more="more lines left out",
        ),
    ]
    names = (
        ("continue_execution", "pause_execution", "stop_debugger")
        if running_for is not None
        else ("examine_locals", "continue_execution")
    )
    return compose(sections, view.budgets.stack, view.next(names))


def evaluation_report(view: View, evaluation: Evaluation) -> str:
    """What an expression gave or a statement did."""
    parts: list[str] = []
    if evaluation.error is not None:
        parts.append(evaluation.error)
    elif evaluation.value is not None:
        parts.append(_typed(evaluation.value, evaluation.type or ""))
    else:
        parts.append("done")
    changes = changed_text(evaluation.changes)
    rest = "print_variable opens one part of it by path"
    budget = view.budgets.value if evaluation.error is None else view.budgets.stop
    room = budget - min(len(changes), 500) - 2
    head = clip("\n".join(parts), room, rest)
    return head if not changes else f"{head}\n{clip(changes, 500)}"


def trace_report(view: View, table: TraceTable) -> str:
    """One row per hit."""
    why = {
        "max_hits": "max_hits was reached",
        "exited": "the program ended",
        "stopped": "the program stopped",
        "timeout": "the time was up",
    }[table.finished]
    head = f"{table.hits} hits; {why}"
    rows = [" | ".join(("hit", *table.columns))]
    for number, row in enumerate(table.rows, start=1):
        rows.append(" | ".join((str(number), *(clip_line(cell, 80) for cell in row))))
    if not table.rows:
        rows = ["the line was not reached"]
    body = Section(
        lines=tuple(rows), limit=view.budgets.trace - 200, more="more rows: use fewer expressions or hits"
    )
    return compose([Section(lines=(head,), limit=200), body], view.budgets.trace)


def breakpoints_report(view: View, breakpoints: Sequence[Breakpoint]) -> str:
    """Every breakpoint with how often it was hit."""
    if not breakpoints:
        return f"no breakpoints are set\n{view.next(('add_breakpoint',))}".strip()
    lines: list[str] = []
    for found in breakpoints:
        first, *rest = breakpoint_line(view, found).split("\n")
        times = "once" if found.hit_count == 1 else f"{found.hit_count} times"
        lines.extend((f"{first} [hit {times}]", *rest))
    return compose([Section(lines=tuple(lines), limit=view.budgets.stack)], view.budgets.stack)


def output_page(view: View, text: str, next_cursor: int, omitted: int) -> str:
    """A page of the program's output."""
    limit = min(view.budgets.output, view.budgets.hard_cap)
    if not text:
        return clip(f"no output after cursor {next_cursor}", limit)
    lost = f"({omitted:,} older characters are no longer kept)\n" if omitted else ""
    footer = f"\n(cursor={next_cursor} reads on)"
    return f"{lost}{clip(text, limit - len(lost) - len(footer))}{footer}"


def _variable(variable: Variable) -> str:
    if variable.same_as:
        return f"{variable.name} is {variable.same_as}"
    return f"{variable.name} = {_typed(variable.value, variable.type)}"


def _typed(value: str, type_name: str) -> str:
    """The type is added only where the value does not show it."""
    short = type_name.rpartition(".")[2]
    return value if not type_name or type_name in PLAIN_TYPES or short in value else f"{value} ({type_name})"


def _next_page(page: VariablePage) -> str:
    if page.next_cursor is None:
        return ""
    return f"cursor={page.next_cursor} shows more" + (f" of {page.total}" if page.total else "")


def _hidden(page: VariablePage) -> str:
    return f"{page.hidden} names hidden; filter='' shows them" if page.hidden else ""
