"""When the host's own process is killed, nothing of its sandbox lives on."""

import subprocess
import sys
import time
import uuid

import pytest
from pdb_agent.errors import SandboxError
from pdb_agent.sandbox import Backend
from pdb_agent.sandboxes import landlock, landlock_exec
from pdb_agent.sandboxes.attacks.survivors import marked
from pdb_agent.sandboxes.bubblewrap import find_bubblewrap

pytestmark = pytest.mark.slow
HOST = """
import sys
from pathlib import Path
import anyio
from mcp_pdb.launcher import LaunchSpec
from pdb_agent.sandbox import Backend, SandboxSpec
from pdb_agent.sandboxes.opening import open_sandbox

PROGRAM = '''
import os, time
os.fork()
if os.fork() == 0:
    os.setsid()
    os.fork()
os.write(1, b"x")
time.sleep(60)
'''

async def main(python, backend, token):
    async with open_sandbox(SandboxSpec(python=Path(python)), Backend(backend)) as sandbox:
        argv = (sandbox.python, "-I", "-S", "-c", PROGRAM, token)
        process = await sandbox.launcher.launch(LaunchSpec(argv=argv, cwd=str(sandbox.workspace)))
        count = 0
        while count < 6:
            count += len(await process.stdout.receive())
        print("up", flush=True)
        await anyio.sleep_forever()

anyio.run(main, *sys.argv[1:])
"""
WITHIN_SECONDS = 5.0


def works(backend):
    match backend:
        case Backend.LANDLOCK:
            return landlock_exec.abi_version() >= landlock.NEEDED_VERSION
        case Backend.BUBBLEWRAP:
            try:
                find_bubblewrap()
            except SandboxError:
                return False
            return True
        case _:
            return True


@pytest.mark.parametrize("backend", [Backend.BUBBLEWRAP, Backend.LANDLOCK, Backend.UNSAFE_NONE])
def test_no_process_outlives_a_host_that_was_killed(backend, open_python):
    if not works(backend):
        pytest.skip(f"{backend} does not work here")
    token = f"token-{uuid.uuid4().hex}"
    host = subprocess.Popen(
        [sys.executable, "-c", HOST, str(open_python), backend, token], stdout=subprocess.PIPE
    )
    assert host.stdout is not None
    assert host.stdout.readline() == b"up\n"
    assert len(marked(token)) >= 7  # six programs and the host
    host.kill()
    host.communicate()
    give_up = time.monotonic() + WITHIN_SECONDS
    while (left := marked(token)) and time.monotonic() < give_up:
        pass
    assert left == set()
