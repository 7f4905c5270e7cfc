"""Runs the test as a script, for debuggers that cannot start pytest."""

import sys

import pytest

if __name__ == "__main__":
    sys.exit(pytest.main(["tests/test_cart.py::test_cart_total", "-q", "-p", "no:cacheprovider"]))
