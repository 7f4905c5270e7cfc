"""The default tools: one call of the session and one render each."""

from typing import Literal, cast

from mcp_pdb.calls import Answer, Call, breakpoint_spec, breakpoint_specs
from mcp_pdb.errors import BreakpointError, DebuggerError
from mcp_pdb.program_run import StartPlan
from mcp_pdb.records import EngineName, ResumeKind, Stopped, VariablePage
from mcp_pdb.render import breakpoint_line, start_lines
from mcp_pdb.render_values import evaluation_report, locals_page, stack_report, threads_report, value_page
from mcp_pdb.session import Session, Wait
from mcp_pdb.targets import KindName, resolve_target

INTERRUPTION_SECONDS = 3.0
"""How long after its time is up an evaluation may take to be interrupted, or found not to be."""
PAGE_OVERHEAD = 320
"""Characters of a page that are not names: heading, hints and the next step."""


async def start_debugger(call: Call) -> Answer:
    """Launch a program and report its first stop."""
    arguments = call.arguments
    specs = breakpoint_specs(arguments.places("breakpoints"))
    target = resolve_target(
        arguments.text("target"),
        args=arguments.texts("args"),
        kind=cast("KindName", arguments.text("kind")),
        python=arguments.optional_text("python") or call.options.python,
        cwd=arguments.optional_text("cwd"),
        roots=call.options.roots,
        on_failure=cast('Literal["stop", "continue"]', arguments.text("on_failure")),
    )
    plan = StartPlan(
        target=target,
        engine=cast("EngineName", arguments.optional_text("engine") or call.options.engine),
        breakpoints=specs,
        run=arguments.flag("run"),
        launch_seconds=call.options.launch_seconds,
        roots=call.options.roots,
    )
    return await open_session(call, plan, call.wait())


async def open_session(call: Call, plan: StartPlan, wait: Wait) -> Answer:
    """A new session for ``plan``; it is gone again when the program cannot be started."""
    session = call.store.open(call.owner)
    try:
        result = await session.start(plan, wait)
    except DebuggerError:
        if session.run.failure is not None:
            await call.store.close(session, "its program did not start")
        raise
    return call.report(session, result, await opening(call, session))


async def opening(call: Call, session: Session) -> tuple[str, ...]:
    """What a start answer says before its first report."""
    run = session.run
    view = call.view(session)
    lines = start_lines(view, session.id, run.plan.target, run.backend.facts)
    lines.extend(breakpoint_line(view, bound) for bound in await session.planned_breakpoints())
    lines.extend(run.refused)
    others = [
        other.id for other in call.store.of_owner(call.owner) if other is not session and not other.is_over
    ]
    if others:
        lines.append(
            f"also open: {', '.join(others[:5])}; pass session_id, or stop_debugger what is not needed"
        )
    if run.refused and run.plan.run:
        lines.append("so it was not run on: stopped at the start instead")
    return tuple(lines)


async def add_breakpoint(call: Call) -> Answer:
    """Set a breakpoint and show where it landed."""
    session = call.session()
    found = await session.set_breakpoint(breakpoint_spec(call.arguments))
    view = call.view(session)
    closing = view.next(("continue_execution",))
    return Answer(text=f"{breakpoint_line(view, found)}\n{closing}", session=session)


async def remove_breakpoint(call: Call) -> Answer:
    """Remove one breakpoint or all."""
    session = call.session()
    wanted = call.arguments.text("id").strip()
    if wanted == "all":
        count = await session.remove_breakpoints()
        return Answer(text=f"removed {count} breakpoints", session=session)
    if not wanted.isdecimal():
        raise BreakpointError(f"id must be a breakpoint's number or all, not {wanted[:40]!r}")
    await session.remove_breakpoint(int(wanted))
    return Answer(text=f"removed breakpoint {wanted}", session=session)


async def continue_execution(call: Call) -> Answer:
    """Run on, or go on waiting for a program that runs."""
    session = call.session()
    return call.report(session, await session.proceed(call.tool, call.wait()))


async def step_over(call: Call) -> Answer:
    """Go to the next line of this function."""
    return await _step(call, "over")


