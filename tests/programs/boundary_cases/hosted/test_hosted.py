import asyncio
import copy
import functools
import gc
import threading
import weakref
from collections import Counter, OrderedDict, defaultdict, deque
from concurrent.futures import ThreadPoolExecutor
from datetime import date, datetime, time, timedelta, timezone
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from uuid import UUID

import pytest

import prog.core
from prog import core
from prog.core import Box, Gate, Item, Level, Node, Point, Registry, ShopError, Status, StockError


class Boom(Exception):
    pass


class Observer:
    name = "watcher"

    def __init__(self):
        self.log = []

    def seen(self, what):
        self.log.append(what)


class Manager:
    def __init__(self):
        self.left = None

    def __enter__(self):
        return "inside"

    def __exit__(self, kind, error, traceback):
        self.left = True
        return False


class Sized:
    def __len__(self):
        return 4

    def __iter__(self):
        return iter([1, 2])

    def __call__(self, value):
        return value * 2


def test_plain_values_come_as_they_are():
    values = core.values()
    assert values == {
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
        "datetime": datetime(2024, 2, 29, 10, tzinfo=timezone.utc),
        "time": time(1, 2, 3),
        "delta": timedelta(days=-1, microseconds=5),
        "path": Path("a/b"),
        "uuid": UUID(int=5),
        "range": range(3),
        "ordered": OrderedDict(a=1),
        "counter": Counter("aab"),
        "deque": deque([1]),
        "default": {1: [2]},
        7: None,
        None: True,
    }
    assert [type(values[name]) for name in ("tuple", "counter", "default")] == [tuple, Counter, defaultdict]
    assert values["deque"].maxlen == 3
    assert values["datetime"].tzname() == "X"


def test_plain_values_go_and_come_back():
    value = [1, 2.5, "ü\udc80", b"x", None, True, (1,), {"a": {1}}, Decimal("0.10"), date(2020, 1, 1), slice(1, 2)]
    assert core.echo(value) == value


def test_numbers_that_are_none_travel():
    assert str(core.echo(float("nan"))) == "nan"
    assert core.echo(float("-inf")) == float("-inf")
    assert str(core.echo(-0.0)) == "-0.0"


def test_module_attributes_and_submodules():
    assert prog.core.LIMIT == 10
    assert core is prog.core


def test_a_module_attribute_can_be_patched(monkeypatch):
    monkeypatch.setattr(core, "LIMIT", 3)
    assert core.LIMIT == 3
    monkeypatch.undo()
    assert core.LIMIT == 10


def test_an_absent_name_is_an_import_error():
    with pytest.raises(ImportError):
        from prog.core import nothing  # noqa: F401
    with pytest.raises(ModuleNotFoundError):
        import prog.nowhere  # noqa: F401


def test_containers_behave():
    box = Box(1, 2, 3)
    assert len(box) == 3
    assert list(box) == [1, 2, 3]
    assert 2 in box
    assert 5 not in box
    assert box[0] == 1
    assert box[1:] == [2, 3]
    box[0] = 9
    del box[1]
    assert [*box] == [9, 3]
    assert bool(box) is True
    assert bool(Box()) is False
    assert sorted(Box(3, 1)) == [1, 3]
    first, second = Box(5, 6)
    assert (first, second) == (5, 6)


def test_operators_behave():
    assert list(Box(1) + Box(2)) == [1, 2]
    assert list(0 + Box(1)) == [0, 1]
    box = Box(1)
    same = box
    box += [2]
    assert box is same
    assert list(same) == [1, 2]
    assert Item("a", 1) < Item("b", 0)
    assert max(Item("a"), Item("b")).name == "b"


def test_equality_and_hash_of_the_programs_objects():
    assert (Box(1) == Box(1)) is True
    assert (Box(1) == Box(2)) is False
    assert (Box(1) != Box(2)) is True
    assert {Box(1): "x"}[Box(1)] == "x"
    assert (Box(1) == (1,)) is False


def test_text_of_objects():
    assert repr(Box(1, 2)) == "Box(1, 2)"
    assert str(Box(1)) == "Box(1,)"
    assert f"{Box(1)}" == "Box(1,)"


def test_properties_and_methods():
    box = Box.of(1, 2)
    box.first = 4
    assert box.first == 4
    assert Box.double(3) == 6
    assert list(box.add(5).add(6)) == [4, 2, 5, 6]
    assert hasattr(box, "nothing") is False
    before = Box.made
    Box()
    assert Box.made == before + 1


