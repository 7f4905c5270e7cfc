"""No sandbox at all: asked for by name, and bounded in time and output only."""

import os

import pytest
from pdb_agent.sandbox import Backend, SandboxSpec
from pdb_agent.sandboxes.attacks.survivors import marked
from pdb_agent.sandboxes.opening import open_sandbox
from pdb_agent.sandboxes.unsafe_none import BANNER

pytestmark = pytest.mark.anyio
DAEMON = b"import os,time\nif os.fork()==0:\n os.setsid()\n if os.fork()==0: time.sleep(60)\n os._exit(0)\n"


@pytest.fixture
def anyio_backend():
    return "asyncio"


async def test_a_command_runs_and_leaves_no_process(open_python):
    token = f"token-{os.getpid()}-unsafe"
    spec = SandboxSpec(python=open_python, files={"daemon.py": DAEMON})
    async with open_sandbox(spec, Backend.UNSAFE_NONE) as sandbox:
        assert sandbox.backend is Backend.UNSAFE_NONE
        result = await sandbox.run([sandbox.python, "-S", "daemon.py", token], timeout_seconds=10)
        assert result.exit_code == 0, result.output
        assert marked(token) == set()


async def test_it_sees_the_host_as_the_banner_says(open_python):
    async with open_sandbox(SandboxSpec(python=open_python), Backend.UNSAFE_NONE) as sandbox:
        result = await sandbox.run(["cat", "/etc/passwd"], timeout_seconds=10)
        assert "root:" in result.output
    assert "can read your files" in BANNER


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives its rights away")
async def test_even_so_root_runs_nothing_as_root(open_python):
    async with open_sandbox(SandboxSpec(python=open_python), Backend.UNSAFE_NONE) as sandbox:
        assert (await sandbox.run(["id", "-u"], timeout_seconds=10)).output.strip() != "0"
