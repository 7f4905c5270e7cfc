import collections
import functools
import logging
import sys
import threading
import unittest
from typing import Any, ClassVar, NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mcp_pdb.debuggee import inspector
from mcp_pdb.debuggee.inspector import describe_locals, describe_value, diff, snapshot


class Pump:
    rates: ClassVar[list[int]] = []

    def __init__(self):
        self.total = 0
        self.parts = {"a": [1, 2], 3: "c", (1, "x"): None}
        self.items = [1, 2, 3]

    @property
    def price(self):
        raise AssertionError("a property ran")

    @functools.cached_property
    def cost(self):
        raise AssertionError("a cached property ran")

    def method(self):
        return describe_here(sys._getframe())


class Pair(NamedTuple):
    left: int
    right: int


class Lazy:
    def __getattr__(self, name):
        raise AssertionError("__getattr__ ran")

    def __getitem__(self, key):
        raise AssertionError("__getitem__ ran")


def describe_here(frame, **options):
    return describe_locals(frame.f_locals, frame.f_code, **options)


def names_of(page):
    return [variable["name"] for variable in page["variables"]]


def by_name(page):
    return {variable["name"]: variable for variable in page["variables"]}


def test_arguments_come_first_in_the_order_of_the_code():
    def called(second, first=2, *rest, keyword=3, **named):
        late = 1
        early = late
        return describe_here(sys._getframe()), early

    page, _ = called(1)
    assert names_of(page) == ["second", "first", "keyword", "rest", "named", "late", "early"]
    assert page["total"] == 7
    assert page["hidden"] == 0
    assert page["next_cursor"] is None


def test_modules_imports_dunders_and_temporaries_are_hidden_and_counted():
    import json
    from collections import OrderedDict
    from json import dumps

    plain = 1
    namespace = {**sys._getframe().f_locals, "__tracebackhide__": True, "@py_assert1": 1, ".0": iter(())}
    code = sys._getframe().f_code
    page = describe_locals(namespace, code)
    assert names_of(page) == ["plain"]
    assert page["hidden"] == 6
    everything = describe_locals(namespace, code, name_filter="")
    assert everything["hidden"] == 0
    assert {"json", "OrderedDict", "dumps", "@py_assert1", ".0"} <= set(names_of(everything))
    del json, OrderedDict, dumps, plain


def test_callables_that_are_data_stay_visible():
    from json import dumps

    def called(callback, kind=dict):
        chosen = dumps

        class Local:
            pass

        return describe_here(sys._getframe()), chosen, Local

    page, *_ = called(dumps)
    assert names_of(page) == ["callback", "kind", "chosen", "Local"]


def test_module_level_shows_own_definitions_and_hides_imported_ones():
    namespace: dict[str, Any] = {"__name__": "app"}
    exec(
        "import json\nfrom json import dumps\nfrom collections import Counter\nx = 1\ndef own(): pass",
        namespace,
    )
    assert names_of(describe_locals(namespace)) == ["x", "own"]


@pytest.mark.parametrize(
    ("name_filter", "expected"),
    [("to", ["total", "stop"]), ("t*", ["total"]), ("?ar", ["bar"]), ("zz", [])],
)
def test_a_filter_is_a_glob_or_a_part_of_the_name(name_filter, expected):
    page = describe_locals({"total": 1, "stop": 2, "bar": 3}, name_filter=name_filter)
    assert names_of(page) == expected
    assert page["hidden"] == 3 - len(expected)


def test_self_is_opened_one_level():
    page = Pump().method()
    assert names_of(page) == ["self", "self.total", "self.parts", "self.items"]
    assert by_name(page)["self"]["value"] == "Pump, 3 attributes:"
    assert by_name(page)["self.items"]["path"] == "self.items"


def test_a_unittest_shows_its_own_attributes_and_not_the_machinery():
    class Case(unittest.TestCase):
        def setUp(self):
            self.basket = [1]

        def test_it(self):
            self.page = describe_here(sys._getframe())

    case = Case("test_it")
    case.run()
    assert names_of(case.page) == ["self", "self.basket"]


def test_machinery_is_known_by_its_name(monkeypatch, capsys, request):
    page = describe_here(sys._getframe())
    assert {name: variable["value"] for name, variable in by_name(page).items()} == {
        "monkeypatch": "<MonkeyPatch>",
        "capsys": "<CaptureFixture>",
        "request": "<TopRequest>",
    }
    assert inspector.summarize(logging.getLogger("app")) == "<Logger 'app'>"


