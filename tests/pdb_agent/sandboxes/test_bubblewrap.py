"""A bubblewrap sandbox, with real programs that behave badly."""

import os
import signal
import subprocess
import sys
import time
import uuid
from pathlib import Path

import anyio
import pytest
from mcp_pdb.launcher import LaunchSpec
from pdb_agent.errors import SandboxEndedError, SandboxError
from pdb_agent.sandbox import MEBIBYTE, Backend, Limits, SandboxSpec
from pdb_agent.sandboxes.interpreters import task_interpreter
from pdb_agent.sandboxes.opening import open_sandbox
from pdb_agent.sandboxes.user import sandbox_user

pytestmark = pytest.mark.anyio
PYTHON = task_interpreter()
DAEMONS = """
import os, sys, time
for _ in range(3):
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            time.sleep(600)
        os._exit(0)
print("started", flush=True)
time.sleep(float(sys.argv[1]))
"""


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def token() -> str:
    """A word that is on the command line of what a test starts, and nowhere else."""
    return f"token-{uuid.uuid4().hex}"


def spec(**files: str) -> SandboxSpec:
    return SandboxSpec(
        python=PYTHON, files={name.replace("__", "/") + ".py": text.encode() for name, text in files.items()}
    )


def living(token: str) -> list[int]:
    """Processes of this machine, other than zombies, that have ``token`` on their command line."""
    found: list[int] = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                if token.encode() in (folder / "cmdline").read_bytes():
                    found.append(int(folder.name))
            except OSError:
                continue
    return found


async def test_a_program_sees_its_workspace_and_nothing_of_the_host() -> None:
    os.environ["PDB_AGENT_TEST_SECRET"] = "key"
    program = (
        "import os; print(sorted(os.listdir('.')), os.getuid(), os.environ.get('PDB_AGENT_TEST_SECRET'))"
    )
    async with open_sandbox(spec(shop__cart="TOTAL = 1", program=program), Backend.BUBBLEWRAP) as sandbox:
        result = await sandbox.run(["python", "program.py"], timeout_seconds=20)
        roots = await sandbox.run(["ls", "/"], timeout_seconds=20)
    assert result.output == "['program.py', 'shop'] 65534 None\n"
    assert result.exit_code == 0
    assert "home" not in roots.output.split()


async def test_root_gives_its_rights_away_before_anything_runs() -> None:
    async with open_sandbox(spec()) as sandbox:
        process = await sandbox.launcher.launch(LaunchSpec(argv=("sleep", "20"), cwd=str(sandbox.workspace)))
        owners = {
            (Path("/proc") / str(pid)).stat().st_uid for pid in descendants_of(os.getpid()) if is_sleep(pid)
        }
        await process.aclose()
    assert owners == {sandbox_user().uid}
    assert 0 not in owners


async def test_output_is_in_the_order_of_writing_and_bounded() -> None:
    program = (
        "import sys\nfor n in range(3):\n print(n, flush=True)\n print('e', n, file=sys.stderr)\n"
        "print('x' * 900)"
    )
    async with open_sandbox(spec(program=program)) as sandbox:
        result = await sandbox.run(["python", "program.py"], timeout_seconds=20, output_bytes=40)
    assert result.output.startswith("0\ne 0\n1\ne 1\n2\ne 2\nxxx")
    assert len(result.output) == 40
    assert result.omitted_bytes == 901 + len("0\ne 0\n1\ne 1\n2\ne 2\n") - 40


async def test_a_flood_of_output_ends_the_command() -> None:
    async with open_sandbox(spec()) as sandbox:
        result = await sandbox.run(["yes"], timeout_seconds=60)
        after = await sandbox.run(["echo", "alive"], timeout_seconds=20)
    assert result.flooded
    assert not result.timed_out
    assert len(result.output) == 64 * 1024
    assert after.output == "alive\n"


async def test_a_command_that_takes_too_long_leaves_nothing(token: str) -> None:
    async with open_sandbox(spec(daemons=DAEMONS)) as sandbox:
        result = await sandbox.run(["python", "daemons.py", "600", token], timeout_seconds=2)
        left = living(token)
    assert result.timed_out
    assert result.output == "started\n"
    assert result.exit_code is None
    assert left == []


