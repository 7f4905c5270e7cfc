"""Every attack on every backend that works here; and without a sandbox, to see that the attacks are real."""

from functools import partial

import pytest
from pdb_agent.errors import SandboxError
from pdb_agent.sandbox import Backend
from pdb_agent.sandboxes import landlock, landlock_exec
from pdb_agent.sandboxes.attacks.judging import NotStopped
from pdb_agent.sandboxes.attacks.running import carry_out, prepare_ground
from pdb_agent.sandboxes.attacks.table import ATTACKS
from pdb_agent.sandboxes.bubblewrap import find_bubblewrap
from pdb_agent.sandboxes.opening import open_sandbox

pytestmark = [pytest.mark.anyio, pytest.mark.slow]
ON_A_HOSTS_FOLDER = {"fill_workspace", "fill_temporary", "inode_flood"}
"""What Landlock does not bound."""
HARMLESS_ANYWHERE = {
    "fork_bomb",
    "thread_bomb",
    "memory_of_one",
    "memory_of_six",
    "memory_shared",
    "sparse_file",
    "output_flood",
    "endless_loop",
    "ignores_signals",
    "daemon",
    "stray_descriptors",
    "link_out",
    "hard_link",
    "kill_agent",
    "stop_agent",
}
"""Stopped by limits, the keeper and the copying, whatever the backend."""
UNSURE_HERE = {
    "memory_of_sockets",  # depends on the size of the system's buffers
    "memory_of_connections",
    "inode_flood",  # other programs make files as well
    "make_vsock",  # not every kernel has it
    "kernel_surface",
    "nested_namespace",
    "read_agent",  # what another user's processes allow
    "trace_host",  # Yama may forbid it
    "gain_privileges",  # a container may have taken the means already
}
REAL = [attack for attack in ATTACKS if attack.name not in HARMLESS_ANYWHERE | UNSURE_HERE]


@pytest.fixture
def anyio_backend():
    return "asyncio"


def named(attack):
    return attack.name


def bubblewrap_works():
    try:
        find_bubblewrap()
    except SandboxError:
        return False
    return True


@pytest.fixture(scope="module")
def grounds():
    """What was found out about each backend, once."""
    return {}


@pytest.fixture
def outcome_of(grounds, open_python):
    async def carry_out_on(attack, backend):
        if backend not in grounds:
            grounds[backend] = await prepare_ground(partial(open_sandbox, backend=backend), open_python)
        return await carry_out(attack, grounds[backend])

    return carry_out_on


@pytest.mark.skipif(not bubblewrap_works(), reason="bubblewrap is not installed")
@pytest.mark.parametrize("attack", ATTACKS, ids=named)
async def test_bubblewrap_stops_it_and_nothing_survives(attack, outcome_of):
    outcome = await outcome_of(attack, Backend.BUBBLEWRAP)
    assert outcome.is_stopped, outcome.verdict.evidence


@pytest.mark.skipif(landlock_exec.abi_version() < landlock.NEEDED_VERSION, reason="needs Landlock 3")
@pytest.mark.parametrize("attack", [a for a in ATTACKS if a.name not in ON_A_HOSTS_FOLDER], ids=named)
async def test_landlock_stops_it_and_nothing_survives(attack, outcome_of):
    outcome = await outcome_of(attack, Backend.LANDLOCK)
    assert outcome.is_stopped, outcome.verdict.evidence


@pytest.mark.parametrize("attack", REAL, ids=named)
async def test_without_a_sandbox_it_has_its_way(attack, outcome_of):
    outcome = await outcome_of(attack, Backend.UNSAFE_NONE)
    assert isinstance(outcome.verdict, NotStopped), outcome.verdict.evidence
