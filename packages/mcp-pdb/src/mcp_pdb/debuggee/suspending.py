"""Tells a frame that pauses (yield, await) from one that ends or begins."""

from __future__ import annotations

import sys

SUSPENDS = 0x20 | 0x80 | 0x200
"""Code flags: generator, coroutine, asynchronous generator."""
COROUTINE = 0x80


def is_suspending(frame):
    """Whether a "return" event is a yield or an await, not a return."""
    code = frame.f_code
    if not code.co_flags & SUSPENDS or frame.f_lasti < 0:
        return False
    opcodes = code.co_code[frame.f_lasti :: 2]
    if opcodes[0] in _suspending_opcodes():
        return True
    # Before 3.11 a frame that awaits stands on the instruction before its YIELD_FROM.
    return sys.version_info < (3, 11) and len(opcodes) > 1 and opcodes[1] in _suspending_opcodes()


def is_resumed(frame):
    """Whether a "call" event is a generator or coroutine going on, not starting."""
    code = frame.f_code
    if not code.co_flags & SUSPENDS or frame.f_lasti < 0:
        return False
    if sys.version_info < (3, 11):
        return True
    return bool(code.co_code[frame.f_lasti + 1] & 3)


_opcodes = []


def _suspending_opcodes():
    if not _opcodes:
        from opcode import opmap  # read once, and only when a generator is stepped

        names = ("YIELD_VALUE", "YIELD_FROM", "SEND", "RESUME", "INSTRUMENTED_YIELD_VALUE")
        _opcodes.append(frozenset(opmap[name] for name in names if name in opmap))
    return _opcodes[0]
