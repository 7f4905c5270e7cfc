"""The core promises of the inspection code, checked by the interpreter that runs this file.

Run as ``python inspector_matrix.py DEBUGGEE_FOLDER``; prints each failing check
and exits with their number. Plain asserts only: the interpreters of the matrix
need nothing installed. ``tests/mcp_pdb/debuggee/test_inspector_matrix.py`` runs it on each of them.
"""

import collections
import dataclasses
import enum
import sys
import threading
import traceback
import types

package = types.ModuleType("_mcp_pdb_debuggee")
package.__path__ = [sys.argv[1]]
sys.modules["_mcp_pdb_debuggee"] = package

from _mcp_pdb_debuggee import inspector  # noqa: E402
from _mcp_pdb_debuggee.inspector import (  # noqa: E402
    DELETED,
    describe_exception,
    describe_locals,
    describe_value,
    evaluate,
    fingerprint,
    snapshot,
    summarize,
    write_back,
)

here = sys.modules[__name__]
level = 10


class Tripped(BaseException):
    """Code of the program ran although nobody asked for it."""


def trap(self, *arguments, **keywords):
    raise Tripped


TRAPS = [
    "__repr__",
    "__str__",
    "__len__",
    "__iter__",
    "__getitem__",
    "__contains__",
    "__eq__",
    "__hash__",
    "__bool__",
    "__index__",
    "__reversed__",
    "__getattr__",
    "__getattribute__",
    "__dir__",
    "__format__",
    "__call__",
    "__sizeof__",
    "__reduce__",
    "__lt__",
    "__missing__",
    "__get__",
    "keys",
    "values",
    "items",
    "copy",
    "append",
    "__enter__",
    "__next__",
    "__await__",
]


def trapped(*bases):
    """A class all of whose special methods raise Tripped."""
    namespace = dict.fromkeys(TRAPS, trap)
    namespace["__class__"] = namespace["__dict__"] = property(trap)
    return type("Trapped", bases, namespace)


class TrappedMeta(type):
    """A metaclass as hostile as its classes."""

    __getattribute__ = __repr__ = __eq__ = __instancecheck__ = __subclasscheck__ = trap

    def __hash__(cls):
        raise Tripped


def odd_slots():
    """Names of slots in an iterable whose class is hostile."""
    return type.__call__(type.__call__(TrappedMeta, "Names", (list,), {}))


def hostile_values():
    values = [trapped(object)()]
    for kind, content in [
        (list, [1, 2]),
        (tuple, (1, 2)),
        (str, "ab"),
        (bytes, b"ab"),
        (int, 5),
        (float, 1.5),
        (bytearray, b"ab"),
        (collections.deque, [1, 2]),
        (collections.OrderedDict, {}),
        (set, [1, 2]),
        (frozenset, [1]),
        (dict, {"a": 1}),
        (ValueError, "said"),
    ]:
        values.append(kind.__new__(trapped(kind), content))
        if kind in (list, dict, set, collections.deque, bytearray):
            kind.__init__(values[-1], content)
    odd_class = TrappedMeta("Odd", (), {})
    odd = type.__call__(odd_class)
    values += [odd, odd_class, [odd], (odd,), {"a": odd}]
    values.append(type("Holder", (), {"__slots__": odd_slots(), "shared": odd})())
    return values


def check_summaries_run_no_code_of_the_program():
    values = hostile_values()
    for value in [*values, values, {"key": value for value in values}]:
        for limit in (0, 1, 7, 30, 200, 3000):
            assert len(summarize(value, limit)) <= limit
        text = summarize(value)
        assert "cannot be read" not in text, text
        fingerprint(value)
        namespace = {"self": value, "other": value}
        snapshot(namespace)
        describe_locals(namespace)
        for path in ("self", "self.x", "self[0]", "self['a']", "self[0:1]", "self.keys", "self.shared"):
            describe_value(namespace, {}, path, depth=3)


def check_hostile_dictionary_keys_are_not_asked():
    class Key:
        armed = False

        def __hash__(self):
            if Key.armed:
                raise Tripped
            return 5

        def __eq__(self, other):
            raise Tripped

    plain, ordered = {Key(): 1}, collections.OrderedDict([(Key(), 1)])
    members = {Key()}
    Key.armed = True
    for value in (plain, ordered, members):
        summarize(value)
        fingerprint(value)
        describe_value({"x": value}, {}, "x", depth=3)
        describe_value({"x": value}, {}, "x[5]")


