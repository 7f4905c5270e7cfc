"""Runs unittest with a result class that reports to the engine."""

from __future__ import annotations

import os
import re
import sys
import unittest

from . import run_target, test_names

_FILE_LINE = re.compile(r'File "([^"]+)", line (\d+)')
_MAX_LISTED = 50


def run(spec, hooks):
    """Run ``python -m unittest`` on the ids of ``spec``; returns its exit status."""
    directory = spec.get("cwd") or os.getcwd()
    run_target.main_of("unittest.__main__")
    run_target.set_first_path(directory)
    asked = [_dotted(line.strip()) for line in spec["target"].split("\n") if line.strip()]
    arguments, buffered = _without_buffering(spec["args"])
    run_target.set_arguments(
        os.path.join(os.path.dirname(unittest.__file__), "__main__.py"), [*asked, *arguments]
    )
    if buffered:
        hooks.note("switched_off", ["Switched off unittest's buffering (-b): output goes to the session."])
    reporter = Reporter(spec, hooks)
    hooks.begin()
    program = _program_class(reporter)
    argv = ["python -m unittest", *asked, *arguments]
    _, error = run_target.call(lambda: program(module=None, argv=argv))
    if error is not None and not isinstance(error, SystemExit):
        reporter.note_broken(error)
    return run_target.finish(
        error, dict(spec, on_failure="continue"), hooks, "unittest itself: nothing caught it"
    )


def _dotted(test_id):
    """``tests/test_x.py::Case::test`` as unittest writes it; other ids as they are."""
    path, separator, rest = test_id.partition("::")
    if not separator:
        return test_id
    module = os.path.splitext(path)[0].replace(os.sep, ".").replace("/", ".")
    return ".".join([module, *rest.split("::")])


def _without_buffering(arguments):
    kept = [argument for argument in arguments if argument not in ("-b", "--buffer")]
    return kept, len(kept) != len(arguments)


class Reporter:
    """What unittest's classes tell the engine; knows nothing of how they are run."""

    def __init__(self, spec, hooks):
        self._spec = spec
        self._hooks = hooks
        self._entry_pending = bool(spec.get("stop_at_entry"))
        self._counts = {}
        self._selected = 0
        self._stopped_at = None

    def selected(self, suite):
        """Report what was loaded, and what could not be."""
        tests = list(_tests_of(suite))
        found = [test for test in tests if not _is_placeholder(test)]
        self._selected = len(found)
        for test in tests:
            if _is_placeholder(test):
                self._note_placeholder(test)
        if found:
            listed = [test.id() for test in found[:_MAX_LISTED]]
            self._hooks.note("collected", {"selected": listed, "count": len(found)})

    def starting(self, test):
        """Offer the first test's code for the first stop."""
        run_target.watch_threads(self._spec, self._hooks)
        if self._entry_pending and not _is_placeholder(test):
            code = test_names.test_code(getattr(test, getattr(test, "_testMethodName", ""), None))
            if code is not None:
                self._entry_pending = False
                self._hooks.entry(code)

    def failed(self, test, info):
        """Stop at a failure, once."""
        if self._stopped_at is info[1]:
            return
        self._stopped_at = info[1]
        if self._spec.get("on_failure") == "stop" and not _is_placeholder(test):
            self._hooks.failure(info[0], info[1], test_names.user_part(info[2]), test.id())

    def outcome(self, test, outcome):
        """Count one outcome."""
        self._counts[outcome] = self._counts.get(outcome, 0) + 1
        if outcome != "passed" or self._selected <= _MAX_LISTED:
            self._hooks.note("test_result", {"id": test.id(), "outcome": outcome, "when": "call"})

    def summary(self):
        """Report the totals."""
        self._hooks.note("summary", dict(self._counts))

    def note_broken(self, error):
        """Report a test module whose import ended the run."""
        file, line = test_names.error_place(error, None)
        message = "%s: %s" % (type(error).__name__, getattr(error, "msg", None) or error)
        self._hooks.note("collect_error", {"file": file, "line": line, "message": message})

    def _note_placeholder(self, test):
        error = getattr(test, "_exception", None)
        text = str(error)
        name = test.id().rpartition("_FailedTest.")[2]
        if isinstance(error, AttributeError) or _names_missing_module(text, name):
            asked = _asked_with(name, self._spec)
            self._hooks.note(
                "not_found", {"what": "test", "asked": asked, "nearest": _nearest(asked, self._spec)}
            )
            return
        places = _FILE_LINE.findall(text)
        file, line = places[-1] if places else (None, 0)
        message = text.strip().rpartition("\n")[2]
        self._hooks.note("collect_error", {"file": file, "line": int(line) or None, "message": message})