async def test_daemons_end_with_a_command_that_ends_by_itself(token: str) -> None:
    async with open_sandbox(spec(daemons=DAEMONS)) as sandbox:
        result = await sandbox.run(["python", "daemons.py", "0", token], timeout_seconds=20)
        left = living(token)
    assert result.exit_code == 0
    assert left == []


async def test_a_debuggee_outlives_the_commands_that_run_beside_it(token: str) -> None:
    async with open_sandbox(spec(daemons=DAEMONS)) as sandbox:
        held = await sandbox.launcher.launch(
            LaunchSpec(argv=("sleep", "600"), cwd=str(sandbox.workspace), environment={"HELD": token})
        )
        await sandbox.run(["python", "daemons.py", "0"], timeout_seconds=20)
        assert held.returncode is None
        await held.kill()
        assert await held.wait() == -signal.SIGKILL


async def test_a_cancelled_command_leaves_nothing(token: str) -> None:
    async with open_sandbox(spec(daemons=DAEMONS)) as sandbox:
        with anyio.move_on_after(1.0):
            await sandbox.run(["python", "daemons.py", "600", token], timeout_seconds=60)
        assert living(token) == []
        assert (await sandbox.run(["echo", "alive"], timeout_seconds=20)).output == "alive\n"


async def test_standard_input_and_added_variables_arrive() -> None:
    async with open_sandbox(spec()) as sandbox:
        result = await sandbox.run(
            ["sh", "-c", "cat; echo $COLOUR"],
            timeout_seconds=20,
            stdin=b"hello ",
            environment={"COLOUR": "red"},
        )
    assert result.output == "hello red\n"


@pytest.mark.slow
async def test_memory_of_many_processes_together_is_bounded(token: str) -> None:
    hog = "import time\nheld = bytearray(80 << 20)\nheld[::4096] = b'x' * len(held[::4096])\ntime.sleep(60)"
    crowd = (
        f"import subprocess, sys\nhog = [sys.executable, 'hog.py', {token!r}]\n"
        "hogs = [subprocess.Popen(hog) for _ in range(6)]\nfor hog in hogs:\n hog.wait()"
    )
    limits = Limits(memory_bytes=300 * MEBIBYTE)
    files = {"hog.py": hog.encode(), "crowd.py": crowd.encode()}
    async with open_sandbox(SandboxSpec(python=PYTHON, files=files, limits=limits)) as sandbox:
        result = await sandbox.run(["python", "crowd.py"], timeout_seconds=30)
        after = await sandbox.run(["echo", "alive"], timeout_seconds=20)
        left = living(token)
    assert result.out_of_memory
    assert result.exit_code == -signal.SIGKILL
    assert not after.out_of_memory
    assert after.output == "alive\n"
    assert left == []


async def test_files_are_written_and_read_through_no_link() -> None:
    async with open_sandbox(spec(program="x = 1")) as sandbox:
        await sandbox.run(
            [
                "sh",
                "-c",
                "ln -s /etc/passwd link; ln program.py twin; mkdir f; ln -s f g; echo 1 > f/one; mkfifo pipe",
            ],
            timeout_seconds=20,
        )
        read = await sandbox.get(["link", "program.py", "twin", "g/one", "f/one", "pipe", "none", "f"])
        await sandbox.put({"link": b"mine"})
        rewritten = await sandbox.get(["link"])
        with pytest.raises(SandboxError, match=r"g/two\.py cannot be written"):
            await sandbox.put({"g/two.py": b""})
    assert read == {
        "link": None,
        "program.py": None,  # two links
        "twin": None,
        "g/one": None,
        "f/one": b"1\n",
        "pipe": None,
        "none": None,
        "f": None,
    }
    assert rewritten == {"link": b"mine"}


@pytest.mark.parametrize("path", ["/etc/passwd", "../x", "a/../../x", "", "a//b", "./a", "a\0b", "a" * 600])
async def test_paths_out_of_the_workspace_are_refused(path: str) -> None:
    async with open_sandbox(spec()) as sandbox:
        with pytest.raises(SandboxError, match="is no path in the workspace"):
            await sandbox.put({path: b""})


