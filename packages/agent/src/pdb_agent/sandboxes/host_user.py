"""For backends whose processes and files are numbered and named as the host's: user, limits, folders."""

import os
import random
import stat
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from pdb_agent.errors import SandboxError
from pdb_agent.sandbox import Limits
from pdb_agent.sandboxes.starting import resource_limits
from pdb_agent.sandboxes.user import SandboxUser, sandbox_user

OWN_UIDS = range(61_400, 65_000)
"""Users that root takes for sandboxes, one each: their processes are counted by user."""


def ourselves() -> SandboxUser:
    """Whoever we are, root as well."""
    return SandboxUser(uid=os.geteuid(), gid=os.getegid(), is_dropped=False)


def own_user() -> SandboxUser:
    """Ourselves; for root a user that no process runs as."""
    user = sandbox_user()
    if not user.is_dropped:
        return user
    taken = {uid for uid, _ in _processes()}
    free = [uid for uid in OWN_UIDS if uid not in taken]
    uid = random.choice(free)
    return SandboxUser(uid=uid, gid=uid, is_dropped=True)


def limits_beside_others(limits: Limits, user: SandboxUser) -> tuple[str, ...]:
    """The limits of each process as the agent takes them.

    The system counts a user's processes all together, those outside included, so the
    number of processes is allowed on top of those there are.
    """
    amounts = resource_limits(limits)
    if not user.is_dropped:
        amounts["RLIMIT_NPROC"] += sum(threads for uid, threads in _processes() if uid == user.uid)
    return tuple(f"{name}={amount}" for name, amount in amounts.items())


def hand_over(workspace: Path, user: SandboxUser) -> Path:
    """Give the workspace and a new temporary folder beside it to the sandbox's user; returns the latter."""
    temporary = workspace.with_name("tmp")
    temporary.mkdir()
    if user.is_dropped:
        workspace.parent.chmod(stat.S_IRWXU | stat.S_IXGRP | stat.S_IXOTH)
        for folder in (workspace, temporary):
            os.chown(folder, user.uid, user.gid)
    return temporary


def check_open(folders: Iterable[Path]) -> None:
    """Raise SandboxError unless a user without rights can enter each folder."""
    for folder in folders:
        places = {folder, *folder.parents, *folder.resolve().parents}
        closed = [place for place in places if place.is_dir() and not place.stat().st_mode & stat.S_IXOTH]
        if closed:
            raise SandboxError(
                f"{folder} is needed inside the sandbox, but {min(closed)} is closed to other users, and "
                "root gives its rights away: use a Python below /usr or /opt, or run as another user."
            )


def _processes() -> Iterable[tuple[int, int]]:
    """User and number of threads of every process."""
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with suppress(OSError):
                yield entry.stat().st_uid, sum(1 for _ in (entry / "task").iterdir())
