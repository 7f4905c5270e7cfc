import signal
import subprocess
import sys

import pytest

PROGRAM = """
import sys, anyio
from pdb_agent.command_ending import run_to_its_end

async def main():
    try:
        print("open", flush=True)
        await anyio.sleep(60)
    finally:
        print("closed", flush=True)

sys.exit(run_to_its_end("program", lambda: anyio.run(main), ()))
"""


@pytest.mark.parametrize(
    ("number", "is_deaf", "status"),
    [
        (signal.SIGINT, False, 130),
        (signal.SIGTERM, False, 143),
        (signal.SIGINT, True, 130),  # as a script's background job is born
        (signal.SIGTERM, True, 143),
    ],
)
def test_what_a_command_holds_open_is_closed_by_either_signal(
    number: signal.Signals, is_deaf: bool, status: int
) -> None:
    deafness = "import signal; signal.signal(signal.SIGINT, signal.SIG_IGN)\n" if is_deaf else ""
    with subprocess.Popen(
        [sys.executable, "-c", deafness + PROGRAM], stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "open\n"
        process.send_signal(number)
        assert process.communicate(timeout=30)[0] == "closed\n"
    assert process.returncode == status
