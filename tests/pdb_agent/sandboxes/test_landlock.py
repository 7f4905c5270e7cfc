"""A sandbox of Landlock rules, with real programs, on the kernel as it is and as older ones would be."""

import errno
import json
import os
from contextlib import asynccontextmanager

import anyio
import pytest
from mcp_pdb.launcher import LaunchSpec
from pdb_agent.errors import SandboxEndedError, SandboxError
from pdb_agent.sandbox import SandboxSpec
from pdb_agent.sandboxes import landlock, landlock_exec
from pdb_agent.sandboxes.attacks.survivors import marked
from pdb_agent.sandboxes.process_tree import descendants, kill, wait_for_end
from pdb_agent.sandboxes.user import SandboxUser

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.skipif(landlock_exec.abi_version() < landlock.NEEDED_VERSION, reason="needs Landlock 3"),
]
OLD_VERSION = 3
"""The oldest that is taken: it governs no signals."""
DAEMON = """
import os, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        time.sleep(60)
    os._exit(0)
"""
ATTEMPTS = """
import json, os, sys
def attempt(action):
    try:
        action()
    except OSError as error:
        return error.errno
    return 0
"""


@pytest.fixture
def anyio_backend():
    return "asyncio"


@pytest.fixture(params=[1000, OLD_VERSION], ids=["this-kernel", "version-3"])
def abi_limit(request):
    return request.param


@asynccontextmanager
async def held(python, abi_limit=1000, **files):
    content = {f"{name}.py": text.encode() for name, text in files.items()}
    sandbox = landlock.start_landlock(SandboxSpec(python=python, files=content), abi_limit=abi_limit)
    try:
        async with anyio.create_task_group() as tasks:
            await sandbox.open(content, tasks)
            yield sandbox
            tasks.cancel_scope.cancel()
    finally:
        await sandbox.aclose()


async def answers(sandbox, expressions):
    """What each expression evaluates to inside, after the preamble."""
    script = f"{ATTEMPTS}\nprint(json.dumps([{expressions}]))"
    result = await sandbox.run([sandbox.python, "-I", "-S", "-c", script], timeout_seconds=10)
    assert result.exit_code == 0, result.output
    return json.loads(result.output)


async def test_a_program_runs_and_its_files_come_and_go(open_python, abi_limit):
    async with held(open_python, abi_limit, double="print(2 * int(open('n.txt').read()))") as sandbox:
        await sandbox.put({"n.txt": b"21"})
        result = await sandbox.run([sandbox.python, "double.py"], timeout_seconds=10)
        assert (result.exit_code, result.output) == (0, "42\n")
        await sandbox.run(["sh", "-c", "mkdir -p a && echo made > a/b.txt"], timeout_seconds=10)
        assert await sandbox.list_files() == ("a/b.txt", "double.py", "n.txt")
        assert await sandbox.get(["a/b.txt"]) == {"a/b.txt": b"made\n"}
        assert (sandbox.workspace / "a" / "b.txt").read_text() == "made\n"
        workspace = sandbox.workspace
    assert not workspace.exists()


async def test_only_the_temporary_folder_takes_links_and_pipes(open_python, abi_limit):
    async with held(open_python, abi_limit) as sandbox:
        assert await answers(
            sandbox,
            "attempt(lambda: os.symlink('/etc', 'link')), attempt(lambda: os.mkfifo('pipe')),"
            "attempt(lambda: os.symlink('/etc', os.environ['TMPDIR'] + '/link')),"
            "attempt(lambda: os.rename(os.environ['TMPDIR'] + '/link', 'link'))",
        ) == [errno.EACCES, errno.EACCES, 0, errno.EACCES]


async def test_the_processes_of_the_host_cannot_be_listed(open_python, abi_limit):
    async with held(open_python, abi_limit) as sandbox:
        assert await answers(sandbox, "attempt(lambda: os.listdir('/proc'))") == [errno.EACCES]


async def test_files_move_between_folders_of_the_workspace(open_python):
    async with held(open_python, a="1") as sandbox:
        result = await sandbox.run(["sh", "-c", "mkdir d && mv a.py d/a.py"], timeout_seconds=10)
        assert result.exit_code == 0, result.output
        assert await sandbox.list_files() == ("d/a.py",)


async def test_a_program_can_end_its_own_children_but_not_its_keeper(open_python):
    async with held(open_python) as sandbox:
        assert await answers(
            sandbox,
            "(lambda p: (p.kill(), p.wait())[1])(__import__('subprocess').Popen(['sleep', '60'])),"
            "attempt(lambda: os.kill(os.getppid(), 9))",
        ) == [-9, errno.EPERM]


@pytest.mark.skipif(os.geteuid() == 0, reason="root's sandboxes have a user of their own")
async def test_without_scopes_a_program_signals_its_own_group_only(open_python):
    async with held(open_python, OLD_VERSION) as sandbox:
        assert await answers(
            sandbox, "attempt(lambda: os.kill(os.getppid(), 9)), attempt(lambda: os.kill(0, 0))"
        ) == [errno.EPERM, 0]


async def test_a_daemon_does_not_outlive_its_command(open_python, abi_limit):
    token = f"token-{os.getpid()}-{abi_limit}"
    script = (
        "import os,time\nif os.fork()==0:\n os.setsid()\n if os.fork()==0: time.sleep(60)\n os._exit(0)\n"
    )
    async with held(open_python, abi_limit, daemon=script) as sandbox:
        await sandbox.run([sandbox.python, "-S", "daemon.py", token], timeout_seconds=10)
        assert marked(token) == set()


async def test_the_holder_ends_what_is_inside_when_the_agent_is_killed(open_python):
    token = f"token-{os.getpid()}-agent"
    async with held(open_python) as sandbox:
        spec = LaunchSpec(
            argv=(sandbox.python, "-S", "-c", "print(flush=True); import time; time.sleep(60)", token),
            cwd=str(sandbox.workspace),
        )
        process = await sandbox.launcher.launch(spec)
        await process.stdout.receive()
        for pid, depth in list(descendants(sandbox.pid)):
            if depth == landlock.AGENT_DEPTH:
                kill(pid)
        with pytest.raises(SandboxEndedError):
            await sandbox.put({"a.txt": b""})
        assert await wait_for_end(sandbox.pid, 10)
        assert marked(token) == set()


async def test_a_kernel_whose_landlock_is_too_old_is_refused_with_the_way_on():
    somebody = SandboxUser(uid=1000, gid=1000, is_dropped=False)
    with pytest.raises(SandboxError, match=r"version 2.*Linux 6\.2"):
        landlock._check_version(2, somebody)
    with pytest.raises(SandboxError, match=r"no Landlock.*lsm="):
        landlock._check_version(0, somebody)
    landlock._check_version(2, SandboxUser(uid=61_400, gid=61_400, is_dropped=True))


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives its rights away")
async def test_two_sandboxes_of_root_have_two_users(open_python):
    async with held(open_python) as one, held(open_python) as other:
        uids = [(await answers(sandbox, "os.getuid()"))[0] for sandbox in (one, other)]
        assert len({*uids, 0}) == 3
