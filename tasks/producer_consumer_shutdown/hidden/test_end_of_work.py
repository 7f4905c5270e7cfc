import threading

from darkroom.pipeline import Pipeline
from darkroom.stage import BathSpent, SheetSpoilt, StagePlan


class Departures:
    """Counts the operators of one stage that have left."""

    def __init__(self, stage):
        self.stage = stage
        self.happened = []
        self.changed = threading.Condition()

    def notice(self, stage, what):
        with self.changed:
            if stage == self.stage:
                self.happened.append(what)
            self.changed.notify_all()

    def wait_for(self, count, seconds=10):
        with self.changed:
            return self.changed.wait_for(lambda: self.happened.count("left") >= count, seconds)


def feed_all(pipeline, sheets):
    pipeline.start()
    for sheet in sheets:
        pipeline.feed(sheet)
    return pipeline.finish()


def test_a_slow_sheet_is_printed_when_its_colleague_had_a_spent_bath():
    departures = Departures("develop")
    slow_at_hand = threading.Event()
    spent = []

    def bath(sheet):
        if sheet == "slow":
            slow_at_hand.set()
            departures.wait_for(2)
        if sheet == "hard" and not spent:
            spent.append(sheet)
            raise BathSpent
        return sheet

    pipeline = Pipeline([StagePlan("develop", lambda: bath, operators=2)], departures.notice)
    pipeline.start()
    pipeline.feed("slow")
    assert slow_at_hand.wait(10)
    pipeline.feed("hard")
    outcome = pipeline.finish()
    assert sorted(outcome.prints) == ["hard", "slow"]


def test_renewing_a_bath_on_schedule_loses_no_sheet():
    departures = Departures("develop")
    mixed = []

    def mix():
        mixed.append("bath")
        earlier = len(mixed) - 1

        def bath(sheet):
            departures.wait_for(earlier, 1)
            return f"{sheet}/{earlier}"

        return bath

    pipeline = Pipeline([StagePlan("develop", mix, sheets_per_bath=2)], departures.notice)
    outcome = feed_all(pipeline, ["a", "b", "c", "d", "e"])
    assert outcome.prints == ["a/0", "b/0", "c/1", "d/1", "e/2"]


def test_the_next_stage_gets_sheets_from_renewed_baths():
    departures = Departures("develop")
    mixed = []

    def mix():
        mixed.append("bath")
        earlier = len(mixed) - 1

        def bath(sheet):
            departures.wait_for(earlier, 1)
            return sheet + "d"

        return bath

    plans = [
        StagePlan("develop", mix, sheets_per_bath=1),
        StagePlan("rinse", lambda: lambda sheet: sheet + "r"),
    ]
    outcome = feed_all(Pipeline(plans, departures.notice), ["1", "2", "3"])
    assert outcome.prints == ["1dr", "2dr", "3dr"]


def test_each_relief_is_noticed_and_each_operator_leaves():
    departures = Departures("develop")
    plan = StagePlan("develop", lambda: lambda sheet: sheet, sheets_per_bath=1)
    outcome = feed_all(Pipeline([plan], departures.notice), ["1", "2", "3", "4"])
    assert departures.happened.count("relieved") == 3
    assert outcome.tallies == {"develop": {"left": 4, "relieved": 3}}


def test_a_sheet_may_be_spoilt_by_a_fresh_bath():
    departures = Departures("develop")
    seen = []

    def bath(sheet):
        if sheet == "faint":
            seen.append(sheet)
            if len(seen) == 1:
                raise BathSpent
            departures.wait_for(1, 1)
            raise SheetSpoilt
        return sheet

    pipeline = Pipeline([StagePlan("develop", lambda: bath)], departures.notice)
    outcome = feed_all(pipeline, ["1", "faint", "2"])
    assert outcome.prints == ["1", "2"]
    assert outcome.spoilt == ["faint"]


def test_a_chain_without_sheets_ends():
    plans = [StagePlan(name, lambda: lambda sheet: sheet, operators=2) for name in ("a", "b")]
    outcome = feed_all(Pipeline(plans), [])
    assert (outcome.prints, outcome.spoilt) == ([], [])