async def step_into(call: Call) -> Answer:
    """Go into the call on this line."""
    return await _step(call, "into")


async def step_out(call: Call) -> Answer:
    """Run until this function returns."""
    return await _step(call, "out")


async def where_am_i(call: Call) -> Answer:
    """The stack of a stopped program; every thread of a running one."""
    session = call.session()
    if (news := session.take_news()) is not None:
        return call.report(session, news)
    if session.is_over:
        session.require(call.tool, "exited")
        return call.repeat(session)
    view = call.view(session)
    if session.state == "running":
        threads = await session.threads()
        return Answer(
            text=threads_report(view, threads, running_for=session.seconds_in_state), session=session
        )
    if call.arguments.flag("all_threads"):
        return Answer(text=threads_report(view, await session.threads()), session=session)
    async with session.inspecting(call.tool) as backend:
        frames = await backend.stack()
    depth = session.outcome.depth if isinstance(session.outcome, Stopped) else 0
    return Answer(text=stack_report(view, frames, depth), session=session)


async def examine_locals(call: Call) -> Answer:
    """A page of a frame's names."""
    session = call.session()
    frame = call.arguments.whole("frame")
    async with session.inspecting(call.tool) as backend:
        page = await backend.examine_locals(
            frame=frame,
            name_filter=call.arguments.optional_text("filter"),
            cursor=call.arguments.optional_whole("cursor") or 0,
            limit_chars=call.options.budgets.locals - PAGE_OVERHEAD,
        )
    return Answer(text=locals_page(call.view(session), page, frame), session=session)


async def print_variable(call: Call) -> Answer:
    """One value, opened."""
    session = call.session()
    path = call.arguments.text("path")
    cursor = call.arguments.optional_whole("cursor")
    async with session.inspecting(call.tool) as backend:

        async def opened(limit_chars: int) -> VariablePage:
            return await backend.print_variable(
                path=path,
                frame=call.arguments.whole("frame"),
                depth=call.arguments.whole("depth"),
                cursor=cursor or 0,
                limit_chars=limit_chars,
            )

        page = await opened(call.options.budgets.value - PAGE_OVERHEAD)
        if page.next_cursor is not None and cursor is None:
            page = await opened(call.options.budgets.sample)
    return Answer(text=value_page(call.view(session), page, path), session=session)


async def run_expression(call: Call) -> Answer:
    """Evaluate or execute in a frame."""
    session = call.session()
    seconds = call.arguments.number("timeout_seconds")
    async with session.inspecting(call.tool, seconds + INTERRUPTION_SECONDS) as backend:
        evaluation = await backend.evaluate(
            call.arguments.text("code"),
            frame=call.arguments.whole("frame"),
            timeout_seconds=seconds,
            limit_chars=call.options.budgets.value - PAGE_OVERHEAD,
        )
    text = evaluation_report(call.view(session), evaluation)
    return Answer(text=text, session=session, is_error=evaluation.error is not None)


async def stop_debugger(call: Call) -> Answer:
    """End the session and its program."""
    session = call.session()
    if session.is_over:
        what = "its program had ended before"
    elif session.run.plan.target.kind == "attach":
        what = "detached; the process goes on"
    else:
        what = "its program and everything it started are gone"
    await call.store.close(session, "stop_debugger ended it")
    return Answer(text=f"session {session.id} closed; {what}")


async def _step(call: Call, kind: ResumeKind) -> Answer:
    session = call.session()
    result = await session.resume(call.tool, kind, call.wait(), count=call.arguments.whole("count"))
    return call.report(session, result)


DEFAULT_HANDLERS = {
    "start_debugger": start_debugger,
    "add_breakpoint": add_breakpoint,
    "remove_breakpoint": remove_breakpoint,
    "continue_execution": continue_execution,
    "step_over": step_over,
    "step_into": step_into,
    "step_out": step_out,
    "where_am_i": where_am_i,
    "examine_locals": examine_locals,
    "print_variable": print_variable,
    "run_expression": run_expression,
    "stop_debugger": stop_debugger,
}
