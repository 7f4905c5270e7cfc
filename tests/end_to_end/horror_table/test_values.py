"""Values that lie in wait: what looking at them shows, and that looking does nothing to them."""

import pytest

pytestmark = pytest.mark.anyio

HORRORS = """
    import time

    class Raises:
        def __repr__(self):
            raise ValueError("no repr")

    class Hangs:
        def __repr__(self):
            while True:
                time.sleep(0.01)

    class Stubborn:
        def __repr__(self):
            while True:
                try:
                    time.sleep(0.01)
                except BaseException:
                    pass

    class Huge:
        def __repr__(self):
            return "h" * 1_000_000

    class Prints:
        def __repr__(self):
            print("SIDE EFFECT")
            return "<printed>"

    class Mutates:
        looked = 0

        def __repr__(self):
            self.looked += 1
            return f"looked {self.looked}"

    class Enters:
        def __repr__(self):
            breakpoint()
            return "entered"

    class NotText:
        def __repr__(self):
            return 5

    class Exits:
        def __repr__(self):
            raise SystemExit(3)

    class Trap:
        value = 3

        def __getattr__(self, name):
            raise RuntimeError("trapped " + name)

        def __eq__(self, other):
            raise RuntimeError("compared")

        __hash__ = None

        def __len__(self):
            raise RuntimeError("measured")

        def __bool__(self):
            raise RuntimeError("asked")

        @property
        def price(self):
            raise RuntimeError("computed")

    def run():
        raises, hangs, stubborn, huge, prints = Raises(), Hangs(), Stubborn(), Huge(), Prints()
        mutates, enters, nottext, exits, trap = Mutates(), Enters(), NotText(), Exits(), Trap()
        cycle = []
        cycle.append(cycle)
        knot = {"cycle": cycle}
        knot["me"] = knot
        deep = []
        for _ in range(5000):
            deep = [deep]
        numbers = list(range(100_000))
        table = {str(number): number for number in range(5000)}
        text = "t" * 50_000
        large = 10**100_000
        broken = "lone \\ud800 surrogate \\x1b[31m"
        same = numbers
        return 1  # here

    run()
    print("after")
"""


async def test_locals_full_of_horrors_are_listed_within_the_budget_and_untouched(debugging):
    await debugging.run_to("# here", HORRORS)
    text = await debugging.done("examine_locals")
    for line in (
        "raises = Raises()",
        "cycle = [<cycle: list>]",
        "table = {'0': 0, '1': 1",
        "large = <int of about 100001 digits>",
        "same is numbers",
    ):
        assert line in text
    assert "(100000 items)" in text
    assert "(50000 chars)" in text
    assert "SIDE EFFECT" not in await debugging.done("read_output")
    assert await debugging.value("mutates.looked") == "0"


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("raises", "<repr raised ValueError: no repr> Raises()"),
        ("huge", "(1000000 chars)"),
        ("prints", "<printed>"),
        ("mutates", "looked 1"),
        ("enters", "entered"),
        ("nottext", "<repr raised TypeError: __repr__ returned non-string (type int)>"),
        ("cycle", "[<cycle: list>]"),
        ("knot", "'me': <cycle: dict>"),
        ("deep", "[[[["),
        ("numbers", "… 99999] (100000 items)"),
        ("text", "(50000 chars)"),
        ("large", "<int of about 100001 digits>"),
        ("trap", "Trap"),
    ],
)
async def test_a_hostile_value_is_evaluated_into_a_bounded_answer(debugging, name, said):
    await debugging.run_to("# here", HORRORS)
    assert said.replace("… ", "") in (await debugging.value(name)).replace("… ", "").replace("…, ", "")
    assert await debugging.value("1 + 1") == "2"
    assert "in run" in await debugging.done("where_am_i")


async def test_a_repr_that_exits_does_not_end_the_program(debugging):
    await debugging.run_to("# here", HORRORS)
    text = await debugging.refused("run_expression", code="exits")
    assert "SystemExit: 3 (the code asked to exit; the program was not ended)" in text
    assert "stepped" in await debugging.done("step_over")


async def test_a_repr_that_hangs_is_ended_at_its_deadline(debugging):
    await debugging.run_to("# here", HORRORS)
    text = await debugging.refused("run_expression", code="hangs", timeout_seconds=0.3)
    assert "TimeoutError: it did not finish within 0.3 s" in text
    assert "still stands where it stood" in text
    assert await debugging.value("1 + 1") == "2"


