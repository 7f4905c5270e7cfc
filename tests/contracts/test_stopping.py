"""Where programs stop, on every engine and every Python."""

import pytest
from mcp_pdb.errors import BreakpointError
from mcp_pdb.records import Exited, Stopped

pytestmark = pytest.mark.anyio

LOOP = """
    import sys

    def grow(values):
        total = 0
        for value in values:
            total += value  # add
        return total  # done

    class Box:
        def fill(self, count):
            self.count = count  # fill
            return self.count

    def unused():
        return "never"  # unused

    print(grow([1, 2, 3]))  # call
    Box().fill(4)
    sys.exit(7)
"""


async def test_a_script_stops_at_its_first_line_and_ends_with_its_own_exit_code(launch):
    async with launch(LOOP) as program:
        stop = await program.begin(stop_at_entry=True)
        assert (stop.reason, stop.location.line, stop.location.function) == ("entry", 2, "<module>")
        end = await program.end()
        assert end.code == 7
        assert "6" in program.output()


async def test_a_breakpoint_stops_at_its_line_each_time_it_is_reached(launch):
    async with launch(LOOP) as program:
        line = program.line_of("add")
        set_one = await program.break_at(f"program.py:{line}")
        assert (set_one.line, set_one.function, set_one.text) == (line, "grow", "total += value  # add")
        stop = await program.begin()
        assert (stop.reason, stop.location.line, stop.breakpoint_ids) == ("breakpoint", line, (set_one.id,))
        totals = [await program.value("total")]
        for _ in range(2):
            await program.move("continue")
            totals.append(await program.value("total"))
        assert totals == ["0", "1", "3"]
        assert (await program.end()).code == 7


async def test_a_function_breakpoint_stops_on_the_first_line_of_the_body(launch):
    async with launch(LOOP) as program:
        found = await program.break_at("Box.fill")
        assert found.line == program.line_of("fill")
        stop = await program.begin()
        assert (stop.location.function, stop.location.line) == ("Box.fill", found.line)
        assert stop.called_from is not None
        assert stop.called_from.function == "<module>"


async def test_an_anchor_finds_its_line_by_its_text(launch):
    async with launch(LOOP) as program:
        found = await program.break_at("program.py~return total")
        assert found.line == program.line_of("done")
        stop = await program.begin()
        assert await program.value("total") == "6"
        assert stop.location.line == found.line


@pytest.mark.parametrize(
    ("at", "said"),
    [
        ("program.py:500", "past the end"),
        ("program.py~no such text", "No line"),
        ("missing.py:3", "There is no file"),
        ("nothing_of_this_name", "nothing_of_this_name"),
        ("program.py", "needs a line"),
    ],
)
async def test_an_impossible_breakpoint_is_refused_with_the_way_on(launch, at, said):
    async with launch(LOOP) as program:
        with pytest.raises(BreakpointError, match=said):
            await program.break_at(at)


async def test_a_breakpoint_on_a_blank_line_moves_and_says_so(launch):
    async with launch(LOOP) as program:
        found = await program.break_at("program.py:3")
        assert found.line != 3
        assert found.moved is not None
        assert "blank" in found.moved


async def test_a_condition_stops_only_where_it_holds(launch):
    async with launch(LOOP) as program:
        await program.break_at("program.py~total += value", condition="any(v > 1 for v in [value])")
        await program.begin()
        assert await program.value("value") == "2"


@pytest.mark.parametrize(("hits", "values"), [("2", ["2"]), (">=2", ["2", "3"]), ("%3", ["3"])])
async def test_hit_counts_choose_the_hits_that_stop(launch, hits, values):
    async with launch(LOOP) as program:
        await program.break_at("program.py~total += value", hits=hits)
        outcome = await program.begin()
        seen: list[str | None] = []
        while isinstance(outcome, Stopped):
            seen.append(await program.value("value"))
            outcome = await program.go()
        assert seen == values


async def test_a_condition_that_raises_stops_once_and_reports_its_error(launch):
    async with launch(LOOP) as program:
        await program.break_at("program.py~total += value", condition="valeu > 1")
        stop = await program.begin()
        assert stop.condition_error is not None
        assert "NameError" in stop.condition_error
        assert isinstance(await program.go(), Exited)


