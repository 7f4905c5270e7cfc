"""The toolbox: every call is answered, whatever becomes of the tool."""

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters
from pdb_agent.episode import EpisodeLog, ExitReason, read_episode
from pdb_agent.errors import SandboxEndedError, TaskError
from pdb_agent.loop import PAUSES, EpisodeSettings, run_episode
from pdb_agent.messages import AssistantMessage, CallStatus, Reply, Stop, ToolSpec, Usage
from pdb_agent.policies.scripted import ScriptedPolicy, scripted_call
from pdb_agent.sandbox import SandboxSpec
from pdb_agent.sandboxes.interpreters import task_interpreter
from pdb_agent.toolbox import Toolbox, open_toolbox
from pdb_agent.tools.mcp_tools import mcp_tools
from pdb_agent.tools.tool import ANSWER_CHARS, Answer
from pdb_agent.toolsets import Toolset, ToolsetName

from tests.pdb_agent.tools.working import TEST, call_of, open_workspace, task_of

pytestmark = [pytest.mark.anyio, pytest.mark.slow]
SERVER = """
import os
from mcp.server import MCPServer
from mcp.server.mcpserver.exceptions import ToolError

server = MCPServer("other")


@server.tool()
def echo(text: str) -> str:
    return text


@server.tool()
def ten_megabytes() -> str:
    return "x" * 10_000_000


@server.tool()
def refuse() -> str:
    raise ToolError("not today")


@server.tool()
def die() -> str:
    os._exit(3)


server.run()
"""


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


class Hanging:
    """A tool that never answers."""

    spec = ToolSpec(name="wait", description="", schema={})

    async def run(self, arguments: Mapping[str, Any]) -> Answer:
        await anyio.sleep_forever()
        raise AssertionError


async def test_a_tool_that_hangs_is_given_up_and_the_next_call_is_answered():
    async with open_workspace() as workspace:
        toolbox = Toolbox(workspace, [Hanging()], [], Toolset(), call_seconds=0.2)
        with anyio.fail_after(10):
            outcome = await toolbox.call(call_of("wait"))
            after = await toolbox.call(call_of("nothing"))
    assert outcome.result.status is CallStatus.TIMED_OUT
    assert outcome.result.text == "wait did not answer within 0.2 s: try something smaller."
    assert after.result.text == "There is no tool nothing: there are wait."


async def test_a_server_that_dies_in_mid_episode_is_said_to_every_call_after():
    server = StdioServerParameters(command=sys.executable, args=["-c", SERVER])
    async with open_workspace() as workspace, Client(server) as client:
        toolbox = Toolbox(workspace, await mcp_tools(client), [], Toolset())
        with anyio.fail_after(60):
            echo = await toolbox.call(call_of("echo", text="hello"))
            long = await toolbox.call(call_of("ten_megabytes"))
            wrong = await toolbox.call(call_of("echo", words="hello"))
            refused = await toolbox.call(call_of("refuse"))
            dying = await toolbox.call(call_of("die"))
            dead = await toolbox.call(call_of("echo", text="hello"))
        shell_still_works = await workspace.sandbox.run(["true"], timeout_seconds=5)
    assert echo.result.text == "hello"
    assert len(long.result.text) <= ANSWER_CHARS
    assert "left out: ask for less" in long.result.text
    assert (wrong.result.status, refused.result.status) == (CallStatus.FAILED, CallStatus.FAILED)
    assert "not today" in refused.result.text
    assert dying.result.status is dead.result.status is CallStatus.FAILED
    assert dead.result.text == "echo could not be answered: Connection closed"
    assert shell_still_works.exit_code == 0


async def test_a_sandbox_that_died_is_no_answer_of_a_tool():
    attack = (
        "import os\nfor p in os.listdir('/proc'):\n"
        "  if p.isdigit() and int(p) > 1 and int(p) != os.getpid(): os.kill(int(p), 9)"
    )
    task = task_of()
    spec = SandboxSpec(python=task_interpreter(), files=task.workspace)
    async with open_toolbox(task, Toolset(), spec=spec) as toolbox:
        with anyio.fail_after(60), pytest.raises(SandboxEndedError):
            await toolbox.call(call_of("bash", command=f'python -c "{attack}"'))
        with anyio.fail_after(60), pytest.raises(SandboxEndedError):
            await toolbox.call(call_of("start_debugger", target=TEST))


async def test_what_is_edited_by_bash_is_noticed_like_any_edit():
    task = task_of()
    spec = SandboxSpec(python=task_interpreter(), files=task.workspace)
    async with open_toolbox(task, Toolset(name=ToolsetName.NO_DEBUGGER), spec=spec) as toolbox:
        command = (
            "sed -i s,//,/,g prog/core.py; echo >> tests/test_visible.py; rm prog/__init__.py; echo 1 > new"
        )
        outcome = await toolbox.call(call_of("bash", command=command))
    assert [(change.path, change.is_editable) for change in outcome.changes] == [
        ("new", False),
        ("prog/__init__.py", True),
        ("tests/test_visible.py", False),
    ]


async def test_a_menu_is_needed_for_the_edit_menu():
    task = task_of()
    spec = SandboxSpec(python=task_interpreter(), files=task.workspace)
    with pytest.raises(TaskError, match="has no edit menu: use that toolset with tasks of the gym"):
        async with open_toolbox(task, Toolset(name=ToolsetName.EDIT_MENU), spec=spec):
            pass


async def test_an_episode_whose_sandbox_cannot_start_is_written_down_as_one(tmp_path: Path):
    settings = EpisodeSettings(python=tmp_path / "python")
    with EpisodeLog(tmp_path / "0.jsonl") as log:
        ended = await run_episode(task_of(), ScriptedPolicy([]), settings, log)
    episode = read_episode(tmp_path / "0.jsonl")
    assert ended.reason is ExitReason.SANDBOX
    assert f"{tmp_path}/python does not run" in ended.detail
    assert episode.ended == ended
    assert (episode.started.task, episode.started.tools, episode.is_valid) == ("small", (), False)


@pytest.mark.parametrize(
    ("pauses", "reason"), [(PAUSES, ExitReason.DONE), (PAUSES + 1, ExitReason.PROVIDER_FATAL)]
)
async def test_pauses_are_no_turns_but_are_paid_and_bounded(pauses: int, reason: ExitReason):
    message = AssistantMessage(text="", calls=())
    pause = Reply(message=message, stop=Stop.PAUSE, usage=Usage(input=10, output=5), model="m")
    policy = ScriptedPolicy([*[pause] * pauses, [scripted_call("done")]])
    settings = EpisodeSettings(toolset=Toolset(name=ToolsetName.NO_DEBUGGER))
    ended = await run_episode(task_of(), policy, settings, EpisodeLog(None))
    assert ended.reason is reason
    assert ended.turns == (1 if reason is ExitReason.DONE else 0)
    assert ended.usage.output == 5 * pauses
