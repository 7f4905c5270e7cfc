"""How a command ends: failures as a sentence, Ctrl-C and SIGTERM with everything closed that it held open.

Servers and containers that a command started are ended by its ``async with`` blocks; Python's own answer to
SIGTERM runs none of them.
"""

import signal
import sys
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType

_ASKED_WRONGLY = 2
_FATAL_SIGNAL = 128
"""Added to a signal's number it is the exit status that shells give."""


@dataclass(slots=True)
class _Ending:
    number: signal.Signals = signal.SIGINT
    """The signal that KeyboardInterrupt stands for."""


def run_to_its_end(program: str, run: Callable[[], int], failures: tuple[type[Exception], ...]) -> int:
    """Run a command; its exit status, 2 after a failure, 130 after Ctrl-C and 143 after SIGTERM.

    Of ``failures`` the message alone is told, after the program's name; other exceptions are raised.
    """
    with _terminable() as ending:
        try:
            return run()
        except failures as error:
            sys.stderr.write(f"{program}: {error}\n")
            return _ASKED_WRONGLY
        except KeyboardInterrupt:
            return _FATAL_SIGNAL + ending.number
        except BrokenPipeError:  # the reader of our output has left
            sys.stderr.close()
            return 1


@contextmanager
def _terminable() -> Generator[_Ending]:
    """Within, SIGTERM is a KeyboardInterrupt too, and Ctrl-C is heard even by a script's background job.

    In another thread than the main one nothing changes.
    """
    ending = _Ending()
    if threading.current_thread() is not threading.main_thread():
        yield ending
        return

    def interrupt(number: int, _: FrameType | None) -> None:
        ending.number = signal.Signals(number)
        signal.raise_signal(signal.SIGINT)  # whoever waits for Ctrl-C, asyncio among them, is told

    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    if before[signal.SIGINT] is signal.SIG_IGN:  # a script's background job is deaf by birth
        signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGTERM, interrupt)
    try:
        yield ending
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