async def test_a_condition_that_is_no_expression_is_refused(launch):
    async with launch(LOOP) as program:
        with pytest.raises(BreakpointError, match="not a Python expression"):
            await program.break_at("program.py~total += value", condition="x ==")


async def test_a_log_point_records_and_runs_on(launch):
    async with launch(LOOP) as program:
        await program.break_at("program.py~total += value", log=("total", "value * 10"))
        end = await program.begin()
        assert isinstance(end, Exited)
        assert [log.text for log in end.logs] == [
            "total=0, value * 10=10",
            "total=1, value * 10=20",
            "total=3, value * 10=30",
        ]


async def test_a_one_shot_breakpoint_stops_once(launch):
    async with launch(LOOP) as program:
        await program.break_at("program.py~total += value", once=True)
        assert isinstance(await program.begin(), Stopped)
        assert isinstance(await program.go(), Exited)


async def test_a_removed_breakpoint_no_longer_stops(launch):
    async with launch(LOOP) as program:
        found = await program.break_at("program.py~total += value")
        await program.begin()
        await program.backend.remove_breakpoint(found.id)
        assert isinstance(await program.go(), Exited)


async def test_a_breakpoint_set_in_a_frame_that_already_runs_is_hit(launch):
    async with launch(LOOP) as program:
        await program.break_at("Box.fill")
        await program.break_at("program.py~total = 0")
        await program.begin()
        await program.break_at("program.py~return total")
        stop = await program.move("continue")
        assert stop.location.line == program.line_of("done")


async def test_each_breakpoint_that_never_fired_is_explained(launch):
    files = {"helper.py": "def help_me():\n    return 1\n"}
    async with launch(LOOP, files=files) as program:
        await program.break_at('program.py~return "never"')
        await program.break_at("helper.py:2")
        await program.break_at("program.py~total += value", condition="value > 10")
        end = await program.begin()
        assert isinstance(end, Exited)
        explained = [verdict.explanation or "" for verdict in end.verdicts]
        assert "unused was never called" in explained[0]
        assert "grow" in explained[0]
        assert "never imported" in explained[1]
        assert "false" in explained[2]
        assert "3 times" in explained[2]


async def test_a_failing_script_stops_where_it_raised_and_says_why_it_cannot_step(launch):
    source = """
        def divide(amount, parts):
            return amount / parts  # raise

        try:
            divide(1, 0)
        except ZeroDivisionError as error:
            raise ValueError("bad parts") from error  # again
    """
    async with launch(source) as program:
        stop = await program.begin()
        assert (stop.reason, stop.can_step) == ("post_mortem", False)
        assert stop.location.line == program.line_of("again")
        assert stop.exception is not None
        assert (stop.exception.type, stop.exception.message) == ("ValueError", "bad parts")
        assert "ZeroDivisionError" in " ".join(stop.exception.chain)
        assert await program.value("__exception__.args") == "('bad parts',)"
        end = await program.end()
        assert end.code == 1
        assert "ZeroDivisionError: division by zero" in program.output()


async def test_a_failing_test_stops_in_the_raising_frame_of_user_code(launch):
    files = {"prices.py": "def parse(text):\n    return int(text)\n"}
    source = """
        from prices import parse

        def test_parse():
            amount = parse("1x")
            assert amount == 1
    """
    async with launch(source, kind="pytest", files=files) as program:
        stop = await program.begin()
        assert (stop.reason, stop.location.function) == ("post_mortem", "parse")
        assert await program.value("text") == "'1x'"
        assert [frame.location.function for frame in await program.backend.stack()] == ["parse", "test_parse"]
        end = await program.end()
        assert end.code == 1
        assert "1 failed" in " ".join(end.summary)


