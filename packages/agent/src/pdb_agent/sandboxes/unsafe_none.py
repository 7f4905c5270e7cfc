"""No sandbox: programs run as processes of the host, with limits and nothing else around them.

For looking at something by hand where no backend works. Never chosen by itself.
"""

import shutil
from collections.abc import Sequence

from pdb_agent.errors import SandboxError
from pdb_agent.sandbox import Backend, SandboxSpec
from pdb_agent.sandboxes.held import HeldSandbox
from pdb_agent.sandboxes.host_user import check_open, hand_over, limits_beside_others
from pdb_agent.sandboxes.interpreters import examine
from pdb_agent.sandboxes.starting import (
    agent_code,
    environment_inside,
    make_workspace,
    needed_folders,
    start,
)
from pdb_agent.sandboxes.user import sandbox_user

BANNER = (
    "NO SANDBOX (unsafe-none): code written by a model runs with your user's rights. It can read your files "
    "and keys, use the network, and change or delete what you can. Nothing it does is held back."
)
AGENT_DEPTH = 0


def start_unsafe_none(spec: SandboxSpec) -> HeldSandbox:
    """A tree of plain processes, as root in the rights of a user without any. Raises SandboxError."""
    user = sandbox_user()
    interpreter = examine(spec.python)
    if user.is_dropped:
        check_open(needed_folders(spec, interpreter))
    workspace = make_workspace()
    temporary = hand_over(workspace, user)
    limits = limits_beside_others(spec.limits, user)
    agent = str(agent_code(spec.python) / "inside.pyc")

    def command(control: int, files: int) -> Sequence[str]:
        descriptors = (str(control), str(files))
        return (str(spec.python), "-I", "-S", "-B", agent, *descriptors, str(workspace), *limits)

    try:
        started = start(command, user=user, agent_depth=AGENT_DEPTH)
    except SandboxError:
        shutil.rmtree(workspace.parent, ignore_errors=True)
        raise
    return HeldSandbox(
        Backend.UNSAFE_NONE,
        started,
        workspace=workspace,
        python=str(spec.python),
        environment=environment_inside(interpreter)
        | {"HOME": str(temporary), "TMPDIR": str(temporary)}
        | dict(spec.environment),
        limits=spec.limits,
        keeps_copy=False,
    )
