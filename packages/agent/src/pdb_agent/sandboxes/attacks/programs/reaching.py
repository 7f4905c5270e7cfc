"""Attacks on what lies outside the sandbox, and on the processes that hold it."""

import contextlib
import hashlib
import os
import resource
import signal
import socket
import sys
import time
from pathlib import Path

from .reporting import MEBIBYTE, Action, Settings, attempt_each, reason, report, run, trace

CONNECT_SECONDS = 1.0
PTRACE_ATTACH = 16
AF_VSOCK = 40


def read_environments(settings: Settings) -> None:
    """The environment of every process that can be named, for the secret of one on the host."""
    hits: list[int] = []
    seen = _processes()
    for pid in seen:
        with contextlib.suppress(OSError):
            if settings["secret"].encode() in _content(f"/proc/{pid}/environ"):
                hits.append(pid)
    report(done=[f"environ of {pid}" for pid in hits], refused={f"{len(seen)} processes seen": "no secret"})


def read_key(settings: Settings) -> None:
    attempt_each((("the key", lambda: _content(settings["key"])),))


def read_accounts(settings: Settings) -> None:
    try:
        content = _content("/etc/passwd")
    except OSError as error:
        return report(digest="", stopped_by=reason(error))
    return report(digest=hashlib.sha256(content).hexdigest(), stopped_by=f"another file, {len(content)} B")


def read_agent(settings: Settings) -> None:
    """Memory, environment and descriptors of the processes that hold the sandbox."""
    own = {os.getpid(), "self"}
    actions: list[Action] = []
    for pid in _processes():
        if pid not in own:
            actions += [
                (f"{pid}/mem", lambda pid=pid: _open_and_close(f"/proc/{pid}/mem", os.O_RDWR)),
                (f"{pid}/environ", lambda pid=pid: _content(f"/proc/{pid}/environ")),
                (f"{pid}/fd", lambda pid=pid: os.listdir(f"/proc/{pid}/fd")),
            ]
    attempt_each(actions)


def stray_descriptors(settings: Settings) -> None:
    """Descriptors that this process was not meant to have."""
    found: list[str] = []
    for descriptor in range(3, 1024):
        with contextlib.suppress(OSError):
            status = os.fstat(descriptor)
            found.append(f"{descriptor} (mode {status.st_mode:o})")
    report(done=found, refused={})


def _processes() -> list[int]:
    try:
        return sorted(int(name) for name in os.listdir("/proc") if name.isdigit())
    except OSError:
        return []


def _content(path: str) -> bytes:
    with open(path, "rb") as file:
        return file.read(MEBIBYTE)


def _open_and_close(path: str, flags: int) -> None:
    os.close(os.open(path, flags))


# Reaching out


def connect_tcp(settings: Settings) -> None:
    attempt_each(
        (("TCP", lambda: socket.create_connection(("127.0.0.1", settings["tcp"]), CONNECT_SECONDS)),)
    )


def send_udp(settings: Settings) -> None:
    def send() -> None:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as datagrams:
            datagrams.sendto(settings["marker"].encode(), ("127.0.0.1", settings["udp"]))

    attempt_each((("UDP", send),))


def connect_abstract(settings: Settings) -> None:
    attempt_each((("abstract socket", lambda: _connect_unix("\0" + settings["abstract"])),))


def connect_path(settings: Settings) -> None:
    attempt_each((("socket in a folder", lambda: _connect_unix(settings["path_socket"])),))


def make_vsock(settings: Settings) -> None:
    attempt_each((("vsock", lambda: socket.socket(40, socket.SOCK_STREAM).close()),))


def _connect_unix(address: str) -> None:
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(CONNECT_SECONDS)
        connection.connect(address)


# Leaving something behind


def write_outside(settings: Settings) -> None:
    name = settings["marker"]
    folders = [*settings["folders"], "/etc", "/usr/local", "/usr/bin", sys.prefix, str(Path.home())]
    actions: list[Action] = [
        (folder, lambda folder=folder: _open_and_close(f"{folder}/{name}", os.O_CREAT | os.O_WRONLY))
        for folder in dict.fromkeys(folders)
    ]
    core_pattern = "/proc/sys/kernel/core_pattern"
    actions.append((core_pattern, lambda: _open_and_close(core_pattern, os.O_WRONLY)))
    attempt_each(actions)


def link_out(settings: Settings) -> None:
    """Links in the workspace that lead to the key, for a host that copies without looking."""
    folder, name = os.path.split(settings["key"])
    attempt_each(
        (
            ("link", lambda: os.symlink(settings["key"], "link.py")),
            ("folder link", lambda: os.symlink(folder, "folder")),
        )
    )
    report(name=name)


def hard_link(settings: Settings) -> None:
    attempt_each((("hard link", lambda: os.link(settings["key"], "hard_link.py")),))


def change_mode(settings: Settings) -> None:
    attempt_each((("chmod", lambda: os.chmod(settings["key"], 0o777)),))


def leave_in_tmp(settings: Settings) -> None:
    path = f"{settings['temporary']}/{settings['marker']}"
    attempt_each(((path, lambda: _open_and_close(path, os.O_CREAT | os.O_WRONLY)),))


# Other processes


def kill_host(settings: Settings) -> None:
    attempt_each((("kill", lambda: os.kill(settings["victim"], signal.SIGKILL)),))


def stop_host(settings: Settings) -> None:
    attempt_each((("stop", lambda: os.kill(settings["victim"], signal.SIGSTOP)),))


def trace_host(settings: Settings) -> None:
    victim = settings["victim"]
    attempt_each(
        (
            ("ptrace", lambda: trace(PTRACE_ATTACH, victim)),
            ("mem", lambda: _open_and_close(f"/proc/{victim}/mem", os.O_RDWR)),
        )
    )


def limit_host(settings: Settings) -> None:
    limits = (16, 16)
    attempt_each((("prlimit", lambda: resource.prlimit(settings["victim"], resource.RLIMIT_NOFILE, limits)),))


def kill_agent(settings: Settings) -> None:
    _signal_all(signal.SIGKILL, settings)


def stop_agent(settings: Settings) -> None:
    _signal_all(signal.SIGSTOP, settings)


def _signal_all(number: int, settings: Settings) -> None:
    """Everything that can be named, the eldest first, but not those that ``spare`` lists."""
    ancestors = _ancestors()
    others = [pid for pid in _processes() if pid not in {os.getpid(), *ancestors}]
    targets = [*reversed(ancestors), *(others if settings["may_signal_all"] else ())]
    if os.fork():  # the child goes on when this process is killed with the agent
        time.sleep(5)
        return
    attempt_each(
        (f"pid {pid}", lambda pid=pid: os.kill(pid, number))
        for pid in targets
        if pid not in settings["spare"]
    )


def _ancestors() -> list[int]:
    found: list[int] = []
    pid = os.getppid()
    while pid > 0:
        found.append(pid)
        try:
            pid = int(_content(f"/proc/{pid}/stat").rpartition(b")")[2].split()[1])
        except OSError:
            break
    return found


if __name__ == "__main__":
    run(globals())
