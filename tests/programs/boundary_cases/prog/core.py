"""A program with a little of everything that tests do to programs."""

import contextlib
import dataclasses
import enum
import functools
import threading
from collections import Counter, OrderedDict, defaultdict, deque
from datetime import date, datetime, time, timedelta, timezone
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import NamedTuple
from uuid import UUID

LIMIT = 10


class ShopError(Exception):
    """Root."""


class StockError(ShopError, LookupError):
    code = 7

    def __init__(self, message, missing):
        super().__init__(message)
        self.missing = missing

    def __str__(self):
        return f"{self.args[0]} ({self.missing} missing)"


class Status(enum.Enum):
    OPEN = "open"
    CLOSED = "closed"


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 2


class Point(NamedTuple):
    x: int
    y: int


@dataclasses.dataclass(order=True)
class Item:
    name: str
    price: int = 0
    tags: list = dataclasses.field(default_factory=list)


class Box:
    made = 0

    def __init__(self, *items):
        type(self).made += 1
        self._items = list(items)

    def __len__(self):
        return len(self._items)

    def __iter__(self):
        return iter(self._items)

    def __contains__(self, item):
        return item in self._items

    def __getitem__(self, index):
        return self._items[index]

    def __setitem__(self, index, item):
        self._items[index] = item

    def __delitem__(self, index):
        del self._items[index]

    def __eq__(self, other):
        return isinstance(other, Box) and self._items == other._items

    def __hash__(self):
        return hash(tuple(self._items))

    def __add__(self, other):
        return Box(*self._items, *other)

    def __radd__(self, other):
        return Box(other, *self._items)

    def __iadd__(self, other):
        self._items.extend(other)
        return self

    def __repr__(self):
        return f"Box{tuple(self._items)}"

    def __bool__(self):
        return bool(self._items)

    @property
    def first(self):
        return self._items[0]

    @first.setter
    def first(self, item):
        self._items[0] = item

    @classmethod
    def of(cls, *items):
        return cls(*items)

    @staticmethod
    def double(value):
        return 2 * value

    def add(self, item):
        self._items.append(item)
        return self


def echo(value):
    return value


def values():
    return {
        "whole": 2**200,
        "float": 0.1,
        "complex": 1 + 2j,
        "bytes": b"\x00x",
        "tuple": (1, (2,)),
        "set": {1, 2},
        "frozen": frozenset({"a"}),
        "decimal": Decimal("1.50"),
        "fraction": Fraction(1, 3),
        "date": date(2024, 2, 29),
        "datetime": datetime(2024, 2, 29, 12, tzinfo=timezone(timedelta(hours=2), "X")),
        "time": time(1, 2, 3),
        "delta": timedelta(days=-1, microseconds=5),
        "path": Path("a/b"),
        "uuid": UUID(int=5),
        "range": range(3),
        "ordered": OrderedDict(a=1),
        "counter": Counter("aab"),
        "deque": deque([1], maxlen=3),
        "default": defaultdict(list, {1: [2]}),
        7: None,
        None: True,
    }


def sell(missing):
    raise StockError("sold out", missing)


def chain():
    try:
        {}["k"]
    except KeyError as error:
        raise ShopError("no key") from error


def apply(function, *arguments, **keywords):
    return function(*arguments, **keywords)


def keep_going(function):
    try:
        function()
    except ValueError as error:
        return f"caught {error}"


def pass_on(function):
    try:
        function()
    finally:
        pass


def retry(function, on):
    try:
        return function()
    except on as error:
        return type(error).__name__


def drain(items):
    return [item for item in items]


def notify(observer, what):
    observer.seen(what)
    return observer.name


def within(manager):
    with manager as value:
        return value


def length(thing):
    return len(thing)


def countdown(start):
    while start:
        yield start
        start -= 1


def echo_generator():
    received = []
    while True:
        got = yield received
        received = received + [got]


@contextlib.contextmanager
def opened(log, swallow=()):
    log("open")
    try:
        yield "thing"
    except swallow:
        log("swallowed")
    finally:
        log("close")


def traced(function):
    @functools.wraps(function)
    def wrapper(*arguments):
        return function(*arguments) + 1

    return wrapper


@traced
def base(value):
    """What base does."""
    return value


class Registry:
    def __init__(self):
        self._listeners = []

    def on(self, listener):
        self._listeners.append(listener)

    def off(self, listener):
        self._listeners.remove(listener)

    def fire(self, *arguments):
        return [listener(*arguments) for listener in self._listeners]

    def count(self):
        return len(self._listeners)


class Gate:
    """Only the thread that entered may leave."""

    def __init__(self):
        self._lock = threading.RLock()
        self._owner = None

    def enter(self):
        taken = self._lock.acquire(timeout=0.3)
        if taken:
            self._owner = threading.get_ident()
        return taken

    def leave(self):
        if self._owner != threading.get_ident():
            raise RuntimeError("another thread entered")
        self._lock.release()


def thread_name():
    return threading.current_thread().name


def from_another_thread(function):
    results = []
    thread = threading.Thread(target=lambda: results.append(function(3)))
    thread.start()
    thread.join()
    return results


class Node:
    def __init__(self):
        self.other = None


def shout(text):
    print(text.upper())


def quit_with(code):
    raise SystemExit(code)


def ring():
    items = [1]
    items.append(items)
    return items