def check_deep_and_cyclic_structures_end():
    deep = []
    for _ in range(60):
        deep = [deep, {"next": deep}]
    cyclic = [1]
    cyclic.append(cyclic)
    ring = {"a": {}}
    ring["a"]["back"] = ring
    for value in (deep, cyclic, ring):
        assert len(summarize(value)) <= 200
        fingerprint(value)
        describe_value({"x": value}, {}, "x", depth=6)
    assert summarize(cyclic) == "[1, <cycle: list>]"
    page = describe_value({"x": cyclic}, {}, "x")
    assert page["variables"][1]["same_as"] == "x", page


def check_summary_near_the_recursion_limit_says_so():
    value = [[[[1]]]]

    def down(texts):
        try:
            down(texts)
        except RecursionError:
            texts.append(summarize(value))
            texts.append(fingerprint(value))
            raise

    texts = []
    try:
        down(texts)
    except RecursionError:
        pass
    else:
        raise AssertionError("no recursion")


def check_values_by_type():
    class Color(enum.Enum):
        RED = 1

    @dataclasses.dataclass
    class Point:
        x: int
        y: list

    class Slotted:
        __slots__ = ("a", "b")

    slotted = Slotted()
    slotted.a = 1
    Pair = collections.namedtuple("Pair", "left right")

    def counted():
        yield 1
        yield 2

    fresh, begun, ended = counted(), counted(), counted()
    next(begun)
    list(ended)
    holder = threading.RLock()
    expected = [
        (None, "None"),
        (True, "True"),
        (10**5000, "<int of about 5001 digits>"),
        ("\ud800", "'\\ud800'"),
        (b"ab", "b'ab'"),
        ({2, 1}, "{1, 2}"),
        (Color.RED, "<Color.RED: 1>"),
        (Point(1, [2]), "Point(x=1, y=[2])"),
        (slotted, "Slotted(a=1)"),
        (Pair(1, "b"), "Pair(left=1, right='b')"),
        (collections.Counter("aab"), "Counter({'a': 2, 'b': 1})"),
        (ValueError("bad", 3), "ValueError('bad', 3)"),
        (holder, "<RLock, unlocked>"),
        (threading.Lock(), "<lock, unlocked>"),
        (len, "<built-in function len>"),
        (sys, "<module 'sys'>"),
        (range(3), "range(0, 3)"),
        (Color, "<class 'check_values_by_type.<locals>.Color'>"),
    ]
    for value, text in expected:
        assert summarize(value) == text, (summarize(value), text)
    assert "not started" in summarize(fresh)
    assert "suspended at line" in summarize(begun)
    assert "finished" in summarize(ended)
    assert summarize(lambda x: x).startswith("<function check_values_by_type.<locals>.<lambda>(x) ")
    assert summarize(list(range(100000))).endswith(", 44, …, 99999] (100000 items)")
    assert summarize("x" * 50000).endswith(" (50000 chars)")


def check_ordered_dictionaries_show_their_own_order():
    cache = collections.OrderedDict(a=1, b=2)
    cache.move_to_end("a")
    assert summarize(cache) == "OrderedDict({'b': 2, 'a': 1})"


def check_coroutines_tell_their_state():
    @types.coroutine
    def parked():
        yield

    async def work():
        await parked()

    async def produce():
        yield 1

    coroutine = work()
    assert "not started" in summarize(coroutine), summarize(coroutine)
    coroutine.send(None)
    assert "suspended at line" in summarize(coroutine), summarize(coroutine)
    coroutine.close()
    assert "finished" in summarize(coroutine)
    assert "async generator" in summarize(produce())


def run(source, frame):
    result, bindings = evaluate(source, frame.f_globals, frame.f_locals, 3000, frame.f_code)
    return result, bindings, write_back(frame, bindings)


def value_of(source, frame):
    result, _, _ = run(source, frame)
    assert result["error"] is None, (source, result)
    return result["value"]


def check_expressions_see_the_locals_everywhere():
    items, limit = [1, 2, 3], 2
    frame = sys._getframe()
    assert value_of("sum(i for i in items if i < limit)", frame) == "1"
    assert value_of("[[i * j * limit for j in items] for i in items][2][2]", frame) == "18"
    assert value_of("(lambda: limit + level)()", frame) == "12"
    assert value_of("sorted(items, key=lambda i: -i * limit)", frame) == "[3, 2, 1]"
    assert value_of("(half := limit / 2) + half", frame) == "2.0"
    assert value_of("half", frame) == "1.0"
    assert value_of("[last := i for i in items] and last", frame) == "3"
    assert (
        value_of(
            "def twice():\n    def inner():\n        return limit * 2\n    return inner\ntwice()()", frame
        )
        == "4"
    )
    assert (
        value_of(
            "class Local:\n    size = limit\n    def ask(self):\n        return limit\nLocal().ask()", frame
        )
        == "2"
    )
    assert value_of("    items[0]", frame) == "1"
    assert value_of("if limit:\n    x = 5\nx + 1", frame) == "6"
    del items, limit


