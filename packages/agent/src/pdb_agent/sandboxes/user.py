"""Whose rights a sandbox's processes start with: never real root's."""

import os
from dataclasses import dataclass

from pdb_agent.errors import SandboxError

VARIABLE = "PDB_AGENT_UID"
DEFAULT_UID = 61_317
"""Belongs to nobody: above what distributions give to people, below what they give to systemd."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SandboxUser:
    """The user and group that the sandbox's first process runs as."""

    uid: int
    gid: int
    is_dropped: bool
    """True when this process is root and gives its rights away for the sandbox."""


def sandbox_user() -> SandboxUser:
    """Ourselves, or for root the user named by PDB_AGENT_UID. Raises SandboxError for uid 0."""
    if os.geteuid() != 0:
        return SandboxUser(uid=os.geteuid(), gid=os.getegid(), is_dropped=False)
    given = os.environ.get(VARIABLE, str(DEFAULT_UID))
    if not given.isdecimal() or int(given) == 0:
        raise SandboxError(f"{VARIABLE}={given} is not the number of a user without rights: give one over 0.")
    return SandboxUser(uid=int(given), gid=int(given), is_dropped=True)
