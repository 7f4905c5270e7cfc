"""Several sessions at a time, some of them killed: nothing is left, nothing grows, nothing else fails."""

import os
import random
import signal
from pathlib import Path

import anyio
import psutil
import pytest
from mcp.client.client import Client
from mcp.types import CallToolResult
from mcp_pdb.client import open_debugger

pytestmark = [pytest.mark.anyio, pytest.mark.slow, pytest.mark.timeout(600)]

CYCLES = 100
AT_ONCE = 4
PROGRAM = """
total = 0
for number in range(10):
    total += number
print(total)
"""


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


def descriptors() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


def text_of(result: CallToolResult) -> str:
    return "\n".join(block.text for block in result.content if block.type == "text")


async def cycle(client: Client, program: Path, chance: random.Random) -> bool:
    """One session; True when it was killed on the way, raises when it failed otherwise."""
    started = await client.call_tool("start_debugger", {"target": str(program)})
    assert not started.is_error, text_of(started)
    session = {"session_id": text_of(started).split()[1].rstrip(":")}
    pid = int(text_of(started).split("pid ")[1].split()[0])
    kill_after = chance.choice([None, None, 0, 1, 2])
    for step in range(3):
        if step == kill_after:
            os.kill(pid, signal.SIGKILL)
        answer = await client.call_tool("step_over", session)
        if kill_after is None or step < kill_after:
            assert "stepped" in text_of(answer)
    await client.call_tool("stop_debugger", session)
    return kill_after is not None


async def test_a_hundred_sessions_four_at_a_time_with_random_kills_leave_nothing_behind(tmp_path):
    program = tmp_path / "program.py"
    program.write_text(PROGRAM, encoding="utf-8")
    chance = random.Random(20)
    async with open_debugger() as client:
        await cycle(client, program, chance)
        before = descriptors()
        left = iter(range(CYCLES))
        killed: list[bool] = []

        async def work() -> None:
            mine = [await cycle(client, program, chance) for _ in left]
            killed.extend(mine)

        async with anyio.create_task_group() as group:
            for _ in range(AT_ONCE):
                group.start_soon(work)
        assert len(killed) == CYCLES
        assert sum(killed) > CYCLES / 4
        assert descriptors() <= before + 2
        listed = text_of(await client.call_tool("start_debugger", {"target": str(program)}))
        assert "also open" not in listed
    assert psutil.Process().children(recursive=True) == []
