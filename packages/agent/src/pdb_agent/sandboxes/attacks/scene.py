"""What the attacks aim at on the host: a real victim, real listeners, a real key, real folders.

Everything belongs to the user that the sandbox's processes run as, so that nothing but
the sandbox stands between an attack and its aim.
"""

import hashlib
import os
import secrets
import select
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Generator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

HOST_PLACE = Path("/var/tmp")
KEY_NAME = "id_ed25519"
KEY_MODE = 0o644
"""Open, so that nothing but the sandbox protects it."""
VICTIM_FILES = 77
UNTOUCHED_STATES = frozenset("SRD")
"""What a process is in, by the letters of /proc, that nobody has stopped, traced or ended."""
ACCOUNTS = Path("/etc/passwd")
_VICTIM = ("/bin/sh", "-c", f"ulimit -n {VICTIM_FILES}; echo; read line")


@dataclass(frozen=True, slots=True, kw_only=True)
class Listeners:
    """Sockets of the host that nobody inside should reach."""

    tcp: socket.socket
    udp: socket.socket
    abstract: socket.socket
    path: socket.socket

    def reached(self, name: str) -> bool:
        """True when somebody has connected to this one, or sent to it."""
        listener: socket.socket = getattr(self, name)
        return bool(select.select([listener], [], [], 0)[0])


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """The host as the attacks find it."""

    folder: Path
    """Everybody may write into it."""
    key: Path
    secret: str
    """The key's content, and part of the victim's environment."""
    victim: subprocess.Popen[bytes]
    listeners: Listeners

    def settings(self) -> dict[str, object]:
        """What the programs are told to aim at."""
        return {
            "key": str(self.key),
            "secret": self.secret,
            "victim": self.victim.pid,
            "folders": [str(self.folder)],
            "temporary": tempfile.gettempdir(),
            "tcp": self.listeners.tcp.getsockname()[1],
            "udp": self.listeners.udp.getsockname()[1],
            "abstract": self.listeners.abstract.getsockname()[1:].decode(),
            "path_socket": self.listeners.path.getsockname(),
        }

    def victim_state(self) -> str:
        """The victim's state as /proc has it: S sleeping, T stopped, t traced; empty when it is gone."""
        try:
            status = Path(f"/proc/{self.victim.pid}/stat").read_text(encoding="utf-8", errors="replace")
        except OSError:
            return ""
        return status.rpartition(")")[2].split()[0]

    def key_is_untouched(self) -> bool:
        """True while the key has its mode and content."""
        return self.key.stat().st_mode & 0o777 == KEY_MODE and self.key.read_text("utf-8") == self.secret

    def victim_limit(self) -> int:
        """How many files the victim may open; 0 when it is gone."""
        if not self.victim_state():
            return 0
        limits = Path(f"/proc/{self.victim.pid}/limits").read_text(encoding="utf-8")
        return int(limits.partition("Max open files")[2].split()[0])

    def accounts_digest(self) -> str:
        """What the host's list of accounts hashes to."""
        return hashlib.sha256(ACCOUNTS.read_bytes()).hexdigest()

    def strays(self, marker: str) -> list[str]:
        """Files of this name in the places of the host where an attack would leave one."""
        own = (self.folder, Path(tempfile.gettempdir()), Path("/etc"), Path("/usr/local"), Path("/usr/bin"))
        places = (*own, Path(sys.prefix), Path.home())
        return [str(place / marker) for place in places if (place / marker).exists()]

    def clear(self, marker: str) -> None:
        """Remove what ``strays`` finds."""
        for stray in self.strays(marker):
            Path(stray).unlink(missing_ok=True)


@contextmanager
def set_scene(uid: int) -> Generator[Scene]:
    """Everything that the attacks aim at, in the rights of user ``uid``; gone with the block."""
    secret = secrets.token_hex(16)
    with ExitStack() as stack:
        folder = Path(tempfile.mkdtemp(prefix="pdb-agent-scene-", dir=_place()))
        stack.callback(shutil.rmtree, folder, ignore_errors=True)
        folder.chmod(0o777)
        home = folder / ".ssh"
        home.mkdir()
        key = home / KEY_NAME
        key.write_text(secret, encoding="utf-8")
        key.chmod(KEY_MODE)
        if os.geteuid() == 0:
            os.chown(key, uid, uid)
        yield Scene(
            folder=folder,
            key=key,
            secret=secret,
            victim=stack.enter_context(_victim(uid, secret)),
            listeners=_listen(stack, folder),
        )


def _place() -> Path:
    return HOST_PLACE if os.access(HOST_PLACE, os.W_OK) else Path(tempfile.gettempdir())


@contextmanager
def _victim(uid: int, secret: str) -> Generator[subprocess.Popen[bytes]]:
    is_root = os.geteuid() == 0
    process = subprocess.Popen(
        _VICTIM,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={"TOKEN": secret},
        cwd="/",
        user=uid if is_root else None,
        group=uid if is_root else None,
        extra_groups=[] if is_root else None,
    )
    try:
        assert process.stdout is not None
        process.stdout.readline()
        yield process
    finally:
        process.kill()
        process.communicate()


def _listen(stack: ExitStack, folder: Path) -> Listeners:
    tcp = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
    udp = stack.enter_context(socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
    udp.bind(("127.0.0.1", 0))
    abstract = stack.enter_context(socket.socket(socket.AF_UNIX))
    abstract.bind(f"\0pdb-agent-{secrets.token_hex(8)}")
    path = stack.enter_context(socket.socket(socket.AF_UNIX))
    path.bind(str(folder / "host.sock"))
    (folder / "host.sock").chmod(0o777)
    for listener in (abstract, path):
        listener.listen()
    return Listeners(tcp=tcp, udp=udp, abstract=abstract, path=path)
