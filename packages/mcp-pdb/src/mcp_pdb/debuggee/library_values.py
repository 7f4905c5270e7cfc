"""Summaries of objects of loaded libraries: dates, numbers, paths, locks, mocks."""

from __future__ import annotations

import sys
from _collections import deque

from .array_values import ARRAYS
from .raw_fields import (
    MISSING,
    class_module,
    class_mro,
    class_name,
    fields,
    instance_dict,
    loaded,
    read_descriptor,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable

    from .safe_repr import Walk

    Show = Callable[[Walk, Any, type, int], "str | None"]


def library_text(walk: Walk, value: Any, cls: type, limit: int) -> str | None:
    """The summary of a value whose class, or a base, has an entry in the table below."""
    for base in class_mro(cls):
        module = class_module(base)
        show = _BY_NAME.get((module, class_name(base)))
        if show is None or not is_genuine(base, module):
            continue
        return show(walk, value, cls, limit)
    return None


def is_genuine(cls: type, module: str) -> bool:
    """True when the class is what the loaded module holds under its name."""
    return loaded(module, class_name(cls)) is cls


def telling_fields(value: Any) -> list[tuple[str, Any]]:
    """The object's attributes without the bookkeeping that unittest keeps in a test."""
    own = fields(value)
    test_case = loaded("unittest.case", "TestCase")
    if test_case is not MISSING and issubclass(type(value), test_case):
        return [(name, item) for name, item in own if name not in _TEST_BOOKKEEPING]
    return own


def _test(walk: Walk, value: Any, cls: type, limit: int) -> str:
    name = (instance_dict(value) or {}).get("_testMethodName")
    return walk.attributes(cls, telling_fields(value), limit, name if type(name) is str else "")


def _named(walk: Walk, value: Any, cls: type, limit: int) -> str:
    """An object of machinery that is known by its name; what it holds would only distract."""
    name = (instance_dict(value) or {}).get("name", MISSING)
    room = max(limit - len(class_name(cls)) - 3, 8)
    return "<%s%s>" % (class_name(cls), "" if name is MISSING else " " + walk.text(name, room))


def is_machinery(cls: type) -> bool:
    """True for types that are shown by their name only, and so not opened unasked."""
    return any(_BY_NAME.get((class_module(base), class_name(base))) is _named for base in class_mro(cls))


def _own_text(walk: Walk, value: Any, cls: type, limit: int) -> str | None:
    """Its own repr, for exact types of the standard library whose repr asks nothing of other objects."""
    if (class_module(cls), class_name(cls)) not in _BY_NAME:
        return None
    return repr(value)


def _moment(walk: Walk, value: Any, cls: type, limit: int) -> str | None:
    """A date or time; ``tzinfo`` may be the program's own class, so it is shown apart."""
    if class_module(cls) != "datetime":
        return None
    zone = value.tzinfo
    if zone is None or class_module(type(zone)) == "datetime":
        return repr(value)
    return "%r with tzinfo %s" % (value.replace(tzinfo=None), walk.text(zone, 40))


def _partial(walk: Walk, value: Any, cls: type, limit: int) -> str:
    base = loaded("functools", "partial")
    keywords = read_descriptor(base, "keywords", value)
    shown = [("", read_descriptor(base, "func", value))]
    shown += [("", item) for item in read_descriptor(base, "args", value)]
    shown += [("%s=" % key, item) for key, item in dict.items(keywords) if type(key) is str]
    return walk.join(shown, len(shown), None, ("partial(", ")", "arguments"), limit)


def _thread(walk: Walk, value: Any, cls: type, limit: int) -> str:
    own = instance_dict(value) or {}
    started = _flag(own.get("_started"))
    alive = own.get("_ident") in sys._current_frames() if type(own.get("_ident")) is int else False
    state = "running" if alive else "finished" if started else "not started"
    name = own.get("_name")
    own_fields = [(key, item) for key, item in fields(value) if key[:1] != "_" and key != "daemon"]
    first = "%s, %s" % (str.__repr__(name) if type(name) is str else "unnamed", state)
    return walk.attributes(cls, own_fields, limit, first)


def _flag(event: Any) -> bool:
    return (instance_dict(event) or {}).get("_flag") is True


def _event(walk: Walk, value: Any, cls: type, limit: int) -> str:
    return "<%s, %s>" % (class_name(cls), "set" if _flag(value) else "not set")


def _semaphore(walk: Walk, value: Any, cls: type, limit: int) -> str:
    return "<%s, %s free>" % (class_name(cls), walk.text((instance_dict(value) or {}).get("_value"), 20))


def _condition(walk: Walk, value: Any, cls: type, limit: int) -> str:
    own = instance_dict(value) or {}
    waiters: Any = own.get("_waiters")
    count = len(waiters) if type(waiters) is deque else 0
    return "<%s on %s, %d waiting>" % (class_name(cls), walk.text(own.get("_lock"), 60), count)


def _queue(walk: Walk, value: Any, cls: type, limit: int) -> str:
    own = instance_dict(value) or {}
    held = own.get("queue", own.get("_queue"))
    size = own.get("maxsize", own.get("_maxsize"))
    name = class_name(cls)
    end = ", maxsize=%d)" % size if type(size) is int and size > 0 else ")"
    return "%s(%s%s" % (name, walk.text(held, limit - len(name) - len(end) - 1), end)


def lock_text(walk: Walk, value: Any, cls: type, limit: int) -> str:
    """A lock and, for a reentrant one, the thread that holds it."""
    text = repr(value)
    state = "locked" if text.startswith("<locked") else "unlocked"
    owner = text.partition("owner=")[2].partition(" ")[0]
    if owner in ("", "0"):
        return "<%s, %s>" % (class_name(cls), state)
    return "<%s, %s by thread %s>" % (class_name(cls), state, owner)


def _future(walk: Walk, value: Any, cls: type, limit: int) -> str:
    base = next(b for b in class_mro(cls) if class_module(b) == "_asyncio" or class_name(b) == "Future")
    state = _asked(base, "_state", value)
    name = class_name(cls)
    result = _asked(base, "_result", value) if state == "FINISHED" else None
    raised = _asked(base, "_exception", value) if state == "FINISHED" else None
    coroutine = _asked(base, "_coro", value)
    text = "<%s, %s" % (name, str(state).lower())
    if coroutine is not MISSING and coroutine is not None:
        text += ", " + walk.text(coroutine, 80)
    if raised is not None and raised is not MISSING:
        text += ", raised " + walk.text(raised, limit - len(text) - 10)
    elif state == "FINISHED":
        text += ", result " + walk.text(result, limit - len(text) - 10)
    return text + ">"


def _asked(base: type, name: str, value: Any) -> Any:
    found = read_descriptor(base, name, value)
    return found if found is not MISSING else (instance_dict(value) or {}).get(name, MISSING)


def _mock(walk: Walk, value: Any, cls: type, limit: int) -> str:
    own = instance_dict(value) or {}
    parent_name = own.get("_mock_new_name") or own.get("_mock_name")
    name = " %s" % str.__repr__(parent_name) if type(parent_name) is str and parent_name else ""
    count = own.get("_mock_call_count")
    calls = ", called %d times" % count if type(count) is int else ""
    outcome = own.get("_mock_return_value")
    if class_name(type(outcome)) in ("_SentinelObject", "NoneType"):
        return "<%s%s%s>" % (class_name(cls), name, calls)
    return "<%s%s%s, returns %s>" % (class_name(cls), name, calls, walk.text(outcome, limit - 40))


def _text_file(walk: Walk, value: Any, cls: type, limit: int) -> str:
    raw = value
    for _ in range(3):
        owner = next((b for b in class_mro(type(raw)) if class_module(b) == "_io"), None)
        if owner is None:
            break
        inner = read_descriptor(owner, "buffer", raw)
        inner = read_descriptor(owner, "raw", raw) if inner is MISSING else inner
        if inner is MISSING:
            break
        raw = inner
    name = (instance_dict(raw) or {}).get("name", MISSING)
    shown = " " + walk.text(name, limit - 30) if name is not MISSING else ""
    return "<%s%s>" % (class_name(cls), shown)


def _memory_file(walk: Walk, value: Any, cls: type, limit: int) -> str:
    base = loaded("io", "StringIO" if class_module(cls) and _derives(cls, "StringIO") else "BytesIO")
    if base.__sizeof__(value) > 1_000_000:
        return "<%s of over a million characters>" % class_name(cls)
    try:
        held = base.getvalue(value)
    except ValueError:
        return "<%s, closed>" % class_name(cls)
    return "%s(%s)" % (class_name(cls), walk.text(held, limit - len(class_name(cls)) - 2))


def _derives(cls: type, name: str) -> bool:
    return any(class_module(base) == "_io" and class_name(base) == name for base in class_mro(cls))


def _weak_reference(walk: Walk, value: Any, cls: type, limit: int) -> str:
    target = loaded("weakref", "ref").__call__(value)
    return "<weak reference to %s>" % ("nothing" if target is None else walk.text(target, limit - 22))


_TEST_BOOKKEEPING = frozenset(
    ["_testMethodName", "_testMethodDoc", "_outcome", "_cleanups", "_subtest", "_type_equality_funcs"]
)
_OWN_TEXT = {
    "datetime": ("date", "timedelta", "timezone"),
    "decimal": ("Decimal",),
    "fractions": ("Fraction",),
    "uuid": ("UUID",),
    "ipaddress": ("IPv4Address", "IPv6Address", "IPv4Network", "IPv6Network"),
    "pathlib": ("PurePosixPath", "PureWindowsPath", "PosixPath", "WindowsPath"),
    "pathlib._local": ("PurePosixPath", "PureWindowsPath", "PosixPath", "WindowsPath"),
    "re": ("Pattern", "Match"),
    "zoneinfo": ("ZoneInfo",),
}
_BY_NAME: dict[tuple[str, str], Show] = {
    (module, name): _own_text for module, names in _OWN_TEXT.items() for name in names
}
_BY_NAME.update(
    {
        ("datetime", "datetime"): _moment,
        ("datetime", "time"): _moment,
        ("functools", "partial"): _partial,
        ("threading", "Thread"): _thread,
        ("threading", "Event"): _event,
        ("threading", "Semaphore"): _semaphore,
        ("threading", "Condition"): _condition,
        ("asyncio.locks", "Event"): _semaphore,
        ("queue", "Queue"): _queue,
        ("asyncio.queues", "Queue"): _queue,
        ("_asyncio", "Future"): _future,
        ("_asyncio", "Task"): _future,
        ("asyncio.futures", "Future"): _future,
        ("concurrent.futures._base", "Future"): _future,
        ("unittest.mock", "NonCallableMock"): _mock,
        ("_io", "TextIOWrapper"): _text_file,
        ("_io", "BufferedReader"): _text_file,
        ("_io", "BufferedWriter"): _text_file,
        ("_io", "BufferedRandom"): _text_file,
        ("_io", "FileIO"): _text_file,
        ("_io", "StringIO"): _memory_file,
        ("_io", "BytesIO"): _memory_file,
        ("weakref", "ReferenceType"): _weak_reference,
        ("unittest.case", "TestCase"): _test,
        ("logging", "Logger"): _named,
        ("_pytest.nodes", "Node"): _named,
        ("_pytest.fixtures", "FixtureRequest"): _named,
        ("_pytest.monkeypatch", "MonkeyPatch"): _named,
        ("_pytest.capture", "CaptureFixture"): _named,
        ("_pytest.logging", "LogCaptureFixture"): _named,
        ("_pytest.config", "Config"): _named,
    }
)
_BY_NAME.update(ARRAYS)
