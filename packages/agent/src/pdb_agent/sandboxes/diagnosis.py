"""What keeps a backend from working here, told from its complaint and the kernel's settings."""

import platform
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

_KERNEL = Path("/proc/sys")
NEW_NAMESPACE_REFUSED = (
    "No permissions to create new namespace",
    "Creating new namespace failed",
    "clone failed",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelFacts:
    """The settings that decide about user namespaces; None where the kernel does not have one."""

    apparmor_restricts: int | None
    """kernel.apparmor_restrict_unprivileged_userns (Ubuntu)."""
    unprivileged_clone: int | None
    """kernel.unprivileged_userns_clone (Debian's patch)."""
    max_user_namespaces: int | None

    @classmethod
    def read(cls) -> "KernelFacts":
        """As they are here."""
        return cls(
            apparmor_restricts=_setting("kernel/apparmor_restrict_unprivileged_userns"),
            unprivileged_clone=_setting("kernel/unprivileged_userns_clone"),
            max_user_namespaces=_setting("user/max_user_namespaces"),
        )


def fix_for(complaint: str, facts: KernelFacts) -> str | None:
    """What to do about a backend's complaint; None when the complaint says it itself."""
    for applies, fix in _CASES:
        if applies(complaint, facts):
            return fix
    return None


def no_backend_elsewhere(system: str = platform.system()) -> str | None:
    """Why there is no backend on a system other than Linux, and the way on; None on Linux."""
    match system:
        case "Linux":
            return None
        case "Darwin":
            return (
                "On macOS no backend bounds memory, processes and files at once: run pdb-agent in a "
                "Linux container (Docker, Podman, OrbStack or Colima), where its landlock backend works."
            )
        case "Windows":
            return (
                "On Windows there is no backend: run pdb-agent in WSL2, where bubblewrap works, or in a "
                "container of Docker Desktop."
            )
        case _:
            return f"On {system} there is no backend: run pdb-agent on Linux or in a Linux container."


def _says(*pieces: str) -> Callable[[str], bool]:
    return lambda complaint: any(piece in complaint for piece in pieces)


_refuses_namespaces = _says(*NEW_NAMESPACE_REFUSED)
_refuses_map = _says("setting up uid map")
_refuses_proc = _says("Can't mount proc")
_misses_source = _says("Can't find source path")

_CASES: Sequence[tuple[Callable[[str, KernelFacts], bool], str]] = (
    (
        lambda complaint, facts: (
            facts.max_user_namespaces == 0 and (_refuses_namespaces(complaint) or _refuses_map(complaint))
        ),
        "user namespaces are switched off: sudo sysctl user.max_user_namespaces=15000",
    ),
    (
        lambda complaint, facts: facts.unprivileged_clone == 0 and _refuses_namespaces(complaint),
        "user namespaces are closed to ordinary users: sudo sysctl kernel.unprivileged_userns_clone=1",
    ),
    (
        lambda complaint, facts: (
            bool(facts.apparmor_restricts) and (_refuses_namespaces(complaint) or _refuses_map(complaint))
        ),
        "AppArmor keeps user namespaces from programs without a profile: put 'abi <abi/4.0>, profile bwrap "
        "/usr/bin/bwrap flags=(unconfined) { userns, }' into /etc/apparmor.d/bwrap and run sudo "
        "apparmor_parser -r /etc/apparmor.d/bwrap; or sudo sysctl "
        "kernel.apparmor_restrict_unprivileged_userns=0",
    ),
    (
        lambda complaint, facts: _refuses_namespaces(complaint) or _refuses_map(complaint),
        "this looks like a container whose seccomp profile refuses user namespaces: the landlock backend is "
        "for such places; or start the container with a profile that allows unshare and clone",
    ),
    (
        lambda complaint, facts: _refuses_proc(complaint),
        "the container that this runs in masks parts of /proc: start it with --security-opt unmask=ALL "
        "(Podman), --security-opt systempaths=unconfined (Docker) or procMount: Unmasked (Kubernetes)",
    ),
    (
        lambda complaint, facts: _misses_source(complaint),
        "a folder that Python needs is closed to the sandbox's user: use a Python below /usr or /opt, or "
        "open the folders above it (chmod o+x)",
    ),
)


def _setting(name: str) -> int | None:
    try:
        return int((_KERNEL / name).read_text(encoding="ascii"))
    except (OSError, ValueError):
        return None