def check_assignments_reach_plain_locals():
    total, keep = 1, "kept"
    frame = sys._getframe()
    result, bindings, refused = run("total += 41; fresh = [total]", frame)
    assert result == {"value": None, "type": None, "error": None}
    assert bindings == {"total": 42, "fresh": [42]}
    assert not refused
    assert total == 42
    assert keep == "kept"
    assert value_of("fresh", frame) == "[42]"


def check_arguments_can_be_rebound(first=1, *rest, **named):
    frame = sys._getframe()
    run("first = 2; rest = (3,); named = {'a': 4}", frame)
    assert (first, rest, named) == (2, (3,), {"a": 4})


def check_cell_variables_are_written_back():
    shared = 1

    def read():
        return shared

    run("shared = 2", sys._getframe())
    assert (shared, read()) == (2, 2)


def check_free_variables_are_written_back():
    shared = 1

    def inner():
        frame = sys._getframe()
        before = shared
        run("shared = before + 4", frame)
        return shared

    assert inner() == 5
    assert shared == 5


def check_a_caller_s_frame_is_written_back():
    local = 1
    cell = 1

    def callee():
        run("local = 7; cell = 8", sys._getframe(1))
        return cell

    assert callee() == 8
    assert local == 7


def check_deletion_is_done_or_refused():
    doomed = 1
    frame = sys._getframe()
    result, bindings, refused = run("del doomed", frame)
    if sys.version_info >= (3, 12):
        assert result["error"].startswith("doomed stays: from Python 3.12 on")
        assert bindings == {}
        assert write_back(frame, {"doomed": DELETED}) == ["doomed"]
        assert doomed == 1
    else:
        assert bindings == {"doomed": DELETED}
        assert not refused
        try:
            print(doomed)
        except UnboundLocalError:
            return
        raise AssertionError("still bound")


def check_a_name_made_by_evaluation_can_be_deleted():
    frame = sys._getframe()
    run("extra = 1", frame)
    _, _, refused = run("del extra", frame)
    result, _, _ = run("extra", frame)
    assert refused == ["extra"] or result["error"].startswith("NameError"), (refused, result)


def check_class_bodies_are_written_directly():
    class Body:
        size = 1
        run("size = 2; added = size", sys._getframe())
        seen = (size, added)  # noqa: F821

    assert Body.seen == (2, 2)


def check_module_frames_are_written_directly():
    source = "import sys\nvalue = 1\nrun('value = 2\\ndef made(): return value', sys._getframe())\nvalue = 3\nseen = made()"
    namespace = {"run": run, "__name__": "module"}
    exec(compile(source, "<module>", "exec"), namespace)
    assert namespace["seen"] == 3


def check_generator_frames_are_written_back():
    def counting():
        step = 1
        while True:
            yield step

    counter = counting()
    next(counter)
    write_back(counter.gi_frame, {"step": 9})
    assert next(counter) == 9


def check_writes_survive_an_active_trace_function():
    def traced():
        value = 1
        cell = 1
        value = value + 1  # here
        return value, (lambda: cell)()

    line = traced.__code__.co_firstlineno + 3

    def trace(frame, event, argument):
        if frame.f_code is traced.__code__:
            if event == "line" and frame.f_lineno == line:
                run("value = 40; cell = 5", frame)
            return trace
        return None

    sys.settrace(trace)
    try:
        outcome = traced()
    finally:
        sys.settrace(None)
    assert outcome == (41, 5), outcome


def check_unset_locals_stay_unset():
    first = 1
    run("first = 2", sys._getframe())
    try:
        print(later)
    except UnboundLocalError:
        later = first
    assert later == 2


def check_writes_survive_monitoring():
    if sys.version_info < (3, 12):
        return

    def watched():
        value = 1
        cell = 1
        value = value + 1  # here
        return value, (lambda: cell)()

    line = watched.__code__.co_firstlineno + 3

    def on_line(code, number):
        if number == line:
            run("value = 40; cell = 5", sys._getframe(1))

    monitoring = sys.monitoring
    monitoring.use_tool_id(3, "test")
    monitoring.register_callback(3, monitoring.events.LINE, on_line)
    monitoring.set_local_events(3, watched.__code__, monitoring.events.LINE)
    try:
        assert watched() == (41, 5)
    finally:
        monitoring.set_local_events(3, watched.__code__, 0)
        monitoring.free_tool_id(3)


