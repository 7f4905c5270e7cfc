"""How programs move, on every engine and every Python."""

import pytest
from mcp_pdb.records import Exited, Stopped

pytestmark = pytest.mark.anyio

CALLS = """
    def double(value):
        result = value * 2  # double
        return result  # double return

    def outer(value):
        first = double(value)  # first
        second = double(first) + double(first)  # second
        return second  # outer return

    answer = outer(5)  # call
    print(answer)  # print
"""


async def test_step_over_runs_calls_and_shows_what_changed(launch):
    async with launch(CALLS) as program:
        await program.break_at("program.py~first = double(value)")
        await program.begin()
        stop = await program.move("over")
        assert stop.location.line == program.line_of("second")
        assert [(change.name, change.old, change.new) for change in stop.changes] == [("first", None, "10")]


async def test_step_into_enters_the_call_and_names_it(launch):
    async with launch(CALLS) as program:
        await program.break_at("program.py~second = double")
        await program.begin()
        stop = await program.move("into")
        assert (stop.location.function, stop.location.line) == ("double", program.line_of("double"))
        assert await program.value("value") == "10"


async def test_step_out_stops_in_the_caller_with_the_return_value(launch):
    async with launch(CALLS) as program:
        await program.break_at("program.py~result = value * 2")
        await program.begin()
        stop = await program.move("out")
        assert (stop.location.function, stop.location.line) == ("outer", program.line_of("first"))
        assert stop.returned is not None
        assert "double" in stop.returned
        assert "10" in stop.returned


async def test_stepping_off_the_end_of_a_function_goes_on_in_its_caller(launch):
    async with launch(CALLS) as program:
        await program.break_at("program.py~return second")
        await program.begin()
        stop = await program.move("over")
        assert stop.location.line == program.line_of("print")
        assert await program.value("answer") == "40"


async def test_stepping_off_the_end_of_the_program_ends_it(launch):
    async with launch(CALLS) as program:
        await program.break_at("program.py~print(answer)")
        await program.begin()
        assert isinstance(await program.go("over"), Exited)


async def test_step_over_stays_in_a_coroutine_across_await(launch):
    source = """
        import asyncio

        async def other():
            for _ in range(3):
                await asyncio.sleep(0)  # other

        async def fetch():
            await asyncio.sleep(0.01)
            return 5

        async def main():
            task = asyncio.ensure_future(other())
            value = await fetch()  # await
            doubled = value * 2  # after
            await task
            return doubled

        asyncio.run(main())
    """
    async with launch(source) as program:
        await program.break_at("program.py~value = await fetch()")
        await program.begin()
        stop = await program.move("over")
        assert (stop.location.function, stop.location.line) == ("main", program.line_of("after"))
        assert await program.value("value") == "5"


async def test_step_over_stays_in_a_generator_across_yield(launch):
    source = """
        def count():
            number = 1
            yield number  # yield
            number += 1  # resumed
            yield number

        total = 0
        for value in count():
            total += value
    """
    async with launch(source) as program:
        await program.break_at("program.py~yield number  # yield")
        await program.begin()
        stop = await program.move("over")
        assert (stop.location.function, stop.location.line) == ("count", program.line_of("resumed"))


async def test_step_over_does_not_stop_inside_a_comprehension_or_a_decorator(launch):
    source = """
        import functools

        def logged(function):
            @functools.wraps(function)
            def wrapper(*args):
                return function(*args)  # wrapper
            return wrapper

        @logged
        def square(value):
            return value * value

        values = [square(value) for value in range(3)]  # comprehension
        print(values)  # print
    """
    async with launch(source) as program:
        await program.break_at("program.py~values = [square")
        await program.begin()
        stop = await program.move("over")
        while stop.location.line == program.line_of("comprehension"):
            stop = await program.move("over")
        assert (stop.location.function, stop.location.line) == ("<module>", program.line_of("print"))


async def test_an_exception_that_leaves_the_stepped_frame_stops_in_the_handler(launch):
    source = """
        def fail(value):
            return value / 0  # fail

        def careful():
            try:
                fail(1)  # call
            except ZeroDivisionError:
                return None  # handler

        careful()
    """
    async with launch(source) as program:
        await program.break_at("program.py~return value / 0")
        await program.begin()
        stop = await program.move("over")
        assert stop.location.function == "careful"
        assert stop.location.line in (program.line_of("handler"), program.line_of("handler") - 1)


async def test_steps_skip_library_code_that_calls_back(launch):
    source = """
        import json

        class Point:
            def __init__(self, x):
                self.x = x

        def encode(point):
            return {"x": point.x}  # encode

        text = json.dumps([Point(1)], default=encode)  # dumps
        print(text)  # print
    """
    async with launch(source) as program:
        await program.break_at("program.py~text = json.dumps")
        await program.begin()
        inside: list[str] = []
        stop = await program.move("into")
        while stop.location.line != program.line_of("encode"):
            inside.append(stop.location.file)
            stop = await program.move("into")
        assert stop.location.function == "encode"
        assert all(file.endswith("program.py") for file in inside)


async def test_finally_and_with_blocks_are_stepped_through(launch):
    source = """
        from contextlib import contextmanager

        log = []

        @contextmanager
        def noted(name):
            log.append("enter " + name)
            try:
                yield name
            finally:
                log.append("exit " + name)

        def run():
            with noted("a") as name:  # with
                log.append("inside")  # inside
            try:
                log.append("try")  # try
            finally:
                log.append("finally")  # finally
            return len(log)  # end

        run()
    """
    async with launch(source) as program:
        await program.break_at("program.py~with noted")
        await program.begin()
        lines: list[int] = []
        for _ in range(10):
            stop = await program.move("over")
            lines.append(stop.location.line)
            if stop.location.line == program.line_of("end"):
                break
        expected = [program.line_of(name) for name in ("inside", "try", "finally", "end")]
        assert [line for line in lines if line in expected] == expected


async def test_run_until_a_line_stops_there_once(launch):
    async with launch(CALLS) as program:
        await program.begin(stop_at_entry=True)
        line = program.line_of("outer return")
        await program.backend.resume("until", until=(str(program.folder / "program.py"), line))
        stop = await program.backend.wait()
        assert isinstance(stop, Stopped)
        assert stop.location.line == line
        assert isinstance(await program.go(), Exited)


async def test_other_threads_are_held_while_one_is_stopped(launch):
    source = """
        import threading
        import time

        ticks = []
        running = True

        def tick():
            while running:
                ticks.append(1)
                time.sleep(0.001)

        ticker = threading.Thread(target=tick, name="ticker")
        ticker.start()
        while len(ticks) < 3:
            time.sleep(0.001)
        running = running and True  # here
        running = False
        ticker.join()
    """
    async with launch(source) as program:
        await program.break_at("program.py~running = running and True")
        await program.begin()
        await program.value("__import__('time').sleep(0.05)")
        before = await program.value("len(ticks)")
        await program.value("__import__('time').sleep(0.1)")
        assert await program.value("len(ticks)") == before
        assert (await program.end()).code == 0


async def test_no_hit_of_another_thread_is_lost_while_one_is_stepped(launch):
    source = """
        import threading

        lock = threading.Lock()
        done = []

        def work(name):
            for number in range(10):
                with lock:
                    done.append((name, number))  # hit

        threads = [threading.Thread(target=work, args=(name,)) for name in "abcd"]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    """
    async with launch(source) as program:
        await program.break_at("program.py~done.append((name")
        outcome = await program.begin()
        while isinstance(outcome, Stopped):
            outcome = await program.go("over")
        assert [verdict.hit_count for verdict in outcome.verdicts] == [40]
