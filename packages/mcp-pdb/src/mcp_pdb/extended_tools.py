"""The tools that ``--tools all`` adds: one call of the session and one render each."""

from dataclasses import replace

from mcp_pdb.budget import clip
from mcp_pdb.calls import Answer, Call, moved_lines, run_until
from mcp_pdb.errors import DebuggerError
from mcp_pdb.pdb_words import pdb_command
from mcp_pdb.program_run import StartPlan
from mcp_pdb.reanchor import reanchor
from mcp_pdb.records import BreakpointSpec
from mcp_pdb.render_values import breakpoints_report, evaluation_report, output_page, trace_report
from mcp_pdb.session import Wait
from mcp_pdb.targets import resolve_target
from mcp_pdb.tools import open_session, opening

OUTPUT_OVERHEAD = 200
ATTACH_SECONDS = 0.5
"""A process that runs already seldom stops by itself, so the answer does not wait for that."""


async def pause_execution(call: Call) -> Answer:
    """Stop a running program where it is."""
    session = call.session()
    return call.report(session, await session.pause())


async def run_to(call: Call) -> Answer:
    """Continue until a line is reached."""
    session = call.session()
    return await run_until(call, session, call.arguments.text("at"))


async def trace_lines(call: Call) -> Answer:
    """Tabulate expressions at a line, hit by hit."""
    session = call.session()
    arguments = call.arguments
    where = arguments.text("where")
    moved = moved_lines(await session.resolve_place(call.tool, where))
    table, outcome = await session.trace(
        BreakpointSpec(at=where),
        arguments.texts("expressions"),
        arguments.whole("max_hits"),
        call.wait(),
    )
    text = "\n".join((*moved, trace_report(call.view(session), table)))
    if outcome is not None:
        text += f"\n{call.report(session, outcome).text}"
    elif session.state == "running":
        text += "\nthe program runs on: continue_execution waits for it, pause_execution stops it"
    return Answer(text=text, session=session)


async def watch(call: Call) -> Answer:
    """Stop when a value changes."""
    session = call.session()
    expression = call.arguments.text("expression")
    async with session.inspecting(call.tool) as backend:
        await backend.watch(expression, frame=call.arguments.whole("frame"), mode=call.arguments.text("mode"))
    text = f"watching {expression[:200]}: continue_execution stops at the line that changes it"
    return Answer(text=text, session=session)


async def read_output(call: Call) -> Answer:
    """A page of the program's output."""
    session = call.session()
    limit = call.options.budgets.output - OUTPUT_OVERHEAD
    text, next_cursor, omitted = session.read_output(call.arguments.optional_whole("cursor"), limit)
    return Answer(text=output_page(call.view(session), text, next_cursor, omitted), session=session)


async def send_input(call: Call) -> Answer:
    """Write to the program's standard input."""
    session = call.session()
    session.require(call.tool, "starting", "stopped", "running")
    text = call.arguments.text("text")
    await session.run.backend.send_input(text)
    note = "" if text.endswith("\n") else "; it does not end with a newline, so input() goes on waiting"
    return Answer(text=f"sent {len(text)} characters{note}", session=session)


async def set_variable(call: Call) -> Answer:
    """Assign to a variable, attribute or item."""
    session = call.session()
    arguments = call.arguments
    async with session.inspecting(call.tool) as backend:
        evaluation = await backend.set_variable(
            path=arguments.text("path"),
            expression=arguments.text("expression"),
            frame=arguments.whole("frame"),
        )
    text = evaluation_report(call.view(session), evaluation)
    return Answer(text=text, session=session, is_error=evaluation.error is not None)


async def restart_debugger(call: Call) -> Answer:
    """Run the program again in the same session, with its breakpoints."""
    session = call.session()
    specs, moved = reanchor(session.run.breakpoints.values())
    plan = replace(session.run.plan, breakpoints=specs, run=call.arguments.flag("run"))
    result = await session.restart(plan, call.wait())
    return call.report(session, result, (*await opening(call, session), *moved))


async def list_sessions(call: Call) -> Answer:
    """The owner's sessions."""
    sessions = call.store.of_owner(call.owner)
    if not sessions:
        return Answer(text="no debugging session is open; start_debugger opens one")
    lines: list[str] = []
    for session in sessions:
        try:
            target = session.run.plan.target
        except DebuggerError:
            continue
        seconds = session.seconds_in_state
        lines.append(
            f"{session.id}: {session.state} for {seconds:.0f} s; {target.kind} {target.target[:120]}"
        )
    return Answer(text=clip("\n".join(lines), call.options.budgets.stack))


async def list_breakpoints(call: Call) -> Answer:
    """All breakpoints with their hit counts."""
    session = call.session()
    found = await session.list_breakpoints()
    return Answer(text=breakpoints_report(call.view(session), found), session=session)


async def attach(call: Call) -> Answer:
    """Debug a process that runs already."""
    target = resolve_target(
        call.arguments.text("to").strip(),
        kind="attach",
        cwd=call.arguments.optional_text("cwd"),
        roots=call.options.roots,
    )
    plan = StartPlan(target=target, engine="debugpy", run=True, launch_seconds=call.options.launch_seconds)
    return await open_session(call, plan, Wait(seconds=ATTACH_SECONDS))


EXTENDED_HANDLERS = {
    "pause_execution": pause_execution,
    "run_to": run_to,
    "trace_lines": trace_lines,
    "watch": watch,
    "read_output": read_output,
    "send_input": send_input,
    "set_variable": set_variable,
    "restart_debugger": restart_debugger,
    "list_sessions": list_sessions,
    "list_breakpoints": list_breakpoints,
    "attach": attach,
    "pdb_command": pdb_command,
}