def test_identity_is_kept():
    node = Node()
    node.other = node
    assert node.other is node
    assert core.echo(node) is node
    assert Node() is not Node()
    assert core.echo is core.echo
    assert Status.OPEN is Status("open")


def test_enums():
    assert Status.OPEN.value == "open"
    assert [member.name for member in Status] == ["OPEN", "CLOSED"]
    assert Status["CLOSED"] is Status.CLOSED
    assert Status.OPEN == Status.OPEN
    assert (Status.OPEN == "open") is False
    assert Level.HIGH == 2
    assert Level.LOW < 2
    assert {2: "x"}[Level.HIGH] == "x"


def test_named_tuples_and_data_classes():
    point = Point(1, 2)
    assert point == (1, 2)
    assert (1, 2) == point
    assert point.x == 1
    assert Item("a") == Item("a")
    assert Item("a", 2).price == 2
    x, y = point
    assert x + y == 3


def test_isinstance():
    assert isinstance(Box(), Box) is True
    assert isinstance(Node(), Box) is False
    assert isinstance(5, Box) is False
    assert issubclass(StockError, ShopError) is True


def test_exceptions_are_found_by_their_class_and_their_bases():
    for kind in (StockError, ShopError, LookupError, Exception):
        with pytest.raises(kind, match="sold out") as caught:
            core.sell(3)
        assert caught.value.missing == 3
    assert str(caught.value) == "sold out (3 missing)"
    assert caught.value.args == ("sold out",)
    assert StockError.code == 7


def test_a_cause_is_kept():
    with pytest.raises(ShopError) as caught:
        core.chain()
    assert type(caught.value.__cause__) is KeyError
    assert caught.value.__cause__.args == ("k",)


