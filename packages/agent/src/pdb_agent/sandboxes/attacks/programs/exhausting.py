"""Attacks that take too much of something, or do not end."""

import contextlib
import ctypes
import mmap
import os
import shutil
import signal
import socket
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path

from .reporting import MEBIBYTE, ON_X86, Settings, attempt_each, reason, report, run, system_call

SHMGET, MEMFD_CREATE = (29, 319) if ON_X86 else (194, 279)
LONG_SECONDS = 20
HOLD_SECONDS = 1.0
SENDERS = 8


def nothing(settings: Settings) -> None:
    report(uid=os.getuid(), pid=os.getpid())


def linger(settings: Settings) -> None:
    report(uid=os.getuid(), pid=os.getpid())
    time.sleep(settings["seconds"])


def fork_bomb(settings: Settings) -> None:
    forks, stopped_by = 0, "nothing"
    while forks < settings["attempts"]:
        try:
            if os.fork() == 0:
                time.sleep(LONG_SECONDS)
                os._exit(0)
        except OSError as error:
            stopped_by = reason(error)
            break
        forks += 1
    report(count=forks, stopped_by=stopped_by)


def thread_bomb(settings: Settings) -> None:
    threads, stopped_by = 0, "nothing"
    hold = threading.Event()
    threading.stack_size(256 * 1024)
    while threads < settings["attempts"]:
        try:
            threading.Thread(target=hold.wait, daemon=True).start()
        except (RuntimeError, MemoryError, OSError) as error:
            stopped_by = reason(error)
            break
        threads += 1
    report(count=threads, stopped_by=stopped_by)
    os._exit(0)


def memory_of_one(settings: Settings) -> None:
    _take_memory(settings["attempt_mb"])


def memory_of_six(settings: Settings) -> None:
    """Six processes that each stay below the limit of one, and together far above it."""
    share = settings["attempt_mb"] // 6
    reader, writer = os.pipe()
    for _ in range(6):
        if os.fork() == 0:
            blocks = [bytearray(b"\1") * MEBIBYTE for _ in range(share)]
            os.write(writer, len(blocks).to_bytes(4, "big"))
            time.sleep(LONG_SECONDS)
            os._exit(0)
    taken = 0
    for _ in range(6):
        taken += int.from_bytes(os.read(reader, 4), "big")
        report(mb=taken)


def memory_shared(settings: Settings) -> None:
    """Pages that the limit on a process's data does not count."""
    taken = 0
    blocks: list[mmap.mmap] = []
    try:
        while taken < settings["attempt_mb"]:
            block = mmap.mmap(-1, 8 * MEBIBYTE)
            for offset in range(0, len(block), 4096):
                block[offset] = 1
            blocks.append(block)
            taken += 8
            report(mb=taken)
    except (OSError, MemoryError, ValueError) as error:
        report(stopped_by=reason(error))


def memory_of_nobody(settings: Settings) -> None:
    """Memory that no process's size shows: anonymous files and shared segments."""
    attempt_each(
        (
            ("memfd_create", lambda: system_call(MEMFD_CREATE, b"x", 0)),
            ("shmget", lambda: system_call(SHMGET, 0, ctypes.c_size_t(MEBIBYTE), 0o1600)),
        )
    )


def memory_of_sockets(settings: Settings) -> None:
    """Bytes that were sent and never received: kernel memory, which no process's size shows."""
    _send_unread(settings, socket.socketpair)


def memory_of_connections(settings: Settings) -> None:
    """The same through a server of its own."""
    try:
        server = socket.create_server(("127.0.0.1", 0))
    except OSError as error:
        return report(mb=0, stopped_by=reason(error))

    def connected() -> tuple[socket.socket, socket.socket]:
        client = socket.create_connection(server.getsockname())
        return client, server.accept()[0]

    return _send_unread(settings, connected)


Pairs = Callable[[], tuple[socket.socket, socket.socket]]


