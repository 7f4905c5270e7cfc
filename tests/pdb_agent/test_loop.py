"""Whole episodes with scripted models, in real sandboxes, through the real tools."""

from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import anyio
import pytest
from pdb_agent.episode import (
    Answered,
    Edited,
    Ended,
    EpisodeLog,
    ExitReason,
    FailureClass,
    Replied,
    Said,
    Started,
    Unlocked,
    assemble,
    read_episode,
)
from pdb_agent.limits import EpisodeLimits
from pdb_agent.loop import EpisodeSettings, run_episode
from pdb_agent.messages import Call, CallStatus, Message, Reply, Stop, ToolSpec, Usage
from pdb_agent.policies.oracle import OraclePolicy
from pdb_agent.policies.scripted import ScriptedPolicy, scripted_call
from pdb_agent.policy import ContextOverflowError, PolicyUnavailableError, Sampling
from pdb_agent.task import Task
from pdb_agent.task_files import load_task
from pdb_agent.toolsets import Toolset, ToolsetName

pytestmark = [pytest.mark.anyio, pytest.mark.slow]
TASKS = Path(__file__).resolve().parents[2] / "tasks"
DONE = [scripted_call("done", summary="")]


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="module")
def task() -> Task:
    return load_task(TASKS / "pagination_window")


class Listening(ScriptedPolicy):
    """Keeps what tools it is offered in each turn."""

    def __init__(self, turns: Sequence[Any]) -> None:
        super().__init__(turns)
        self.offered: list[tuple[ToolSpec, ...]] = []

    async def respond(
        self, system: str, messages: Sequence[Message], tools: Sequence[ToolSpec], sampling: Sampling
    ) -> Reply:
        self.offered.append(tuple(tools))
        return await super().respond(system, messages, tools, sampling)


async def play(task: Task, turns: Sequence[object], **settings: object) -> tuple[Ended, EpisodeLog]:
    log = EpisodeLog(None)
    policy = ScriptedPolicy(turns)  # type: ignore[arg-type]
    return await run_episode(task, policy, EpisodeSettings(**settings), log), log  # type: ignore[arg-type]


def answers(log: EpisodeLog) -> list[Answered]:
    return [event for event in log.events if isinstance(event, Answered)]


async def test_the_oracle_solves_a_task_and_its_file_tells_the_whole_story(task: Task, tmp_path: Path):
    path = tmp_path / "0.jsonl"
    with EpisodeLog(path) as log:
        ended = await run_episode(task, OraclePolicy(task), EpisodeSettings(), log)
    episode = read_episode(path)
    assert (ended.reason, ended.failure) == (ExitReason.DONE, None)
    assert episode.solved
    assert episode.is_valid
    assert episode.ended == ended
    assert isinstance(log.events[0], Started)
    assert [type(event) for event in log.events].count(Replied) == ended.turns
    assert episode.events == tuple(log.events[1:-1])
    edits = [event for event in episode.events if isinstance(event, Edited)]
    assert [edit.is_editable for edit in edits] == [True]
    assert edits[0].path in ended.final


@pytest.mark.parametrize("toolset", list(ToolsetName)[:-1])
async def test_every_toolset_can_solve_a_task(toolset: ToolsetName):
    task = load_task(TASKS / "undo_history_snapshots")
    settings = EpisodeSettings(toolset=Toolset(name=toolset))
    ended = await run_episode(task, OraclePolicy(task), settings, EpisodeLog(None))
    assert ended.graded is not None
    assert ended.graded.solved, ended.graded.reason


async def test_nothing_of_hidden_tests_and_solution_is_in_what_a_model_sees(task: Task):
    log = EpisodeLog(None)
    await run_episode(task, OraclePolicy(task), EpisodeSettings(), log)
    started = log.events[0]
    assert isinstance(started, Started)
    seen = [started.system, *(spec.description for spec in started.tools)]
    seen += [event.text for event in log.events if isinstance(event, Said)]
    seen += [answer.result.text for answer in answers(log)]
    names = [
        line.split()[1].partition("(")[0]
        for content in task.hidden.values()
        for line in content.decode().splitlines()
        if line.startswith("def test_")
    ]
    assert names
    assert not [name for name in names for text in seen if name in text]


async def test_a_model_that_only_says_done_has_never_edited(task: Task):
    ended, _ = await play(task, [DONE])
    assert (ended.reason, ended.failure, ended.turns) == (ExitReason.DONE, FailureClass.NEVER_EDIT, 1)


