"""Starts programs by asyncio alone, with a loopback channel: for systems that lack the reaper's means.

Nothing here knows the system. A ``Hold`` does, one for each program.
"""

import asyncio
import errno
from collections.abc import Callable
from pathlib import Path
from types import TracebackType

import anyio
import anyio.abc

from mcp_pdb.errors import EngineError
from mcp_pdb.launcher import START_SECONDS, LaunchSpec, argv_with_channel, start_failure
from mcp_pdb.loopback_channel import SECRET_VARIABLE, EndedChannel, LoopbackListener, listen
from mcp_pdb.piped_process import Hold, PipedProcess, ProgramPipes


class PipedLauncher:
    """Starts programs, each in a hold of its own (meets ``mcp_pdb.launcher.Launcher``).

    Leaving its block, or ``aclose``, kills every program that is still running.
    """

    def __init__(self, create_hold: Callable[[], Hold], *, start_seconds: float = START_SECONDS) -> None:
        self._create_hold = create_hold
        self._start_seconds = start_seconds
        self._processes: set[PipedProcess] = set()

    async def __aenter__(self) -> "PipedLauncher":
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc_value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.aclose()

    async def launch(self, spec: LaunchSpec) -> PipedProcess:
        """Start ``spec``. Raises TargetError when it cannot start, EngineError when we cannot.

        With a channel it returns once the program has connected, or has ended.
        """
        if not spec.wants_channel:
            return await self._start(spec, spec.argv, dict(spec.environment))
        async with listen() as listener:
            argv = argv_with_channel(spec, listener.address)
            environment = {**spec.environment, SECRET_VARIABLE: listener.secret}
            process = await self._start(spec, argv, environment)
            try:
                process.channel = await _connection(process, listener, self._start_seconds)
            except TimeoutError:
                await process.aclose()
                raise EngineError(
                    f"{spec.argv[0]} did not connect within {self._start_seconds:g} s: check that it is a "
                    "Python and that it may use the loopback interface."
                ) from None
            except BaseException:
                await process.aclose()
                raise
        return process

    async def aclose(self) -> None:
        """Kill every program that is still running, and close it; idempotent."""
        for process in tuple(self._processes):
            process.let_go()
        for process in tuple(self._processes):
            await process.aclose()

    async def _start(
        self, spec: LaunchSpec, argv: tuple[str, ...], environment: dict[str, str]
    ) -> PipedProcess:
        if not _is_folder(spec.cwd):
            raise start_failure(spec, errno.ENOENT, "cwd")
        try:
            hold = self._create_hold()
        except OSError as error:
            raise start_failure(spec, error.errno or errno.EAGAIN, "hold") from error
        pipes = ProgramPipes()
        try:
            with anyio.CancelScope(shield=True):
                await asyncio.get_running_loop().subprocess_exec(
                    lambda: pipes, *argv, cwd=spec.cwd, env=environment, **hold.start_options()
                )
        except (OSError, ValueError) as error:
            hold.close()
            number = error.errno if isinstance(error, OSError) else None
            raise start_failure(spec, number or errno.EINVAL, "exec") from error
        process = PipedProcess(pipes, hold)
        self._processes.add(process)
        process.on_close(self._processes.discard)
        try:
            hold.take(process.pid)
        except OSError as error:
            pipes.transport.kill()
            await process.aclose()
            raise start_failure(spec, error.errno or errno.EAGAIN, "hold") from error
        return process


async def _connection(
    process: PipedProcess, listener: LoopbackListener, timeout_seconds: float
) -> anyio.abc.ByteStream:
    """The channel; one at its end when the program ends without it. Raises TimeoutError."""
    channel: anyio.abc.ByteStream | None = None
    is_late = False

    async def end_with_program() -> None:
        await process.wait()
        group.cancel_scope.cancel()

    async with anyio.create_task_group() as group:
        group.start_soon(end_with_program)
        try:
            channel = await listener.accept(timeout_seconds)
        except TimeoutError:
            is_late = True
        group.cancel_scope.cancel()
    if is_late:
        raise TimeoutError
    return EndedChannel() if channel is None else channel


def _is_folder(path: str) -> bool:
    return Path(path).is_dir()
