import threading

import pytest

from darkroom.pipeline import Pipeline, read_plans
from darkroom.stage import BathSpent, SheetSpoilt, StagePlan
from darkroom.tray import TrayClosed


def stamping(mark):
    """A mix of baths that put ``mark`` behind a sheet's name."""
    return lambda: lambda sheet: sheet + mark


def run_through(pipeline, sheets):
    pipeline.start()
    for sheet in sheets:
        pipeline.feed(sheet)
    return pipeline.finish()


def test_sheets_pass_all_stages_in_order():
    pipeline = Pipeline([StagePlan("develop", stamping("d")), StagePlan("rinse", stamping("r"))])
    assert run_through(pipeline, ["1", "2", "3"]).prints == ["1dr", "2dr", "3dr"]


def test_three_operators_print_every_sheet_once():
    pipeline = Pipeline([StagePlan("develop", stamping("d"), operators=3)])
    outcome = run_through(pipeline, [str(number) for number in range(9)])
    assert sorted(outcome.prints) == ["0d", "1d", "2d", "3d", "4d", "5d", "6d", "7d", "8d"]


def test_a_spoilt_sheet_is_put_aside():
    def bath(sheet):
        if sheet == "torn":
            raise SheetSpoilt
        return sheet

    outcome = run_through(Pipeline([StagePlan("develop", lambda: bath)]), ["1", "torn", "2"])
    assert (outcome.prints, outcome.spoilt) == (["1", "2"], ["torn"])


def test_stages_can_be_read_from_a_line():
    plans = read_plans("develop x2 /40, rinse", {"develop": stamping("d"), "rinse": stamping("r")})
    assert [(plan.name, plan.operators, plan.sheets_per_bath) for plan in plans] == [
        ("develop", 2, 40),
        ("rinse", 1, 0),
    ]


def test_nothing_can_be_fed_after_the_finish():
    pipeline = Pipeline([StagePlan("develop", stamping("d"))])
    run_through(pipeline, ["1"])
    with pytest.raises(TrayClosed):
        pipeline.feed("2")


def test_a_sheet_that_met_a_spent_bath_is_printed_with_those_behind_it():
    somebody_left = threading.Event()
    mixed = []

    def mix():
        mixed.append("bath")
        number = len(mixed)

        def bath(sheet):
            if number == 1 and sheet == "2":
                raise BathSpent
            if number == 2:
                somebody_left.wait(1)
            return f"{sheet} from bath {number}"

        return bath

    pipeline = Pipeline(
        [StagePlan("develop", mix)],
        notice=lambda stage, what: somebody_left.set() if what == "left" else None,
    )
    outcome = run_through(pipeline, ["1", "2", "3"])
    assert outcome.prints == ["1 from bath 1", "2 from bath 2", "3 from bath 2"]
    assert outcome.spoilt == []
