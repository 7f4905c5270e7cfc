"""Runs the tests of many folders in one pytest session, each folder with modules of its own.

Stand-alone, stdlib and pytest only, started by path with the folder that holds
them all, the seconds that a test may take and the file for the answer: how each
test ended, what it raised and what could not be collected, by pytest's ids.
"""

import importlib
import json
import os
import resource
import signal
import sys
from collections.abc import Generator
from pathlib import Path
from types import FrameType, ModuleType
from typing import Any

import pytest

_OPTIONS = (
    "-q",
    "--tb=no",
    "--assert=plain",
    "--import-mode=importlib",
    "-p",
    "no:cacheprovider",
    "-c",
    "/dev/null",
)


_DATA_BYTES = 512 << 20
"""A test that wants more gets a MemoryError, before a sandbox ends them all."""


class TakesTooLongError(Exception):
    """A test has had its time."""


class Batch:
    """Keeps the folders apart, ends a test that takes too long, and notes how each one ended."""

    def __init__(self, root: Path, test_seconds: float) -> None:
        self.outcomes: dict[str, str] = {}
        self.errors: dict[str, str] = {}
        self.problems: dict[str, str] = {}
        self._root = root
        self._test_seconds = test_seconds

    def pytest_collectstart(self, collector: pytest.Collector) -> None:
        """Let a test module import from its own folder, and nothing that another one imported."""
        if isinstance(collector, pytest.Module):
            folder = self._folder(collector.path)
            sys.path[:] = [str(folder), *(entry for entry in sys.path if not self._is_ours(entry))]
            for name, module in list(sys.modules.items()):
                if self._is_ours(_file(module)):
                    del sys.modules[name]
            importlib.invalidate_caches()

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """Note a module that cannot be imported."""
        if report.failed:
            self.problems[report.nodeid] = str(report.longrepr).strip().splitlines()[-1][:300]

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Generator[None, object, object]:
        """Run a test in its folder, end it when it takes too long, and note what it raises."""
        os.chdir(self._folder(item.path))
        signal.setitimer(signal.ITIMER_REAL, self._test_seconds)
        try:
            return (yield)
        except BaseException as error:
            self.errors[item.nodeid] = type(error).__name__
            raise
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Note how a test ended; what is no plain pass or failure of its call is told apart."""
        if report.when == "call" or report.outcome != "passed":
            is_plain = report.when == "call" and not hasattr(report, "wasxfail")
            self.outcomes[report.nodeid] = (
                report.outcome if is_plain else f"{report.outcome} in {report.when}"
            )

    def _folder(self, path: Path) -> Path:
        return self._root / path.relative_to(self._root).parts[0]

    def _is_ours(self, path: str) -> bool:
        return bool(path) and Path(path).is_relative_to(self._root)


def main(root: str, test_seconds: str, answer: str) -> None:
    """Run everything below ``root``."""
    signal.signal(signal.SIGALRM, _too_long)
    resource.setrlimit(resource.RLIMIT_DATA, (_DATA_BYTES, _DATA_BYTES))
    batch = Batch(Path(root), float(test_seconds))
    pytest.main([*_OPTIONS, f"--rootdir={root}", root], plugins=[batch])
    found = {"outcomes": batch.outcomes, "errors": batch.errors, "problems": batch.problems}
    Path(answer).write_text(json.dumps(found), "utf-8")


def _too_long(number: int, frame: FrameType | None) -> Any:
    raise TakesTooLongError


def _file(module: ModuleType) -> str:
    return getattr(module, "__file__", None) or ""


if __name__ == "__main__":
    main(*sys.argv[1:])
