import array
import asyncio
import collections
import concurrent.futures
import dataclasses
import datetime
import decimal
import enum
import fractions
import functools
import io
import pathlib
import queue
import re
import sys
import threading
import types
import unittest.mock
import uuid
import weakref
from typing import Any, NamedTuple

import attrs
import numpy as np
import pydantic
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mcp_pdb.debuggee.safe_repr import fingerprint, summarize

SCALARS = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.integers(min_value=10**4200, max_value=10**4400)
    | st.floats()
    | st.complex_numbers()
    | st.text(st.characters(codec=None, exclude_categories=()))
    | st.binary(max_size=400)
    | st.dates()
    | st.decimals()
)
KEYS = st.text() | st.integers() | st.tuples(st.integers(), st.text())


class Holder:
    def __init__(self, held):
        self.held = held
        self.count = 3


class ListWithMore(list[Any]):
    pass


def containers(children):
    lists = st.lists(children)
    return (
        lists
        | lists.map(tuple)
        | lists.map(collections.deque)
        | lists.map(ListWithMore)
        | st.dictionaries(KEYS, children)
        | st.sets(KEYS)
        | children.map(Holder)
        | children.map(ValueError)
    )


VALUES = st.recursive(SCALARS, containers, max_leaves=30)


@given(value=VALUES, limit=st.integers(min_value=0, max_value=400))
def test_a_summary_is_one_encodable_line_within_its_limit(value, limit):
    text = summarize(value, limit)
    assert len(text) <= limit
    assert "\n" not in text
    text.encode("utf-8")


@given(value=VALUES)
def test_a_fingerprint_stays_while_nothing_changes(value):
    assert fingerprint(value) == fingerprint(value)


@given(items=st.lists(st.integers(), max_size=300), position=st.integers(min_value=0), by=st.integers(1, 5))
def test_a_fingerprint_notices_any_changed_item_within_its_bound(items, position, by):
    before = fingerprint({"deep": [items]})
    if items:
        items[position % len(items)] += by
    else:
        items.append(by)
    assert fingerprint({"deep": [items]}) != before


class Misbehaved:
    """Counts its calls; the code of each method is in ``act``."""

    def __init__(self, act):
        self.size = 1
        self.act = act
        self.calls = 0

    def __repr__(self):
        self.calls += 1
        return self.act(self)


def repr_raises(self):
    raise ZeroDivisionError


def repr_hangs(self):
    while True:
        pass


def repr_of_a_megabyte(self):
    return "x" * 2**20


def repr_prints(self):
    print("noise")
    return "printed"


def repr_mutates(self):
    self.size += 1
    return "mutated"


def repr_reenters(self):
    breakpoint()
    return summarize(self)


@pytest.mark.parametrize(
    "act",
    [repr_raises, repr_hangs, repr_of_a_megabyte, repr_prints, repr_mutates, repr_reenters],
)
def test_a_misbehaving_repr_is_never_called(act, capsys):
    value = Misbehaved(act)
    summary = summarize(value)
    fingerprint([value])
    assert summary.startswith("Misbehaved(size=1, act=<function repr_")
    assert value.calls == 0
    assert capsys.readouterr().out == ""


def test_getattr_traps_and_properties_are_never_called():
    class Trapped:
        def __init__(self):
            self.shown = 1

        def __getattr__(self, name):
            raise AssertionError(name)

        def __getattribute__(self, name):
            raise AssertionError(name)

        @property
        def price(self):
            raise AssertionError

        __class__ = property(lambda self: pytest.fail("asked for its class"))  # type: ignore[assignment]

    assert summarize(Trapped()) == "Trapped(shown=1)"


def test_slots_are_shown_and_unset_ones_left_out():
    class Base:
        __slots__ = ("first",)

    class Derived(Base):
        __slots__ = ("second", "unset")

    value = Derived()
    value.first, value.second = 1, 2
    assert summarize(value) == "Derived(first=1, second=2)"


