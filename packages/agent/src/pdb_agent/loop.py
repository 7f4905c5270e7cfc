"""One episode: read this first.

A policy is asked, its calls are answered, until it says that it is done or a limit says so;
then what it left is graded in another sandbox. Everything is written down as it happens.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path

import anyio

from pdb_agent.episode import (
    Answered,
    Clock,
    Edited,
    Ended,
    EpisodeLog,
    ExitReason,
    Replied,
    Said,
    Started,
    Unlocked,
)
from pdb_agent.errors import GradingError, SandboxError
from pdb_agent.grading.submission import is_editable
from pdb_agent.grading.verdict import Tier
from pdb_agent.judging import Judge, Judgement, judge
from pdb_agent.limits import EpisodeLimits, Exit, LimitKeeper, Nudge
from pdb_agent.messages import (
    Call,
    CallStatus,
    Message,
    Reply,
    Stop,
    ToolMessage,
    ToolResult,
    ToolSpec,
    UserMessage,
)
from pdb_agent.policy import (
    ContextOverflowError,
    Policy,
    PolicyError,
    Sampling,
)
from pdb_agent.prompt import first_message, system_prompt
from pdb_agent.sandbox import Backend, SandboxSpec
from pdb_agent.sandboxes.interpreters import task_interpreter
from pdb_agent.task import Task
from pdb_agent.toolbox import CallOutcome, Toolbox, open_toolbox
from pdb_agent.tools.mcp_servers import McpServer
from pdb_agent.tools.menu import Menu
from pdb_agent.tools.workspace import as_text
from pdb_agent.toolsets import Toolset

PAUSES = 10
"""Times in a row that a provider may ask to be asked again."""
NO_CALL = "You made no tool call. Go on with one, or call done when the program is repaired."
CUT_OFF = "Your reply was cut off at its length limit before a tool call. Say less and make the call."


@dataclass(frozen=True, slots=True, kw_only=True)
class EpisodeSettings:
    """How an episode is run."""

    arm: str = "debug"
    toolset: Toolset = field(default_factory=Toolset)
    limits: EpisodeLimits = field(default_factory=EpisodeLimits)
    sampling: Sampling = field(default_factory=Sampling)
    number: int = 0
    tier: Tier | None = None
    """How to grade, as validation found it for the task."""
    python: Path | None = None
    backend: Backend | None = None
    menu: Menu | None = None
    servers: tuple[McpServer, ...] = ()
    """Further MCP servers, whose tools the model gets too."""
    price: Callable[[Reply], Decimal | None] = field(default=lambda reply: None)
    """What a reply costs in US dollars, None when nobody knows."""
    sandbox: SandboxSpec | None = None
    """Where it happens; None is a sandbox for ``python`` with the task's workspace."""
    judge: Judge = judge


async def run_episode(task: Task, policy: Policy, settings: EpisodeSettings, log: EpisodeLog) -> Ended:
    """Run one episode and return its end, which is also the last event of ``log``.

    Failures of the provider, the sandbox and the grader are ends like others. Raises OSError when
    the log cannot be written, and TaskError for a toolset that does not suit the task.
    """
    episode = _Episode(task, policy, settings, log)
    end = Exit(reason=ExitReason.WALL_TIME, detail="before the first turn")
    try:
        spec = settings.sandbox or SandboxSpec(
            python=settings.python or task_interpreter(), files=task.workspace
        )
        async with open_toolbox(
            task,
            settings.toolset,
            spec=spec,
            backend=settings.backend,
            menu=settings.menu,
            servers=settings.servers,
        ) as toolbox:
            with anyio.move_on_after(settings.limits.wall_seconds) as patience:
                end = await episode.talk(toolbox)
            if patience.cancelled_caught:
                end = Exit(reason=ExitReason.WALL_TIME, detail=f"{settings.limits.wall_seconds} s")
            final = await toolbox.workspace.contents()
    except SandboxError as error:
        return episode.close(Exit(reason=ExitReason.SANDBOX, detail=str(error)), None, {})
    if end.reason.is_infrastructure:
        return episode.close(end, None, final)
    try:
        judgement = await settings.judge(task, final, edited=episode.edited, settings=settings)
    except GradingError as error:
        return episode.close(Exit(reason=ExitReason.GRADER, detail=str(error)), None, final)
    return episode.close(end, judgement, final)


