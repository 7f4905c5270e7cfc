"""For places without user namespaces, such as most containers: Landlock rules and a system call filter.

Weaker than bubblewrap in three ways, which the attack table shows: the workspace and the
temporary folder are folders of the host, so their size and number of files is not
bounded; process numbers, and on some machines the user, are the host's; and there is no
network at all, not even a loopback.
"""

import json
import os
import random
import shutil
import stat
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from pdb_agent.errors import SandboxError
from pdb_agent.sandbox import Backend, SandboxSpec
from pdb_agent.sandboxes import landlock_exec, seccomp
from pdb_agent.sandboxes.held import HeldSandbox
from pdb_agent.sandboxes.interpreters import examine
from pdb_agent.sandboxes.starting import (
    agent_code,
    environment_inside,
    make_workspace,
    needed_folders,
    resource_limits,
    start,
)
from pdb_agent.sandboxes.user import SandboxUser, sandbox_user

HOLDER_SCRIPT = Path(landlock_exec.__file__)
SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/etc/ld.so.cache", "/etc/alternatives")
AGENT_DEPTH = 1
"""The holder, the agent."""
NEEDED_VERSION = 3
"""Before it, files outside could be cut short."""
SIGNALS_SINCE = landlock_exec.SCOPES_SINCE
OWN_UIDS = range(61_400, 65_000)
"""Users that root takes for sandboxes, one each: their processes are counted by user."""


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
    user = _own_user()
    _check_version(version, user)
    interpreter = examine(spec.python)
    folders = needed_folders(spec, interpreter)
    if user.is_dropped:
        _check_open(folders)
    workspace = make_workspace()
    temporary = _hand_over(workspace, user)
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
            limits=tuple(f"{name}={value}" for name, value in _limits(spec, user).items()),
            filter=seccomp.program(families=()).hex(),
            program_filter=program_filter.hex(),
            uid=user.uid if user.is_dropped else None,
            abi_limit=version,
        )
        return (str(spec.python), "-I", "-S", "-B", str(HOLDER_SCRIPT), json.dumps(asdict(settings)))

    try:
        # The holder keeps root's rights, if it has any: the agent gives them up, and cannot touch it.
        started = start(command, user=_ourselves(), agent_depth=AGENT_DEPTH)
    except SandboxError:
        shutil.rmtree(workspace.parent, ignore_errors=True)
        raise
    return HeldSandbox(
        Backend.LANDLOCK,
        started,
        workspace=workspace,
        python=str(spec.python),
        environment=environment_inside(interpreter) | {"HOME": str(temporary), "TMPDIR": str(temporary)},
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


def _ourselves() -> SandboxUser:
    return SandboxUser(uid=os.geteuid(), gid=os.getegid(), is_dropped=False)


def _own_user() -> SandboxUser:
    """Ourselves; for root a user that no process runs as."""
    user = sandbox_user()
    if not user.is_dropped:
        return user
    taken = {uid for uid, _ in _processes()}
    free = [uid for uid in OWN_UIDS if uid not in taken]
    uid = random.choice(free)
    return SandboxUser(uid=uid, gid=uid, is_dropped=True)


def _limits(spec: SandboxSpec, user: SandboxUser) -> dict[str, int]:
    """The limits of each process; the number of processes is counted with all others of the user."""
    limits = resource_limits(spec.limits)
    if not user.is_dropped:
        limits["RLIMIT_NPROC"] += sum(threads for uid, threads in _processes() if uid == user.uid)
    return limits


def _processes() -> Iterable[tuple[int, int]]:
    """User and number of threads of every process."""
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with suppress(OSError):
                yield entry.stat().st_uid, sum(1 for _ in (entry / "task").iterdir())


def _hand_over(workspace: Path, user: SandboxUser) -> Path:
    """Give the workspace and a new temporary folder beside it to the sandbox's user."""
    temporary = workspace.with_name("tmp")
    temporary.mkdir()
    if user.is_dropped:
        workspace.parent.chmod(stat.S_IRWXU | stat.S_IXGRP | stat.S_IXOTH)
        for folder in (workspace, temporary):
            os.chown(folder, user.uid, user.gid)
    return temporary


def _check_open(folders: Iterable[Path]) -> None:
    """Raise SandboxError unless a user without rights can read each folder."""
    for folder in folders:
        places = {folder, *folder.parents, *folder.resolve().parents}
        closed = [place for place in places if not place.stat().st_mode & stat.S_IXOTH and place.is_dir()]
        if closed:
            raise SandboxError(
                f"{folder} is needed inside the sandbox, but {min(closed)} is closed to other users, and "
                "root gives its rights away: use a Python below /usr or /opt, or run as another user."
            )
