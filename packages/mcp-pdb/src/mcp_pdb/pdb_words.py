"""pdb's own words: movement and breakpoints become the session's commands, the rest is pdb's.

State never splits: whatever moves the program or sets a breakpoint goes
through the session, and inspection runs in a real ``pdb.Pdb`` on the selected
frame of the stopped program.
"""

from mcp_pdb.budget import clip
from mcp_pdb.calls import Answer, Call, run_until
from mcp_pdb.errors import InspectionError, UnsupportedError
from mcp_pdb.records import BreakpointSpec, ResumeKind
from mcp_pdb.render import breakpoint_line, frame_line
from mcp_pdb.session import Session

STEPS: dict[str, ResumeKind] = {
    "n": "over",
    "next": "over",
    "s": "into",
    "step": "into",
    "r": "out",
    "return": "out",
}
CONTINUES = frozenset({"c", "cont", "continue"})
UNTILS = frozenset({"unt", "until"})
BREAKS = frozenset({"b", "break", "tbreak"})
CLEARS = frozenset({"cl", "clear"})
FRAMES = {"u": 1, "up": 1, "d": -1, "down": -1}
_NO_JUMP = (
    "jumping breaks with blocks and loops, so it is not offered: change variables with set_variable instead"
)
ELSEWHERE = {
    "q": "stop_debugger ends the session",
    "quit": "stop_debugger ends the session",
    "exit": "stop_debugger ends the session",
    "run": "restart_debugger starts the program again",
    "restart": "restart_debugger starts the program again",
    "j": _NO_JUMP,
    "jump": _NO_JUMP,
    "interact": "use run_expression, which keeps its assignments in the frame",
    "debug": "use step_into, which follows the call in the program itself",
    "commands": "give add_breakpoint log=[…] to record values at a breakpoint",
    "condition": "remove the breakpoint and add it with its condition",
    "ignore": "give add_breakpoint hits='>=3' instead",
}


async def pdb_command(call: Call) -> Answer:
    """Run one pdb command, by whichever side it belongs to."""
    session = call.session()
    command = call.arguments.text("command").strip()
    word, _, rest = command.partition(" ")
    rest = rest.strip()
    if word in ELSEWHERE:
        raise UnsupportedError(f"{word}: {ELSEWHERE[word]}")
    if word in STEPS:
        return call.report(session, await session.resume(call.tool, STEPS[word], call.wait()))
    if word in CONTINUES:
        return call.report(session, await session.proceed(call.tool, call.wait()))
    if word in UNTILS:
        return await _until(call, session, rest)
    if word in BREAKS and rest:
        return await _break(call, session, rest, once=word == "tbreak")
    if word in CLEARS and rest:
        return await _clear(session, rest)
    if word in FRAMES:
        return await _select(call, session, FRAMES[word] * (int(rest) if rest.isdecimal() else 1))
    limit = call.options.budgets.value
    async with session.inspecting(call.tool) as backend:
        text = await backend.pdb_command(command, frame=session.selected_frame, limit_chars=limit)
    return Answer(text=clip(text.rstrip(), limit) or "(no output)", session=session)


async def _until(call: Call, session: Session, rest: str) -> Answer:
    if not rest:
        return call.report(session, await session.resume(call.tool, "over", call.wait()))
    return await run_until(call, session, rest)


async def _break(call: Call, session: Session, rest: str, *, once: bool) -> Answer:
    place, _, condition = rest.partition(",")
    spec = BreakpointSpec(
        at=session.in_present_file(place.strip()), condition=condition.strip() or None, once=once
    )
    found = await session.set_breakpoint(spec)
    return Answer(text=breakpoint_line(call.view(session), found), session=session)


async def _clear(session: Session, rest: str) -> Answer:
    numbers = rest.split()
    if not all(number.isdecimal() for number in numbers):
        raise InspectionError("clear takes the numbers of breakpoints; list_breakpoints shows them")
    for number in numbers:
        await session.remove_breakpoint(int(number))
    return Answer(text=f"removed breakpoint {', '.join(numbers)}", session=session)


async def _select(call: Call, session: Session, by: int) -> Answer:
    async with session.inspecting(call.tool) as backend:
        frames = await backend.stack()
    wanted = session.selected_frame + by
    if not 0 <= wanted < len(frames):
        raise InspectionError("there is no frame further in" if by < 0 else "there is no frame further out")
    session.selected_frame = wanted
    frame = frames[wanted]
    return Answer(
        text=frame_line(call.view(session), frame.location, frame.source, index=frame.index), session=session
    )
