"""Closing puts the mark of the end into one lane, where every lane waits for its own."""

from collections.abc import Sequence

from pdb_agent.procedural.draw import Draw
from pdb_agent.procedural.templates.blueprint import Blueprint, Change, Decoy, Setting, Stop
from pdb_agent.procedural.templates.layers import Method

Batches = list[list[list[str]]]
"""By lane."""

_METHODS = (
    Method(name="push", parameters=(("label", "str"),), summary="Hand in a $thing; the lanes take turns."),
    Method(name="close", summary="Say that nothing more comes."),
    Method(name="run", summary="Let every lane work off what waits in it."),
    Method(
        name="batches",
        parameters=(("lane", "int"),),
        returns="list[list[str]]",
        summary="What a lane gave out so far.",
    ),
    Method(name="open_lanes", returns="int", summary="How many lanes wait for more."),
)
_CORE = '''\
"""Lanes that pack $things into batches."""

from collections import deque

END = object()


class Lane:
    """Packs $things in the order in which they come, so many to a batch."""

    def __init__(self, size: int) -> None:
        self.waiting: deque[object] = deque()
        self.batches: list[list[str]] = []
        self.is_open = True
        self._size = size
        self._batch: list[str] = []

    def work_off(self) -> None:
        """Take all that waits; at its end the lane gives out the batch that it has begun."""
        while self.waiting:
            label = self.waiting.popleft()
            if label is END:
                self._give_out()
                self.is_open = False
            else:
                self._batch.append(str(label))
                if len(self._batch) == self._size:
                    self._give_out()

    def _give_out(self) -> None:
        if self._batch:
            self.batches.append(self._batch)
            self._batch = []


class $Core:
    """Deals $things out to lanes in turn."""

    def __init__(self, lanes: int, size: int) -> None:
        self._lanes = [Lane(size) for _ in range(lanes)]
        self._turn = 0

    def push(self, label: str) -> None:
        """Hand in a $thing; the lanes take turns."""
        self._lanes[self._turn].waiting.append(label)
        self._turn = (self._turn + 1) % len(self._lanes)

    def close(self) -> None:
        """Say that nothing more comes."""
        for lane in self._lanes:
            lane.waiting.append(END)

    def run(self) -> None:
        """Let every lane work off what waits in it."""
        for lane in self._lanes:
            lane.work_off()

    def batches(self, lane: int) -> list[list[str]]:
        """What a lane gave out so far."""
        return [list(batch) for batch in self._lanes[lane].batches]

    def open_lanes(self) -> int:
        """How many lanes wait for more."""
        return sum(lane.is_open for lane in self._lanes)
'''
_RIGHT = """\
        for lane in self._lanes:
            lane.waiting.append(END)
"""
_DEFECTIVE = "        self._lanes[self._turn].waiting.append(END)\n"
_DECOYS = (
    Decoy(
        name="give_out_after_every_run",
        reason="The batch that is missing comes out when working off always ends with giving out. "
        "Batches are then cut short by every run before the end, and lanes never close.",
        changes=(
            Change(
                old="                if len(self._batch) == self._size:\n"
                "                    self._give_out()\n",
                new="                if len(self._batch) == self._size:\n"
                "                    self._give_out()\n        self._give_out()\n",
            ),
        ),
    ),
    Decoy(
        name="end_lanes_with_something_waiting",
        reason="Lanes in which something waits get the mark, which is all of them in the "
        "failing test. One that ran before the end has nothing waiting and keeps its "
        "batch.",
        changes=(
            Change(
                old=_DEFECTIVE,
                new="        for lane in self._lanes:\n            if lane.waiting:\n"
                "                lane.waiting.append(END)\n",
            ),
        ),
    ),
)


def plan(draw: Draw, setting: Setting) -> Blueprint:
    """An instance: how many lanes there are, and how many make a batch."""
    lanes, size = draw.number(2, 4), draw.number(2, 4)
    labels = setting.domain.labels
    # One more than whole rounds, so that each lane has begun a batch and the turn is the second one's.
    pushed = [f"{labels[place % len(labels)]}-{place}" for place in range(lanes * size + lanes + 1)]
    dealt = [pushed[lane::lanes] for lane in range(lanes)]
    packed = [[lane[at : at + size] for at in range(0, len(lane), size)] for lane in dealt]
    whole = pushed[: lanes * size]
    push = f"    front = open_front()\n    for label in {pushed}:\n        front.push(label)\n"
    push_whole = f"    front = open_front()\n    for label in {whole}:\n        front.push(label)\n"
    every = f"[front.batches(lane) for lane in range({lanes})]"
    full = [[lane[:size]] for lane in dealt]
    complete = [[batch for batch in lane if len(batch) == size] for lane in packed]
    return Blueprint(
        family="queues",
        summary=f"Deals what comes out to {lanes} lanes, which pack it into batches of {size}.",
        reason="The lane that keeps its last batch looks as the others do; what waits in each of them "
        "when it works, and what does not, shows at run time only.",
        fix_size=1,
        methods=_METHODS,
        made=f"$Core({lanes}, {size})",
        core=_CORE,
        more={},
        defect=Change(old=_RIGHT, new=_DEFECTIVE),
        decoys=_DECOYS,
        visible=f"""
def test_full_batches_come_out_without_an_end():
{push_whole}    front.run()
    assert {every} == {full}


def test_lanes_take_turns():
    front = open_front()
    for label in {pushed[:lanes] * size}:
        front.push(label)
    front.run()
    assert front.batches(1) == {[[pushed[1]] * size]}


def test_every_lane_is_open_at_first():
    front = open_front()
    assert front.open_lanes() == {lanes}


def test_closing_after_full_batches_adds_none():
{push_whole}    front.close()
    front.run()
    assert {every} == {full}


def test_batches_that_are_begun_come_out_at_the_end():
{push}    front.close()
    front.run()
    assert {every} == {packed}
""",
        hidden=_hidden(complete, every, full, labels, packed, push, whole),
        target="test_batches_that_are_begun_come_out_at_the_end",
        stop=Stop(
            function="Lane.work_off", hit=1, expression="self.waiting[-1] is END", buggy="False", fixed="True"
        ),
    )


def _hidden(
    complete: Batches,
    every: str,
    full: Batches,
    labels: Sequence[str],
    packed: Batches,
    push: str,
    whole: list[str],
) -> str:
    return f'''
def test_a_begun_batch_waits_for_the_end():
{push}    front.run()
    assert {every} == {complete}


def test_the_end_gives_out_what_was_begun_in_an_earlier_run():
{push}    front.run()
    front.close()
    front.run()
    assert {every} == {packed}


def test_every_lane_is_closed_after_the_end():
{push}    front.close()
    front.run()
    assert front.open_lanes() == 0


def test_lanes_without_anything_close_too():
    front = open_front()
    front.push("{labels[0]}")
    front.close()
    front.run()
    assert front.batches(0) == [["{labels[0]}"]]
    assert front.open_lanes() == 0


def test_runs_in_between_do_not_cut_batches():
    front = open_front()
    for label in {whole}:
        front.push(label)
        front.run()
    assert {every} == {full}
'''
