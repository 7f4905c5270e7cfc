"""A hot loop that times itself and leaves the seconds in a file beside it."""

import sys
import time
from pathlib import Path


def cold(value: int) -> int:
    """Where the breakpoint is armed; called once, after the clock has stopped."""
    return value * 2


def mix(left: int, right: int) -> int:
    """A small body, so that the calls are what is measured."""
    return (left * 31 + right) & 0xFFFF


def crunch(rounds: int) -> int:
    """Plain number work: no call inside the loop."""
    cells = [0] * 1024
    total = 1
    for number in range(rounds):
        total = (total * 31 + cells[number & 1023]) & 0xFFFF
        cells[total & 1023] += number ^ (total << 2)
        if total == number:
            total += 1
    return total


def crunch_with_calls(rounds: int) -> int:
    """The worst case for a call hook: one call of a tiny function in every round."""
    total = 1
    for number in range(rounds):
        total = mix(total, number)
        if total == number:
            total += 1
    return total


def main() -> None:
    """Time both loops and write ``name seconds`` lines."""
    scale = int(sys.argv[1]) if len(sys.argv) > 1 else 1
    lines = []
    checksum = 0
    for function, rounds in ((crunch, 200_000 * scale), (crunch_with_calls, 200_000 * scale)):
        start = time.perf_counter()
        checksum += function(rounds)
        lines.append(f"{function.__name__} {time.perf_counter() - start:.6f}\n")
    Path(__file__).with_name("hot_loop.result").write_text("".join(lines), encoding="utf-8")
    cold(checksum)


if __name__ == "__main__":
    main()
