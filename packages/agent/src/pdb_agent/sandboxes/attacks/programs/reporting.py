"""How an attack tells the host what came of it, and how it is started.

``python -m programs.MODULE NAME MARKER SETTINGS``: the marker in the command line lets
the host find the processes again, the settings are a JSON object of what there is to aim
at. A report is a line of JSON behind ``REPORT``; later lines add to earlier ones, so that
what an attack had reached when it was killed is known.
"""

import ctypes
import json
import os
import platform
import sys
from collections.abc import Callable, Iterable
from typing import Any

MEBIBYTE = 1 << 20
ON_X86 = platform.machine() == "x86_64"

Settings = dict[str, Any]
Action = tuple[str, Callable[[], object]]
_libc = ctypes.CDLL(None, use_errno=True)


def run(functions: dict[str, Any]) -> None:
    """Start the function that the command line names."""
    name, marker, settings = sys.argv[1:]
    functions[name](json.loads(settings) | {"marker": marker})


def report(**found: Any) -> None:
    """Tell the host; survives whatever happens to this process afterwards."""
    os.write(1, b"REPORT " + json.dumps(found).encode() + b"\n")


def reason(error: BaseException) -> str:
    """An error in a few words."""
    return (getattr(error, "strerror", None) or str(error) or type(error).__name__)[:80]


def attempt_each(actions: Iterable[Action]) -> None:
    """Try each action; report what worked as ``done``, and what did not with its reason as ``refused``."""
    done: list[str] = []
    refused: dict[str, str] = {}
    for name, action in actions:
        try:
            action()
        except OSError as error:
            refused[name] = reason(error)
        else:
            done.append(name)
    report(done=done, refused=refused)


def system_call(number: int, *arguments: object) -> int:
    """The call's result. Raises OSError."""
    ctypes.set_errno(0)
    return checked(_libc.syscall(ctypes.c_long(number), *arguments))


def trace(request: int, pid: int) -> int:
    """``ptrace``. Raises OSError."""
    return checked(_libc.ptrace(request, pid, 0, 0))


def process_control(option: int) -> int:
    """``prctl`` for an option without arguments. Raises OSError."""
    return checked(_libc.prctl(option, 0, 0, 0, 0))


def checked(result: int) -> int:
    """``result``, or the OSError that it stands for."""
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result
