"""Says in words what a thread or an asyncio task waits for.

The innermost frames tell: a function of the standard library that blocks, or
a line of the program that takes a lock, sleeps or reads. Objects are reached
by name without running their code.
"""

from __future__ import annotations

import ast
import os
import re

from . import source_map, user_code, value_path
from .raw_fields import class_name, instance_dict

_LOCK_TYPES = ("lock", "RLock")
_OWNER = re.compile(r"owner=(\d+)")
_C_CALLS = {
    "input": "standard input",
    "recv": "data from a socket",
    "recv_into": "data from a socket",
    "recvfrom": "data from a socket",
    "accept": "a connection to a socket",
    "connect": "a connection",
    "sendall": "a socket to take data",
    "select": "file descriptors to be ready",
    "poll": "file descriptors to be ready",
    "waitpid": "a child process",
    "pause": "a signal",
    "sigwait": "a signal",
    "flock": "a lock on a file",
    "lockf": "a lock on a file",
}


def of_thread(ident, all_frames, names):
    """What a thread waits for, or None. ``all_frames`` holds every thread's, innermost first."""
    frames = all_frames[ident]
    library = []
    for frame in frames:
        if user_code.is_user_code(frame.f_code.co_filename):
            break
        library.append(frame)
    search = _LockSearch(ident, all_frames, names)
    for frame in reversed(library):
        text = _library_wait(frame, search)
        if text:
            return text
    if library or not frames:
        return None
    return _line_wait(frames[0], search)


def of_task(task, all_frames, names, tasks):
    """What an asyncio task waits for, or None when it is ready or running."""
    search = _LockSearch(id(task), all_frames, names, "task")
    for frame in reversed(all_frames[id(task)]):
        if not user_code.is_user_code(frame.f_code.co_filename):
            text = _library_wait(frame, search)
            if text:
                return text
    waiter = getattr(task, "_fut_waiter", None)
    if waiter is None:
        return None
    if isinstance(waiter, tasks.Task):
        return "task %r" % names.get(id(waiter), "?")
    if type(waiter) is getattr(tasks, "_GatheringFuture", None):
        children = waiter._children
        pending = [names[id(child)] for child in children if id(child) in names]
        listed = ": " + ", ".join(repr(name) for name in pending[:5]) if pending else ""
        return "%d of %d gathered tasks%s" % (len(pending), len(children), listed)
    return "a future that nothing has completed"


class _LockSearch:
    """Who holds a lock: the ``with`` blocks and ``acquire`` calls that others stand in are looked at."""

    def __init__(self, ident, all_frames, names, kind="thread"):
        self._ident = ident
        self._all_frames = all_frames
        self._names = names
        self._kind = kind

    def describe(self, lock, name):
        """``lock `name`, held by ...``; None when it is not taken."""
        label = "lock `%s`" % name if name else "a lock"
        if class_name(type(lock)) == "RLock":
            owner = int((_OWNER.search(repr(lock)) or [0, "0"])[1])
            return "%s, held by %s" % (label, self._other(owner)) if owner else None
        if not _is_locked(lock):
            return None
        return "%s, held by %s" % (label, self._holder(lock) or "an unknown %s" % self._kind)

    def _other(self, ident):
        if ident == self._ident:
            return "this same %s" % self._kind
        return "%s %r" % (self._kind, self._names.get(ident, ident))

    def _holder(self, lock):
        others = sorted(self._all_frames, key=lambda ident: ident == self._ident)
        for ident in others:
            for position, frame in enumerate(self._all_frames[ident]):
                if not user_code.is_user_code(frame.f_code.co_filename):
                    continue
                waits_here = ident == self._ident and position == 0
                if _holds(frame, lock, waits_here):
                    place = "%s:%d" % (os.path.basename(frame.f_code.co_filename), frame.f_lineno)
                    return "%s at %s" % (self._other(ident), place)
        return None


def _is_locked(lock):
    fields = instance_dict(lock)
    return bool(fields.get("_locked")) if fields else lock.locked()