class _Episode:
    """What is kept while an episode runs."""

    def __init__(self, task: Task, policy: Policy, settings: EpisodeSettings, log: EpisodeLog) -> None:
        self._task = task
        self._policy = policy
        self._settings = settings
        self._log = log
        self._began = time.monotonic()
        self._keeper = LimitKeeper(settings.limits, frozenset())
        self._messages: list[Message] = []
        self._has_started = False
        self._no_calls = 0
        self._pauses = 0
        self._model_seconds = 0.0
        self._tool_seconds = 0.0
        self._sandbox_seconds = 0.0
        self.edited = False

    async def talk(self, toolbox: Toolbox) -> Exit:
        """Turn after turn, until there is an end."""
        self._sandbox_seconds = self._elapsed()
        self._keeper = LimitKeeper(self._settings.limits, toolbox.debugger_tools)
        system = system_prompt(self._task, self._settings.toolset)
        self._start(system, toolbox)
        self._keeper.said(system + _as_sent(toolbox.specs))
        self._say(first_message(self._task), "task")
        while (end := self._keeper.before_turn(self._elapsed())) is None:
            reply = await self._ask(system, toolbox)
            if isinstance(reply, Exit):
                return reply
            if reply.stop is Stop.PAUSE:
                self._keeper.spend(reply, self._settings.price(reply))
                self._pauses += 1
                if self._pauses > PAUSES:
                    return Exit(reason=ExitReason.PROVIDER_FATAL, detail=f"{self._pauses} pauses in a row")
                continue
            self._pauses = 0
            end = self._keeper.after_reply(reply, self._settings.price(reply))
            end = await self._answer(reply, toolbox, end)
            if end is not None:
                return end
        return end

    async def _ask(self, system: str, toolbox: Toolbox) -> Reply | Exit:
        """One reply, written down and part of the conversation; or the end that came of asking."""
        sampling = self._settings.sampling
        sampling = replace(sampling, max_output_tokens=self._keeper.room(sampling.max_output_tokens))
        began = time.monotonic()
        try:
            reply = await self._policy.respond(system, self._messages, toolbox.specs, sampling)
        except ContextOverflowError as error:
            return Exit(reason=ExitReason.CONTEXT, detail=str(error))
        except PolicyError as error:
            return Exit(reason=ExitReason.PROVIDER_FATAL, detail=str(error))
        finally:
            self._model_seconds += time.monotonic() - began
        self._messages.append(reply.message)
        turn = self._keeper.turns + (reply.stop is not Stop.PAUSE)
        self._log.append(Replied(at=self._elapsed(), turn=turn, reply=reply))
        return reply

    async def _answer(self, reply: Reply, toolbox: Toolbox, end: Exit | None) -> Exit | None:
        """Answer every call of a reply, also when the episode ends with it."""
        calls = reply.message.calls
        if not calls:
            return end or self._without_call(reply)
        self._no_calls = 0
        results: list[ToolResult] = []
        edited = False
        for call in calls:
            if end is not None:
                result = ToolResult(
                    call_id=call.id, name=call.name, status=CallStatus.NOT_RUN, text="Not run: it is over."
                )
            else:
                outcome = await toolbox.call(call)
                result = outcome.result
                self._tool_seconds += result.seconds
                if outcome.ends:
                    end = Exit(reason=ExitReason.DONE)
                edited |= bool(outcome.changes)
                self._note_changes(call, outcome)
            results.append(result)
            self._log.append(
                Answered(at=self._elapsed(), turn=self._keeper.turns, arguments=call.arguments, result=result)
            )
        self._messages.append(ToolMessage(results=tuple(results)))
        if end is not None:
            return end
        guard = self._keeper.after_results(calls, results, edited=edited)
        if isinstance(guard, Nudge):
            self._say(guard.text, guard.guard)
            return None
        return guard

    def _note_changes(self, call: Call, outcome: CallOutcome) -> None:
        """Write down what a call changed: files, and the tools that there are."""
        at, turn = self._elapsed(), self._keeper.turns
        for change in outcome.changes:
            self.edited |= change.is_editable
            self._log.append(
                Edited(
                    at=at,
                    turn=turn,
                    call_id=call.id,
                    path=change.path,
                    is_editable=change.is_editable,
                    diff=change.diff,
                )
            )
        if outcome.unlocked:
            self._keeper.said(_as_sent(outcome.unlocked))
            self._log.append(Unlocked(at=at, turn=turn, tools=tuple(tool.name for tool in outcome.unlocked)))

    def _without_call(self, reply: Reply) -> Exit | None:
        if reply.stop is Stop.MAX_TOKENS:
            self._say(CUT_OFF, "cut_off")
            return None
        self._no_calls += 1
        if self._settings.toolset.no_call_is_final or self._no_calls > 1:
            return Exit(reason=ExitReason.NO_CALL_END)
        self._say(NO_CALL, "no_call")
        return None

    def close(self, end: Exit, judgement: Judgement | None, final: Mapping[str, bytes]) -> Ended:
        """Write the end down, and first the start if it did not come to one."""
        if not self._has_started:
            self._start("", None)
        keeper = self._keeper
        total = self._elapsed()
        ended = Ended(
            at=total,
            reason=end.reason,
            detail=end.detail,
            turns=keeper.turns,
            failure=judgement.failure if judgement else None,
            graded=judgement.graded if judgement else None,
            usage=keeper.usage,
            peak_context=keeper.peak_context,
            clock=Clock(
                total=total,
                model=self._model_seconds,
                tools=self._tool_seconds,
                sandbox=self._sandbox_seconds,
                grading=judgement.graded.seconds if judgement else 0.0,
            ),
            final={path: text for path, text in as_text(final).items() if is_editable(path, self._task)},
        )
        self._log.append(ended)
        return ended

    def _say(self, text: str, why: str) -> None:
        self._messages.append(UserMessage(text=text))
        self._log.append(Said(at=self._elapsed(), text=text, why=why))
        if why not in ("repeat", "debugger_streak", "idle"):  # the keeper has counted its own words
            self._keeper.said(text)

    def _start(self, system: str, toolbox: Toolbox | None) -> None:
        self._has_started = True
        task, settings = self._task, self._settings
        tools = toolbox.specs if toolbox else ()
        started = Started(
            task=task.id,
            task_hash=task.content_hash,
            preference=task.preference,
            difficulty=task.difficulty,
            family=task.family,
            split=task.split,
            fail_to_pass=task.fail_to_pass,
            editable=task.editable,
            arm=settings.arm,
            toolset=settings.toolset.name,
            policy=self._policy.name,
            number=settings.number,
            sampling=settings.sampling,
            limits=settings.limits.as_numbers(),
            system=system,
            tools=tools,
            later_tools=tuple(tool for tool in toolbox.all_specs if tool not in tools) if toolbox else (),
            backend=toolbox.sandbox.backend if toolbox else "",
            began=datetime.now(UTC).isoformat(timespec="seconds"),
            files=as_text(task.workspace),
        )
        self._log.append(started)

    def _elapsed(self) -> float:
        return time.monotonic() - self._began


def _as_sent(tools: Sequence[ToolSpec]) -> str:
    """About what a request is longer by for its tools."""
    return "".join(f"{tool.description}{tool.schema}" for tool in tools)
