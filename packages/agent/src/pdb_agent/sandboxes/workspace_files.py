"""The host's end of the file server inside a sandbox, and the host's copy of the workspace."""

import json
import os
import shutil
import socket
import struct
from collections.abc import Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Any, cast

import anyio

from pdb_agent.errors import SandboxEndedError, SandboxError

_LENGTH = struct.Struct("!I")
ANSWER_SECONDS = 10.0
_HEAD_LIMIT = 4 << 20
COPY_LIMIT_BYTES = 1 << 20
"""Files that are larger are missing in the host's copy."""
PATH_LIMIT_CHARS = 512


class WorkspaceFiles:
    """Files of one sandbox, read and written through the agent inside it.

    One request at a time; a reply that breaks the protocol ends the sandbox,
    for then the agent is not ours any more.
    """

    def __init__(self, connection: socket.socket, copy: Path) -> None:
        connection.setblocking(False)
        self._connection = connection
        self._lock = anyio.Lock()
        self._copy = copy
        self._known: dict[str, tuple[int, int, int]] = {}

    async def hello(self) -> None:
        """Wait until the agent is up. Raises SandboxEndedError when it ends instead."""
        await self._receive()

    async def put(self, files: Mapping[str, bytes]) -> None:
        """Write files inside and in the copy. Raises SandboxError, SandboxEndedError."""
        for path in files:
            check_path(path)
        answer, _ = await self._ask(
            {
                "operation": "put",
                "paths": list(files),
                "sizes": [len(content) for content in files.values()],
            },
            b"".join(files.values()),
        )
        if "failed" in answer:
            path, reason = answer["failed"]
            raise SandboxError(f"{path} cannot be written in the sandbox ({reason}).")
        for path, content in files.items():
            self._write_copy(path, content)

    async def get(self, paths: Sequence[str], limit_bytes: int) -> dict[str, bytes | None]:
        """Contents by path, None for what is no plain file or too large."""
        for path in paths:
            check_path(path)
        answer, body = await self._ask({"operation": "get", "paths": list(paths), "limit": limit_bytes}, b"")
        contents: dict[str, bytes | None] = {}
        absent = set(answer["absent"])
        position = 0
        for index, (path, size) in enumerate(zip(paths, answer["sizes"], strict=True)):
            contents[path] = None if index in absent else body[position : position + size]
            position += size
        return contents

    async def remove(self, paths: Sequence[str]) -> None:
        """Delete files inside and in the copy."""
        for path in paths:
            check_path(path)
        await self._ask({"operation": "remove", "paths": list(paths)}, b"")
        for path in paths:
            (self._copy / path).unlink(missing_ok=True)

    async def listing(self) -> dict[str, tuple[int, int, int]]:
        """Size, modification time in ns and inode of every plain file, by path."""
        answer, _ = await self._ask({"operation": "list"}, b"")
        listed = {str(path): (size, modified, inode) for path, size, modified, inode in answer["files"]}
        return {path: state for path, state in listed.items() if is_plain_path(path)}

    async def renew_copy(self) -> None:
        """Make the host's copy equal to what is inside now."""
        listing = await self.listing()
        changed = [path for path, state in listing.items() if self._known.get(path) != state]
        for path in self._known.keys() - listing.keys():
            (self._copy / path).unlink(missing_ok=True)
        contents = await self.get(changed, COPY_LIMIT_BYTES) if changed else {}
        for path, content in contents.items():
            if content is None:
                (self._copy / path).unlink(missing_ok=True)
            else:
                self._write_copy(path, content)
        self._known = listing

    def close(self) -> None:
        """Close the connection; whoever waits sees the end. Idempotent."""
        if self._connection.fileno() >= 0:
            anyio.notify_closing(self._connection)
            self._connection.close()

    def _write_copy(self, path: str, content: bytes) -> None:
        target = self._copy / path
        for folder in (*reversed(target.relative_to(self._copy).parents),):
            place = self._copy / folder
            if place.exists() and not place.is_dir():
                place.unlink()
            place.mkdir(exist_ok=True)
        if target.is_dir():
            shutil.rmtree(target)
        target.write_bytes(content)

    async def _ask(self, request: dict[str, Any], body: bytes) -> tuple[dict[str, Any], bytes]:
        async with self._lock:
            head = json.dumps(request).encode()
            try:
                with anyio.fail_after(ANSWER_SECONDS, shield=True):  # half an answer would be misread
                    await self._send(_LENGTH.pack(len(head)) + head + body)
                    return await self._receive()
            except TimeoutError:
                self.close()
                raise SandboxEndedError(
                    f"The sandbox did not answer within {ANSWER_SECONDS:g} s: its agent was stopped inside."
                ) from None
            except (KeyError, TypeError, ValueError) as error:
                self.close()
                raise SandboxEndedError("The sandbox gave an answer that makes no sense.") from error

    async def _send(self, data: bytes) -> None:
        rest = memoryview(data)
        try:
            while rest:
                try:
                    rest = rest[self._connection.send(rest) :]
                except BlockingIOError:
                    await anyio.wait_writable(self._connection)
        except (OSError, anyio.ClosedResourceError):
            raise SandboxEndedError("The sandbox has ended.") from None

    async def _receive(self) -> tuple[dict[str, Any], bytes]:
        (length,) = _LENGTH.unpack(await self._exactly(_LENGTH.size))
        if length > _HEAD_LIMIT:
            raise ValueError(length)
        answer = json.loads(await self._exactly(length))
        if not isinstance(answer, dict):
            raise TypeError(answer)
        answer = cast("dict[str, Any]", answer)
        return answer, await self._exactly(sum(answer.get("sizes", ())))

    async def _exactly(self, count: int) -> bytes:
        received = bytearray()
        while len(received) < count:
            try:
                piece = self._connection.recv(min(count - len(received), 1 << 20))
            except BlockingIOError:
                try:
                    await anyio.wait_readable(self._connection)
                except anyio.ClosedResourceError:
                    piece = b""
                else:
                    continue
            except OSError:
                piece = b""
            if not piece:
                raise SandboxEndedError("The sandbox has ended.")
            received += piece
        return bytes(received)


def check_path(path: str) -> None:
    """Raise SandboxError unless ``path`` is plain and relative."""
    if not is_plain_path(path):
        raise SandboxError(f"{path!r} is no path in the workspace: give it relative, without .. and links.")


def is_plain_path(path: str) -> bool:
    """True for a relative POSIX path without dots, empty parts or undecodable characters."""
    parts = PurePosixPath(path).parts
    try:
        path.encode()
    except UnicodeEncodeError:
        return False
    return (
        0 < len(path) <= PATH_LIMIT_CHARS
        and not path.startswith("/")
        and "\0" not in path
        and path == "/".join(parts)
        and ".." not in parts
        and all(len(os.fsencode(part)) < 256 for part in parts)
    )