def _send_unread(settings: Settings, pairs: Pairs) -> None:
    reader, writer = os.pipe()
    share = settings["attempt_mb"] * MEBIBYTE // SENDERS
    for _ in range(SENDERS):
        if os.fork() == 0:
            held = _fill_sockets(writer, share, pairs)
            time.sleep(LONG_SECONDS)
            held.clear()
            os._exit(0)
    bytes_held = sum(int.from_bytes(os.read(reader, 8), "big") for _ in range(SENDERS))
    time.sleep(HOLD_SECONDS)  # what is taken for an instant only harms nobody
    report(mb=bytes_held // MEBIBYTE, stopped_by="the end of its descriptors")


def _fill_sockets(told: int, share_bytes: int, pairs: Pairs) -> list[socket.socket]:
    """Sockets that hold as many unread bytes; closed once nobody keeps them."""
    held: list[socket.socket] = []
    sent = 0
    block = b"x" * 65536
    try:
        while sent < share_bytes:
            pair = pairs()
            held += pair
            for end in pair:
                end.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, MEBIBYTE)
                end.setblocking(False)
                with contextlib.suppress(BlockingIOError):
                    while True:
                        sent += end.send(block)
    except OSError:
        pass  # it has as many descriptors as it may
    os.write(told, sent.to_bytes(8, "big"))
    return held


def _take_memory(attempt_mb: int) -> None:
    blocks: list[bytearray] = []
    try:
        while len(blocks) * 8 < attempt_mb:
            blocks.append(bytearray(b"\1") * (8 * MEBIBYTE))
            report(mb=len(blocks) * 8)
    except MemoryError as error:
        held = len(blocks) * 8
        blocks.clear()
        report(mb=held, stopped_by=reason(error))


def fill_workspace(settings: Settings) -> None:
    _fill(".", settings)


def fill_shared_memory(settings: Settings) -> None:
    _fill("/dev/shm", settings)


def fill_temporary(settings: Settings) -> None:
    _fill(tempfile.gettempdir(), settings)


def _fill(parent: str, settings: Settings) -> None:
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    written, stopped_by = 0, "nothing"
    try:
        folder = tempfile.mkdtemp(prefix=settings["marker"], dir=parent)
    except OSError as error:
        return report(mb=0, stopped_by=reason(error))
    block = b"\1" * MEBIBYTE
    try:
        while written < settings["attempt_mb"]:
            with open(f"{folder}/{written}", "wb", buffering=0) as file:
                for _ in range(settings["file_mb"]):
                    if file.write(block) < len(block):
                        raise OSError("short write")
                    written += 1
    except OSError as error:
        stopped_by = reason(error)
    report(mb=written, stopped_by=stopped_by)
    shutil.rmtree(folder, ignore_errors=True)
    return None


def sparse_file(settings: Settings) -> None:
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)

    def stretch() -> None:
        with open("sparse", "wb") as file:
            file.truncate(1 << 40)

    attempt_each((("1 TB file", stretch),))


def inode_flood(settings: Settings) -> None:
    made, stopped_by = 0, "nothing"
    with contextlib.suppress(FileExistsError):
        Path("flood").mkdir()
    try:
        while made < settings["attempts"]:
            os.close(os.open(f"flood/{made}", os.O_CREAT | os.O_WRONLY))
            made += 1
            if made % 1000 == 0:
                report(count=made)
    except OSError as error:
        stopped_by = reason(error)
    report(count=made, stopped_by=stopped_by)


def output_flood(settings: Settings) -> None:
    block = b"x" * 65536
    while True:
        os.write(1, block)


# Not ending


def endless_loop(settings: Settings) -> None:
    while True:
        pass


def ignores_signals(settings: Settings) -> None:
    for number in range(1, signal.NSIG):
        with contextlib.suppress(OSError, ValueError):
            signal.signal(number, signal.SIG_IGN)
    report(ready=True)
    while True:
        time.sleep(1)


def daemon(settings: Settings) -> None:
    """A process that has left its parent, its session, its streams and its folder."""
    ready, told = os.pipe()
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            os.chdir("/")
            os.write(told, b"x")
            for descriptor in range(3):
                os.close(descriptor)
            time.sleep(LONG_SECONDS)
        os._exit(0)
    os.read(ready, 1)
    report(ready=True)


if __name__ == "__main__":
    run(globals())
