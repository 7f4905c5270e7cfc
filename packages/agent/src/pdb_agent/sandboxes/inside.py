"""The agent inside a sandbox: holds every process in it, and reads and writes its files.

Started by path with ``python -I -S``, standard library only, Python 3.10+. Its
one argument is a JSON object: ``reaper`` (path of mcp_pdb's reaper script),
``control`` and ``files`` (inherited sockets), ``workspace`` and ``limits``.

It forks: the child becomes the reaper, which starts every program and is a
subreaper, so that nothing leaves it; this process serves files on the other
socket. When the reaper dies this process kills what is left below it and ends,
and with it the sandbox.

A request on the files socket is a four-byte length, a JSON object, and as many
raw bytes as the object's ``sizes`` say; an answer is the same.
Paths are opened one component at a time and never through a symlink, though
code inside may change them meanwhile.
"""

import ctypes
import json
import os
import resource
import signal
import socket
import stat
import struct
import sys
from types import ModuleType
from typing import Any, NoReturn

PR_SET_DUMPABLE = 4
PR_SET_CHILD_SUBREAPER = 36
FOLDERS_LEFT_OUT = frozenset({"__pycache__", ".pytest_cache", ".git", ".mypy_cache", ".ruff_cache"})
FILE_LIMIT = 2000
DEPTH_LIMIT = 20
_LENGTH = struct.Struct("!I")
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_CREATE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


def main(settings: dict[str, Any]) -> NoReturn:
    """Hold the sandbox until the host lets go of the sockets."""
    libc = ctypes.CDLL(None)
    libc.prctl(PR_SET_DUMPABLE, 0, 0, 0, 0)  # or code inside could read and write this process
    libc.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    for name, value in settings["limits"].items():
        kind = getattr(resource, name)
        _, hard = resource.getrlimit(kind)
        bound = value if hard == resource.RLIM_INFINITY else min(value, hard)
        resource.setrlimit(kind, (bound, bound))
    os.umask(0o022)
    reaper = _load(settings["reaper"])
    files = socket.socket(fileno=settings["files"])
    files.set_inheritable(False)
    if os.fork() == 0:
        files.close()
        try:
            reaper.main(settings["control"])
        finally:
            os._exit(0)
    os.close(settings["control"])
    signal.signal(signal.SIGCHLD, lambda number, frame: _end(reaper))
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    workspace = os.open(settings["workspace"], _FOLDER)
    os.chdir("/")
    try:
        _serve(files, workspace)
    except (ConnectionError, EOFError):
        pass
    while True:  # the host has gone: the reaper sees it too, and its end is ours
        signal.pause()


def _load(path: str) -> ModuleType:
    sys.path.insert(0, os.path.dirname(path))
    module = __import__(os.path.basename(path).removesuffix(".py"))
    del sys.path[0]
    return module