def test_builtin_exceptions_stay_themselves():
    with pytest.raises(ZeroDivisionError):
        core.apply(lambda: 1 // 0)
    with pytest.raises(TypeError):
        core.sell()
    with pytest.raises(IndexError):
        Box()[0]
    with pytest.raises(StopIteration):
        next(core.countdown(0))
    with pytest.raises(AttributeError):
        Box().nothing  # noqa: B018


def test_a_program_may_end_itself():
    with pytest.raises(SystemExit) as caught:
        core.quit_with(3)
    assert caught.value.code == 3


def test_the_programs_exception_can_be_made_and_handed_over():
    error = StockError("gone", 2)
    assert error.missing == 2
    assert core.echo(error) is error

    def fail():
        raise error

    with pytest.raises(StockError) as caught:
        core.pass_on(fail)
    assert caught.value.missing == 2


def test_callbacks_are_called_with_what_the_program_gives():
    calls = []
    assert core.apply(lambda *a, **k: calls.append((a, k)), 1, key="v") is None
    assert calls == [((1,), {"key": "v"})]
    assert core.apply(calls.append, 5) is None
    assert calls[-1] == 5
    assert core.apply(functools.partial(max, 3), 2) == 3
    assert core.apply(sorted, [2, 1]) == [1, 2]
    assert core.apply(int, "7") == 7
    assert core.apply(Box, 1).first == 1
    assert core.apply(Sized(), 4) == 8


def test_a_callback_gets_the_programs_own_objects():
    box = Box(1)
    seen = []
    core.apply(seen.append, box)
    assert seen[0] is box


def test_a_callback_that_raises_is_seen_by_the_program():
    def fail():
        raise ValueError("no")

    def boom():
        raise Boom("own")

    assert core.keep_going(fail) == "caught no"
    with pytest.raises(Boom, match="own"):
        core.keep_going(boom)
    with pytest.raises(Boom):
        core.pass_on(boom)
    assert core.retry(boom, (Boom, KeyError)) == "Boom"
    assert core.retry(fail, ValueError) == "ValueError"


def test_the_same_callback_is_one_and_the_same():
    registry = Registry()
    observer = Observer()
    registry.on(observer.seen)
    registry.on(len)
    assert registry.fire("abc") == [None, 3]
    registry.off(observer.seen)
    registry.off(len)
    assert registry.count() == 0
    assert observer.log == ["abc"]


def test_objects_of_a_test_can_be_handed_over():
    observer = Observer()
    assert core.notify(observer, "x") == "watcher"
    assert observer.log == ["x"]
    assert core.echo(observer) is observer
    manager = Manager()
    assert core.within(manager) == "inside"
    assert manager.left is True
    assert core.length(Sized()) == 4
    assert core.drain(Sized()) == [1, 2]
    event = threading.Event()
    core.apply(event.set)
    assert event.is_set() is True


def test_iterators_of_a_test_are_drawn_from_one_at_a_time():
    def numbers():
        yield 1
        yield 2

    assert core.drain(numbers()) == [1, 2]
    assert core.drain(iter("ab")) == ["a", "b"]
    assert core.drain(value * 2 for value in range(3)) == [0, 2, 4]


def test_generators_of_the_program():
    assert list(core.countdown(3)) == [3, 2, 1]
    generator = core.countdown(2)
    assert iter(generator) is generator
    assert next(generator) == 2
    assert list(generator) == [1]
    echo = core.echo_generator()
    assert next(echo) == []
    assert echo.send(5) == [5]
    echo.close()
    assert list(zip(core.countdown(2), "ab")) == [(2, "a"), (1, "b")]


def test_context_managers_of_the_program():
    log = []
    with core.opened(log.append) as thing:
        assert thing == "thing"
    assert log == ["open", "close"]
    with core.opened(log.append, (ValueError,)):
        raise ValueError("swallow me")
    assert log[2:] == ["open", "swallowed", "close"]
    with pytest.raises(Boom):
        with core.opened(log.append):
            raise Boom("not me")
    assert log[-1] == "close"


def test_functions_tell_their_names():
    assert core.base(1) == 2
    assert core.base.__name__ == "base"
    assert core.base.__doc__ == "What base does."

    @core.traced
    def mine(value):
        """Mine."""
        return value

    assert mine(4) == 5
    assert mine.__name__ == "mine"
    assert mine.__doc__ == "Mine."


def test_each_thread_has_a_partner_of_its_own():
    gate = Gate()
    assert gate.enter() is True
    entered = []
    thread = threading.Thread(target=lambda: entered.append(gate.enter()))
    thread.start()
    thread.join()
    assert entered == [False]
    gate.leave()


def test_threads_keep_their_names():
    names = []
    thread = threading.Thread(target=lambda: names.append(core.thread_name()), name="carrier")
    thread.start()
    thread.join()
    assert names == ["carrier"]
    assert core.thread_name() == "MainThread"


def test_a_barrier_between_test_threads_and_the_program():
    barrier = threading.Barrier(3, timeout=10)
    with ThreadPoolExecutor(3) as pool:
        futures = [pool.submit(core.apply, barrier.wait) for _ in range(3)]
        assert sorted(future.result(10) for future in futures) == [0, 1, 2]


def test_a_thread_of_the_program_may_call_back():
    assert core.from_another_thread(lambda value: value + 1) == [4]


def test_objects_that_many_threads_hand_over_and_drop_arrive():
    def fail():
        raise StockError("gone", 1)

    with ThreadPoolExecutor(4) as pool:
        futures = [pool.submit(core.retry, fail, StockError) for _ in range(60)]
        assert {future.result(10) for future in futures} == {"StockError"}
        futures = [pool.submit(core.apply, lambda: core.echo(Node())) for _ in range(60)]
        assert {future.result(10).other for future in futures} == {None}


def test_objects_are_let_go_of():
    node = Node()
    watch = weakref.ref(node)
    assert watch() is node
    del node
    assert watch() is None


def test_circles_are_collected():
    node = Node()
    node.other = node
    watch = weakref.ref(node)
    del node
    gc.collect()
    assert watch() is None


def test_copies_are_made_by_the_program():
    item = Item("a", 1, ["x"])
    shallow, deep = copy.copy(item), copy.deepcopy(item)
    item.tags = ["y"]
    assert shallow.tags == ["x"]
    assert deep == Item("a", 1, ["x"])


def test_what_the_program_prints_is_captured(capsys):
    core.shout("hello")
    assert capsys.readouterr().out == "HELLO\n"


def test_a_value_that_holds_itself_is_an_object():
    ring = core.ring()
    assert ring[0] == 1
    assert ring[1] is ring


def test_a_folder_is_there_on_both_sides(tmp_path):
    assert core.apply(Path.is_dir, tmp_path) is True


def test_coroutines_of_a_test_are_its_own():
    async def scenario():
        await asyncio.sleep(0)
        return core.echo(3)

    assert asyncio.run(scenario()) == 3