def test_aliases_name_the_first_visible_holder():
    items = [1]
    small = other_small = 5
    page = describe_locals(
        {"items": items, "same": items, "equal": [1], "small": small, "other": other_small}
    )
    assert {name: variable["same_as"] for name, variable in by_name(page).items()} == {
        "items": None,
        "same": "items",
        "equal": None,
        "small": None,
        "other": None,
    }


def test_an_alias_of_an_attribute_is_named():
    class Holder:
        def __init__(self):
            self.items = [1]

        def method(self):
            items = self.items
            return describe_here(sys._getframe()), items

    page, _ = Holder().method()
    assert by_name(page)["items"]["same_as"] == "self.items"


def test_a_local_is_told_to_be_an_item_of_a_visible_container():
    first, second = Pump(), Pump()
    page = describe_locals({"pumps": [first, second], "by_name": {"b": second}, "pump": second})
    assert by_name(page)["pump"]["same_as"] == "pumps[1]"
    assert by_name(page)["by_name"]["same_as"] is None


def test_machinery_is_not_opened_by_depth():
    page = describe_value({"x": [logging.getLogger("app")]}, {}, "x", depth=3)
    assert names_of(page) == ["[0]"]


def test_entries_are_not_cut_short_to_fit_the_page():
    rows = [{"number": number, "text": "t" * 40} for number in range(100)]
    page = describe_value({"rows": rows}, {}, "rows", limit_chars=1000)
    assert page["variables"][-1]["value"].endswith("'text': '" + "t" * 40 + "'}")
    assert page["next_cursor"] == len(page["variables"])


def test_a_namespace_that_is_the_program_s_own_mapping_is_not_asked():
    class Recording(dict[str, Any]):
        def __getitem__(self, key):
            raise AssertionError

        __iter__ = keys = items = copy = __len__ = __getitem__  # type: ignore[assignment]

    assert names_of(describe_locals(Recording(a=1))) == ["a"]
    assert names_of(describe_locals(collections.ChainMap({"a": 1}))) == []


@given(
    namespace=st.dictionaries(
        st.from_regex(r"[a-z]{1,20}", fullmatch=True),
        st.text(max_size=300) | st.lists(st.integers()),
        max_size=60,
    ),
    limit=st.integers(min_value=300, max_value=4000),
)
def test_paging_shows_every_name_once_within_the_budget(namespace, limit):
    namespace.pop("self", None)
    cursor, seen = 0, []
    while cursor is not None:
        page = describe_locals(namespace, cursor=cursor, limit_chars=limit)
        seen += names_of(page)
        size = sum(len(v["name"]) + len(v["value"]) + len(v["type"]) for v in page["variables"])
        assert size <= limit
        assert page["next_cursor"] is None or page["next_cursor"] > cursor
        cursor = page["next_cursor"]
    assert seen == list(namespace)


def test_a_value_shows_its_parts_and_what_its_class_adds():
    pump = Pump()
    page = describe_value({"pump": pump}, {}, "pump")
    assert names_of(page) == [".total", ".parts", ".items", ".rates", "(properties)"]
    assert by_name(page)[".rates"]["value"] == "[] (class attribute)"
    assert by_name(page)["(properties)"]["value"] == "price, cost: run_expression('pump.price') computes one"
    assert page["heading"].startswith("Pump(total=0, parts={'a': [1, 2], ")
    assert page["total"] == 5


def test_depth_opens_children_with_paths_from_the_root():
    page = describe_value({"pump": Pump()}, {}, "pump", depth=2)
    assert by_name(page)[".parts['a']"]["path"] == "pump.parts['a']"
    assert by_name(page)[".parts[(1, 'x')]"]["value"] == "None"
    assert by_name(page)[".items[2]"]["value"] == "3"


PARTS = st.recursive(
    st.integers() | st.text() | st.none(),
    lambda inner: (
        st.lists(inner)
        | st.tuples(inner, inner)
        | st.dictionaries(
            st.text() | st.integers() | st.booleans() | st.tuples(st.integers(), st.text()), inner
        )
        | inner.map(lambda held: type("Holder", (), {"__init__": lambda self: setattr(self, "held", held)})())
    ),
    max_leaves=20,
)


