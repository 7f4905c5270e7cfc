"""SIGTERM ends a command as Ctrl-C does, so that what it holds open is closed and not just left.

Servers and containers that a command started are ended by its ``async with`` blocks; Python's own answer to
SIGTERM runs none of them.
"""

import signal
import threading
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType

_FATAL_SIGNAL = 128
"""Added to a signal's number it is the exit status that shells give."""


@dataclass(slots=True, kw_only=True)
class Termination:
    """What ended a command, if anything did."""

    number: signal.Signals = signal.SIGINT

    @property
    def exit_status(self) -> int:
        """Of a command that KeyboardInterrupt ended: 130 after Ctrl-C, 143 after SIGTERM."""
        return _FATAL_SIGNAL + self.number


@contextmanager
def terminable() -> Generator[Termination]:
    """Within, SIGTERM is a KeyboardInterrupt too, and Ctrl-C is heard even by a script's background job.

    In another thread than the main one nothing changes.
    """
    termination = Termination()
    if threading.current_thread() is not threading.main_thread():
        yield termination
        return

    def interrupt(number: int, _: FrameType | None) -> None:
        termination.number = signal.Signals(number)
        signal.raise_signal(signal.SIGINT)  # whoever waits for Ctrl-C, asyncio among them, is told

    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # a script's background job is deaf by birth
        signal.signal(signal.SIGINT, signal.default_int_handler)
    before = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield termination
    finally:
        signal.signal(signal.SIGTERM, before)
