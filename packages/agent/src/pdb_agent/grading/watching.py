"""Watch a script in a sandbox to its end and keep what it reported."""

from dataclasses import dataclass

import anyio
import anyio.abc
from mcp_pdb.errors import EngineError
from mcp_pdb.launcher import OutputStream, Process

START_SECONDS = 20.0
REPORT_LIMIT_BYTES = 4 << 20
_READ_BYTES = 65536
_REST_SECONDS = 1.0
"""How long the rest of a report is awaited once its writer has ended."""
_COMPLAINT_CHARS = 600


@dataclass(frozen=True, slots=True, kw_only=True)
class Watched:
    """A script's report and how it came to its end."""

    report: bytes
    timed_out: bool
    flooded: bool
    exit_code: int | None
    """Negative for a signal; None when it is not known how it ended."""


class _Report:
    def __init__(self) -> None:
        self.data = bytearray()
        self.flooded = False


async def watch(
    process: Process, reports: OutputStream | anyio.abc.ByteStream, *, run_seconds: float
) -> Watched:
    """Collect ``reports`` until the script has ended, is out of time or has said too much.

    It has ``START_SECONDS`` for its first report and ``run_seconds`` from there.
    """
    report = _Report()
    exit_code: int | None = None

    async def collect() -> None:
        try:
            report.data += await reports.receive(_READ_BYTES)
            limit.deadline = anyio.current_time() + run_seconds
            while len(report.data) <= REPORT_LIMIT_BYTES:
                report.data += await reports.receive(_READ_BYTES)
        except (anyio.EndOfStream, anyio.ClosedResourceError, anyio.BrokenResourceError, ConnectionError):
            return
        report.flooded = True
        await process.kill()

    with anyio.move_on_after(START_SECONDS) as limit:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(collect)
            try:
                exit_code = await process.wait()
            except EngineError:
                pass  # its keeper was killed, which code inside can do and which says as much as a signal
            tasks.cancel_scope.deadline = anyio.current_time() + _REST_SECONDS
    return Watched(
        report=bytes(report.data),
        timed_out=limit.cancelled_caught,
        flooded=report.flooded,
        exit_code=exit_code,
    )


def complaint(process: Process) -> str:
    """The end of what a script wrote to its standard error."""
    said = bytearray()
    try:
        while piece := process.stderr.receive_nowait(_READ_BYTES):
            said += piece
    except (anyio.EndOfStream, anyio.ClosedResourceError):
        pass
    return said.decode(errors="replace").strip()[-_COMPLAINT_CHARS:]
