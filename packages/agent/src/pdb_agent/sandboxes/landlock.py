"""For places without user namespaces, such as most containers: Landlock rules and a system call filter.

Weaker than bubblewrap in three ways, which the attack table shows: the workspace and the
temporary folder are folders of the host, so their size and number of files is not
bounded; process numbers, and on some machines the user, are the host's; and there is no
network at all, not even a loopback.
"""

import json
import shutil
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from pdb_agent.errors import SandboxError
from pdb_agent.sandbox import Backend, SandboxSpec
from pdb_agent.sandboxes import landlock_exec, seccomp
from pdb_agent.sandboxes.held import HeldSandbox
from pdb_agent.sandboxes.host_user import check_open, hand_over, limits_beside_others, ourselves, own_user
from pdb_agent.sandboxes.interpreters import examine
from pdb_agent.sandboxes.starting import (
    agent_code,
    environment_inside,
    make_workspace,
    needed_folders,
    start,
)
from pdb_agent.sandboxes.user import SandboxUser

HOLDER_SCRIPT = Path(landlock_exec.__file__)
SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/etc/ld.so.cache", "/etc/alternatives")
AGENT_DEPTH = 1
"""The holder, the agent."""
NEEDED_VERSION = 3
"""Before it, files outside could be cut short."""
SIGNALS_SINCE = landlock_exec.SCOPES_SINCE


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What the holder is told."""

    code: str
    """Folder of the compiled agent and reaper."""
    control: int
    files: int
    workspace: str
    temporary: str
    readable: tuple[str, ...]
    limits: tuple[str, ...]
    filter: str
    """For everything inside, in hexadecimal."""
    program_filter: str
    """For programs in addition; empty when none is needed."""
    uid: int | None
    """The user to become; None to stay who we are."""
    abi_limit: int
    """Do not use what later versions of Landlock can."""


def start_landlock(spec: SandboxSpec, *, abi_limit: int = 1000) -> HeldSandbox:
    """A sandbox whose start has begun; ``HeldSandbox.open`` waits for it. Raises SandboxError.

    ``abi_limit`` is for trying what an older kernel would do.
    """
    version = min(landlock_exec.abi_version(), abi_limit)
    user = own_user()
    _check_version(version, user)
    interpreter = examine(spec.python)
    folders = needed_folders(spec, interpreter)
    if user.is_dropped:
        check_open(folders)
    workspace = make_workspace()
    temporary = hand_over(workspace, user)
    may_signal = user.is_dropped or version >= SIGNALS_SINCE
    program_filter = b"" if user.is_dropped else seccomp.shared_user_program(may_signal=may_signal)

    def command(control: int, files: int) -> Sequence[str]:
        settings = Settings(
            code=str(agent_code(spec.python)),
            control=control,
            files=files,
            workspace=str(workspace),
            temporary=str(temporary),
            readable=(*SYSTEM, *map(str, folders)),
            limits=limits_beside_others(spec.limits, user),
            filter=seccomp.program(families=()).hex(),
            program_filter=program_filter.hex(),
            uid=user.uid if user.is_dropped else None,
            abi_limit=version,
        )
        return (str(spec.python), "-I", "-S", "-B", str(HOLDER_SCRIPT), json.dumps(asdict(settings)))

    try:
        # The holder keeps root's rights, if it has any: the agent gives them up, and cannot touch it.
        started = start(command, user=ourselves(), agent_depth=AGENT_DEPTH)
    except SandboxError:
        shutil.rmtree(workspace.parent, ignore_errors=True)
        raise
    return HeldSandbox(
        Backend.LANDLOCK,
        started,
        workspace=workspace,
        python=str(spec.python),
        environment=environment_inside(interpreter)
        | {"HOME": str(temporary), "TMPDIR": str(temporary)}
        | dict(spec.environment),
        limits=spec.limits,
        keeps_copy=False,
    )


def _check_version(version: int, user: SandboxUser) -> None:
    if version == 0:
        raise SandboxError(
            "This kernel has no Landlock: use Linux 6.2 or newer with landlock in its list of security "
            "modules (lsm=), and a container profile that allows the landlock system calls."
        )
    if version < NEEDED_VERSION and not user.is_dropped:
        raise SandboxError(
            f"This kernel's Landlock is version {version}, and before version {NEEDED_VERSION} (Linux 6.2) "
            "your own files could be cut short from inside: use a newer kernel, or be root in a container."
        )