@given(value=PARTS, depth=st.integers(1, 4))
def test_every_path_shown_leads_to_the_same_object_as_the_expression(value, depth):
    from mcp_pdb.debuggee.value_path import resolve

    page = describe_value({"x": value}, {}, "x", depth=depth)
    for variable in page["variables"]:
        if variable["path"]:
            assert resolve(variable["path"], {"x": value}, {}) is eval(variable["path"], {"x": value})


@given(value=PARTS, limit=st.integers(min_value=400, max_value=3000), depth=st.integers(1, 3))
def test_a_value_page_stays_within_its_budget(value, limit, depth):
    page = describe_value({"x": value}, {}, "x", depth=depth, limit_chars=limit)
    size = sum(len(v["name"]) + len(v["value"]) + len(v["type"]) for v in page["variables"])
    assert len(page["heading"]) + size <= limit


@pytest.mark.parametrize(
    "value",
    [
        list(range(1000)),
        {f"key{i}": i for i in range(5000)},
        {i: i for i in range(500)}.keys(),
        "x" * 50_000,
        b"\x00" * 9000,
        np.arange(900).reshape(300, 3),
        collections.deque(range(700)),
    ],
    ids=["list", "dict", "keys", "str", "bytes", "ndarray", "deque"],
)
def test_pages_by_cursor_reach_the_end(value):
    cursor, pages, names = 0, 0, []
    while cursor is not None:
        page = describe_value({"x": value}, {}, "x", cursor=cursor, limit_chars=2000)
        assert page["next_cursor"] is None or page["next_cursor"] > cursor
        names += names_of(page)
        cursor, pages = page["next_cursor"], pages + 1
    assert len(names) == len(set(names))
    if names:
        assert len(names) == len(value)
    assert pages < 200


def test_a_slice_shows_items_under_their_own_indexes():
    page = describe_value({"numbers": list(range(100, 200))}, {}, "numbers[10:13]")
    assert page["heading"] == "[110, 111, 112]"
    assert [variable["path"] for variable in page["variables"]] == [
        "numbers[10]",
        "numbers[11]",
        "numbers[12]",
    ]
    assert describe_value({"t": "abcdef"}, {}, "t[2:4]")["heading"] == "'cd'"
    assert describe_value({"n": [1, 2, 3, 4]}, {}, "n[1:3][1]")["heading"] == "3"


def test_children_that_are_the_value_itself_say_so():
    ring: list[Any] = [1]
    ring.append(ring)
    assert describe_value({"ring": ring}, {}, "ring")["variables"][1]["same_as"] == "ring"


def test_closures_generators_and_bound_methods_open_up():
    def outer():
        captured = [1]

        def inner():
            return captured

        return inner

    def counting(limit):
        yield limit

    generator = counting(3)
    next(generator)
    namespace = {"inner": outer(), "generator": generator, "bound": Pump().method}
    assert by_name(describe_value(namespace, {}, "inner"))["(closure) captured"]["value"] == "[1]"
    opened = by_name(describe_value(namespace, {}, "generator"))["(local) limit"]
    assert describe_value(namespace, {}, opened["path"])["heading"] == "3"
    assert by_name(describe_value(namespace, {}, "bound"))[".__self__"]["type"] == "Pump"


def test_globals_and_modules_can_be_followed():
    assert describe_value({}, {"threading": threading, "config": {"a": 1}}, "config['a']")["heading"] == "1"
    found = describe_value({}, {"threading": threading}, "threading.Thread")
    assert found["heading"] == "<class 'threading.Thread'>"


@pytest.mark.parametrize(
    ("path", "heading"),
    [
        ("pump.total", "0"),
        ("pump.items[-1]", "3"),
        ("pump.parts[3]", "'c'"),
        ("pump.parts[(1, 'x')]", "None"),
        ("pump.rates", "[]"),
        ("pump.method", "<method Pump.method of a Pump>"),
        (" pump . items [ 0 ] ", "1"),
        ("grid[1, 0]", "np.int64(2)"),
        ("grid.shape", "(2, 2)"),
        ("error.args[0]", "'bad'"),
        ("pair.left", "1"),
    ],
)
def test_paths_lead_to_values(path, heading):
    namespace = {
        "pump": Pump(),
        "grid": np.arange(4).reshape(2, 2),
        "error": ValueError("bad"),
        "pair": Pair(1, 2),
    }
    assert describe_value(namespace, {}, path) | {"variables": []} | {"total": 0} == {
        "heading": heading,
        "variables": [],
        "total": 0,
        "next_cursor": None,
    }


