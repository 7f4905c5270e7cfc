"""Runs pytest with a plugin that reports to the engine.

The project's configuration stays in force, except for what breaks debugging:
parallel workers, coverage (it owns the trace function), timers that would end
a stopped test, captured output, pytest's own debugger and its cache. What was
switched off is said.
"""

from __future__ import annotations

import os
import sys

from . import run_target, test_names

USAGE_ERROR = 4
NOTHING_COLLECTED = 5
_INSTALL = "%s -m pip install pytest"
_MAX_LISTED = 50


def _implements(**options):
    """Mark a hook as pytest's ``hookimpl`` does, without importing pytest here."""

    def mark(function):
        function.pytest_impl = options
        return function

    return mark


def run(spec, hooks):
    """Run ``pytest`` on the node ids of ``spec``; returns its exit status."""
    directory = spec.get("cwd") or os.getcwd()
    run_target.forget_shadowed(directory)
    try:  # before the project's folder is on sys.path, as the pytest command does it
        import pytest
    except ModuleNotFoundError as error:
        if error.name != "pytest":
            raise
        hooks.note(
            "missing",
            {"package": "pytest", "interpreter": sys.executable, "command": _INSTALL % sys.executable},
        )
        return USAGE_ERROR
    run_target.main_of("pytest.__main__")
    sys.path.append(directory)
    asked = [line for line in spec["target"].split("\n") if line.strip()]
    run_target.set_arguments(pytest.__file__.replace("__init__", "__main__"), [*asked, *spec["args"]])
    plugin = Plugin(spec, hooks, asked)
    hooks.begin()
    value, error = run_target.call(pytest.main, [*asked, *spec["args"]], [plugin])
    if error is not None:
        return run_target.finish(error, spec, hooks, "pytest itself: nothing caught it")
    status = int(value or 0)
    plugin.explain_empty(status)
    return status


