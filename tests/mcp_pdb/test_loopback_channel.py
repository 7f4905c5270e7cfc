"""A channel over the loopback interface: only who knows the secret gets it, and only once."""

import contextlib
from collections.abc import Awaitable, Callable

import anyio
import anyio.abc
import pytest
from mcp_pdb.loopback_channel import SECRET_VARIABLE, EndedChannel, LoopbackListener, listen

pytestmark = pytest.mark.anyio

LONG_SECONDS = 30.0


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


def port_of(listener: LoopbackListener) -> int:
    host, port, variable = listener.address.split(":")
    assert (host, variable) == ("127.0.0.1", SECRET_VARIABLE)
    return int(port)


async def connect(listener: LoopbackListener) -> anyio.abc.SocketStream:
    return await anyio.connect_tcp("127.0.0.1", port_of(listener))


async def is_dropped(stream: anyio.abc.SocketStream) -> bool:
    with contextlib.suppress(anyio.EndOfStream, anyio.BrokenResourceError):
        await stream.receive()
        return False
    return True


async def accepted_from(
    listener: LoopbackListener, program: Callable[[], Awaitable[anyio.abc.SocketStream]]
) -> tuple[anyio.abc.ByteStream, anyio.abc.SocketStream]:
    """Both ends of the channel that ``program`` opens."""
    ours: list[anyio.abc.ByteStream] = []
    theirs: list[anyio.abc.SocketStream] = []

    async def accept() -> None:
        ours.append(await listener.accept(LONG_SECONDS))

    with anyio.fail_after(10):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(accept)
            theirs.append(await program())
    return ours[0], theirs[0]


async def test_whoever_says_the_secret_gets_the_channel_and_no_byte_is_lost():
    async with listen() as listener:

        async def program() -> anyio.abc.SocketStream:
            stream = await connect(listener)
            await stream.send(listener.secret.encode() + b"hello")
            return stream

        ours, theirs = await accepted_from(listener, program)
        async with ours, theirs:
            assert await ours.receive() == b"hello"
            await ours.send(b"there")
            assert await theirs.receive() == b"there"


async def test_a_secret_in_pieces_is_the_secret():
    async with listen() as listener:

        async def program() -> anyio.abc.SocketStream:
            stream = await connect(listener)
            for character in listener.secret:
                await stream.send(character.encode())
            return stream

        ours, theirs = await accepted_from(listener, program)
        await ours.aclose()
        await theirs.aclose()


@pytest.mark.parametrize("wrong", ["0" * 64, "", "ü" * 32])
async def test_a_wrong_secret_is_refused_and_the_program_is_still_awaited(wrong: str):
    async with listen() as listener:

        async def program() -> anyio.abc.SocketStream:
            async with await connect(listener) as stranger:
                if wrong:
                    await stranger.send(wrong.encode())
                    assert await is_dropped(stranger)
            stream = await connect(listener)
            await stream.send(listener.secret.encode())
            return stream

        ours, theirs = await accepted_from(listener, program)
        await ours.aclose()
        await theirs.aclose()


async def test_a_stranger_who_says_nothing_holds_nobody_up_and_is_dropped():
    async with listen() as listener:
        silent: list[anyio.abc.SocketStream] = []

        async def program() -> anyio.abc.SocketStream:
            silent.extend([await connect(listener) for _ in range(5)])
            stream = await connect(listener)
            await stream.send(listener.secret.encode())
            return stream

        ours, theirs = await accepted_from(listener, program)
        with anyio.fail_after(10):
            for stream in silent:
                assert await is_dropped(stream)
                await stream.aclose()
        await ours.aclose()
        await theirs.aclose()


async def test_a_second_connection_is_refused_even_with_the_secret():
    async with listen() as listener:

        async def program() -> anyio.abc.SocketStream:
            stream = await connect(listener)
            await stream.send(listener.secret.encode())
            return stream

        ours, theirs = await accepted_from(listener, program)
        with pytest.raises(OSError, match="connect"), anyio.fail_after(10):
            await connect(listener)
        await ours.aclose()
        await theirs.aclose()


async def test_a_program_that_never_comes_is_waited_for_until_the_deadline():
    async with listen() as listener:
        with anyio.fail_after(10), pytest.raises(TimeoutError):
            await listener.accept(0.05)
        with pytest.raises(OSError, match="connect"):
            await connect(listener)


async def test_a_stranger_at_the_door_does_not_put_the_deadline_off():
    async with listen() as listener, await connect(listener) as stranger:
        await stranger.send(b"0" * 10)
        with anyio.fail_after(10), pytest.raises(TimeoutError):
            await listener.accept(0.05)
        assert await is_dropped(stranger)


async def test_cancelling_the_wait_closes_the_port_and_every_connection():
    async with listen() as listener, await connect(listener) as stranger:
        with anyio.move_on_after(0.05) as scope:
            await listener.accept(LONG_SECONDS)
        assert scope.cancelled_caught
        assert await is_dropped(stranger)
        with pytest.raises(OSError, match="connect"):
            await connect(listener)


async def test_every_listener_has_a_secret_of_its_own():
    async with listen() as first, listen() as second:
        assert first.secret != second.secret
        assert len(first.secret) >= 64


async def test_the_channel_of_a_program_that_ended_early_is_at_its_end():
    async with EndedChannel() as channel:
        with pytest.raises(anyio.EndOfStream):
            await channel.receive()
        with pytest.raises(anyio.BrokenResourceError):
            await channel.send(b"anyone?")
        await channel.send_eof()
