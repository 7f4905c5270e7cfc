"""Watch a script in a sandbox to its end and keep what it reported."""

from dataclasses import dataclass

import anyio
import anyio.abc
from mcp_pdb.launcher import Process
from mcp_pdb.output import OutputStream

REPORT_LIMIT_BYTES = 4 << 20
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


class _Report:
    def __init__(self) -> None:
        self.data = bytearray()
        self.flooded = False


async def watch(
    process: Process, reports: OutputStream | anyio.abc.ByteStream, *, timeout_seconds: float
) -> Watched:
    """Collect ``reports`` until the script has ended, is out of time or has said too much."""
    report = _Report()
    exit_code: int | None = None
    with anyio.move_on_after(timeout_seconds) as deadline:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(_collect, process, reports, report)
            exit_code = await process.wait()
            tasks.cancel_scope.deadline = anyio.current_time() + _REST_SECONDS
    return Watched(
        report=bytes(report.data),
        timed_out=deadline.cancelled_caught,
        flooded=report.flooded,
        exit_code=exit_code,
    )


def complaint(process: Process) -> str:
    """The end of what a script wrote to its standard error."""
    said = bytearray()
    try:
        while piece := process.stderr.receive_nowait(65536):
            said += piece
    except (anyio.EndOfStream, anyio.ClosedResourceError):
        pass
    return said.decode(errors="replace").strip()[-_COMPLAINT_CHARS:]


async def _collect(process: Process, reports: OutputStream | anyio.abc.ByteStream, report: _Report) -> None:
    try:
        while len(report.data) <= REPORT_LIMIT_BYTES:
            report.data += await reports.receive(65536)
    except (anyio.EndOfStream, anyio.ClosedResourceError, anyio.BrokenResourceError, ConnectionError):
        return
    report.flooded = True
    await process.kill()
