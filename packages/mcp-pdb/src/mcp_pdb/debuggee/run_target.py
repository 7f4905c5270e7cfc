"""Runs the program under debug so that it looks as if Python itself had started it.

``run`` is called in the main thread once the engine is ready. It sets up
``sys.argv``, ``sys.path[0]`` and a fresh ``__main__``, tells the engine through
``hooks`` what happens, and returns the exit status.
"""

from __future__ import annotations

import linecache
import os
import sys
import threading
from io import open_code

from . import user_code

CODE_NAME = "<code>"
INTERRUPTED = 130

_STARTUP_MODULES = frozenset(
    [
        *("__main__", "_abc", "_codecs", "_collections_abc", "_sitebuiltins", "abc", "builtins", "codecs"),
        *("encodings", "genericpath", "io", "marshal", "ntpath", "os", "posix", "posixpath", "site"),
        *("sitecustomize", "stat", "sys", "usercustomize", "zipimport"),
    ]
)
_Module = type(sys)


def run(spec, hooks):
    """Run the target that ``spec`` describes; returns its exit status."""
    watch_threads(spec, hooks)
    return _RUNNERS[spec["kind"]](spec, hooks)


def forget_shadowed(directory, keep=()):
    """Forget modules imported for the debugger which files of ``directory`` would have been instead.

    A project's own ``queue.py`` must be what ``import queue`` finds. Modules that
    Python itself loads at start-up stay, as they would without a debugger.
    """
    try:
        entries = os.listdir(directory or os.curdir)
    except OSError:
        return
    local = set()
    for entry in entries:
        stem, dot, _ = entry.partition(".")
        if dot or os.path.isfile(os.path.join(directory, entry, "__init__.py")):
            local.add(stem)
    names = [name for name in local if _is_shadowed(name, keep)]
    for name in list(sys.modules):
        if name.partition(".")[0] in names:
            del sys.modules[name]


class ThreadHook:
    """Reports an exception that ends a thread, then lets the program's own hook see it."""

    def __init__(self, hooks, original):
        self._hooks = hooks
        self._original = original

    def __call__(self, args):
        if args.exc_value is not None and not issubclass(args.exc_type, SystemExit):
            name = args.thread.name if args.thread is not None else "unknown"
            traceback = without_own_frames(args.exc_traceback)
            self._hooks.failure(args.exc_type, args.exc_value, traceback, "thread %r" % name)
        self._original(args)


def watch_threads(spec, hooks):
    """Put our hook before the one in force, unless it is ours."""
    current = threading.excepthook
    if spec.get("on_failure") == "stop" and not isinstance(current, ThreadHook):
        threading.excepthook = ThreadHook(hooks, current)


def fresh_main(**attributes):
    """Make and install the program's ``__main__``; ours stays alive but out of sight."""
    module = _Module("__main__")
    namespace = vars(module)
    namespace.update(attributes)
    namespace.setdefault("__builtins__", sys.modules["builtins"])
    namespace.setdefault("__annotations__", {})
    _set_aside.append(sys.modules.get("__main__"))
    sys.modules["__main__"] = module
    return namespace


def main_of(module_name):
    """Make ``__main__`` look like ``python -m package`` does: children started by spawn import it."""
    from importlib.util import find_spec

    spec = find_spec(module_name)
    if spec is not None:
        fresh_main(__file__=spec.origin, __spec__=spec, __package__=spec.parent, __loader__=spec.loader)


def set_arguments(program, arguments):
    """Set ``sys.argv`` and the original command line."""
    sys.argv[:] = [program, *arguments]
    if hasattr(sys, "orig_argv"):
        sys.orig_argv[:] = [sys.executable, *sys.argv]


def set_first_path(directory):
    """Make ``directory`` the first entry of ``sys.path`` in place of the debugger's own."""
    sys.path[:] = [
        entry for entry in sys.path if not (entry and user_code.is_own(user_code.canonical(entry)))
    ]
    if not (os.environ.get("PYTHONSAFEPATH") and sys.version_info >= (3, 11)):
        sys.path.insert(0, directory)


def call(function, *arguments):
    """``(value, exception)``: the exception is returned so that no handler of ours is active."""
    try:
        return function(*arguments), None
    except BaseException as error:  # SystemExit and KeyboardInterrupt decide the exit status
        return None, error


def finish(error, spec, hooks, where):
    """The exit status for what ended the program, after the stop and the traceback it deserves."""
    if error is None:
        return 0
    if isinstance(error, SystemExit):
        return _exit_status(error)
    traceback = without_own_frames(error.__traceback__)
    error.__traceback__ = traceback
    interrupted = isinstance(error, KeyboardInterrupt)
    if spec.get("on_failure") == "stop" and not interrupted:
        hooks.failure(type(error), error, traceback, where)
    status = show_uncaught(error)
    return INTERRUPTED if interrupted else status


def without_own_frames(traceback):
    """The traceback without the debugger's frames that began it or that it ended in.

    It ends in one where the recursion limit was reached while a call was traced.
    """
    while traceback is not None and _is_own_frame(traceback.tb_frame):
        traceback = traceback.tb_next
    last, at = traceback, traceback
    while at is not None:
        if not _is_own_frame(at.tb_frame):
            last = at
        at = at.tb_next
    if last is not None and last.tb_next is not None:
        last.tb_next = None
    return traceback


def _is_own_frame(frame):
    name = frame.f_code.co_filename
    return "_pydevd_bundle" in name or user_code.is_own(user_code.canonical(name))


