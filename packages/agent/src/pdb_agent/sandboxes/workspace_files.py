"""The host's end of the file server inside a sandbox, and the host's copy of the workspace."""

import os
import shutil
import socket
from collections.abc import Mapping, Sequence
from pathlib import Path, PurePosixPath

import anyio

from pdb_agent.errors import SandboxEndedError, SandboxError

ANSWER_SECONDS = 10.0
_ANSWER_LIMIT_BYTES = 256 << 20
_COLUMNS = 4
"""Fields of a listed file."""
COPY_LIMIT_BYTES = 1 << 20
"""Files that are larger are missing in the host's copy."""
PATH_LIMIT_CHARS = 512


class WorkspaceFiles:
    """Files of one sandbox, read and written through the agent inside it.

    One request at a time; a reply that breaks the protocol ends the sandbox,
    for then the agent is not ours any more. ``copy`` is None where the workspace is
    itself a folder of the host, in which code inside can make no link.
    """

    def __init__(self, connection: socket.socket, copy: Path | None) -> None:
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
        sizes = [str(len(content)) for content in files.values()]
        fields = [field for pair in zip(files, sizes, strict=True) for field in pair]
        answer, _ = await self._ask("put", fields, b"".join(files.values()))
        if answer[0] == "failed":
            raise SandboxError(f"{answer[1]} cannot be written in the sandbox ({answer[2]}).")
        for path, content in files.items():
            self._write_copy(path, content)
            self._known[path] = (-1, -1, -1)  # in the copy, but not as listed yet

    async def get(self, paths: Sequence[str], limit_bytes: int) -> dict[str, bytes | None]:
        """Contents by path, None for what is no plain file or too large."""
        for path in paths:
            check_path(path)
        answer, body = await self._ask("get", [str(limit_bytes), *paths])
        contents: dict[str, bytes | None] = {}
        position = 0
        for path, size in zip(paths, answer[1:], strict=True):
            if size == "-":
                contents[path] = None
            else:
                contents[path] = body[position : position + int(size)]
                position += int(size)
        return contents

    async def remove(self, paths: Sequence[str]) -> None:
        """Delete files inside and in the copy."""
        for path in paths:
            check_path(path)
        await self._ask("remove", paths)
        for path in paths:
            self._delete_copy(path)

    async def listing(self) -> dict[str, tuple[int, int, int]]:
        """Size, modification time in ns and inode of every plain file, by path."""
        answer, _ = await self._ask("list", ())
        rows = zip(*(answer[1 + column :: _COLUMNS] for column in range(_COLUMNS)), strict=True)
        listed = {path: (int(size), int(modified), int(inode)) for path, size, modified, inode in rows}
        return {path: state for path, state in listed.items() if is_plain_path(path)}

    async def renew_copy(self) -> None:
        """Make the host's copy equal to what is inside now."""
        if self._copy is None:
            return
        listing = await self.listing()
        changed = [path for path, state in listing.items() if self._known.get(path) != state]
        for path in self._known.keys() - listing.keys():
            self._delete_copy(path)
        contents = await self.get(changed, COPY_LIMIT_BYTES) if changed else {}
        for path, content in contents.items():
            if content is None:
                self._delete_copy(path)
            else:
                self._write_copy(path, content)
        self._known = listing

    def close(self) -> None:
        """Close the connection; whoever waits sees the end. Idempotent."""
        if self._connection.fileno() >= 0:
            anyio.notify_closing(self._connection)
            self._connection.close()

    def _delete_copy(self, path: str) -> None:
        if self._copy is not None:
            (self._copy / path).unlink(missing_ok=True)

    def _write_copy(self, path: str, content: bytes) -> None:
        if self._copy is None:
            return
        target = self._copy / path
        for folder in (*reversed(target.relative_to(self._copy).parents),):
            place = self._copy / folder
            if place.exists() and not place.is_dir():
                place.unlink()
            place.mkdir(exist_ok=True)
        if target.is_dir():
            shutil.rmtree(target)
        target.write_bytes(content)

    async def _ask(
        self, operation: str, arguments: Sequence[str], body: bytes = b""
    ) -> tuple[list[str], bytes]:
        async with self._lock:
            head = "\0".join((operation, *arguments)).encode()
            lengths = len(head).to_bytes(4, "big") + len(body).to_bytes(4, "big")
            try:
                with anyio.fail_after(ANSWER_SECONDS, shield=True):  # half an answer would be misread
                    await self._send(lengths + head + body)
                    return await self._receive()
            except TimeoutError:
                self.close()
                raise SandboxEndedError(
                    f"The sandbox did not answer within {ANSWER_SECONDS:g} s: its agent was stopped inside."
                ) from None
            except ValueError as error:
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

    async def _receive(self) -> tuple[list[str], bytes]:
        lengths = await self._exactly(8)
        head, body = int.from_bytes(lengths[:4], "big"), int.from_bytes(lengths[4:], "big")
        if head + body > _ANSWER_LIMIT_BYTES:
            raise ValueError(head + body)
        fields = (await self._exactly(head)).decode(errors="surrogateescape").split("\0")
        return fields, await self._exactly(body)

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