def _holds(frame, lock, waits_here):
    """Whether a frame stands inside a ``with`` of the lock, or after its ``acquire``."""
    try:
        source = source_map.load(user_code.canonical(frame.f_code.co_filename))
    except source_map.SourceError:
        return False
    line = frame.f_lineno
    scope = source.scope_at(line)
    held = False
    for statement in source.statements:
        if statement.start > line or statement.scope is not scope:
            continue
        if isinstance(statement.node, (ast.With, ast.AsyncWith)):
            inside = statement.body_start <= line <= statement.end
            inside = inside and not (waits_here and line <= statement.head_end)
            held = held or (inside and _names_lock(frame, _managers(statement.node), lock))
        elif statement.body_start is None and not (waits_here and statement.end >= line):
            for method in _methods_called(statement.node):
                if method.attr in ("acquire", "release") and _names_lock(frame, [method.value], lock):
                    held = method.attr == "acquire"
    return held


def _managers(node):
    return [item.context_expr for item in node.items]


def _methods_called(node):
    for each in ast.walk(node):
        if isinstance(each, ast.Call) and isinstance(each.func, ast.Attribute):
            yield each.func


def _names_lock(frame, expressions, lock):
    for expression in expressions:
        found = _value(frame, expression)
        if found is lock or (instance_dict(found) or {}).get("_lock") is lock:
            return True
    return False


