"""A small episode in which a model debugs, its tools' words as the real ones say them."""

from collections.abc import Mapping
from dataclasses import replace

from pdb_agent.episode import Episode, Replied, Said

from tests.pdb_agent.episode_making import Act, act, debugging, done, episode

CART = """\
\"\"\"A cart.\"\"\"


class Cart:
    def __init__(self, prices):
        self.prices = prices

    def total(self):
        result = 0
        for price in self.prices[1:]:
            result += price
        return result
"""
REPAIRED = CART.replace("self.prices[1:]", "self.prices")
TEST_FILE = """\
from shop.cart import Cart


def test_total():
    assert Cart([10, 9, 20]).total() == 39
"""
FILES = {
    "README.md": "# Shop\n",
    "pytest.ini": "[pytest]\n",
    "shop/__init__.py": "",
    "shop/cart.py": CART,
    "tests/test_cart.py": TEST_FILE,
}
TEST = "tests/test_cart.py::test_total"
PROJECT = "/tmp/pdb-x1/project"
DIFF = """\
--- a/shop/cart.py
+++ b/shop/cart.py
@@ -8,5 +8,5 @@
     def total(self):
         result = 0
-        for price in self.prices[1:]:
+        for price in self.prices:
             result += price
         return result
"""
BREAKPOINT = {
    "id": 1,
    "at": "shop.cart.Cart.total",
    "file": f"{PROJECT}/shop/cart.py",
    "line": 11,
    "is_moved": False,
}
WORDS = {
    1: ("Let me see it fail.", ""),
    4: ("Run to the sum.", "The slice looks odd,\nbut I want to see the values."),
    9: ("The first price is left out: the slice goes.", ""),
}


def stop(
    line: int, function: str = "Cart.total", file: str = "shop/cart.py", **facts: object
) -> dict[str, object]:
    return {
        "location": {"file": f"{PROJECT}/{file}", "line": line, "function": function},
        "breakpoints": [BREAKPOINT],
        "reason": "step",
        **facts,
    }


def run_tests(*, passed: tuple[str, ...], failed: tuple[str, ...], text: str) -> Act:
    return replace(act("run_tests", text), facts={"passed": passed, "failed": failed})


DEBUGGING = (
    [run_tests(passed=(), failed=(TEST,), text="E  assert 29 == 39\n1 failed in 0.02s")],
    [
        replace(
            act("read_file", "   1 ...", path="shop/cart.py"),
            facts={"path": "shop/cart.py", "first": 1, "last": 12},
        )
    ],
    [
        debugging(
            "start_debugger",
            f"session dbg-1: pytest {TEST} in {PROJECT}\nPython 3.11.7: /usr/bin/python; engine pdb; pid 7\n"
            "stopped at the start: tests/test_cart.py:5 in test_total\n"
            "->  5     assert Cart([10, 9, 20]).total() == 39",
            facts=stop(5, "test_total", "tests/test_cart.py", breakpoints=[], reason="entry"),
            target=TEST,
        ),
        debugging(
            "add_breakpoint",
            "breakpoint 1 at shop/cart.py:11 in Cart.total: result += price [if price > 1]\n"
            "next: continue_execution",
            facts=stop(5, "test_total", "tests/test_cart.py", reason="entry"),
            at="shop/cart.py:11",
            condition="price > 1",
        ),
    ],
    [
        debugging(
            "continue_execution",
            "breakpoint 1: shop/cart.py:11 in Cart.total\n   10         for price in self.prices[1:]:\n"
            "-> 11             result += price\nnew: self = Cart; result = 0; price = 9\n"
            "called from tests/test_cart.py:5 in test_total",
            facts=stop(11, reason="breakpoint", breakpoint_ids=[1]),
        )
    ],
    [
        debugging(
            "step_over",
            "stepped: shop/cart.py:11 in Cart.total\n-> 11             result += price\n"
            "changed: result: 0 → 9; price: 9 → 20",
            facts=stop(11, breakpoint_ids=[1]),
            count=2,
        )
    ],
    [
        debugging(
            "examine_locals",
            "frame 0:\nself = Cart, 1 attributes:\n"
            "self.prices = [10, 9, 20]\nresult = 9\nprice = 20\nnext: step_over",
            facts=stop(11),
        ),
        debugging(
            "where_am_i",
            "#0 shop/cart.py:11 in Cart.total | result += price\n"
            "#1 tests/test_cart.py:5 in test_total | assert Cart([10, 9, 20]).total() == 39",
            facts=stop(11),
            all_threads=False,
        ),
    ],
    [debugging("run_expression", "[10, 9, 20]", facts=stop(11), code="self.prices")],
    [act("stop_debugger", "session dbg-1 closed; its program and everything it started are gone")],
    [
        Act(
            name="edit_file",
            arguments={"path": "shop/cart.py", "old": "self.prices[1:]", "new": "self.prices"},
            text="shop/cart.py now reads …",
            facts={"path": "shop/cart.py"},
            changes=("shop/cart.py",),
            diff=DIFF,
        )
    ],
    [run_tests(passed=(TEST,), failed=(), text="1 passed in 0.01s")],
    [done()],
)


def debugged() -> Episode:
    return with_words(
        episode(DEBUGGING, files=FILES, fail_to_pass=(TEST,), arm="trained"),
        WORDS,
        task="This test fails: repair it.",
    )


def given_up() -> Episode:
    """A shorter one, without the debugger and without a solution."""
    turns = [DEBUGGING[0], DEBUGGING[1], [done()]]
    return with_words(
        episode(turns, solved=False, files=FILES, fail_to_pass=(TEST,), arm="base"), {}, task="Repair it."
    )


def with_words(made: Episode, words: Mapping[int, tuple[str, str]], *, task: str = "") -> Episode:
    """The same with what the model said, by turn, as text and reasoning."""
    events = list(made.events)
    for index, event in enumerate(events):
        if isinstance(event, Replied) and event.turn in words:
            text, reasoning = words[event.turn]
            message = replace(event.reply.message, text=text, reasoning=reasoning)
            events[index] = replace(event, reply=replace(event.reply, message=message))
    if task:
        events.insert(0, Said(at=0.0, text=task, why="task"))
    return replace(made, events=tuple(events))