async def test_a_repr_that_cannot_be_interrupted_is_answered_and_so_is_every_later_call(debugging, engine):
    await debugging.run_to("# here", HORRORS)
    calls = [
        ("run_expression", {"code": "stubborn", "timeout_seconds": 0.2}),
        ("run_expression", {"code": "1 + 1", "timeout_seconds": 0.2}),
        ("step_over", {"timeout_seconds": 0.5}),
    ]
    if engine == "pdb":  # the other engine reads frames and values from another thread
        calls += [("examine_locals", {}), ("where_am_i", {})]
    for tool, arguments in calls:
        text = await debugging.call(tool, **arguments)
        assert "stop_debugger" in text, tool
    assert "closed" in await debugging.done("stop_debugger")


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("trap.price", "trap.price is a property: run_expression('trap.price') to compute it"),
        ("trap.missing", "Trap defines __getattr__: run_expression('trap.missing') to ask it"),
        ("numbers[100000]", "out of range: numbers has 100000 items"),
        ("numbers['a']", "takes an index from 0 to 99999"),
        ("table['x']", "table has no key 'x' (nearest: "),
        ("numberz", "did you mean 'numbers'?"),
        ("len(numbers)", "run_expression evaluates any other expression"),
        ("", "is not a path"),
        ("numbers" + "[0]" * 2000, "numbers"),
    ],
)
async def test_a_path_that_leads_nowhere_says_where_to_go(debugging, path, said):
    await debugging.run_to("# here", HORRORS)
    assert said in await debugging.refused("print_variable", path=path)


async def test_long_values_are_read_on_by_the_cursor_that_the_answer_names(debugging):
    await debugging.run_to("# here", HORRORS)
    first = await debugging.done("print_variable", path="text")
    cursor = int(first.rsplit("cursor=", 1)[1].split()[0])
    second = await debugging.done("print_variable", path="text", cursor=cursor)
    assert f"(chars {cursor} to" in second
    page = await debugging.done("print_variable", path="numbers")
    cursor = int(page.rsplit("cursor=", 1)[1].split()[0])
    assert f"[{cursor}] = {cursor}" in await debugging.done("print_variable", path="numbers", cursor=cursor)


async def test_text_that_no_terminal_should_see_is_escaped(debugging):
    await debugging.run_to("# here", HORRORS)
    for text in (
        await debugging.done("examine_locals", filter="broken"),
        await debugging.done("print_variable", path="broken"),
        await debugging.value("broken"),
    ):
        assert "\\ud800" in text
        assert "\x1b" not in text


CLASSES = """
    import asyncio, contextlib, functools

    def logged(function):
        @functools.wraps(function)
        def wrapper(*args):
            return function(*args)  # wrapper
        return wrapper

    class Shop:
        rate = 2
        double = rate * 2  # class body

        @property
        def total(self):
            subtotal = 5
            return subtotal * self.rate  # property

        @logged
        def sell(self, count):
            return count - 1  # decorated

    def stream(limit):
        for number in range(limit):
            yield number  # generator

    async def fetch(name):
        await asyncio.sleep(0)
        return name.upper()  # coroutine

    async def main():
        return await asyncio.gather(fetch("a"), fetch("b"))

    shop = Shop()
    shop.total
    shop.sell(4)
    list(stream(2))
    asyncio.run(main())
    exec(compile("made = 1\\nmade += 1\\n", "<made>", "exec"))
"""


@pytest.mark.parametrize(
    ("piece", "place", "names"),
    [
        ("# class body", "in Shop", ["rate = 2"]),
        ("# property", "total", ["subtotal = 5"]),
        ("# wrapper", "wrapper", ["args = ("]),
        ("# decorated", "sell", ["count = 4"]),
        ("# generator", "in stream", ["number = 0", "limit = 2"]),
        ("# coroutine", "in fetch", ["name = 'a'"]),
    ],
)
async def test_every_kind_of_code_is_stopped_in_and_read(debugging, piece, place, names):
    text = await debugging.run_to(piece, CLASSES)
    assert place in text.split("breakpoint 1:")[1].splitlines()[0]
    shown = await debugging.done("examine_locals")
    for name in names:
        assert name in shown
    assert "program.py" in await debugging.done("where_am_i")
    await debugging.done("step_over")
    assert debugging.machine["state"] == "stopped"