async def test_a_model_that_forgets_to_call_is_told_once(task: Task):
    ended, log = await play(task, ["I think it is the division.", "Yes."])
    assert (ended.reason, ended.turns) == (ExitReason.NO_CALL_END, 2)
    assert [event.why for event in log.events if isinstance(event, Said)] == ["task", "no_call"]


async def test_without_calls_the_coding_tools_take_an_answer_as_final(task: Task):
    toolset = Toolset(name=ToolsetName.CODING_TOOLS)
    ended, _ = await play(task, ["The program is fine."], toolset=toolset)
    assert (ended.reason, ended.turns) == (ExitReason.NO_CALL_END, 1)


async def test_the_turn_cap_ends_an_episode_with_every_call_answered(task: Task):
    look = [scripted_call("bash", command="ls"), scripted_call("bash", command="pwd")]
    ended, log = await play(task, [look] * 5, limits=EpisodeLimits(turns=2))
    assert (ended.reason, ended.turns) == (ExitReason.TURN_CAP, 2)
    assert [answer.result.status for answer in answers(log)] == [CallStatus.OK] * 4


async def test_calls_after_done_in_the_same_turn_are_answered_but_not_run(task: Task):
    ended, log = await play(task, [[*DONE, scripted_call("bash", command="ls")]])
    assert ended.reason is ExitReason.DONE
    assert [answer.result.status for answer in answers(log)] == [CallStatus.OK, CallStatus.NOT_RUN]


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (scripted_call("debug", target="x"), "There is no tool debug: there are bash, read_file"),
        (scripted_call("bash", cmd="ls"), "bash has no argument cmd"),
        (scripted_call("read_file"), "read_file needs path"),
        (scripted_call("read_file", path="a", line="x"), "read_file: line is"),
        (Call(id="c", name="bash", arguments=None, raw="{", error="It is no JSON."), "It is no JSON."),
    ],
)
async def test_malformed_calls_are_answered_with_the_way_on(task: Task, call: Call, words: str):
    ended, log = await play(task, [[call], DONE])
    answer = answers(log)[0].result
    assert answer.status is CallStatus.MALFORMED
    assert words in answer.text
    assert ended.turns == 2


async def test_three_malformed_turns_in_a_row_are_too_many(task: Task):
    bad = [Call(id="", name="bash", arguments=None, raw="{", error="It is no JSON.")]
    ended, _ = await play(task, [bad, bad, bad, DONE])
    assert (ended.reason, ended.turns) == (ExitReason.FORMAT_LIMIT, 3)


async def test_a_model_that_repeats_itself_is_nudged_and_then_stopped(task: Task):
    same = [scripted_call("bash", command="cat README.md | head -1")]
    ended, log = await play(task, [same] * 20)
    assert (ended.reason, ended.detail, ended.turns) == (ExitReason.GUARD, "repeat", 8)
    assert [event.why for event in log.events if isinstance(event, Said)] == ["task", "repeat"]


async def test_a_test_that_is_edited_through_bash_counts_as_an_edit_of_nothing_that_counts(task: Task):
    target = task.target.partition("::")[0]
    ended, log = await play(task, [[scripted_call("bash", command=f"echo > {target}")], DONE])
    edit = next(event for event in log.events if isinstance(event, Edited))
    assert (edit.path, edit.is_editable) == (target, False)
    assert ended.failure is FailureClass.NEVER_EDIT


async def test_an_edit_of_a_test_by_the_tool_is_refused(task: Task):
    target = task.target.partition("::")[0]
    _, log = await play(task, [[scripted_call("edit_file", path=target, old="assert", new="")], DONE])
    answer = answers(log)[0].result
    assert answer.status is CallStatus.FAILED
    assert "not part of the program that is judged" in answer.text


@pytest.mark.parametrize(
    ("content", "failure"),
    [
        ("def broken(:\n", FailureClass.BROKEN),
        ("raise ValueError\n", FailureClass.BROKEN),
    ],
)
async def test_sources_that_do_not_import_are_broken(task: Task, content: str, failure: FailureClass):
    editable = [
        name
        for name in task.workspace
        if name.endswith(".py") and not name.startswith("tests/") and task.workspace[name]
    ]
    script = " && ".join(f"printf '%s' '{content}' > {name}" for name in editable)
    ended, _ = await play(task, [[scripted_call("bash", command=script)], DONE])
    assert ended.failure is failure


async def test_a_decoy_fails_hidden_tests_only(task: Task):
    decoy = replace(task, solution=task.decoys[0])
    log = EpisodeLog(None)
    ended = await run_episode(task, OraclePolicy(decoy), EpisodeSettings(), log)
    assert ended.failure is FailureClass.HIDDEN_FAIL
    assert ended.graded is not None
    groups = {group.name: (group.passed, group.total) for group in ended.graded.groups}
    assert groups["fail_to_pass"][0] == groups["fail_to_pass"][1]
    assert groups["hidden"][0] < groups["hidden"][1]