class Plugin:
    """What the engine needs to know of a run, and the settings that go with a debugger."""

    def __init__(self, spec, hooks, asked):
        self._spec = spec
        self._hooks = hooks
        self._asked = asked
        self._directory = spec.get("cwd") or os.getcwd()
        self._arguments = []
        self._registered = []
        self._collected = {}
        self._selected = []
        self._deselected = []
        self._counts = {}
        self._entry_pending = bool(spec.get("stop_at_entry"))
        self._broken_files = set()
        self._said = set()
        self._cancel_dump = None
        self._root = ""
        self._collecting = False

    # Settings

    @_implements(tryfirst=True)
    def pytest_plugin_registered(self, plugin):
        """Called for each plugin as it is loaded, before the command line is read for good."""
        name = getattr(plugin, "__name__", "")
        if self._arguments:
            self._neutralise(name)
        else:
            self._registered.append(name)

    @_implements(hookwrapper=True, tryfirst=True)
    def pytest_cmdline_parse(self, args):
        """Keep the list of arguments, to which pytest adds those of the project in place."""
        self._prepare(args)
        outcome = yield
        error = outcome.excinfo[1] if outcome.excinfo is not None else None
        if type(error).__name__ == "UsageError":
            lines = [line.strip() for line in str(error).splitlines() if ": error: " in line]
            message = lines[-1].partition(": error: ")[2] if lines else str(error)
            self._hooks.note("usage_error", {"message": message})

    def _prepare(self, args):
        self._arguments = args
        self._insert("-s")
        if "--no-header" not in args:
            self._insert("--no-header")
        if not any(_is_about_verbosity(str(argument)) for argument in args):
            self._insert("-q")  # the counts are reported apart, so a banner is only noise
        for name in self._registered:
            self._neutralise(name)

    @_implements(hookwrapper=True, tryfirst=True)
    def pytest_load_initial_conftests(self):
        """Report a conftest.py that cannot be imported.

        The project's folder goes to the front of ``sys.path`` only now: a
        ``queue.py`` of its own must not be what pytest's plugins import.
        """
        sys.path.remove(self._directory)
        run_target.set_first_path(self._directory)
        outcome = yield
        if outcome.excinfo is not None:
            self._note_collect_error(outcome.excinfo[1], None)

    @_implements(tryfirst=True)
    def pytest_configure(self, config):
        """Switch off, before the plugins act on it, what the configuration turned on."""
        self._root = str(config.rootdir) if not hasattr(config, "rootpath") else str(config.rootpath)
        option = config.option
        if self._given("-n", "--numprocesses", "--dist", "--tx", "-d"):
            self._switched_off("pytest-xdist's workers (-n): tests run in this process, one after the other")
            option.dist, option.tx = "no", []
        if self._given("--cov"):
            self._switched_off("coverage (--cov): it needs the same tracing as a debugger")
        self._disable(
            option, ("usepdb", "trace"), "pytest's own debugger (--pdb, --trace): this one stops instead"
        )
        self._disable(option, ("forked",), "pytest-forked: tests run in this process")
        cache = ("lf", "failedfirst", "newfirst", "stepwise", "cacheclear", "stepwise_skip", "stepwise_reset")
        self._disable(option, cache, "pytest's cache (--lf, --ff, --nf, --sw): every selected test runs")
        self._stop_timers(config)

    @_implements(tryfirst=True)
    def pytest_sessionstart(self, session):
        """Leave no cache behind: a debug run is not a verdict on the project."""
        manager = session.config.pluginmanager
        for name in ("lfplugin", "nfplugin", "stepwise", "stepwiseplugin"):
            plugin = manager.get_plugin(name)
            if plugin is not None:
                manager.unregister(plugin)

    @_implements(optionalhook=True, tryfirst=True)
    def pytest_timeout_set_timer(self):
        """Take the place of pytest-timeout's timer."""
        self._switched_off("pytest-timeout: a stopped test would be ended")
        return True

    def _neutralise(self, plugin_name):
        if plugin_name == "xdist.plugin":
            self._insert("-n0")
        elif plugin_name == "pytest_cov.plugin":
            self._insert("--no-cov")

    def _insert(self, argument):
        position = self._arguments.index("--") if "--" in self._arguments else len(self._arguments)
        self._arguments.insert(position, argument)

    def _given(self, *options):
        for argument in map(str, self._arguments):
            if argument in ("-n0", "--no-cov"):
                continue
            for option in options:
                long_match = option.startswith("--") and argument.startswith(option)
                if long_match or argument == option or (option == "-n" and argument[:2] == "-n"):
                    return True
        return False

    def _disable(self, option, names, sentence):
        for name in names:
            if getattr(option, name, False):
                setattr(option, name, False)
                self._switched_off(sentence)

    def _stop_timers(self, config):
        if getattr(config.option, "session_timeout", None):
            config.option.session_timeout = 0
            self._switched_off("pytest-timeout: a stopped session would be ended")
        try:
            seconds = float(config.getini("faulthandler_timeout") or 0)
        except (ValueError, KeyError, TypeError):
            return
        if seconds > 0:
            import faulthandler

            self._cancel_dump = faulthandler.cancel_dump_traceback_later
            self._switched_off("faulthandler_timeout: a stopped test would be reported as hanging")

    def _switched_off(self, sentence):
        if sentence not in self._said:
            self._said.add(sentence)
            self._hooks.note("switched_off", ["Switched off " + sentence + "."])

    # Collection

    @_implements(tryfirst=True)
    def pytest_collection(self):
        """From here on an unknown test is one that was not found, not a wrong option."""
        self._collecting = True

    @_implements(hookwrapper=True)
    def pytest_make_collect_report(self):
        """Remember every node seen, for naming the nearest when one is not found."""
        outcome = yield
        report = outcome.get_result()
        for node in getattr(report, "result", None) or ():
            self._collected[self._shown_id(node.nodeid)] = None

    def pytest_deselected(self, items):
        """Remember what -k and -m left out."""
        self._deselected.extend(self._shown_id(item.nodeid) for item in items)

    def pytest_collection_finish(self, session):
        """Report what was selected."""
        self._selected = [self._shown_id(item.nodeid) for item in session.items]
        if self._selected:
            listed = self._selected[:_MAX_LISTED]
            self._hooks.note("collected", {"selected": listed, "count": len(self._selected)})

    def explain_empty(self, status):
        """Say what the nearest names are when nothing was run."""
        if status not in (USAGE_ERROR, NOTHING_COLLECTED) or not self._collecting:
            return
        if self._selected or self._broken_files:
            return
        if self._deselected:
            asked = " ".join([*self._asked, *self._spec["args"]])
            self._hooks.note("not_found", {"what": "test", "asked": asked, "nearest": self._deselected[:5]})
            return
        for asked in self._asked or [os.curdir]:
            nearest = test_names.missing(asked, list(self._collected), self._directory)
            if nearest is not None:
                self._hooks.note("not_found", {"what": "test", "asked": asked, "nearest": nearest})

    def _shown_id(self, node_id):
        """A node id whose path is relative to the working directory."""
        path, separator, rest = node_id.partition("::")
        absolute = os.path.join(self._root, path)
        return (
            os.path.relpath(absolute, self._directory) + separator + rest if path and self._root else node_id
        )

    # Running

    @_implements(tryfirst=True)
    def pytest_runtest_setup(self):
        """Cancel the timer that pytest has just set."""
        if self._cancel_dump is not None:
            self._cancel_dump()

    @_implements(tryfirst=True)
    def pytest_runtest_call(self, item):
        """Offer the first test's code for the first stop."""
        run_target.watch_threads(self._spec, self._hooks)
        if self._entry_pending:
            code = test_names.test_code(getattr(item, "obj", None))
            if code is not None:
                self._entry_pending = False
                self._hooks.entry(code)

    def pytest_exception_interact(self, node, call, report):
        """Stop at a failure while its fixtures are still up."""
        if not hasattr(report, "when") or report.when == "collect":
            self._note_collect_error(call.excinfo.value, str(getattr(node, "path", None) or node.fspath))
            return
        if self._spec.get("on_failure") == "stop":
            where = "%s of %s" % (report.when, self._shown_id(node.nodeid))
            info = call.excinfo
            traceback = test_names.user_part(run_target.without_own_frames(info.tb))
            self._hooks.failure(info.type, info.value, traceback, where)

    def pytest_runtest_logreport(self, report):
        """Count outcomes and report those that are not plain passes."""
        outcome = _outcome(report)
        if outcome is None:
            return
        self._counts[outcome] = self._counts.get(outcome, 0) + 1
        if outcome != "passed" or len(self._selected) <= _MAX_LISTED:
            shown = {"id": self._shown_id(report.nodeid), "outcome": outcome, "when": report.when}
            self._hooks.note("test_result", shown)

    @_implements(trylast=True)
    def pytest_sessionfinish(self):
        """Report the totals."""
        if self._counts or self._deselected:
            totals = dict(self._counts)
            if self._deselected:
                totals["deselected"] = len(self._deselected)
            self._hooks.note("summary", totals)

    def _note_collect_error(self, error, path):
        error = test_names.original_error(error)
        file, line = test_names.error_place(error, path)
        self._broken_files.add(file)
        message = "%s: %s" % (type(error).__name__, getattr(error, "msg", None) or error)
        self._hooks.note("collect_error", {"file": file, "line": line, "message": message})


def _outcome(report):
    """The outcome worth counting of one phase's report, or None."""
    if hasattr(report, "wasxfail"):
        if report.when != "call" and not report.skipped:
            return None
        return "xfailed" if report.skipped else "xpassed"
    if report.when == "call" or report.skipped:
        return report.outcome
    return "error" if report.failed else None


def _is_about_verbosity(argument):
    """Whether the person said how much pytest prints; a bundle such as ``-xvs`` counts."""
    if argument.startswith("--"):
        return argument.startswith(("--verb", "--quiet"))
    return argument.startswith("-") and ("v" in argument or "q" in argument)
