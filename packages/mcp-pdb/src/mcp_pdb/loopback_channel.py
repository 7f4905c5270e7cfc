"""A debuggee's channel where no descriptor can be inherited: one loopback connection, opened with a secret.

The address goes to the program as an argument, the secret in an environment
variable that the program's side removes before anything of the program runs
(``mcp_pdb.debuggee.loopback``). The first connection that begins with the
secret is the channel; by then the port is closed again.
"""

import hmac
import secrets
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import anyio
import anyio.abc

SECRET_VARIABLE = "MCP_PDB_CHANNEL_SECRET"
GREETING_SECONDS = 5.0
"""How long a connection may take to say the secret."""
_SECRET_BYTES = 32


class LoopbackListener:
    """Waits on an ephemeral port for the one program that knows the secret."""

    def __init__(self, listener: anyio.abc.Listener[anyio.abc.SocketStream]) -> None:
        self._listener = listener
        self._port = listener.extra(anyio.abc.SocketAttribute.local_port)
        self.secret = secrets.token_hex(_SECRET_BYTES)

    @property
    def address(self) -> str:
        """What the program gets in place of a descriptor's number: host, port, the secret's variable."""
        return f"127.0.0.1:{self._port}:{SECRET_VARIABLE}"

    async def accept(self, timeout_seconds: float) -> anyio.abc.ByteStream:
        """The program's end; nobody can connect any more once this has returned or raised.

        Whoever does not know the secret is dropped and waited past. Raises
        TimeoutError when the program does not come in time.
        """
        found: list[anyio.abc.SocketStream] = []
        try:
            async with self._listener:
                with anyio.move_on_after(timeout_seconds):
                    await self._welcome(found)
        except BaseException:
            for stream in found:
                await anyio.aclose_forcefully(stream)
            raise
        if not found:
            raise TimeoutError
        return found[0]

    async def _welcome(self, found: list[anyio.abc.SocketStream]) -> None:
        """Greet whoever connects, all at once, until one is found who knows the secret."""

        async def greet(stream: anyio.abc.SocketStream) -> None:
            if await self._knows_secret(stream) and not found:
                found.append(stream)
                group.cancel_scope.cancel()
            else:
                await anyio.aclose_forcefully(stream)

        async with anyio.create_task_group() as group:
            await self._listener.serve(greet, group)

    async def _knows_secret(self, stream: anyio.abc.SocketStream) -> bool:
        """Read the greeting and no byte more; closes the stream when cancelled."""
        expected = self.secret.encode("ascii")
        said = b""
        try:
            with anyio.move_on_after(GREETING_SECONDS):
                while len(said) < len(expected):
                    said += await stream.receive(len(expected) - len(said))
        except (anyio.EndOfStream, anyio.BrokenResourceError):
            return False
        except anyio.get_cancelled_exc_class():
            await anyio.aclose_forcefully(stream)
            raise
        return hmac.compare_digest(said, expected)


@asynccontextmanager
async def listen() -> AsyncGenerator[LoopbackListener]:
    """A listener on a free port of this machine's own; the port is closed with the block."""
    async with await anyio.create_tcp_listener(local_host="127.0.0.1") as listener:
        yield LoopbackListener(listener)


class EndedChannel(anyio.abc.ByteStream):
    """The channel to a program that ended before it connected."""

    async def receive(self, max_bytes: int = 65536) -> bytes:
        """Raises EndOfStream."""
        raise anyio.EndOfStream

    async def send(self, item: bytes) -> None:
        """Raises BrokenResourceError."""
        raise anyio.BrokenResourceError

    async def send_eof(self) -> None:
        """There is nothing to end."""

    async def aclose(self) -> None:
        """There is nothing to close."""