def show_uncaught(error):
    """Print an uncaught exception through the program's own hook; returns the exit status."""
    sys.last_type, sys.last_value, sys.last_traceback = type(error), error, error.__traceback__
    if sys.version_info >= (3, 12):
        setattr(sys, "last_exc", error)  # noqa: B010 - the stubs know no such name before 3.12
    hook = getattr(sys, "excepthook", sys.__excepthook__)
    _, failure = call(hook, type(error), error, error.__traceback__)
    if failure is None:
        return 1
    if isinstance(failure, SystemExit):
        return _exit_status(failure)
    failure.__traceback__ = without_own_frames(failure.__traceback__)
    _write_error("Error in sys.excepthook:\n")
    sys.__excepthook__(type(failure), failure, failure.__traceback__)
    _write_error("\nOriginal exception was:\n")
    sys.__excepthook__(type(error), error, error.__traceback__)
    return 1


def _exit_status(error):
    code = error.code
    if code is None:
        return 0
    if isinstance(code, int):
        return int(code)
    _write_error("%s\n" % (code,))
    return 1


def _write_error(text):
    stream = sys.stderr if sys.stderr is not None else sys.__stderr__
    if stream is not None:
        stream.write(text)
        stream.flush()


def _is_shadowed(name, keep):
    module = sys.modules.get(name)
    if module is None or name in _STARTUP_MODULES or name in keep or name in sys.builtin_module_names:
        return False
    origin = getattr(getattr(module, "__spec__", None), "origin", None)
    return (
        isinstance(origin, str)
        and os.path.isabs(origin)
        and user_code.is_installed(user_code.canonical(origin))
    )


def _run_script(spec, hooks):
    path = spec["target"]
    set_arguments(path, spec["args"])
    set_first_path(os.path.dirname(os.path.realpath(path)))
    forget_shadowed(os.path.dirname(os.path.realpath(path)))
    loader = sys.modules["_frozen_importlib_external"].SourceFileLoader("__main__", path)
    namespace = fresh_main(__file__=path, __cached__=None, __spec__=None, __package__=None, __loader__=loader)
    try:
        with open_code(path) as file:
            source = file.read()
    except OSError as error:
        text = "%s: can't open file %r: [Errno %s] %s\n"
        _write_error(text % (sys.executable, path, error.errno, error.strerror))
        return 2
    return _run_source(source, path, namespace, spec, hooks)


def _run_code(spec, hooks):
    source = spec["target"]
    set_arguments("-c", spec["args"])
    set_first_path("")
    forget_shadowed("")
    linecache.cache[CODE_NAME] = (len(source), None, source.splitlines(True), CODE_NAME)
    loader = sys.modules["_frozen_importlib"].BuiltinImporter
    namespace = fresh_main(__spec__=None, __package__=None, __loader__=loader)
    return _run_source(source, CODE_NAME, namespace, spec, hooks)


def _run_source(source, filename, namespace, spec, hooks):
    code, error = call(compile, source, filename, "exec", 0, True)
    if error is not None:
        note_syntax_error(error, filename, hooks)
        return finish(error, dict(spec, on_failure="continue"), hooks, spec["kind"])
    hooks.begin()
    return _execute(code, namespace, spec, hooks)


def _execute(code, namespace, spec, hooks):
    if spec.get("stop_at_entry"):
        hooks.entry(code)
    _, error = call(exec, code, namespace)
    return finish(error, spec, hooks, "the %s: nothing caught it" % spec["kind"])


def note_syntax_error(error, filename, hooks, kind="syntax_error"):
    """Tell the engine where a source file cannot be compiled."""
    place = {
        "file": getattr(error, "filename", None) or filename,
        "line": getattr(error, "lineno", None),
        "message": "%s: %s" % (type(error).__name__, getattr(error, "msg", None) or error),
    }
    hooks.note(kind, place)


def _run_module(spec, hooks):
    import runpy  # before the program's own folders are on sys.path

    name = spec["target"]
    directory = spec.get("cwd") or os.getcwd()
    set_arguments("-m", spec["args"])
    set_first_path(directory)
    forget_shadowed(directory)
    hooks.begin()
    details, error = call(getattr(runpy, "_get_module_details"), name, _ModuleMissing)
    if details is None:
        return _without_module(error, spec, hooks)
    _, module_spec, code = details
    sys.argv[0] = module_spec.origin
    namespace = fresh_main(
        __file__=module_spec.origin,
        __cached__=module_spec.cached,
        __spec__=module_spec,
        __package__=module_spec.parent,
        __loader__=module_spec.loader,
    )
    return _execute(code, namespace, spec, hooks)


def _without_module(error, spec, hooks):
    """The exit status when a module cannot be found, or its package cannot be imported."""
    name = spec["target"]
    if isinstance(error, _ModuleMissing):
        hooks.note("not_found", {"what": "module", "asked": name, "nearest": []})
        _write_error("%s: %s\n" % (sys.executable, error))
        return 1
    error.__traceback__ = _without_runpy(error.__traceback__)
    if isinstance(error, SyntaxError):
        note_syntax_error(error, name, hooks)
    return finish(error, spec, hooks, "the import of %s: nothing caught it" % name)


class _ModuleMissing(Exception):
    """What runpy raises when a module cannot be found or run."""


def _without_runpy(traceback):
    traceback = without_own_frames(traceback)
    while traceback is not None and "runpy" in traceback.tb_frame.f_code.co_filename:
        traceback = traceback.tb_next
    return traceback


def _run_pytest(spec, hooks):
    from . import pytest_plugin

    return pytest_plugin.run(spec, hooks)


def _run_unittest(spec, hooks):
    forget_shadowed(spec.get("cwd") or os.getcwd())
    from . import unittest_runner  # unittest is imported before the project's folder is on sys.path

    return unittest_runner.run(spec, hooks)


_set_aside = []
_RUNNERS = {
    "script": _run_script,
    "module": _run_module,
    "code": _run_code,
    "pytest": _run_pytest,
    "unittest": _run_unittest,
}