class _EarlyErrors(list):
    """Up to Python 3.10 failures are kept until the test is torn down; this tells at once."""

    def __init__(self, reporter):
        super().__init__()
        self._reporter = reporter

    def append(self, item):
        super().append(item)
        if item[1] is not None:
            self._reporter.failed(item[0], item[1])


def _tell_early(reporter):
    base = getattr(unittest.case, "_Outcome")

    class Outcome(base):
        def __init__(self, *arguments, **options):
            super().__init__(*arguments, **options)
            self.errors = _EarlyErrors(reporter)

    setattr(unittest.case, "_Outcome", Outcome)  # noqa: B010 - a private name of unittest


def _program_class(reporter):
    class BoundResult(Result):
        def __init__(self, *arguments, **options):
            super().__init__(*arguments, **options)
            self.reporter = reporter

    class Runner(unittest.TextTestRunner):
        resultclass = BoundResult

    class Program(unittest.TestProgram):
        def runTests(self):  # noqa: N802 - unittest's name
            reporter.selected(getattr(self, "test"))
            self.testRunner = Runner
            if sys.version_info < (3, 11):
                _tell_early(reporter)
            super().runTests()

    return Program


class Result(unittest.TextTestResult):
    """Tells the reporter what unittest tells its result."""

    reporter: Reporter

    def startTest(self, test):  # noqa: N802
        super().startTest(test)
        self.reporter.starting(test)

    def addError(self, test, err):  # noqa: N802
        self.reporter.failed(test, err)
        super().addError(test, err)
        self.reporter.outcome(test, "error")

    def addFailure(self, test, err):  # noqa: N802
        self.reporter.failed(test, err)
        super().addFailure(test, err)
        self.reporter.outcome(test, "failed")

    def addSubTest(self, test, subtest, err):  # noqa: N802
        if err is not None and err[0] is not None:
            self.reporter.failed(subtest, err)
            outcome = "failed" if issubclass(err[0], test.failureException) else "error"
            self.reporter.outcome(subtest, outcome)
        super().addSubTest(test, subtest, err)

    def addSuccess(self, test):  # noqa: N802
        super().addSuccess(test)
        self.reporter.outcome(test, "passed")

    def addSkip(self, test, reason):  # noqa: N802
        super().addSkip(test, reason)
        self.reporter.outcome(test, "skipped")

    def addExpectedFailure(self, test, err):  # noqa: N802
        super().addExpectedFailure(test, err)
        self.reporter.outcome(test, "xfailed")

    def addUnexpectedSuccess(self, test):  # noqa: N802
        super().addUnexpectedSuccess(test)
        self.reporter.outcome(test, "xpassed")

    def stopTestRun(self):  # noqa: N802
        super().stopTestRun()
        self.reporter.summary()


def _tests_of(suite):
    try:
        children = iter(suite)
    except TypeError:
        yield suite
        return
    for child in children:
        yield from _tests_of(child)


def _is_placeholder(test):
    """True for what unittest's loader puts in the place of a test it could not load."""
    return type(test).__name__ == "_FailedTest" and "unittest" in type(test).__module__


def _names_missing_module(text, name):
    match = re.search(r"No module named '([^']+)'", text)
    return match is not None and (match.group(1) == name or match.group(1).endswith("." + name))


def _asked_with(name, spec):
    """The id asked for that holds the part which was not found."""
    asked = [_dotted(line.strip()) for line in spec["target"].split("\n") if line.strip()]
    return next((test_id for test_id in asked if name in test_id.split(".")), name)


def _nearest(asked, spec):
    """Names like the one that is missing from its module, or modules like the missing one."""
    parts = asked.split(".")
    for count in range(len(parts), 0, -1):
        module_name = ".".join(parts[:count])
        file = getattr(sys.modules.get(module_name), "__file__", None)
        if file and not file.endswith("__init__.py"):
            names = ["%s.%s" % (module_name, each) for each in test_names.tests_in(file)]
            return test_names.nearest(asked, names)
    return test_names.nearest_modules(asked, spec.get("cwd") or os.getcwd())
