"""From the serial port's chunks to reports."""

import struct
from dataclasses import dataclass

from buoylink.frames import FrameReader, make_frame

SEQUENCE_LENGTH = 256


@dataclass(frozen=True)
class Report:
    """What a buoy measured, in the units of its sensors."""

    buoy: int
    sequence: int
    values: tuple[int, ...]

    def to_frame(self) -> bytes:
        """The report as a buoy sends it."""
        values = struct.pack(f">{len(self.values)}h", *self.values)
        return make_frame(bytes([self.buoy, self.sequence]) + values)


def parse_report(body: bytes) -> Report | None:
    """The report that a body holds; None if it does not hold one."""
    if len(body) < 2 or len(body) % 2:
        return None
    count = (len(body) - 2) // 2
    return Report(buoy=body[0], sequence=body[1], values=struct.unpack(f">{count}h", body[2:]))


class Receiver:
    """Takes the chunks of one modem and keeps count of what was lost."""

    def __init__(self) -> None:
        self._reader = FrameReader()
        self._unreadable = 0
        self._latest: dict[int, int] = {}
        self.missed = 0
        self.received = 0

    @property
    def damaged(self) -> int:
        """Frames that gave no report."""
        return self._reader.damaged + self._unreadable

    def loss(self) -> float:
        """The share of the reports that were sent and did not arrive whole."""
        sent = self.received + self.missed
        return self.missed / sent if sent else 0.0

    def feed(self, chunk: bytes) -> list[Report]:
        """The reports that the chunk completes, in order."""
        reports: list[Report] = []
        for body in self._reader.feed(chunk):
            report = parse_report(body)
            if report is None:
                self._unreadable += 1
            else:
                self._count_missed(report)
                reports.append(report)
        self.received += len(reports)
        return reports

    def _count_missed(self, report: Report) -> None:
        latest = self._latest.get(report.buoy)
        if latest is not None:
            self.missed += (report.sequence - latest - 1) % SEQUENCE_LENGTH
        self._latest[report.buoy] = report.sequence