@pytest.mark.parametrize(
    ("path", "error"),
    [
        ("pumpp", "there is no name 'pumpp' in this frame; did you mean 'pump'?"),
        ("zzz", "there is no name 'zzz' in this frame; examine_locals lists the names of this frame"),
        ("pump.price", "pump.price is a property: run_expression('pump.price') to compute it"),
        (
            "pump.cost",
            "pump.cost is computed by a cached_property: run_expression('pump.cost') to compute it",
        ),
        ("pump.totle", "pump (Pump) has no attribute 'totle'; did you mean pump.total?"),
        ("pump.unlike", "pump (Pump) has no attribute 'unlike'; print_variable('pump') lists its parts"),
        (
            "lazy.x",
            "lazy has no attribute 'x' of its own, "
            "but Lazy defines __getattr__: run_expression('lazy.x') to ask it",
        ),
        ("lazy[0]", "lazy[0] is answered by Lazy.__getitem__: run_expression('lazy[0]') to ask it"),
        ("pump.items[9]", "pump.items[9] is out of range: pump.items has 3 items"),
        ("pump.items['a']", "pump.items takes an index from 0 to 2, not 'a'"),
        ("pump.parts['b']", "pump.parts has no key 'b' (nearest: 'a')"),
        ("pump.parts[99]", "pump.parts has no key 99 (3 keys, the first: 'a', 3, (1, 'x'))"),
        ("pump.total[0]", "pump.total (int) has no items; print_variable('pump.total') shows it"),
        ("pump.total[0:1]", "pump.total (int) has no slices; run_expression can try it"),
        ("grid[9]", "grid[9]: IndexError: index 9 is out of bounds for axis 0 with size 2"),
    ],
)
def test_a_path_that_cannot_be_followed_says_what_to_do(path, error):
    namespace = {"pump": Pump(), "lazy": Lazy(), "grid": np.arange(4).reshape(2, 2)}
    assert describe_value(namespace, {}, path) == {"error": error}


@pytest.mark.parametrize(
    "path", ["", "1 + 1", "f(x)", "x[i]", "x[::2]", "x['a':'b']", "x.", "x[", "[" * 500, "\0"]
)
def test_what_is_no_path_is_refused_with_the_tool_for_it(path):
    error = describe_value({"x": [1]}, {}, path)["error"]
    assert error.endswith("run_expression evaluates any other expression")


def test_changes_are_told_by_name():
    items: list[Any] = [1, 2]
    big = list(range(1000))
    namespace: dict[str, Any] = {"total": 3, "items": items, "gone": 1, "big": big, "same": "s"}
    old = snapshot(namespace)
    big[500] = -1
    items.append([3])
    namespace.update(total=5, fresh=True)
    del namespace["gone"]
    assert diff(old, snapshot(namespace)) == [
        {"name": "total", "old": "3", "new": "5"},
        {"name": "items", "old": "[1, 2]", "new": "[1, 2, [3]]"},
        {"name": "fresh", "old": None, "new": "True"},
        {"name": "gone", "old": "1", "new": None},
    ]


def test_a_change_out_of_sight_is_said_to_be_inside():
    numbers = list(range(200))
    old = snapshot({"numbers": numbers})
    numbers[150] = -1
    (change,) = diff(old, snapshot({"numbers": numbers}))
    assert change["new"] == f"{change['old']} (changed inside)"


def test_attributes_of_self_take_part_in_changes():
    pump = Pump()
    old = snapshot({"self": pump})
    pump.total = 9
    assert diff(old, snapshot({"self": pump})) == [{"name": "self.total", "old": "0", "new": "9"}]


def test_nothing_changed_is_no_change():
    namespace = {"not_a_number": float("nan"), "pump": Pump(), "f": len, "g": (i for i in range(3))}
    assert diff(snapshot(namespace), snapshot({**namespace, "not_a_number": float("nan")})) == []


def test_answers_are_json():
    import json

    namespace = {"pump": Pump(), "text": "\ud800", "\ud801odd": 1}
    for answer in (
        describe_locals(namespace),
        describe_locals(namespace, name_filter=""),
        describe_value(namespace, {}, "pump", depth=3),
        snapshot(namespace),
    ):
        json.loads(json.dumps(answer))


def test_every_interface_is_reachable_from_one_module():
    for name in inspector.__all__:
        assert hasattr(inspector, name)