def check_global_declarations_reach_the_globals():
    frame = sys._getframe()
    run("global made_global\nmade_global = 5", frame)
    assert here.made_global == 5
    run("global made_global\ndel made_global", frame)
    assert not hasattr(here, "made_global")


def check_an_unset_local_hides_the_global():
    frame = sys._getframe()
    result, _, _ = run("level", frame)
    assert "no value yet" in result["error"], result
    level = 1
    assert value_of("level", frame) == "1"
    del level


def check_errors_are_sentences():
    total, items = 1, [1]
    frame = sys._getframe()
    cases = [
        ("1/0", "ZeroDivisionError: division by zero"),
        ("totl", "did you mean 'total'?; names here: total, items, frame"),
        ("1 +", "SyntaxError: invalid syntax: 1 +"),
        ("x = 1\nfor i in items:\n    i / 0", "division by zero at line 3: i / 0"),
        ("fail()", "ValueError: deep (raised at inspector_matrix.py:"),
        ("exit(3)", "SystemExit: 3 (the code asked to exit; the program was not ended)"),
        ("await items", "await"),
    ]
    here.fail = fail
    for source, part in cases:
        result, _, _ = run(source, frame)
        assert result["value"] is None
        assert part in result["error"], (source, result["error"])
        assert "Traceback" not in result["error"]
    del total, items


def fail():
    raise ValueError("deep")


def check_own_repr_runs_only_when_asked():
    ran = []

    class Own:
        def __repr__(self):
            ran.append(1)
            return "mine"

    class Broken:
        def __init__(self):
            self.size = 1

        def __repr__(self):
            return 1 // 0

    own, broken = Own(), Broken()
    frame = sys._getframe()
    snapshot(frame.f_locals)
    describe_locals(frame.f_locals)
    assert not ran
    assert value_of("own", frame) == "mine"
    assert ran == [1]
    text = value_of("broken", frame)
    assert text.startswith("<repr raised ZeroDivisionError: "), text
    assert text.endswith("Broken(size=1)"), text
    del own, broken


def check_the_deadline_passes_through():
    from _mcp_pdb_debuggee.deadline import Deadline

    class Hangs:
        def __repr__(self):
            raise Deadline

    value = Hangs()
    for source in ("value", "raise_it()"):
        try:
            evaluate(source, {"raise_it": value.__repr__}, {"value": value})
        except Deadline:
            continue
        raise AssertionError("swallowed")


def check_exceptions_tell_their_chain():
    try:
        try:
            {}["missing"]
        except KeyError as error:
            raise ValueError("outer\nsecond line") from error
    except ValueError as error:
        described = describe_exception(type(error), error, error.__traceback__)
    assert described["type"] == "ValueError"
    assert described["message"] == "outer\nsecond line"
    assert described["origin"]["function"].endswith("check_exceptions_tell_their_chain")
    assert described["chain"][0].startswith("caused by KeyError: 'missing' (inspector_matrix.py:")


def check_groups_name_their_members():
    if sys.version_info < (3, 11):
        return
    group = eval("ExceptionGroup('several', [ValueError('a'), ExceptionGroup('inner', [KeyError('k')])])")
    described = describe_exception(type(group), group, None)
    assert described["chain"][0] == "member 1 of 2: ValueError: a", described
    assert described["chain"][2] == "member 2.1 of 1: KeyError: 'k'", described


def check_hostile_exceptions_are_described():
    class Broken(Exception):
        def __str__(self):
            raise KeyError("no text")

    class Long(Exception):
        def __str__(self):
            return "x" * 10**6

    described = describe_exception(Broken, Broken(1), None)
    assert described["message"].startswith("<str() of it raised KeyError> Broken(1)"), described
    assert len(describe_exception(Long, Long(), None)["message"]) <= 600
    loop = ValueError("a")
    loop.__cause__ = KeyError("b")
    loop.__cause__.__cause__ = loop
    assert len(describe_exception(ValueError, loop, None)["chain"]) == 1


def main():
    failures = 0
    for name, check in sorted(vars(here).items()):
        if name.startswith("check_"):
            try:
                check()
            except BaseException:  # a check may fail in any way; the others must still run
                failures += 1
                print("FAILED", name)
                traceback.print_exc(file=sys.stdout)
    print(failures, "failed")
    return failures


if __name__ == "__main__":
    assert inspector.fingerprint is fingerprint
    sys.exit(main())
