"""What can be told about Windows from elsewhere: the order of the calls, the layouts, the imports."""

import ctypes
import subprocess
import sys
from pathlib import Path

import pytest
from mcp_pdb.launcher import PlainLauncher
from mcp_pdb.launchers import default_launcher
from mcp_pdb.windows_launcher import (
    KILL_ON_JOB_CLOSE,
    Accounting,
    ExtendedLimits,
    JobHold,
    WindowsCalls,
    WindowsLauncher,
)

from tests.mcp_pdb.conftest import processes_in
from tests.mcp_pdb.test_stdio import start_program
from tests.mcp_pdb.test_windows_stdio import serving

JOB, PROCESS = 100, 200


class ScriptedCalls:
    """Writes down what a job asks of Windows; refuses what it is told to refuse."""

    def __init__(self, refuses: str = "") -> None:
        self.said: list[str] = []
        self.active = 1
        self._refuses = refuses

    def _say(self, call: str, *arguments: object) -> None:
        self.said.append(" ".join([call, *map(str, arguments)]))
        if call == self._refuses:
            raise OSError(13, "refused")

    def create_job(self) -> int:
        self._say("create")
        return JOB

    def set_limits(self, job: int, limits: ExtendedLimits) -> None:
        self._say("limit", job, limits.LimitFlags)

    def open_process(self, pid: int) -> int:
        self._say("open", pid)
        return PROCESS

    def assign(self, job: int, process: int) -> None:
        self._say("assign", job, process)

    def resume(self, process: int) -> None:
        self._say("resume", process)

    def terminate(self, job: int) -> None:
        self._say("terminate", job)

    def count_active(self, job: int) -> int:
        self._say("count", job)
        return self.active

    def close(self, handle: int) -> None:
        self._say("close", handle)


def test_a_program_is_in_the_job_before_it_runs():
    calls = ScriptedCalls()
    JobHold(calls).take(7)
    assert calls.said == [
        "create",
        f"limit {JOB} {KILL_ON_JOB_CLOSE}",
        "open 7",
        f"assign {JOB} {PROCESS}",
        f"resume {PROCESS}",
        f"close {PROCESS}",
    ]


def test_a_program_starts_suspended_in_a_group_of_its_own_and_without_a_window():
    flags = JobHold(ScriptedCalls()).start_options()["creationflags"]
    assert flags == 0x4 | 0x200 | 0x8000000


def test_a_program_that_cannot_be_put_into_the_job_never_runs():
    calls = ScriptedCalls(refuses="assign")
    hold = JobHold(calls)
    with pytest.raises(OSError, match="refused"):
        hold.take(7)
    assert calls.said[-2:] == [f"assign {JOB} {PROCESS}", f"close {PROCESS}"]


def test_a_job_that_cannot_be_limited_is_closed():
    calls = ScriptedCalls(refuses="limit")
    with pytest.raises(OSError, match="refused"):
        JobHold(calls)
    assert calls.said[-1] == f"close {JOB}"


def test_the_job_is_empty_when_windows_says_so_and_closed_once():
    calls = ScriptedCalls()
    hold = JobHold(calls)
    hold.kill()
    assert not hold.is_empty()
    calls.active = 0
    assert hold.is_empty()
    hold.close()
    said = len(calls.said)
    hold.close()
    hold.kill()
    assert hold.is_empty()
    with pytest.raises(OSError, match="closed"):
        hold.take(7)
    assert calls.said[said - 1 :] == [f"close {JOB}"]


@pytest.mark.skipif(ctypes.sizeof(ctypes.c_void_p) != 8, reason="the sizes are those of 64 bits")
def test_the_structures_are_laid_out_as_windows_lays_them_out():
    assert ctypes.sizeof(ExtendedLimits) == 144
    assert ExtendedLimits.LimitFlags.offset == 16
    assert ExtendedLimits.Affinity.offset == 48
    assert ExtendedLimits.IoCounters.offset == 64
    assert ExtendedLimits.ProcessMemoryLimit.offset == 112
    assert ctypes.sizeof(Accounting) == 48
    assert Accounting.ActiveProcesses.offset == 40


@pytest.mark.skipif(sys.platform == "win32", reason="says what happens elsewhere")
def test_other_systems_start_programs_below_the_reaper():
    assert isinstance(default_launcher(), PlainLauncher)
    with pytest.raises(OSError, match="Windows only"):
        WindowsCalls()


