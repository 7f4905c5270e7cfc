"""Program output can be attached to a conversation as a resource."""

from collections.abc import AsyncGenerator
from pathlib import Path

import pytest
from mcp.client.client import Client
from mcp.shared.exceptions import MCPError
from mcp.types import INVALID_PARAMS, TextResourceContents
from mcp_pdb.client import open_debugger

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
async def client() -> AsyncGenerator[Client]:
    async with open_debugger() as client:
        yield client


async def test_the_output_of_a_session_is_listed_and_read(client: Client, tmp_path: Path) -> None:
    (tmp_path / "talk.py").write_text("print('one')\nprint('two')\n", encoding="utf-8")
    await client.call_tool("start_debugger", {"target": "talk.py", "cwd": str(tmp_path), "run": True})

    listed = (await client.list_resources()).resources
    read = await client.read_resource(listed[0].uri)

    assert isinstance(read.contents[0], TextResourceContents)
    assert read.contents[0].text == "one\ntwo\n"


async def test_without_a_session_there_is_no_output_to_attach(client: Client) -> None:
    assert (await client.list_resources()).resources == []


@pytest.mark.parametrize(
    "uri", ["debugger:///dbg-nobody00/output", "debugger:///../etc/output", "file:///etc/passwd"]
)
async def test_an_address_that_is_no_session_of_the_caller_is_refused_with_it(
    client: Client, uri: str
) -> None:
    with pytest.raises(MCPError) as refusal:
        await client.read_resource(uri)

    assert refusal.value.error.code == INVALID_PARAMS
    assert refusal.value.error.data == {"uri": uri}
