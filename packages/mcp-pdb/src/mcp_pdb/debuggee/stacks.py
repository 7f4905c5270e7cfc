"""Stacks of all threads and asyncio tasks, also while the program runs or is deadlocked.

No lock of the program or of ``threading`` is taken and none of its code runs:
whoever asks may be the only thread that still can.
"""

from __future__ import annotations

import gc
import sys
from itertools import islice

from . import source_map, user_code, waiting
from .raw_fields import instance_dict

_MAX_FRAMES_WALKED = 2000
_MAX_TASKS = 100
_SHOWN_WITHOUT_USER_CODE = 4
_AWAITABLES = {
    "coroutine": ("cr_frame", "cr_await"),
    "generator": ("gi_frame", "gi_yieldfrom"),
    "async_generator": ("ag_frame", "ag_await"),
    "async_generator_asend": ("wrapper",),
    "async_generator_athrow": ("wrapper",),
    "coroutine_wrapper": ("wrapper",),
}


def thread_stacks(skip_idents=(), limit_frames=30):
    """``[{"ident", "name", "kind", "frames", "waits_on"}, ...]``, frames innermost first.

    Above user code only the frame that it has called into last is kept, and
    the frames below that started it (``threading``, the debugger) are dropped.
    """
    names = thread_names()
    all_frames = {
        ident: _frames_of(frame) for ident, frame in sys._current_frames().items() if ident not in skip_idents
    }
    return [
        {
            "ident": ident,
            "name": names.get(ident, "thread %d" % ident),
            "kind": "thread",
            "frames": _described(frames, limit_frames),
            "waits_on": waiting.of_thread(ident, all_frames, names),
        }
        for ident, frames in all_frames.items()
    ]


def task_stacks(limit_frames=30):
    """The same for asyncio tasks that are not done, along the chain of what they await."""
    asyncio = sys.modules.get("asyncio")
    tasks = sys.modules.get("asyncio.tasks")
    if asyncio is None or tasks is None:
        return []
    pending = _pending_tasks(tasks)
    names = {id(task): str(tasks.Task.get_name(task)) for task in pending}
    all_frames = {id(task): _awaited_frames(tasks.Task.get_coro(task)) for task in pending}
    return [
        {
            "ident": id(task),
            "name": names[id(task)],
            "kind": "task",
            "frames": _described(all_frames[id(task)], limit_frames),
            "waits_on": waiting.of_task(task, all_frames, names, tasks),
        }
        for task in pending
    ]


def thread_names():
    """Names by ident, read without the lock of ``threading``."""
    threading = sys.modules.get("threading")
    names = {}
    for ident, thread in dict(getattr(threading, "_active", None) or {}).items():
        name = (instance_dict(thread) or {}).get("_name")
        names[ident] = name if type(name) is str else "thread %s" % ident
    return names


def _frames_of(frame):
    frames = []
    while frame is not None and len(frames) < _MAX_FRAMES_WALKED:
        if not user_code.is_own(user_code.canonical(frame.f_code.co_filename)):
            frames.append(frame)
        frame = frame.f_back
    return frames


def _pending_tasks(tasks):
    found = {}
    for name in ("_all_tasks", "_scheduled_tasks", "_eager_tasks"):
        for task in _members(getattr(tasks, name, ())):
            if not tasks.Task.done(task):
                found[id(task)] = task
    return list(islice(found.values(), _MAX_TASKS))


def _members(tasks):
    """The members of a weak set which the program may be changing."""
    for _ in range(20):
        try:
            return [task for task in tasks if task is not None]
        except RuntimeError:  # changed while it was read
            continue
    return []


def _awaited_frames(awaitable):
    """Frames along an await chain, innermost first."""
    frames = []
    while len(frames) < _MAX_FRAMES_WALKED:
        names = _AWAITABLES.get(type(awaitable).__name__)
        if names is None:
            break
        if len(names) == 1:
            awaitable = _behind(awaitable)
            continue
        frame = getattr(awaitable, names[0], None)
        if frame is not None:
            frames.append(frame)
        awaitable = getattr(awaitable, names[1], None)
    frames.reverse()
    return frames


def _behind(wrapper):
    """What one of the interpreter's wrappers without attributes drives."""
    for referent in gc.get_referents(wrapper):
        if len(_AWAITABLES.get(type(referent).__name__, ())) == 2:
            return referent
    return None


def _described(frames, limit):
    """The frames worth showing, recursion collapsed."""
    user = [user_code.is_user_code(frame.f_code.co_filename) for frame in frames]
    if any(user):
        first = max(user.index(True) - 1, 0)
        kept = [
            (frame, is_user)
            for index, (frame, is_user) in enumerate(zip(frames, user))
            if is_user or index == first
        ]
    else:
        kept = [(frame, False) for frame in frames[:_SHOWN_WITHOUT_USER_CODE]]
    shown = []
    for frame, is_user in kept:
        entry = _entry(frame, is_user)
        same = shown and all(shown[-1][key] == entry[key] for key in ("file", "line", "function"))
        if same:
            shown[-1]["repeated"] += 1
        elif len(shown) < limit:
            shown.append(entry)
        else:
            break
    return shown


def _entry(frame, is_user):
    code = frame.f_code
    file = user_code.canonical(code.co_filename)
    line = frame.f_lineno or code.co_firstlineno
    return {
        "file": file,
        "line": line,
        "function": getattr(code, "co_qualname", code.co_name),
        "source": source_map.line_text(file, line),
        "is_user": is_user,
        "repeated": 1,
    }