PRETEND_WINDOWS = """
import asyncio, importlib, os, pkgutil, signal, socket, subprocess, sys
import anyio._backends._asyncio, anyio._core._asyncio_selector_thread
import mcp.client.client, mcp.client.stdio, mcp.server.lowlevel.server, mcp.server.stdio, mcp.server.runner
import mcp.server.auth.middleware.bearer_auth, mcp.server.transport_security, starlette.responses, uvicorn
import pathlib, tempfile, shutil, ctypes, unittest, threading, multiprocessing

for name in "fcntl termios tty pty resource pwd grp syslog posix _posixsubprocess".split():
    sys.modules[name] = None
socket.SO_EXCLUSIVEADDRUSE = socket.SO_KEEPALIVE
sys.platform = "win32"
"""
"""Makes a Python believe that it runs on Windows, once the libraries are loaded that look for themselves."""

IMPORT_EVERYTHING = """
LACKING = {
    os: "fork setsid killpg getpgid pidfd_open set_blocking waitid wait4 register_at_fork forkpty getuid",
    signal: "SIGHUP SIGKILL SIGQUIT SIGCHLD SIGPIPE SIGUSR1 SIGURG pthread_kill pthread_sigmask siginterrupt",
    socket: "AF_UNIX send_fds recv_fds",
}
for module, names in LACKING.items():
    for name in names.split():
        if hasattr(module, name):
            delattr(module, name)

import mcp_pdb, mcp_pdb.debuggee

LEFT_OUT = {"mcp_pdb.reaper", "mcp_pdb.__main__"}
if not hasattr(sys, "monitoring"):
    LEFT_OUT.add("mcp_pdb.debuggee.monitoring")
for package in (mcp_pdb, mcp_pdb.debuggee):
    for module in pkgutil.iter_modules(package.__path__, package.__name__ + "."):
        if module.name not in LEFT_OUT and not module.ispkg:
            importlib.import_module(module.name)
            print(module.name)

from mcp_pdb.launchers import default_launcher
print(type(default_launcher()).__name__)
"""

SERVE_WITHOUT_JOBS = """
import mcp_pdb.windows_launcher


class GroupHold:
    def __init__(self, calls):
        self.pid = 0

    def start_options(self):
        return {"start_new_session": True}

    def take(self, pid):
        self.pid = pid

    def kill(self):
        try:
            os.killpg(self.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass

    def is_empty(self):
        return True

    def close(self):
        pass


mcp_pdb.windows_launcher.JobHold = GroupHold
mcp_pdb.windows_launcher.WindowsCalls = object
from mcp_pdb.cli import main

sys.exit(main(["serve", "--tools", "all", "--python", sys.executable]))
"""


def test_every_module_can_be_imported_where_nothing_of_unix_is_there():
    pretended = subprocess.run(
        [sys.executable, "-c", PRETEND_WINDOWS + IMPORT_EVERYTHING],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert pretended.returncode == 0, pretended.stderr
    imported = pretended.stdout.split()
    assert {"mcp_pdb.cli", "mcp_pdb.server", "mcp_pdb.stdio", "mcp_pdb.leash"} <= set(imported)
    assert "mcp_pdb.debuggee.agent" in imported
    assert imported[-1] == WindowsLauncher.__name__


@pytest.mark.skipif(sys.platform == "win32", reason="says what happens elsewhere")
def test_nothing_for_windows_is_imported_elsewhere():
    program = "import mcp_pdb.server, mcp_pdb.stdio, sys; print(*sys.modules)"
    finished = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    ours = {name for name in finished.stdout.split() if name.startswith("mcp_pdb.")}
    assert "mcp_pdb.launcher" in ours
    assert not [name for name in ours if "windows" in name or "piped" in name or "loopback" in name]


@pytest.mark.skipif(sys.platform == "win32", reason="pretends what is so there")
def test_a_whole_session_goes_as_on_windows_but_for_the_job(tmp_path: Path):
    with serving(tmp_path, PRETEND_WINDOWS + SERVE_WITHOUT_JOBS) as client:
        client.shake_hands()
        start_program(client, tmp_path, "numbers = [1, 2]\nprint('printed')\nprint(numbers[2])\n")
        client.call("step_over")
        assert "numbers = [1, 2]" in client.call("examine_locals")
        assert "raised: IndexError" in client.call("continue_execution")
        assert "printed" in client.call("read_output", cursor=0)
        assert "exited with code 1" in client.call("continue_execution")
        start_program(client, tmp_path)
        assert client.process.stdin is not None
        client.process.stdin.close()
        assert client.process.wait(10) == 0
        assert processes_in(tmp_path) == []