def test_subclasses_with_hostile_methods_show_their_real_content():
    def hostile(*_):
        raise AssertionError

    methods = dict.fromkeys(["__len__", "__iter__", "__eq__", "__hash__", "__getitem__", "__repr__"], hostile)
    cases: list[tuple[Any, Any, str]] = [
        (list, [1, 2], "Odd([1, 2])"),
        (dict, {"a": 1}, "Odd({'a': 1})"),
        (set, {1}, "Odd({1})"),
        (tuple, (1,), "Odd((1,))"),
        (str, "text", "Odd('text')"),
        (int, 7, "Odd(7)"),
        (collections.deque, [1], "Odd(deque([1]))"),
    ]
    for base, content, text in cases:
        assert summarize(type("Odd", (base,), methods)(content)) == text


def test_a_cycle_is_named_instead_of_followed():
    ring: dict[str, Any] = {}
    ring["self"] = [ring]
    assert summarize(ring) == "{'self': [<cycle: dict>]}"


def test_sixty_levels_deep_collapse_after_four():
    deep: Any = "bottom"
    for _ in range(60):
        deep = [deep]
    assert summarize(deep) == "[[[[list(1 items)]]]]"


@pytest.mark.parametrize(
    ("value", "start", "end"),
    [
        (list(range(100_000)), "[0, 1, 2,", " …, 99999] (100000 items)"),
        ({f"key{i}": i for i in range(5000)}, "{'key0': 0, 'key1': 1", " …, 'key4999': 4999} (5000 keys)"),
        ("a" * 49_999 + "z", "'aaaa", "aaaz' (50000 chars)"),
        (b"q" * 3000, "b'qqq", "q' (3000 bytes)"),
        (set(range(1000)), "{0, 1, 2", "…} (1000 items)"),
        (10**300, "1000", "0000 (301 digits)"),
        (-(10**10_000), "<negative int of about 10001 digits>", ""),
        ([{"id": i, "name": "n" * 30} for i in range(50)], "[{'id': 0, 'name': 'nnn", "(50 items)"),
    ],
    ids=["list", "dict", "str", "bytes", "set", "long int", "huge int", "records"],
)
def test_a_big_value_shows_its_size_and_its_ends(value, start, end):
    text = summarize(value)
    assert text.startswith(start)
    assert text.endswith(end)
    assert len(text) <= 200


def test_the_work_is_bounded_and_not_only_the_text():
    huge = [[[list(range(50)) for _ in range(50)] for _ in range(50)] for _ in range(10)]
    visited = 0

    def profile(frame, event, argument):
        nonlocal visited
        visited += 1

    sys.setprofile(profile)
    try:
        summarize(huge)
        fingerprint(huge)
    finally:
        sys.setprofile(None)
    assert visited < 20_000


class Color(enum.Enum):
    RED = 1


class Mode(enum.IntFlag):
    READ = 1
    WRITE = 2


@dataclasses.dataclass
class Point:
    x: int
    y: list[int]


@attrs.define
class Measured:
    value: float
    unit: str = "m"


class Model(pydantic.BaseModel):
    model_config = pydantic.ConfigDict(extra="allow")
    name: str
    tags: list[str] = []


class Zone(datetime.tzinfo):
    def utcoffset(self, moment: datetime.datetime | None) -> datetime.timedelta:
        raise AssertionError

    def __repr__(self) -> str:
        raise AssertionError


class Pair(NamedTuple):
    left: int
    right: str


HELD = Holder(1)