def _path(node):
    """The dotted or indexed path an expression spells, or None."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        owner = _path(node.value)
        return owner and "%s.%s" % (owner, node.attr)
    if isinstance(node, ast.Subscript):
        owner = _path(node.value)
        key = getattr(node.slice, "value", node.slice) if type(node.slice).__name__ == "Index" else node.slice
        return owner and isinstance(key, ast.Constant) and "%s[%r]" % (owner, key.value)
    return None


def _value(frame, node):
    """What a path expression names in a frame, None when that cannot be read."""
    path = _path(node)
    names = frame.f_locals
    if not path or not hasattr(names, "keys"):
        return None
    try:
        return value_path.resolve(path, dict(names), frame.f_globals)
    except value_path.Unresolved:
        return None


def _line_wait(frame, search):
    """What a line of the program itself waits for in a call into C."""
    try:
        source = source_map.load(user_code.canonical(frame.f_code.co_filename))
    except source_map.SourceError:
        return None
    line = frame.f_lineno
    for statement in source.statements:
        if not statement.start <= line <= statement.head_end:
            continue
        if isinstance(statement.node, (ast.With, ast.AsyncWith)):
            text = _first_locked(frame, _managers(statement.node), search)
        else:
            text = _first_blocking(frame, statement, search)
        if text:
            return text
    return None


def _first_blocking(frame, statement, search):
    for call in ast.walk(statement.node):
        if isinstance(call, ast.Call) and call.lineno <= statement.head_end:
            text = _call_wait(frame, call, search)
            if text:
                return text
    return None


def _first_locked(frame, expressions, search):
    for expression in expressions:
        lock = _value(frame, expression)
        if class_name(type(lock)) in _LOCK_TYPES:
            text = search.describe(lock, _path(expression))
            if text:
                return text
    return None


def _call_wait(frame, call, search):
    function = call.func
    name = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", None)
    if name == "acquire" and isinstance(function, ast.Attribute):
        return _first_locked(frame, [function.value], search)
    if name == "get" and class_name(type(_value(frame, function.value))) == "SimpleQueue":
        return "an item from an empty SimpleQueue"
    if name in ("read", "readline", "readlines") and (_path(function) or "").startswith("sys.stdin"):
        return "standard input"
    if name == "sleep":
        return _path(function) or "a sleep"
    return _C_CALLS.get(str(name))


def _library_wait(frame, search):
    """What a function of the standard library that blocks waits for."""
    directory, file = os.path.split(user_code.canonical(frame.f_code.co_filename))
    relative = os.path.relpath(os.path.join(directory, os.path.splitext(file)[0]), user_code.STANDARD_LIBRARY)
    entry = _LIBRARY.get((relative.replace(os.sep, "/"), frame.f_code.co_name))
    if entry is None or isinstance(entry, str):
        return entry
    names = frame.f_locals
    owner = names.get("self")
    return entry(owner, instance_dict(owner) or {}, search)


def _join(thread, fields, search):
    name = fields.get("_name")
    return "thread %r to end" % name if type(name) is str else "a thread to end"


def _enter(owner, fields, search):
    lock = fields.get("_lock")
    if class_name(type(lock)) not in _LOCK_TYPES:
        return None
    return search.describe(lock, None)


def _wait(owner, fields, search):
    kind = class_name(type(owner))
    if "_flag" in fields or kind == "Event":
        return "an Event to be set"
    if "_parties" in fields:
        return "the other %s parties of a Barrier" % (fields["_parties"],)
    return "a notification of a %s" % kind


def _queue_get(owner, fields, search):
    return "an item from an empty %s" % class_name(type(owner))


def _queue_put(owner, fields, search):
    size = fields.get("maxsize", fields.get("_maxsize"))
    return "room in a full %s (maxsize %s)" % (class_name(type(owner)), size if type(size) is int else "?")


def _queue_join(owner, fields, search):
    count = fields.get("unfinished_tasks", fields.get("_unfinished_tasks"))
    return "task_done of %s items of a Queue" % (count if type(count) is int else "?")


def _child(owner, fields, search):
    pid = fields.get("pid", (instance_dict(fields.get("_popen")) or {}).get("pid"))
    return "child process %d to end" % pid if type(pid) is int else "a child process to end"


def _asyncio_lock(owner, fields, search):
    if class_name(type(owner)) == "Lock":
        return search.describe(owner, None)
    return _semaphore(owner, fields, search)


def _semaphore(owner, fields, search):
    return "a %s (value %s)" % (class_name(type(owner)), fields.get("_value"))


_LIBRARY = {
    ("threading", "join"): _join,
    ("threading", "_shutdown"): "the program's other threads to end",
    ("threading", "__enter__"): _enter,
    ("threading", "wait"): _wait,
    ("threading", "acquire"): _semaphore,
    ("queue", "get"): _queue_get,
    ("queue", "put"): _queue_put,
    ("queue", "join"): _queue_join,
    ("concurrent/futures/_base", "result"): "the result of a future",
    ("concurrent/futures/_base", "exception"): "the result of a future",
    ("concurrent/futures/_base", "wait"): "futures to complete",
    ("concurrent/futures/_base", "as_completed"): "futures to complete",
    ("concurrent/futures/thread", "_worker"): "work (an idle worker of a thread pool)",
    ("concurrent/futures/thread", "shutdown"): "the workers of a thread pool to end",
    ("subprocess", "wait"): _child,
    ("subprocess", "communicate"): _child,
    ("socket", "accept"): "a connection to a socket",
    ("socket", "readinto"): "data from a socket",
    ("socket", "create_connection"): "a connection",
    ("ssl", "recv"): "data from a socket",
    ("ssl", "read"): "data from a socket",
    ("asyncio/base_events", "_run_once"): "its event loop, where no task is ready",
    ("selectors", "select"): "file descriptors to be ready",
    ("multiprocessing/process", "join"): _child,
    ("multiprocessing/queues", "get"): "an item from another process",
    ("multiprocessing/connection", "recv"): "data from another process",
    ("multiprocessing/connection", "poll"): "data from another process",
    ("multiprocessing/pool", "get"): "the result of a process pool",
    ("multiprocessing/pool", "wait"): "the result of a process pool",
    ("asyncio/tasks", "sleep"): "asyncio.sleep",
    ("asyncio/locks", "acquire"): _asyncio_lock,
    ("asyncio/locks", "wait"): _wait,
    ("asyncio/queues", "get"): _queue_get,
    ("asyncio/queues", "put"): _queue_put,
    ("asyncio/queues", "join"): _queue_join,
    ("asyncio/subprocess", "wait"): _child,
    ("asyncio/streams", "read"): "data from a stream",
    ("asyncio/streams", "readline"): "data from a stream",
    ("asyncio/streams", "readexactly"): "data from a stream",
    ("asyncio/streams", "readuntil"): "data from a stream",
    ("asyncio/streams", "drain"): "a stream to take data",
}
