"""The container backend: its command line, and the door through which the agent gets its sockets.

The engine here is a stand-in that starts the entry as a plain process, so the holder, the
door and the agent are real; the isolation is not.
"""

import json
import os
import stat
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import anyio
import pytest
from pdb_agent.errors import SandboxError
from pdb_agent.sandbox import MEBIBYTE, Backend, Limits, SandboxSpec
from pdb_agent.sandboxes.container import Engine, find_engine, run_command, start_container

pytestmark = pytest.mark.anyio
WORKSPACE = Path("/tmp/pdb-x/project")
STAND_IN = """#!{python}
import json, os, subprocess, sys
log = {log!r}
with open(log, "a") as file:
    file.write(json.dumps(sys.argv[1:]) + "\\n")
if sys.argv[1] != "run":
    sys.exit(0)
arguments = sys.argv[2:]
mounts = [dict(part.partition("=")[::2] for part in value.split(",")) for option, value
          in zip(arguments, arguments[1:]) if option == "--mount"]
entry = arguments[arguments.index({image!r}) + 1:]
for mount in mounts:
    entry = [part.replace(mount["target"], mount["source"]) for part in entry]
if {refuses}:
    sys.exit("no such image")
os.execv({python!r}, [{python!r}, *entry])
"""


@pytest.fixture
def anyio_backend():
    return "asyncio"


class StandIn:
    def __init__(self, folder, refuses=False):
        self.log = folder / "calls.jsonl"
        self.path = folder / "engine"
        text = STAND_IN.format(python=sys.executable, log=str(self.log), image="an-image", refuses=refuses)
        self.path.write_text(text)
        self.path.chmod(0o755)
        self.engine = Engine(executable=str(self.path), image="an-image", python=sys.executable)

    def calls(self):
        return [json.loads(line) for line in self.log.read_text().splitlines()]


def command(**changes):
    engine = Engine(executable="/usr/bin/docker", **changes)
    spec = SandboxSpec(python=Path("/usr/bin/python3"), limits=Limits(), readable=(Path("/srv/data"),))
    return run_command(engine, spec, WORKSPACE, "pdb-agent-1")


def options(words, name):
    return [value for option, value in pairwise(words) if option == name]


def test_a_container_has_no_network_no_rights_and_no_disk():
    words = command()
    assert words[:5] == ["/usr/bin/docker", "run", "--rm", "--name", "pdb-agent-1"]
    assert options(words, "--network") == ["none"]
    assert options(words, "--cap-drop") == ["ALL"]
    assert options(words, "--security-opt") == ["no-new-privileges"]
    assert options(words, "--user") == ["65534:65534"]
    assert "--read-only" in words
    assert "--privileged" not in words
    assert words[-1] == "pdb-agent-sandbox"


def test_a_container_is_bounded():
    words = command()
    assert options(words, "--pids-limit") == ["68"]
    (memory,), (swap,) = options(words, "--memory"), options(words, "--memory-swap")
    assert memory == swap == str((1024 + 2 * 64) * MEBIBYTE)
    assert options(words, "--tmpfs") == [
        f"{folder}:rw,nosuid,nodev,size={64 * MEBIBYTE},mode=1777" for folder in (WORKSPACE, "/tmp")
    ]
    assert options(words, "--shm-size") == [str(8 * MEBIBYTE)]


def test_all_that_is_mounted_is_read_only():
    mounts = options(command(), "--mount")
    assert all(mount.endswith(",readonly") for mount in mounts)
    assert "type=bind,source=/srv/data,target=/srv/data,readonly" in mounts


def test_runtime_root_folder_and_further_options_are_passed_on():
    words = command(runtime="runsc", image="rootfs:/srv/root", options=("--cgroups=disabled",))
    assert options(words, "--runtime") == ["runsc"]
    assert words[-2:] == ["--rootfs", "/srv/root"]
    assert options(words, "--memory") == []


def test_the_engine_is_named_by_the_environment(tmp_path):
    stand_in = StandIn(tmp_path)
    engine = find_engine({"PDB_AGENT_ENGINE": str(stand_in.path), "PDB_AGENT_IMAGE": "i", "PATH": ""})
    assert (engine.executable, engine.image) == (str(stand_in.path), "i")
    with pytest.raises(SandboxError, match="install Docker or Podman"):
        find_engine({"PDB_AGENT_ENGINE": str(tmp_path / "missing")})


async def test_the_agent_gets_its_sockets_through_a_door_that_closes_behind_it(tmp_path):
    stand_in = StandIn(tmp_path)
    sandbox = start_container(SandboxSpec(python=Path(sys.executable)), stand_in.engine)
    door = sandbox.workspace.parent / "door" / "agent.sock"
    try:
        async with anyio.create_task_group() as tasks:
            await sandbox.open({}, tasks)
            assert sandbox.backend is Backend.CONTAINER
            result = await sandbox.run(["sh", "-c", "echo through the door"], timeout_seconds=10)
            assert (result.exit_code, result.output) == (0, "through the door\n")
            assert not door.exists()
            # Nobody but us can reach the door before the agent does.
            assert stat.S_IMODE(sandbox.workspace.parent.stat().st_mode) & 0o077 == 0
            tasks.cancel_scope.cancel()
    finally:
        await sandbox.aclose()
    name = options(stand_in.calls()[1], "--name")[0]
    assert stand_in.calls()[-1] == ["rm", "--force", name]
    assert not sandbox.workspace.exists()


async def test_the_filter_of_system_calls_holds_in_it(tmp_path):
    sandbox = start_container(SandboxSpec(python=Path(sys.executable)), StandIn(tmp_path).engine)
    try:
        async with anyio.create_task_group() as tasks:
            await sandbox.open({}, tasks)
            script = "import os\ntry:\n os.memfd_create('x')\nexcept OSError as e: print(e.errno)"
            result = await sandbox.run([sandbox.python, "-I", "-c", script], timeout_seconds=10)
            assert result.output == "1\n"
            tasks.cancel_scope.cancel()
    finally:
        await sandbox.aclose()


async def test_what_the_engine_complains_of_is_passed_on(tmp_path):
    sandbox = start_container(
        SandboxSpec(python=Path(sys.executable)), StandIn(tmp_path, refuses=True).engine
    )
    try:
        async with anyio.create_task_group() as tasks:
            with pytest.raises(SandboxError, match="no such image"):
                await sandbox.open({}, tasks)
    finally:
        await sandbox.aclose()


async def test_an_engine_that_does_not_answer_is_told_of(tmp_path):
    silent = tmp_path / "engine"
    silent.write_text("#!/bin/sh\necho 'Cannot connect to the daemon' >&2\nexit 1\n")
    silent.chmod(0o755)
    with pytest.raises(SandboxError, match=r"Cannot connect to the daemon.*start its service"):
        start_container(SandboxSpec(python=Path(sys.executable)), Engine(executable=str(silent)))


def test_the_holder_gives_up_when_its_engine_ends_before_anybody_enters(tmp_path):
    reading, writing = os.pipe()
    settings = {
        "command": ["false"],
        "remove": ["true"],
        "door": str(tmp_path / "agent.sock"),
        "control": reading,
        "files": writing,
    }
    script = Path(start_container.__code__.co_filename).with_name("container_exec.py")
    holder = subprocess.run(
        [sys.executable, "-I", "-S", script, "hold", json.dumps(settings)],
        pass_fds=(reading, writing),
        timeout=20,
        check=False,
    )
    os.close(reading)
    os.close(writing)
    assert holder.returncode == 1
    assert not (tmp_path / "agent.sock").exists()
