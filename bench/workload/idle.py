"""A program to stand still in: what one idle session costs in memory."""

import sys


def wait_here() -> int:
    """The first stop of an idle session."""
    number = len(sys.argv)
    return number + 1


if __name__ == "__main__":
    wait_here()