def add(left, right):
    return left + right


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (Color.RED, "<Color.RED: 1>"),
        (Point(1, [2]), "Point(x=1, y=[2])"),
        (Measured(1.5), "Measured(value=1.5, unit='m')"),
        (Model(name="a", more=1), "Model(more=1, name='a', tags=[])"),  # type: ignore[call-arg]
        (Pair(1, "b"), "Pair(left=1, right='b')"),
        (types.SimpleNamespace(a=1), "SimpleNamespace(a=1)"),
        (collections.Counter("aab"), "Counter({'a': 2, 'b': 1})"),
        (collections.defaultdict(list, a=[1]), "defaultdict({'a': [1]})"),
        (decimal.Decimal("1.10"), "Decimal('1.10')"),
        (fractions.Fraction(1, 3), "Fraction(1, 3)"),
        (pathlib.PurePosixPath("/tmp/a"), "PurePosixPath('/tmp/a')"),
        (uuid.UUID(int=5), "UUID('00000000-0000-0000-0000-000000000005')"),
        (re.compile("a+"), "re.compile('a+')"),
        (datetime.date(2024, 2, 29), "datetime.date(2024, 2, 29)"),
        (datetime.timedelta(days=1), "datetime.timedelta(days=1)"),
        (
            datetime.datetime(2024, 1, 1, tzinfo=Zone()),
            "datetime.datetime(2024, 1, 1, 0, 0) with tzinfo Zone()",
        ),
        (io.StringIO("held"), "StringIO('held')"),
        (io.BytesIO(b"held"), "BytesIO(b'held')"),
        (array.array("i", [1, 2]), "array('i', [1, 2])"),
        (memoryview(b"abcd"), "<memory of 4 bytes, shape (4,)>"),
        (range(1, 9, 2), "range(1, 9, 2)"),
        (slice(1, None), "slice(1, None, None)"),
        ({"a": 1}.keys(), "<dict_keys of {'a': 1}>"),
        (types.MappingProxyType({"a": 1}), "mappingproxy({'a': 1})"),
        (functools.partial(add, 1, right=2), "partial(<function add(left, right) test_safe_repr.py:"),
        (weakref.ref(HELD), "<weak reference to Holder(held=1, count=3)>"),
        (add, "<function add(left, right) test_safe_repr.py:"),
        (HELD.__init__, "<method Holder.__init__ of a Holder>"),
        ([].append, "<method append of a list>"),
        (Holder, "<class '"),
        (int, "<class 'int'>"),
        (sys, "<module 'sys'>"),
        (ValueError("bad", [1]), "ValueError('bad', [1])"),
        (KeyError(), "KeyError()"),
        (object(), "<object object>"),
        (iter([1]), "<list_iterator object>"),
        (queue.Queue[int](3), "Queue(deque([]), maxsize=3)"),
        (threading.Event(), "<Event, not set>"),
        (threading.Semaphore(2), "<Semaphore, 2 free>"),
        (threading.Condition(threading.Lock()), "<Condition on <lock, unlocked>, 0 waiting>"),
        (concurrent.futures.Future[int](), "<Future, pending>"),
        (unittest.mock.MagicMock(name="api"), "<MagicMock 'api', called 0 times>"),
        (Mode.READ | Mode.WRITE, "<Mode.READ|WRITE: 3>"),
    ],
    ids=lambda value: type(value).__name__ if not isinstance(value, str) else "",
)
def test_well_known_types_show_what_matters(value, text):
    assert summarize(value).startswith(text)


def test_threads_and_locks_tell_their_state():
    lock = threading.RLock()
    thread = threading.Thread(target=int, name="worker-1")
    assert summarize(thread) == "Thread('worker-1', not started)"
    thread.start()
    thread.join()
    assert summarize(thread) == "Thread('worker-1', finished)"
    with lock:
        assert summarize(lock) == f"<RLock, locked by thread {threading.get_ident()}>"
    assert summarize(threading.current_thread()).endswith("('MainThread', running)")


def test_files_show_their_name(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("content")
    with path.open(encoding="utf-8") as file:
        assert summarize(file) == f"<TextIOWrapper '{path}'>"
    with path.open("rb") as file:
        assert summarize(file) == f"<BufferedReader '{path}'>"


def test_tasks_show_their_state_and_outcome():
    async def work():
        return [1]

    async def fail():
        raise ValueError("bad")

    async def main():
        loop = asyncio.get_running_loop()
        task, failing = loop.create_task(work()), loop.create_task(fail())
        texts = [summarize(task)]
        await asyncio.wait([task, failing])
        return [*texts, summarize(task), summarize(failing)]

    pending, finished, failed = asyncio.run(main())
    assert pending.startswith("<Task, pending, <coroutine ")
    assert finished.endswith("result [1]>")
    assert failed.endswith("raised ValueError('bad')>")


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (np.zeros((2, 2)), "ndarray(shape=(2, 2), dtype=float64, [[0.0, 0.0], [0.0, 0.0]])"),
        (np.zeros((0, 3)), "ndarray(shape=(0, 3), dtype=float64)"),
        (np.array(["a", None], dtype=object), "ndarray(shape=(2,), dtype=object, ['a', None])"),
        (np.array(5), "ndarray(shape=(), dtype=int64, [5])"),
        (np.float64(1.5), "np.float64(1.5)"),
        (np.int32(3), "np.int32(3)"),
        (np.bool_(True), "np.bool(True)"),
    ],
)
def test_arrays_show_shape_dtype_and_values(value, text):
    assert summarize(value) == text


