"""What a tool's handler is given, and what it gives back."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import cast

from mcp_pdb.arguments import ArgumentError, Arguments, Parameter, check
from mcp_pdb.budget import clip_line
from mcp_pdb.catalog import DEFAULT_TOOLS, tools_of
from mcp_pdb.options import ServerOptions
from mcp_pdb.records import Breakpoint, BreakpointSpec, Exited, Outcome, Stopped
from mcp_pdb.render import STOP_OUTPUT_LIMIT, OutputTail, View, exit_report, still_running, stop_report
from mcp_pdb.session import Progress, Session, StillRunning, Wait
from mcp_pdb.session_store import SessionStore

STEPPING = frozenset({"step_over", "step_into", "step_out", "run_to"})
_BREAKPOINT_PARAMETERS: tuple[Parameter, ...] = next(
    spec.parameters for spec in DEFAULT_TOOLS if spec.name == "add_breakpoint"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What the model reads, and the session it is about."""

    text: str
    session: Session | None = None
    is_error: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One call of one tool by one owner."""

    tool: str
    owner: str
    arguments: Arguments
    progress: Progress
    store: SessionStore
    options: ServerOptions = field(default_factory=ServerOptions)

    def session(self) -> Session:
        """The session meant by session_id, or the owner's only one."""
        return self.store.find(self.owner, self.arguments.optional_text("session_id"))

    def wait(self) -> Wait:
        """As long as timeout_seconds says, telling the client meanwhile."""
        return Wait(seconds=self.arguments.number("timeout_seconds"), progress=self.progress)

    def view(self, session: Session) -> View:
        """How this owner sees that session's files."""
        target = session.run.plan.target
        outcome = session.outcome
        cannot_step = isinstance(outcome, Stopped) and not outcome.can_step
        return View(
            cwd=target.cwd,
            root=target.root,
            budgets=self.options.budgets,
            tools=frozenset(
                spec.name
                for spec in tools_of(self.options.toolset)
                if not (cannot_step and spec.name in STEPPING)
            ),
        )

    def report(
        self, session: Session, result: Outcome | StillRunning, opening: tuple[str, ...] = ()
    ) -> Answer:
        """The answer to a command that moved the program."""
        view = self.view(session)
        output = session.new_output(STOP_OUTPUT_LIMIT)
        match result:
            case Stopped():
                text = stop_report(view, result, output, opening=opening, told=session.told)
                session.told = session.told.and_then(result, view)
            case Exited():
                text = exit_report(view, result, output, opening=opening)
            case StillRunning():
                report = still_running(
                    view, result.seconds, result.threads, output, pause_pending=result.pause_pending
                )
                text = "\n".join((*opening, report))
        return Answer(text=text, session=session)

    def repeat(self, session: Session) -> Answer:
        """The last report again, without output."""
        view = self.view(session)
        match session.outcome:
            case Stopped() as stopped:
                return Answer(text=stop_report(view, stopped, OutputTail()), session=session)
            case Exited() as exited:
                return Answer(text=exit_report(view, exited, OutputTail()), session=session)
            case None:
                return Answer(text=f"the session is {session.state}", session=session)


async def run_until(call: Call, session: Session, at: str) -> Answer:
    """Continue to the line that ``at`` stands for; says when that is not the one asked for."""
    found = await session.resolve_place(call.tool, at)
    result = await session.resume(call.tool, "until", call.wait(), until=(found.file, found.line))
    return call.report(session, result, moved_lines(found))


def moved_lines(found: Breakpoint) -> tuple[str, ...]:
    """Why a place is not the line that was asked for."""
    return (f"moved: {clip_line(found.moved, 300)}",) if found.moved else ()


def breakpoint_spec(arguments: Arguments) -> BreakpointSpec:
    """From the arguments of add_breakpoint."""
    return BreakpointSpec(
        at=arguments.text("at"),
        condition=arguments.optional_text("condition"),
        hits=arguments.optional_text("hits"),
        log=arguments.texts("log"),
        once=arguments.flag("once"),
    )


def breakpoint_specs(places: tuple[str | Mapping[str, object], ...]) -> tuple[BreakpointSpec, ...]:
    """From start_debugger's breakpoints: places, or add_breakpoint's arguments."""
    specs: list[BreakpointSpec] = []
    for place in places:
        given = cast("Mapping[str, object]", {"at": place} if isinstance(place, str) else place)
        try:
            specs.append(breakpoint_spec(check("breakpoints", _BREAKPOINT_PARAMETERS, given)))
        except ArgumentError as error:
            raise ArgumentError(f"start_debugger: {error}") from None
    return tuple(specs)
