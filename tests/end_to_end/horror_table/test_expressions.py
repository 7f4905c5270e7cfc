"""Expressions of every kind in a stopped frame, those that misbehave among them."""

import sys

import pytest

pytestmark = pytest.mark.anyio

PROGRAM = """
    def run(items):
        total = 0
        factor = 3
        for item in items:
            total += item
        return total  # here

    print("ran", run([1, 2, 3]))
"""


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("(n := total + 1)", "7"),
        ("[x * factor for x in items]", "[3, 6, 9]"),
        ("{x: [factor for _ in range(x)] for x in items}", "{1: [3], 2: [3, 3], 3: [3, 3, 3]}"),
        ("sum(x for x in items if x > factor - 2)", "5"),
        ("(lambda y: y + factor)(2)", "5"),
        ("[(lambda: x + total)() for x in items]", "[7, 8, 9]"),
        ("def double():\n    return total * 2\ndouble()", "12"),
        ("class A:\n    z = total\nA.z", "6"),
        ("for i in range(3):\n    print(i)\ni", "2"),
        ("import os; os.sep", "'/'"),
        ("items.append(total); items", "[1, 2, 3, 6]"),
        ("total = 50", "changed: total: 6 → 50"),
        ("total += 1; total", "7"),
        ("del item", "item"),
        ("'x' * 100_000", "(100000 chars)"),
        ("list(range(10**6))", "(1000000 items)"),
        ("print('x' * 100_000)", "None"),
        ("breakpoint()", "None"),
        ("", "done"),
        ("# nothing", "done"),
    ],
)
async def test_an_expression_sees_the_frame_and_answers_within_the_budget(debugging, code, said):
    await debugging.run_to("# here", PROGRAM)
    text = await debugging.call("run_expression", code=code)
    assert said in text
    assert "stepped" in await debugging.done("step_over") or debugging.machine["state"] == "exited"


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("totl", "NameError: name 'totl' is not defined (did you mean 'total'?; names here: items, total"),
        ("1 / 0", "ZeroDivisionError: division by zero"),
        ("x =", "SyntaxError"),
        ("return 5", "'return' outside function"),
        ("yield 1", "'yield' outside function"),
        ("await x", "a stopped program cannot await"),
        ("(" * 500, "SyntaxError"),
        ("-" * 100_000 + "1", "Error"),
        ("total\0", "null bytes"),
        ("raise SystemExit(1)", "the program was not ended"),
        ("raise KeyboardInterrupt", "KeyboardInterrupt"),
        ("raise GeneratorExit", "GeneratorExit"),
        ("raise ValueError('v' * 100_000)", "ValueError: vvv"),
        ("assert total == 1, 'm' * 5_000", "AssertionError: mmm"),
        ("def f():\n    return f()\nf()", "RecursionError"),
        ("items.nothing", "AttributeError"),
    ],
)
async def test_an_expression_that_fails_is_an_error_and_changes_nothing(debugging, code, said):
    await debugging.run_to("# here", PROGRAM)
    text = await debugging.refused("run_expression", code=code)
    assert said in text
    assert "Traceback" not in text
    assert await debugging.value("total") == "6"
    await debugging.done("continue_execution")
    assert "ran 6" in await debugging.done("read_output", cursor=0)


@pytest.mark.parametrize(
    "code",
    [
        "while True: pass",
        "[1 for _ in iter(int, 1)]",
        "import threading; threading.Event().wait()",
        "import time; time.sleep(100)",
        "input()",
    ],
)
async def test_an_expression_that_never_returns_is_ended_at_its_deadline(debugging, code):
    await debugging.run_to("# here", PROGRAM)
    text = await debugging.refused("run_expression", code=code, timeout_seconds=0.3)
    assert "did not finish within 0.3 s" in text
    assert await debugging.value("total") == "6"
    await debugging.done("continue_execution")
    assert "ran 6" in await debugging.done("read_output", cursor=0)


async def test_an_expression_that_stops_the_whole_interpreter_is_still_answered(debugging):
    await debugging.run_to("# here", PROGRAM)
    text = await debugging.refused("run_expression", code="sum(iter(int, 1))", timeout_seconds=0.2)
    assert "stop_debugger" in text
    assert "closed" in await debugging.done("stop_debugger")


@pytest.mark.skipif(sys.version_info < (3, 11), reason="exception groups")
async def test_chained_and_grouped_exceptions_are_told_in_words(debugging):
    source = """
        def load():
            try:
                {}["key"]
            except KeyError as error:
                raise ValueError("bad file") from error

        def main():
            failed = []
            for number in range(3):
                try:
                    load()
                except ValueError as error:
                    failed.append(error)
            try:
                raise ExceptionGroup("several", [*failed, ExceptionGroup("inner", [OSError("disk")])])
            except ExceptionGroup:
                raise RuntimeError("gave up")

        main()
    """
    text = await debugging.start(source, run=True)
    assert "raised: RuntimeError: gave up" in text
    assert "raised while handling ExceptionGroup: several (4 sub-exceptions)" in text
    assert "member 1 of 4: ValueError: bad file" in text
    assert "failed = [" in await debugging.done("examine_locals")


async def test_an_exception_whose_message_cannot_be_read_is_still_reported(debugging):
    source = """
        import threading

        class Bad(Exception):
            def __str__(self):
                raise TypeError("no text")

        class Slow(Exception):
            seen = False

            def __str__(self):
                if not Slow.seen:
                    Slow.seen = True
                    while True:
                        pass
                return "later"

        class Huge(Exception):
            def __str__(self):
                return "x" * 10_000_000

        def fail(kind):
            raise kind()

        for kind in (Bad, Slow, Huge):
            thread = threading.Thread(target=fail, args=(kind,))
            thread.start()
            thread.join()
    """
    text = await debugging.start(source, run=True)
    assert "raised: Bad: <str() of it raised TypeError>" in text
    text = await debugging.done("continue_execution")
    assert "raised: Slow" in text
    assert await debugging.value("kind.__name__") == "'Slow'"
    text = await debugging.done("continue_execution")
    assert "raised: Huge: xxx" in text


@pytest.mark.parametrize(
    ("path", "expression", "said"),
    [
        ("total", "1 / 0", "ZeroDivisionError"),
        ("total", "nothing_here", "NameError"),
        ("1 + 1", "2", "Error"),
        ("total", "(", "SyntaxError"),
        ("items[99]", "1", "IndexError"),
    ],
)
async def test_an_assignment_that_cannot_be_is_refused_in_words(debugging, path, expression, said):
    await debugging.run_to("# here", PROGRAM)
    text = await debugging.refused("set_variable", path=path, expression=expression)
    assert said in text
    assert await debugging.value("total") == "6"


async def test_an_assignment_reaches_the_program(debugging):
    await debugging.run_to("# here", PROGRAM)
    assert "total: 6 → -5" in await debugging.done("set_variable", path="total", expression="-5")
    await debugging.done("continue_execution")
    assert "ran -5" in await debugging.done("read_output", cursor=0)


async def test_a_watch_that_never_returns_does_not_hold_the_program(debugging, engine):
    if engine != "pdb":
        pytest.skip("watches are the pdb engine's")
    source = """
        def forever():
            while True:
                pass

        a = 1  # here
        b = 2
    """
    await debugging.run_to("# here", source)
    text = await debugging.refused("watch", expression="forever()")
    assert "too long" in text
    await debugging.done("continue_execution")
    assert debugging.machine["state"] == "exited"
