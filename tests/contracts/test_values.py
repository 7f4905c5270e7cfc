"""Hostile values and expressions, on every engine and every Python."""

import anyio
import pytest
from mcp_pdb.errors import InspectionError
from mcp_pdb.records import BreakpointSpec, Exited, Stopped

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

    class Huge:
        def __repr__(self):
            return "h" * 1_000_000

    class Prints:
        def __repr__(self):
            print("SIDE EFFECT")
            return "<printed>"

    class Mutates:
        def __init__(self):
            self.looked = 0

        def __repr__(self):
            self.looked += 1
            return "looked"

    class Enters:
        def __repr__(self):
            breakpoint()
            return "entered"

    class Trap:
        def __getattr__(self, name):
            raise RuntimeError("trapped " + name)

        @property
        def price(self):
            raise RuntimeError("computed")

    def run():
        raises, hangs, huge, prints = Raises(), Hangs(), Huge(), Prints()
        mutates, enters, trap = Mutates(), Enters(), Trap()
        cycle = []
        cycle.append(cycle)
        deep = []
        for _ in range(60):
            deep = [deep]
        numbers = list(range(100_000))
        table = {str(number): number for number in range(5000)}
        text = "t" * 50_000
        same = numbers
        return 1  # here

    run()
"""


async def test_locals_full_of_horrors_are_shown_bounded_and_without_running_their_code(launch):
    async with launch(HORRORS) as program:
        await program.break_at("program.py~return 1")
        await program.begin()
        with anyio.fail_after(10):
            page = await program.backend.examine_locals(frame=0, name_filter=None, cursor=0, limit_chars=2500)
        names = {variable.name for variable in page.variables}
        assert {"raises", "hangs", "huge", "prints", "cycle", "deep", "numbers"} <= names
        assert sum(len(variable.value) for variable in page.variables) <= 2500
        assert await program.value("mutates.looked") == "0"
        assert "SIDE EFFECT" not in program.output()
        by_name = {variable.name: variable for variable in page.variables}
        assert by_name["same"].same_as == "numbers"


async def test_a_repr_that_raises_is_shown_as_its_exception(launch):
    async with launch(HORRORS) as program:
        await program.break_at("program.py~return 1")
        await program.begin()
        assert "ValueError: no repr" in (await program.value("raises") or "")


async def test_a_repr_that_hangs_is_ended_and_the_session_goes_on(launch):
    async with launch(HORRORS) as program:
        await program.break_at("program.py~return 1")
        await program.begin()
        answer = await program.backend.evaluate("hangs", frame=0, timeout_seconds=0.5, limit_chars=500)
        assert "0.5 s" in (answer.error or "") + (answer.value or "")
        assert await program.value("1 + 1") == "2"


async def test_a_repr_of_a_megabyte_is_cut_to_the_budget(launch):
    async with launch(HORRORS) as program:
        await program.break_at("program.py~return 1")
        await program.begin()
        answer = await program.backend.evaluate("huge", frame=0, timeout_seconds=5, limit_chars=800)
        assert len(answer.value or "") <= 800


async def test_a_repr_that_enters_the_debugger_does_not_stop_inside_the_stop(launch):
    async with launch(HORRORS) as program:
        await program.break_at("program.py~return 1")
        await program.begin()
        assert await program.value("enters") in ("entered", "'entered'")
        assert isinstance(await program.go(), Exited)


async def test_a_property_is_not_computed_by_looking(launch):
    async with launch(HORRORS) as program:
        await program.break_at("program.py~return 1")
        await program.begin()
        with pytest.raises(InspectionError, match="property"):
            await program.backend.print_variable(
                path="trap.price", frame=0, depth=1, cursor=0, limit_chars=500
            )
        assert "RuntimeError: computed" in (await program.value("trap.price") or "")


FRAME = """
    def outer():
        limit = 3
        names = ["a", "b"]
        counter = 0

        def inner():
            nonlocal counter
            counter += limit
            return counter  # inner

        inner()
        total = counter + limit  # total
        return total

    result = outer()
    print("result", result)
