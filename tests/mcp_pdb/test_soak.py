"""Many sessions, one after the other, some of them killed: nothing may add up."""

import random
import signal

import anyio
import psutil
import pytest

from tests.mcp_pdb.conftest import Connect, Debugging, processes_in

pytestmark = pytest.mark.anyio

CYCLES = 500
PROGRAM = """
    import time


    def work():
        total = 0
        for number in range(50):
            total += number
        return total


    work()
    time.sleep(600)
"""


@pytest.mark.slow
@pytest.mark.timeout(300)
async def test_five_hundred_sessions_with_random_kills_leave_nothing_and_fail_only_where_killed(
    connect: Connect,
):
    chance = random.Random(2026)
    server = psutil.Process()
    async with connect(wait_seconds=280) as debugging:  # 30 s of work; the rest is for a busy machine
        await one_session(debugging, chance)
        descriptors = server.num_fds()
        for _ in range(CYCLES):
            await one_session(debugging, chance)
        assert server.num_fds() <= descriptors + 3
        assert processes_in(debugging.folder) == []


async def one_session(debugging: Debugging, chance: random.Random) -> None:
    await debugging.start(PROGRAM, breakpoints=["program.py:7"], run=True)
    for _ in range(chance.randrange(3)):
        await debugging.done("step_over")
    match chance.randrange(4):
        case 0:
            for process in processes_in(debugging.folder):
                psutil.Process(process).send_signal(signal.SIGKILL)
            assert "ended by SIGKILL" in await debugging.done("step_over")
        case 1:
            await debugging.done("remove_breakpoint", id="all")
            await debugging.done("continue_execution", timeout_seconds=0)
        case 2:
            await debugging.done("remove_breakpoint", id="all")
            with anyio.move_on_after(0.01):
                await debugging.call("continue_execution")
        case _:
            pass
    await debugging.done("stop_debugger")