def _end(reaper: ModuleType) -> NoReturn:
    """Kill what a dead reaper has left to this process, and end."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    try:
        for _ in reaper._sweep(reaper.ChildAlarm(), set()):
            pass
    finally:
        os._exit(0)


def _serve(files: socket.socket, workspace: int) -> None:
    _answer(files, {"ready": os.getpid()}, b"")
    operations = {"put": _put, "get": _get, "remove": _remove, "list": _list}
    while True:
        request = json.loads(_exactly(files, *_LENGTH.unpack(_exactly(files, _LENGTH.size))))
        body = _exactly(files, sum(request.get("sizes", ())))
        answer, content = operations[request["operation"]](workspace, request, body)
        _answer(files, answer, content)


def _exactly(files: socket.socket, count: int) -> bytes:
    received = bytearray()
    while len(received) < count:
        piece = files.recv(min(count - len(received), 1 << 20))
        if not piece:
            raise EOFError
        received += piece
    return bytes(received)


def _answer(files: socket.socket, answer: dict[str, Any], content: bytes) -> None:
    head = json.dumps(answer).encode()
    files.sendall(_LENGTH.pack(len(head)) + head + content)


def _put(workspace: int, request: dict[str, Any], body: bytes) -> tuple[dict[str, Any], bytes]:
    position = 0
    for path, size in zip(request["paths"], request["sizes"], strict=True):
        content = body[position : position + size]
        position += size
        try:
            _write(workspace, path, content)
        except OSError as error:
            return {"failed": [path, error.strerror or "cannot be written"]}, b""
    return {"sizes": []}, b""


def _write(workspace: int, path: str, content: bytes) -> None:
    folder, name = _parent(workspace, path, create=True)
    try:
        try:
            os.unlink(name, dir_fd=folder)  # a new inode: a link that code inside made keeps the old one
        except FileNotFoundError:
            pass
        descriptor = os.open(name, _CREATE, 0o644, dir_fd=folder)
        try:
            rest = memoryview(content)
            while rest:
                rest = rest[os.write(descriptor, rest) :]
        finally:
            os.close(descriptor)
    finally:
        os.close(folder)


def _get(workspace: int, request: dict[str, Any], body: bytes) -> tuple[dict[str, Any], bytes]:
    contents: list[bytes | None] = []
    for path in request["paths"]:
        try:
            contents.append(_read(workspace, path, request["limit"]))
        except OSError:
            contents.append(None)
    kept = [content or b"" for content in contents]
    absent = [index for index, content in enumerate(contents) if content is None]
    return {"sizes": [len(content) for content in kept], "absent": absent}, b"".join(kept)


def _read(workspace: int, path: str, limit: int) -> bytes | None:
    folder, name = _parent(workspace, path, create=False)
    try:
        descriptor = os.open(name, _READ, dir_fd=folder)
    finally:
        os.close(folder)
    with os.fdopen(descriptor, "rb") as file:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode) or status.st_nlink != 1 or status.st_size > limit:
            return None
        content = file.read(limit + 1)
        return content if len(content) <= limit else None


def _remove(workspace: int, request: dict[str, Any], body: bytes) -> tuple[dict[str, Any], bytes]:
    for path in request["paths"]:
        try:
            folder, name = _parent(workspace, path, create=False)
        except OSError:
            continue
        try:
            os.unlink(name, dir_fd=folder)
        except OSError:
            pass
        finally:
            os.close(folder)
    return {"sizes": []}, b""


def _list(workspace: int, request: dict[str, Any], body: bytes) -> tuple[dict[str, Any], bytes]:
    found: list[tuple[str, int, int, int]] = []
    _walk(workspace, "", DEPTH_LIMIT, found)
    return {"sizes": [], "files": sorted(found)}, b""


def _walk(folder: int, prefix: str, depth: int, found: list[tuple[str, int, int, int]]) -> None:
    inner: list[str] = []
    with os.scandir(folder) as entries:
        for entry in entries:
            if len(found) >= FILE_LIMIT:
                return
            if entry.is_dir(follow_symlinks=False):
                inner.append(entry.name)
            elif entry.is_file(follow_symlinks=False):
                try:
                    status = entry.stat(follow_symlinks=False)
                except OSError:
                    continue
                found.append((prefix + entry.name, status.st_size, status.st_mtime_ns, status.st_ino))
    for name in sorted(inner):
        if depth and name not in FOLDERS_LEFT_OUT:
            try:
                descriptor = os.open(name, _FOLDER, dir_fd=folder)
            except OSError:
                continue
            try:
                _walk(descriptor, f"{prefix}{name}/", depth - 1, found)
            finally:
                os.close(descriptor)


def _parent(workspace: int, path: str, *, create: bool) -> tuple[int, str]:
    """A descriptor of the folder that ``path`` lies in, to be closed by the caller, and its last part."""
    *folders, name = path.split("/")
    descriptor = os.dup(workspace)
    for part in folders:
        try:
            if create:
                try:
                    os.mkdir(part, 0o755, dir_fd=descriptor)
                except FileExistsError:
                    pass
            inner = os.open(part, _FOLDER, dir_fd=descriptor)
        finally:
            os.close(descriptor)
        descriptor = inner
    return descriptor, name


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