def test_a_big_array_shows_its_ends():
    text = summarize(np.arange(10**6).reshape(1000, 1000))
    assert text.startswith("ndarray(shape=(1000, 1000), dtype=int64, [0, 1, 2,")
    assert text.endswith("…, 999999]) (1000000 values)")


def test_array_changes_change_the_fingerprint():
    grid = np.zeros((50, 50))
    before = fingerprint(grid)
    grid[49, 20] = 1
    assert fingerprint(grid) != before


def test_an_array_subclass_is_not_asked():
    class Odd(np.ndarray[Any, Any]):
        shape = property(repr_raises)  # type: ignore[assignment]
        dtype = property(repr_raises)  # type: ignore[assignment]
        __getitem__ = __len__ = __repr__ = repr_raises  # type: ignore[assignment]

    assert summarize(np.zeros(2).view(Odd)) == "Odd(shape=(2,), dtype=float64, [0.0, 0.0])"


def test_a_class_that_pretends_to_be_a_library_s_is_shown_by_its_attributes():
    fake = type("ndarray", (), {"__module__": "numpy", "__init__": lambda self: setattr(self, "a", 1)})
    assert summarize(fake()) == "ndarray(a=1)"


def test_generators_tell_where_they_stand():
    def counting():
        yield 1
        yield 2

    generator = counting()
    assert "not started" in summarize(generator)
    next(generator)
    line = counting.__code__.co_firstlineno + 1
    assert summarize(generator).endswith(f"counting, suspended at line {line}>")
    before = fingerprint(generator)
    next(generator)
    assert fingerprint(generator) != before
    generator.close()
    assert summarize(generator).endswith("counting, finished>")


def test_fingerprints_of_equal_numbers_of_different_types_differ():
    assert fingerprint([1]) != fingerprint([True])
    assert fingerprint({"a": 1}) != fingerprint({"a": 1.0})


def test_a_change_in_the_tail_of_a_long_list_is_noticed():
    numbers = list(range(100_000))
    before = fingerprint(numbers)
    numbers[-1] = 0
    assert fingerprint(numbers) != before


@pytest.mark.parametrize(
    "kind", [uuid.UUID, pathlib.PurePosixPath, asyncio.Future, threading.Thread, types.ModuleType]
)
def test_an_object_that_was_never_initialised_spoils_nothing_around_it(kind):
    text = summarize([1, kind.__new__(kind), 2])
    assert text.startswith("[1, ")
    assert text.endswith(", 2]")


def test_a_class_that_is_only_being_made_can_be_shown():
    seen: list[str] = []

    class Meta(type):
        def mro(cls):
            seen.append(summarize([cls]))
            return super().mro()

    Meta("Made", (), {})
    assert seen == ["[<class 'tests.mcp_pdb.debuggee.test_safe_repr.Made'>]"]


def test_a_dictionary_that_another_thread_grows_is_still_summarised():
    growing: dict[int, int] = {}
    stop = threading.Event()

    def grow():
        number = 0
        while not stop.is_set() and number < 200_000:
            growing[number] = number
            number += 1

    thread = threading.Thread(target=grow)
    thread.start()
    try:
        texts = [summarize(growing) for _ in range(300)]
    finally:
        stop.set()
        thread.join()
    assert not any("cannot be read" in text for text in texts)