class FailingPolicy:
    """Raises instead of replying."""

    name = "failing/policy"

    def __init__(self, error: Exception) -> None:
        self._error = error

    async def respond(
        self, system: str, messages: Sequence[Message], tools: Sequence[ToolSpec], sampling: Sampling
    ) -> Reply:
        raise self._error

    async def aclose(self) -> None:
        pass


@pytest.mark.parametrize(
    ("error", "reason", "is_valid"),
    [
        (PolicyUnavailableError("down"), ExitReason.PROVIDER_FATAL, False),
        (ContextOverflowError("too long"), ExitReason.CONTEXT, True),
    ],
)
async def test_what_a_provider_fails_with_decides_whether_the_episode_counts(
    task: Task, tmp_path: Path, error: Exception, reason: ExitReason, is_valid: bool
):
    path = tmp_path / "0.jsonl"
    with EpisodeLog(path) as log:
        ended = await run_episode(task, FailingPolicy(error), EpisodeSettings(), log)
    assert ended.reason is reason
    assert read_episode(path).is_valid is is_valid


async def test_a_program_that_kills_the_sandbox_is_an_infrastructure_failure(task: Task):
    attack = (
        "import os\nfor p in os.listdir('/proc'):\n"
        "  if p.isdigit() and int(p) > 1 and int(p) != os.getpid(): os.kill(int(p), 9)"
    )
    command = f'python -c "{attack}"'
    ended, _ = await play(task, [[scripted_call("bash", command=command)], DONE])
    assert ended.reason is ExitReason.SANDBOX
    assert ended.reason.is_infrastructure


async def test_wall_time_ends_a_command_that_runs_too_long(task: Task):
    limits = EpisodeLimits(wall_seconds=3.0)
    with anyio.fail_after(60):
        ended, _ = await play(task, [[scripted_call("bash", command="sleep 30")], DONE], limits=limits)
    assert ended.reason is ExitReason.WALL_TIME


async def test_a_reply_that_is_cut_off_is_said_and_takes_a_turn(task: Task):
    cut = Reply(
        message=ScriptedPolicy([])._reply(["thinking"], 0).message,
        stop=Stop.MAX_TOKENS,
        usage=Usage(output=10),
        model="m",
    )
    ended, log = await play(task, [cut, DONE])
    assert (ended.reason, ended.turns) == (ExitReason.DONE, 2)
    assert [event.why for event in log.events if isinstance(event, Said)] == ["task", "cut_off"]


async def test_the_debugger_appears_after_as_many_edits_as_are_asked_for(task: Task):
    source = next(name for name in task.workspace if name.endswith(".py") and not name.startswith("tests/"))
    edit = [scripted_call("bash", command=f"echo '# note' >> {source}")]
    start = [scripted_call("start_debugger", target=task.target)]
    toolset = Toolset(name=ToolsetName.UNLOCK_AFTER_EDITS, unlock_after_edits=2)
    policy = Listening([start, edit, start, edit, start, DONE])
    log = EpisodeLog(None)
    await run_episode(task, policy, EpisodeSettings(toolset=toolset), log)
    starts = [answer.result.status for answer in answers(log) if answer.result.name == "start_debugger"]
    assert starts == [CallStatus.MALFORMED, CallStatus.MALFORMED, CallStatus.OK]
    started = log.events[0]
    assert isinstance(started, Started)
    assert "start_debugger" not in {tool.name for tool in started.tools}
    appeared = [event for event in log.events if isinstance(event, Unlocked)]
    assert [event.turn for event in appeared] == [4]  # that of the second edit
    assert set(appeared[0].tools) == {tool.name for tool in started.later_tools}
    assert "start_debugger" in appeared[0].tools
    everything = (*started.tools, *started.later_tools)
    assert policy.offered == [started.tools] * 4 + [everything] * 2
    assert assemble(log.events, "log").tools == everything


async def test_what_replies_cost_adds_up_and_ends_an_episode_over_its_budget(task: Task):
    look = [scripted_call("bash", command="ls")]
    settings = EpisodeSettings(
        limits=EpisodeLimits(cost=Decimal("0.25")), price=lambda reply: Decimal("0.10")
    )
    log = EpisodeLog(None)
    ended = await run_episode(task, ScriptedPolicy([look] * 9), settings, log)
    assert (ended.reason, ended.turns) == (ExitReason.COST_BUDGET, 3)
