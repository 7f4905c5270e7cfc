"""The choice of a backend: by what it stops, never by what is installed."""

from contextlib import asynccontextmanager

import pytest
from pdb_agent.errors import NoSandboxError, SandboxError
from pdb_agent.sandbox import Backend
from pdb_agent.sandboxes import landlock, landlock_exec
from pdb_agent.sandboxes.opening import open_sandbox
from pdb_agent.sandboxes.probe import Chosen, Rejected, choose, try_backend

pytestmark = [pytest.mark.anyio, pytest.mark.slow]
NO_NAMESPACES = "The bubblewrap sandbox did not start: bwrap: No permissions to create new namespace."
needs_landlock = pytest.mark.skipif(
    landlock_exec.abi_version() < landlock.NEEDED_VERSION, reason="needs Landlock 3"
)


@pytest.fixture
def anyio_backend():
    return "asyncio"


def opener_with(**complaints):
    """Opens real sandboxes, but those of the named backends complain instead."""

    @asynccontextmanager
    async def opener(spec, backend):
        if backend.name in complaints:
            raise SandboxError(complaints[backend.name])
        async with open_sandbox(spec, backend) as sandbox:
            yield sandbox

    return opener


@needs_landlock
async def test_the_next_backend_is_taken_where_the_first_does_not_start(open_python):
    chosen = await choose(opener_with(BUBBLEWRAP=NO_NAMESPACES), python=open_python)
    assert chosen.backend is Backend.LANDLOCK
    assert chosen.version.startswith("Landlock ABI ")
    assert chosen.stops == ("read_key", "connect_path", "kill_host")
    manifest = chosen.as_dict()
    assert manifest["backend"] == "landlock"
    assert "bubblewrap" in str(manifest["not_taken"])
    assert "No permissions" in str(manifest["not_taken"])


async def test_a_backend_that_starts_but_does_not_hold_is_rejected(open_python):
    """Plain processes behind bubblewrap's name: installed, working, and no sandbox."""

    def opener(spec, backend):
        return open_sandbox(spec, Backend.UNSAFE_NONE)

    found = await try_backend(opener, Backend.BUBBLEWRAP, open_python)
    assert isinstance(found, Rejected)
    assert found.reason == "it does not stop this: reads a private ssh key (done: the key)"


async def test_when_nothing_works_the_message_names_what_was_tried_and_three_ways_on(open_python):
    opener = opener_with(BUBBLEWRAP=NO_NAMESPACES, LANDLOCK="no Landlock", CONTAINER="no engine")
    with pytest.raises(NoSandboxError) as caught:
        await choose(opener, python=open_python)
    message = str(caught.value)
    for piece in (
        "bubblewrap: " + NO_NAMESPACES,
        "landlock: no Landlock",
        "container: no engine",
        "files and keys",
        "apt install bubblewrap",
        "--backend container",
        "--backend unsafe-none",
    ):
        assert piece in message


async def test_a_backend_that_was_asked_for_is_not_replaced_by_another(open_python):
    with pytest.raises(NoSandboxError, match="no engine"):
        await choose(opener_with(CONTAINER="no engine"), wanted=Backend.CONTAINER, python=open_python)


async def test_no_sandbox_at_all_is_taken_only_when_asked_for():
    def opener(spec, backend):
        raise AssertionError("nothing is tried")

    assert await choose(opener, wanted=Backend.UNSAFE_NONE) == Chosen(
        backend=Backend.UNSAFE_NONE, version="none", stops=()
    )
