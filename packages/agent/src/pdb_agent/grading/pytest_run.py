"""How grading runs pytest, in either tier.

Stand-alone: standard library only, Python 3.10 and later.
"""

import os
import sys
from pathlib import Path

_ABSENT = ("cacheprovider", "junitxml", "faulthandler", "unraisableexception", "threadexception")


def pytest_arguments(tests: str, files: list[str]) -> list[str]:
    """A run that reads no configuration, loads no plugin but pytest's own, and writes nothing."""
    os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    os.environ.pop("PYTEST_ADDOPTS", None)
    os.environ.pop("PYTEST_PLUGINS", None)
    sys.argv[:] = ["pytest"]
    folder = Path(tests)
    return [
        "-q",
        "--noconftest",
        "--assert=plain",
        "--tb=no",
        "--continue-on-collection-errors",
        "--import-mode=importlib",
        "-c",
        str(folder / "pytest.ini"),
        "--rootdir",
        tests,
        *(option for name in _ABSENT for option in ("-p", f"no:{name}")),
        *(str(folder / file) for file in files),
    ]


def silence() -> None:
    """Send the standard streams nowhere: nobody reads them, and a full pipe would stop the run."""
    null = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(null, descriptor)
    os.close(null)
