"""Further MCP servers from a file: their tools are there, under names of their own."""

import json
import sys
from pathlib import Path

import pytest
from pdb_agent.messages import Call, CallStatus
from pdb_agent.sandbox import SandboxSpec
from pdb_agent.sandboxes.interpreters import task_interpreter
from pdb_agent.task_files import load_task
from pdb_agent.toolbox import open_toolbox
from pdb_agent.tools.mcp_servers import McpServersError, read_mcp_servers
from pdb_agent.toolsets import Toolset, ToolsetName

pytestmark = pytest.mark.anyio
TASK = load_task(Path(__file__).resolve().parents[3] / "tasks" / "pagination_window")


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


def file_with(folder: Path, content: object) -> Path:
    path = folder / "servers.json"
    path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    return path


@pytest.mark.slow
async def test_tools_of_a_server_join_under_its_name_and_answer(tmp_path: Path) -> None:
    command = {"command": sys.executable, "args": ["-m", "mcp_pdb.cli", "serve", "--root", str(tmp_path)]}
    servers = read_mcp_servers(file_with(tmp_path, {"mcpServers": {"second": command}}))
    spec = SandboxSpec(python=task_interpreter(), files=TASK.workspace)
    toolset = Toolset(name=ToolsetName.NO_DEBUGGER)
    async with open_toolbox(TASK, toolset, spec=spec, servers=servers) as toolbox:
        names = {tool.name for tool in toolbox.specs}
        call = Call(
            id="1",
            name="second__start_debugger",
            arguments={"target": "/etc/hosts", "kind": "script"},
            raw="",
        )
        outcome = await toolbox.call(call)
    assert {"bash", "second__start_debugger"} <= names
    assert outcome.result.status is CallStatus.FAILED
    assert "outside the folders this server may debug in" in outcome.result.text


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("{", 'write {"mcpServers"'),
        ({"servers": {}}, "mcpServers does not do"),
        ({"mcpServers": {"a": {}}}, "a has neither command nor url"),
        ({"mcpServers": {"a": {"command": 3}}}, "mcpServers.a.command does not do"),
    ],
)
def test_a_file_that_names_no_server_is_refused_with_the_way_on(
    tmp_path: Path, content: object, words: str
) -> None:
    with pytest.raises(McpServersError, match=words.replace("{", r"\{")):
        read_mcp_servers(file_with(tmp_path, content))


def test_a_file_that_is_not_there_is_said(tmp_path: Path) -> None:
    with pytest.raises(McpServersError, match="cannot be read"):
        read_mcp_servers(tmp_path / "none.json")