async def test_a_test_stops_at_its_own_first_line(launch):
    source = """
        import pytest

        @pytest.fixture
        def amount():
            return 3

        def test_amount(amount):
            doubled = amount * 2  # first
            assert doubled == 6
    """
    async with launch(source, kind="pytest", target="test_program.py::test_amount") as program:
        stop = await program.begin(stop_at_entry=True)
        assert stop.reason == "entry"
        assert stop.location.line == program.line_of("first", "test_program.py")
        assert (await program.local_values()).get("amount") == "3"
        end = await program.end()
        assert end.code == 0
        assert "1 passed" in " ".join(end.summary)


async def test_a_step_that_ends_in_a_failed_assertion_tells_no_return_value_of_the_runner(launch):
    source = """
        def total(prices):
            result = sum(prices)
            return result

        def test_total():
            assert total([1, 2]) == 4
    """
    async with launch(source, kind="pytest") as program:
        await program.break_at("test_program.py~return result")
        await program.begin()
        stop = await program.move("over")
        assert (stop.reason, stop.returned) == ("post_mortem", None)


async def test_a_unittest_stops_at_its_own_first_line_and_at_its_failure(launch):
    source = """
        import unittest

        class TestSum(unittest.TestCase):
            def test_sum(self):
                total = sum([1, 2])  # first
                self.assertEqual(total, 4)  # fails
    """
    async with launch(source, kind="unittest", target="program.TestSum.test_sum") as program:
        stop = await program.begin(stop_at_entry=True)
        assert stop.location.line == program.line_of("first")
        stop = await program.move("continue")
        assert (stop.reason, stop.location.line) == ("post_mortem", program.line_of("fails"))
        assert (await program.end()).code == 1


async def test_on_failure_continue_runs_past_the_failure(launch):
    async with launch("raise SystemError('down')\n", on_failure="continue") as program:
        end = await program.begin()
        assert isinstance(end, Exited)
        assert end.code == 1
        assert "SystemError: down" in program.output()


async def test_a_module_runs_as_main(launch):
    files = {
        "tool/__init__.py": "",
        "tool/run.py": "import sys\nname = __name__\nprint(name, sys.argv[1:])\n",
    }
    async with launch(kind="module", target="tool.run", args=("a", "b"), files=files) as program:
        stop = await program.begin(stop_at_entry=True)
        assert stop.location.line == 1
        assert (await program.end()).code == 0
        assert "__main__ ['a', 'b']" in program.output()


async def test_a_code_string_runs_with_its_source_shown(launch):
    async with launch(kind="code", target="total = 1\ntotal += 2\nprint(total)\n") as program:
        stop = await program.begin(stop_at_entry=True)
        assert stop.source[0].text == "total = 1"
        stop = await program.move("over")
        assert stop.location.line == 2
        assert (await program.end()).code == 0


async def test_a_breakpoint_in_a_worker_thread_stops_in_that_thread(launch):
    source = """
        import threading

        def work(amount):
            result = amount * 2  # work
            return result

        worker = threading.Thread(target=work, args=(21,), name="worker-1")
        worker.start()
        worker.join()
    """
    async with launch(source) as program:
        await program.break_at("program.py~result = amount * 2")
        stop = await program.begin()
        assert stop.thread == "worker-1"
        assert stop.location.function == "work"
        stop = await program.move("over")
        assert (stop.reason, stop.thread) == ("step", "worker-1")
        assert await program.value("result") == "42"
        assert (await program.end()).code == 0


@pytest.mark.parametrize("call", ["breakpoint()", "import pdb; pdb.set_trace()"])
async def test_a_test_that_calls_a_debugger_itself_stops_there(launch, call):
    source = f"""
        def test_amount():
            amount = 3
            {call}
            amount += 1
    """
    async with launch(source, kind="pytest") as program:
        stop = await program.begin()
        assert isinstance(stop, Stopped)
        assert await program.value("amount") == "3"
        stop = await program.move("over")
        assert (await program.end()).code == 0


async def test_the_call_of_breakpoint_in_the_program_stops_it(launch):
    source = """
        amount = 3
        breakpoint()
        amount += 1
    """
    async with launch(source) as program:
        stop = await program.begin()
        assert isinstance(stop, Stopped)
        assert await program.value("amount") == "3"
        assert (await program.end()).code == 0