"""


@pytest.mark.parametrize(
    ("code", "shown"),
    [
        ("limit + 1", "4"),
        ("[value * limit for value in range(3)]", "[0, 3, 6]"),
        ("(lambda value: value + limit)(1)", "4"),
        ("sum(value for value in range(limit) if value < limit)", "3"),
        ("(found := limit * 2) + 1", "7"),
        ("{name: [limit for _ in names] for name in names}", "{'a': [3, 3], 'b': [3, 3]}"),
    ],
)
async def test_expressions_see_the_frame_through_every_inner_scope(launch, code, shown):
    async with launch(FRAME) as program:
        await program.break_at("program.py~total = counter + limit")
        await program.begin()
        assert await program.value(code) == shown


async def test_an_assignment_reaches_the_running_frame(launch):
    async with launch(FRAME) as program:
        await program.break_at("program.py~total = counter + limit")
        await program.begin()
        answer = await program.backend.evaluate("limit = 100", frame=0, timeout_seconds=5, limit_chars=500)
        assert answer.error is None
        assert [(change.name, change.old, change.new) for change in answer.changes] == [("limit", "3", "100")]
        assert (await program.end()).code == 0
        assert "result 103" in program.output()


async def test_set_variable_changes_a_closure_and_an_item(launch):
    async with launch(FRAME) as program:
        await program.break_at("program.py~total = counter + limit")
        await program.begin()
        await program.backend.set_variable(path="names[0]", expression="'z'", frame=0)
        await program.backend.set_variable(path="counter", expression="50", frame=0)
        assert await program.value("names") == "['z', 'b']"
        assert (await program.end()).code == 0
        assert "result 53" in program.output()


async def test_an_expression_that_never_returns_is_ended_at_its_deadline(launch):
    async with launch(FRAME) as program:
        await program.break_at("program.py~total = counter + limit")
        await program.begin()
        for endless in ("while True: pass", "__import__('time').sleep(60)"):
            answer = await program.backend.evaluate(endless, frame=0, timeout_seconds=0.5, limit_chars=500)
            assert answer.error is not None
            assert "0.5 s" in answer.error
        assert await program.value("limit") == "3"
        assert (await program.end()).code == 0


async def test_a_failing_expression_is_an_error_with_help(launch):
    async with launch(FRAME) as program:
        await program.break_at("program.py~total = counter + limit")
        await program.begin()
        assert "ZeroDivisionError" in (await program.value("1 / 0") or "")
        said = await program.value("limt + 1")
        assert "NameError" in (said or "")
        assert "limit" in (said or "")
        assert "SyntaxError" in (await program.value("limit +") or "")


async def test_an_unknown_frame_is_refused_with_the_range(launch):
    async with launch(FRAME) as program:
        await program.break_at("program.py~total = counter + limit")
        await program.begin()
        with pytest.raises(InspectionError, match="frames go from 0"):
            await program.local_values(frame=9)


async def test_a_callers_frame_is_examined_by_its_number(launch):
    async with launch(FRAME) as program:
        await program.break_at("program.py~return counter")
        await program.begin()
        assert (await program.local_values(frame=1))["limit"] == "3"
        assert await program.value("limit", frame=1) == "3"


async def test_changes_are_those_since_the_last_stop_in_the_frame(launch):
    source = """
        class Account:
            def __init__(self):
                self.balance = 0

        def run():
            account = Account()
            items = []
            for step in range(3):
                items.append(step)
                account.balance += step  # here
            return account

        run()
    """
    async with launch(source) as program:
        await program.break_at("program.py~account.balance += step")
        await program.begin()
        stop = await program.move("continue")
        changed = {change.name: (change.old, change.new) for change in stop.changes}
        assert changed["step"] == ("0", "1")
        assert changed["items"] == ("[0]", "[0, 1]")


async def test_exec_code_and_class_bodies_are_stepped_and_read(launch):
    source = """
        class Config:
            size = 2
            doubled = size * 2  # body

        exec("value = Config.doubled\\nvalue += 1")
        print(value)  # print
    """
    async with launch(source) as program:
        await program.break_at("program.py~doubled = size * 2")
        stop = await program.begin()
        assert stop.location.function == "Config"
        assert await program.value("size") == "2"
        await program.break_at("program.py~print(value)")
        await program.move("continue")
        assert await program.value("value") == "5"


async def test_a_grouped_exception_shows_its_members(launch):
    async with launch("raise ExceptionGroup('many', [ValueError('one'), TypeError('two')])\n") as program:
        if program.version < (3, 11):
            pytest.skip("exception groups came with 3.11")
        stop = await program.begin()
        assert isinstance(stop, Stopped)
        assert stop.exception is not None
        told = " ".join(stop.exception.chain)
        assert "ValueError" in told
        assert "TypeError" in told


async def test_a_watched_value_stops_the_program_at_the_line_that_changed_it(launch):
    source = """
        class Pool:
            def __init__(self):
                self.free = 3

        def touch(pool):
            unrelated = 1
            pool.free -= 1  # culprit
            return unrelated

        def run():
            pool = Pool()
            ready = True  # start
            touch(pool)
            return ready

        run()
    """
    async with launch(source) as program:
        if "watch" not in program.backend.facts.can:
            pytest.skip("this engine has no watch; its answer names the one that has")
        await program.break_at("program.py~ready = True")
        await program.begin()
        await program.backend.watch("pool.free", frame=0, mode="equality")
        stop = await program.move("continue")
        assert stop.reason == "watch"
        assert (stop.changes[0].name, stop.changes[0].old, stop.changes[0].new) == ("pool.free", "3", "2")
        assert str(program.line_of("culprit")) in " ".join(stop.notes)


async def test_a_trace_table_has_a_row_for_each_hit(launch):
    source = """
        def run():
            total = 0
            for value in range(5):
                total += value  # add
            return total

        run()
    """
    async with launch(source) as program:
        await program.begin(stop_at_entry=True)
        table, outcome = await program.backend.trace_lines(
            BreakpointSpec(at="program.py~total += value"), ("value", "total"), max_hits=3, timeout_seconds=10
        )
        assert table.rows == (("0", "0"), ("1", "0"), ("2", "1"))
        assert table.finished == "max_hits"
        assert isinstance(outcome, Stopped)
        assert (await program.end()).code == 0


async def test_a_cancelled_trace_does_not_stop_the_program_later(launch):
    source = """
        import time

        for number in range(20):
            time.sleep(0.02)  # tick
    """
    async with launch(source) as program:
        await program.begin(stop_at_entry=True)
        with anyio.move_on_after(0.1):
            await program.backend.trace_lines(
                BreakpointSpec(at="program.py~time.sleep(0.02)"), ("number",), max_hits=10, timeout_seconds=20
            )
        end = await program.backend.wait()
        assert isinstance(end, Exited)
        assert end.code == 0
