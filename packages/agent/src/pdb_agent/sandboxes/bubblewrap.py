"""The default on Linux: namespaces by bubblewrap, system calls filtered, every resource bounded."""

import os
import shutil
import socket
import subprocess
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path

from pdb_agent.errors import SandboxError
from pdb_agent.sandbox import MEBIBYTE, Backend, Limits, SandboxSpec
from pdb_agent.sandboxes import seccomp
from pdb_agent.sandboxes.held import HeldSandbox
from pdb_agent.sandboxes.interpreters import examine
from pdb_agent.sandboxes.readable import binding
from pdb_agent.sandboxes.starting import (
    agent_command,
    environment_inside,
    make_workspace,
    needed_folders,
    start,
)
from pdb_agent.sandboxes.user import sandbox_user

SHARED_MEMORY_BYTES = 8 * MEBIBYTE
FAMILIES = (socket.AF_UNIX, socket.AF_INET, socket.AF_INET6)
"""Sockets a program may make; its network namespace has nothing but a loopback of its own."""
UID_INSIDE = 65534
PASSWD = f"nobody:x:{UID_INSIDE}:{UID_INSIDE}:nobody:/tmp:/usr/sbin/nologin\n".encode()
AGENT_DEPTH = 1
"""bubblewrap, the agent: it is the init of the new pid namespace, so that nobody inside can signal it."""
NEEDED_OPTIONS = ("--size", "--perms", "--disable-userns", "--unshare-user", "--seccomp", "--remount-ro")
INSTALL = "install bubblewrap (apt install bubblewrap; dnf install bubblewrap; pacman -S bubblewrap)"
_HELP_SECONDS = 10.0


def start_bubblewrap(spec: SandboxSpec) -> HeldSandbox:
    """A sandbox whose start has begun; ``HeldSandbox.open`` waits for it. Raises SandboxError."""
    executable = find_bubblewrap()
    interpreter = examine(spec.python)
    user = sandbox_user()
    bindings = [binding(folder, is_root=user.is_dropped) for folder in needed_folders(spec, interpreter)]
    workspace = make_workspace()
    agent = agent_command(spec, workspace)
    filter_descriptor = _in_memory("seccomp", seccomp.program(families=FAMILIES))
    passwd_descriptor = _in_memory("passwd", PASSWD)
    environment = environment_inside(interpreter) | dict(spec.environment)
    bound: list[str] = []
    for one in bindings:
        bound += ["--ro-bind", str(one.source), str(one.inside)]

    def command(control: int, files: int) -> Sequence[str]:
        return [
            executable,
            *_namespaces(),
            *_system(passwd_descriptor),
            *_temporary(spec.limits, bound, workspace),
            *("--chdir", str(workspace), "--seccomp", str(filter_descriptor), "--"),
            *agent.argv(control, files),
        ]

    try:
        started = start(
            command, user=user, agent_depth=AGENT_DEPTH, inherited=(filter_descriptor, passwd_descriptor)
        )
    except SandboxError:
        shutil.rmtree(workspace.parent, ignore_errors=True)
        raise
    finally:
        os.close(filter_descriptor)
        os.close(passwd_descriptor)
    return HeldSandbox(
        Backend.BUBBLEWRAP,
        started,
        workspace=workspace,
        python=str(spec.python),
        environment=environment,
        limits=spec.limits,
    )


@cache
def find_bubblewrap() -> str:
    """The path of a bubblewrap that can do what is needed. Raises SandboxError saying what is missing."""
    executable = shutil.which("bwrap")
    if executable is None:
        raise SandboxError(f"bubblewrap is not installed: {INSTALL}.")
    try:
        options = subprocess.run(
            [executable, "--help"], capture_output=True, text=True, timeout=_HELP_SECONDS, check=False
        ).stdout
    except (OSError, subprocess.SubprocessError) as error:
        raise SandboxError(f"{executable} does not run ({error}): reinstall bubblewrap.") from error
    missing = [option for option in NEEDED_OPTIONS if option not in options]
    if missing:
        raise SandboxError(f"{executable} is too old, it lacks {', '.join(missing)}: install 0.8 or newer.")
    return executable


def _namespaces() -> Iterator[str]:
    # bubblewrap asks to die with its parent one system call before it wakes its child, the later init: a host
    # killed in that instant leaves that child asleep, with nothing in it yet. None was left in 11,500 kills.
    # Without the option forked children of a host, which hold its sockets open, would keep sandboxes alive.
    yield from ("--unshare-all", "--unshare-user", "--disable-userns", "--die-with-parent", "--new-session")
    yield "--as-pid-1"  # bubblewrap's own init could be written to from inside
    yield from ("--clearenv", "--cap-drop", "ALL", "--hostname", "sandbox")
    yield from ("--uid", str(UID_INSIDE), "--gid", str(UID_INSIDE))


def _system(passwd_descriptor: int) -> Iterator[str]:
    """The operating system: /usr, and as little of /etc as programs need."""
    yield from ("--ro-bind", "/usr", "/usr")
    for name in ("bin", "sbin", "lib", "lib64", "lib32"):
        link = Path("/", name)
        if link.is_symlink():
            yield from ("--symlink", f"usr/{name}", str(link))
        elif link.is_dir():
            yield from ("--ro-bind", str(link), str(link))
    for path in ("/etc/ld.so.cache", "/etc/alternatives"):
        yield from ("--ro-bind-try", path, path)
    yield from ("--ro-bind-data", str(passwd_descriptor), "/etc/passwd")
    yield from ("--proc", "/proc", "--dev", "/dev")
    yield from ("--size", str(SHARED_MEMORY_BYTES), "--tmpfs", "/dev/shm", "--remount-ro", "/dev")


def _temporary(limits: Limits, bound: Sequence[str], workspace: Path) -> Iterator[str]:
    """What can be written, and bindings that may lie below it, in the order of mounting."""
    size = str(limits.disk_bytes)
    yield from ("--size", size, "--perms", "1777", "--tmpfs", "/tmp")
    yield from bound
    yield from ("--size", size, "--perms", "0755", "--tmpfs", str(workspace))
    yield from ("--remount-ro", "/")


def _in_memory(name: str, content: bytes) -> int:
    """A descriptor to read ``content`` from."""
    descriptor = os.memfd_create(name)
    os.write(descriptor, content)
    os.lseek(descriptor, 0, os.SEEK_SET)
    return descriptor
