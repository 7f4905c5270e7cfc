"""The agent inside a sandbox: holds every process in it, and reads and writes its files.

Standard library only, Python 3.10+, compiled and started by path with ``python -I -S``.
Arguments: the control socket, the files socket, the workspace, and resource limits as
``RLIMIT_X=number``. Few modules are imported before the first answer, for every sandbox
waits for that.

It forks: the child becomes mcp_pdb's reaper (``reaper``, in the same folder), which
starts every program and is a subreaper, so that nothing leaves it; this process serves
files. When the reaper dies this process kills what is left below it and ends, and with
it the sandbox.

A message on the files socket is two lengths of four bytes, then fields joined by NUL,
then raw bytes. A request's fields are the operation and its arguments:

- ``put``: path and size of each file; the raw bytes are their contents.
- ``get``: the largest size wanted, and paths. Answer: each size, or ``-`` for what is no
  plain file with one link or is too large; raw bytes.
- ``remove``: paths.
- ``list``. Answer: path, size, modification time in ns and inode of every plain file.

An answer's first field is ``ok``, or ``failed`` with a path and a reason.
Paths are opened one component at a time and never through a symlink, though code inside
may change them meanwhile.
"""

import os
import stat
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import ModuleType
    from typing import NoReturn

PR_SET_DUMPABLE = 4
PR_SET_CHILD_SUBREAPER = 36
FOLDERS_LEFT_OUT = frozenset({"__pycache__", ".pytest_cache", ".git", ".mypy_cache", ".ruff_cache"})
FILE_LIMIT = 2000
DEPTH_LIMIT = 20
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_CREATE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


def main(control: int, files: int, workspace_path: str, limits: "list[str]") -> "NoReturn":
    """Hold the sandbox until the host lets go of the sockets."""
    for descriptor in (control, files):
        os.set_inheritable(descriptor, False)
    os.umask(0o022)
    workspace = os.open(workspace_path, _FOLDER)
    os.chdir("/")
    _answer(files, ["ok"], b"")
    _serve_one(files, workspace)  # the workspace as it is at the start: nothing else runs yet
    _start_reaper(control, files, limits)
    try:
        while True:
            _serve_one(files, workspace)
    except (ConnectionError, EOFError):
        pass
    while True:  # the host has gone: the reaper sees it too, and its end is ours
        try:
            os.wait()
        except ChildProcessError:
            os._exit(0)


def _start_reaper(control: int, files: int, limits: "list[str]") -> None:
    """Become a process that code inside cannot look into, and fork the reaper."""
    import ctypes
    import resource
    import signal

    libc = ctypes.CDLL(None)
    libc.prctl(PR_SET_DUMPABLE, 0, 0, 0, 0)  # or code inside could read and write this process
    libc.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    for limit in limits:
        name, _, value = limit.partition("=")
        kind = getattr(resource, name)
        _, hard = resource.getrlimit(kind)
        bound = int(value) if hard == resource.RLIM_INFINITY else min(int(value), hard)
        resource.setrlimit(kind, (bound, bound))
    sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
    reaper = __import__("reaper")
    # Before the fork: a host that lets go at once has a reaper that ends at once.
    signal.signal(signal.SIGCHLD, lambda number, frame: _end(reaper))
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    if os.fork() == 0:
        os.close(files)
        try:
            reaper.main(control)
        finally:
            os._exit(0)
    os.close(control)


def _end(reaper: "ModuleType") -> "NoReturn":
    """Kill what a dead reaper has left to this process, and end."""
    import signal

    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    try:
        for _ in reaper._sweep(reaper.ChildAlarm(), set()):
            pass
    finally:
        os._exit(0)


def _serve_one(files: int, workspace: int) -> None:
    lengths = _exactly(files, 8)
    operation, *arguments = _exactly(files, int.from_bytes(lengths[:4], "big")).decode().split("\0")
    content = _exactly(files, int.from_bytes(lengths[4:], "big"))
    operations = {"put": _put, "get": _get, "remove": _remove, "list": _list}
    _answer(files, *operations[operation](workspace, arguments, content))


def _exactly(files: int, count: int) -> bytes:
    received = bytearray()
    while len(received) < count:
        piece = os.read(files, min(count - len(received), 1 << 20))
        if not piece:
            raise EOFError
        received += piece
    return bytes(received)


def _answer(files: int, fields: "list[str]", content: bytes) -> None:
    head = "\0".join(fields).encode(errors="surrogateescape")
    rest = memoryview(len(head).to_bytes(4, "big") + len(content).to_bytes(4, "big") + head + content)
    while rest:
        rest = rest[os.write(files, rest) :]


def _put(workspace: int, arguments: "list[str]", content: bytes) -> "tuple[list[str], bytes]":
    position = 0
    for path, size in zip(arguments[::2], map(int, arguments[1::2]), strict=True):
        try:
            _write(workspace, path, content[position : position + size])
        except OSError as error:
            return ["failed", path, error.strerror or "it cannot be written"], b""
        position += size
    return ["ok"], b""


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


def _get(workspace: int, arguments: "list[str]", content: bytes) -> "tuple[list[str], bytes]":
    limit, *paths = arguments
    fields = ["ok"]
    found: list[bytes] = []
    for path in paths:
        try:
            one = _read(workspace, path, int(limit))
        except OSError:
            one = None
        fields.append("-" if one is None else str(len(one)))
        found.append(one or b"")
    return fields, b"".join(found)


def _read(workspace: int, path: str, limit: int) -> "bytes | None":
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


def _remove(workspace: int, arguments: "list[str]", content: bytes) -> "tuple[list[str], bytes]":
    for path in arguments:
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
    return ["ok"], b""


def _list(workspace: int, arguments: "list[str]", content: bytes) -> "tuple[list[str], bytes]":
    fields = ["ok"]
    _walk(workspace, "", DEPTH_LIMIT, fields)
    return fields, b""


def _walk(folder: int, place: str, depth: int, fields: "list[str]") -> None:
    inner: list[str] = []
    with os.scandir(folder) as entries:
        for entry in entries:
            if len(fields) > 4 * FILE_LIMIT:
                return
            if entry.is_dir(follow_symlinks=False):
                inner.append(entry.name)
            elif entry.is_file(follow_symlinks=False):
                try:
                    status = entry.stat(follow_symlinks=False)
                except OSError:
                    continue
                fields.append(place + entry.name)
                fields += map(str, (status.st_size, status.st_mtime_ns, status.st_ino))
    for name in sorted(inner):
        if depth and name not in FOLDERS_LEFT_OUT:
            try:
                descriptor = os.open(name, _FOLDER, dir_fd=folder)
            except OSError:
                continue
            try:
                _walk(descriptor, f"{place}{name}/", depth - 1, fields)
            finally:
                os.close(descriptor)


def _parent(workspace: int, path: str, *, create: bool) -> "tuple[int, str]":
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
    main(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3], sys.argv[4:])