async def test_the_copy_on_the_host_follows_and_holds_no_link() -> None:
    async with open_sandbox(spec(old="a = 1", kept="b = 2")) as sandbox:
        script = (
            "rm old.py; mkdir new; echo 'c = 3' > new/more.py; echo 'b = 4' > kept.py; ln -s /etc/passwd link"
        )
        await sandbox.run(["sh", "-c", script], timeout_seconds=20)
        copied = {
            str(path.relative_to(sandbox.workspace)): path.read_text()
            for path in sandbox.workspace.rglob("*")
            if path.is_file()
        }
        listed = await sandbox.list_files()
        place = sandbox.workspace
    assert copied == {"kept.py": "b = 4\n", "new/more.py": "c = 3\n"}
    assert listed == ("kept.py", "new/more.py")
    assert not place.exists()


@pytest.mark.parametrize("sent", ["KILL", "STOP"])
async def test_a_program_that_attacks_the_agent_ends_its_sandbox(token: str, sent: str) -> None:
    attack = (
        "import os, signal\nothers = {int(p) for p in os.listdir('/proc') if p.isdigit()}\n"
        "others -= {1, os.getpid()}\n"
        f"for other in others: os.kill(other, signal.SIG{sent})\nwhile True: pass"
    )
    async with open_sandbox(spec(attack=attack)) as sandbox:
        with pytest.raises(SandboxEndedError, match="sandbox"):
            await sandbox.run(["python", "attack.py", token], timeout_seconds=3)
        with pytest.raises(SandboxEndedError, match="Start another one"):
            await sandbox.run(["true"], timeout_seconds=3)
        assert living(token) == []


async def test_what_a_block_raises_comes_out_as_it_is() -> None:
    with pytest.raises(ZeroDivisionError):
        async with open_sandbox(spec()):
            raise ZeroDivisionError


@pytest.mark.slow
async def test_twenty_sandboxes_at_once_keep_to_themselves_and_leave_nothing(token: str) -> None:
    async def use(number: int) -> None:
        async with open_sandbox(spec(daemons=DAEMONS)) as sandbox:
            await sandbox.put({"mine.txt": str(number).encode()})
            await sandbox.launcher.launch(
                LaunchSpec(argv=("python", "daemons.py", "600", token), cwd=str(sandbox.workspace))
            )
            outputs[number] = (await sandbox.run(["cat", "mine.txt"], timeout_seconds=60)).output

    outputs: dict[int, str] = {}
    async with anyio.create_task_group() as tasks:
        for number in range(20):
            tasks.start_soon(use, number)
    assert outputs == {number: str(number) for number in range(20)}
    assert living(token) == []


def descendants_of(root: int) -> list[int]:
    found: list[int] = []
    for thread in Path(f"/proc/{root}/task").iterdir():
        for child in map(int, (thread / "children").read_text().split()):
            found += [child, *descendants_of(child)]
    return found


def is_sleep(pid: int) -> bool:
    return (Path("/proc") / str(pid) / "comm").read_text() == "sleep\n"


KILLED_AT_ONCE = """
import anyio, os, signal, sys
from pathlib import Path
from pdb_agent.sandbox import Backend, SandboxSpec
from pdb_agent.sandboxes.opening import open_sandbox

async def main():
    async with open_sandbox(SandboxSpec(python=Path(sys.argv[1])), Backend.BUBBLEWRAP) as sandbox:
        print(sandbox.workspace, flush=True)
        os.kill(os.getpid(), signal.SIGKILL)

anyio.run(main)
"""


@pytest.mark.slow
def test_a_host_that_is_killed_while_the_reaper_still_starts_leaves_nothing() -> None:
    for _ in range(6):
        command = [sys.executable, "-c", KILLED_AT_ONCE, str(PYTHON)]
        workspace = subprocess.run(command, capture_output=True, check=False, text=True).stdout.strip()
        assert workspace
        deadline = time.monotonic() + 5
        while living(workspace):
            assert time.monotonic() < deadline
