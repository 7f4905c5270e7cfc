"""What the doctor prints, and what it returns."""

import argparse
import io
import json
from contextlib import asynccontextmanager

import pytest
from pdb_agent import doctor
from pdb_agent.errors import SandboxError
from pdb_agent.sandbox import Backend
from pdb_agent.sandboxes import landlock, landlock_exec
from pdb_agent.sandboxes.attacks.table import ATTACKS
from pdb_agent.sandboxes.opening import open_sandbox

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.slow,
    pytest.mark.skipif(landlock_exec.abi_version() < landlock.NEEDED_VERSION, reason="needs Landlock 3"),
]
TWO = tuple(attack for attack in ATTACKS if attack.name in {"read_key", "daemon"})


@pytest.fixture
def anyio_backend():
    return "asyncio"


@asynccontextmanager
async def without_namespaces(spec, backend):
    if backend is not Backend.LANDLOCK:
        raise SandboxError("bwrap: No permissions to create new namespace")
    async with open_sandbox(spec, backend) as sandbox:
        yield sandbox


async def examined(open_python, opener=without_namespaces, backend=None, as_json=False):
    out, progress = io.StringIO(), io.StringIO()
    code = await doctor.examine_backends(
        out=out,
        progress=progress,
        python=open_python,
        attacks=TWO,
        opener=opener,
        backend=backend,
        as_json=as_json,
    )
    return code, out.getvalue(), progress.getvalue()


async def test_a_backend_that_holds_gives_zero_and_a_table(open_python):
    code, table, progress = await examined(open_python)
    assert code == 0
    assert "reads a private ssh key" in table
    assert table.count("stopped") == len(TWO) + 1
    assert "not here: bubblewrap: bwrap: No permissions" in table
    assert "landlock (Landlock ABI" in table
    assert f"{len(TWO)} of {len(TWO)} attacks stopped, 0 processes left." in table
    assert "landlock: a daemon: two forks and a session ... stopped" in progress


async def test_an_attack_that_gets_through_gives_one(open_python):
    code, table, _ = await examined(open_python, backend=Backend.UNSAFE_NONE, opener=open_sandbox)
    assert code == 1
    assert "unsafe-none does not stop this: reads a private ssh key (done: the key)" in table


async def test_without_any_backend_it_says_what_to_do_and_gives_one(open_python):
    code, table, _ = await examined(open_python, backend=Backend.BUBBLEWRAP)
    assert code == 1
    assert "No sandbox works on this machine" in table


async def test_the_same_as_json(open_python):
    code, report, _ = await examined(open_python, as_json=True)
    found = json.loads(report)
    assert (code, found["default"], found["holds"]) == (0, "landlock", True)
    by_name = {one["backend"]: one for one in found["backends"]}
    assert by_name["bubblewrap"]["works"] is False
    assert {one["name"]: one["verdict"] for one in by_name["landlock"]["attacks"]} == {
        "read_key": "stopped",
        "daemon": "stopped",
    }


async def test_the_command_alone_probes_and_warns_where_there_is_no_sandbox(capsys):
    arguments = argparse.Namespace(sandbox=False, json=False, backend=Backend.UNSAFE_NONE)
    assert await doctor.run(arguments) == 0
    told = capsys.readouterr()
    assert "unsafe-none (none)" in told.out
    assert "NO SANDBOX" in told.err
