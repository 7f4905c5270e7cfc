"""A copy of linked things is noted only after what it leads to was copied, so a ring never closes."""

from collections.abc import Sequence

from pdb_agent.procedural.draw import Draw
from pdb_agent.procedural.templates.blueprint import Blueprint, Change, Decoy, Setting, Stop
from pdb_agent.procedural.templates.layers import Method

_METHODS = (
    Method(
        name="make",
        parameters=(("label", "str"),),
        returns="int",
        summary="Make a $thing; its number, from 0.",
    ),
    Method(
        name="lead",
        parameters=(("number", "int"), ("other", "int")),
        summary="Let one $thing lead to another.",
    ),
    Method(
        name="double",
        parameters=(("number", "int"),),
        returns="int",
        summary="Copy a $thing with all that it leads to; the copy's number.",
    ),
    Method(name="count", returns="int", summary="How many $things there are."),
    Method(
        name="walk",
        parameters=(("number", "int"), ("steps", "int")),
        returns="list[str]",
        summary="The labels on a walk along the first lead of each $thing.",
    ),
    Method(
        name="end",
        parameters=(("number", "int"), ("steps", "int")),
        returns="int",
        summary="The number of the $thing at which such a walk ends.",
    ),
)
_CORE = '''\
"""$Things that lead to each other."""

from dataclasses import dataclass, field


@dataclass
class $Thing:
    """A $thing, and the ones that it leads to."""

    number: int
    label: str
    leads: list["$Thing"] = field(default_factory=list)


class $Core:
    """Holds $things and copies them with all that hangs on them."""

    def __init__(self, reach: int) -> None:
        self._reach = reach
        self._all: list[$Thing] = []

    def make(self, label: str) -> int:
        """Make a $thing; its number, from 0."""
        return self._new(label).number

    def lead(self, number: int, other: int) -> None:
        """Let one $thing lead to another."""
        self._all[number].leads.append(self._all[other])

    def double(self, number: int) -> int:
        """Copy a $thing with all that it leads to; the copy's number.

        What is more leads away than the reach is left out.
        """
        return self._copy(self._all[number], {}, 0).number

    def count(self) -> int:
        """How many $things there are."""
        return len(self._all)

    def walk(self, number: int, steps: int) -> list[str]:
        """The labels on a walk along the first lead of each $thing."""
        return [self._all[self.end(number, step)].label for step in range(steps + 1)]

    def end(self, number: int, steps: int) -> int:
        """The number of the $thing at which such a walk ends."""
        here = self._all[number]
        for _ in range(steps):
            if here.leads:
                here = here.leads[0]
        return here.number

    def _copy(self, original: $Thing, copies: dict[int, $Thing], steps: int) -> $Thing:
        if original.number in copies:
            return copies[original.number]
        copy = self._new(original.label)
        copies[original.number] = copy
        if steps < self._reach:
            for following in original.leads:
                copy.leads.append(self._copy(following, copies, steps + 1))
        return copy

    def _new(self, label: str) -> $Thing:
        made = $Thing(len(self._all), label)
        self._all.append(made)
        return made
'''
_NOTE = "        copies[original.number] = copy\n"
_LOOP = """\
        if steps < self._reach:
            for following in original.leads:
                copy.leads.append(self._copy(following, copies, steps + 1))
"""
_DECOYS = (
    Decoy(
        name="note_the_start_only",
        reason="The ring in the test comes back to where the copy began, so that one is noted ahead. "
        "A ring further on still never closes.",
        changes=(
            Change(
                old="        copy = self._new(original.label)\n",
                new="        copy = self._new(original.label)\n        if steps == 0:\n    " + _NOTE,
            ),
        ),
    ),
    Decoy(
        name="know_by_label",
        reason="Looking up copies by their label closes the ring at once. Two that have the "
        "same label become one.",
        changes=(
            Change(
                old="        if original.number in copies:\n            return copies[original.number]\n",
                new="        for known in copies.values():\n"
                "            if known.label == original.label:\n"
                "                return known\n",
            ),
            Change(
                old="        copy = self._new(original.label)\n",
                new="        copy = self._new(original.label)\n" + _NOTE,
            ),
        ),
    ),
)


def plan(draw: Draw, setting: Setting) -> Blueprint:
    """An instance: the size of the ring, what hangs on it, and how far a copy reaches."""
    labels = list(setting.domain.labels)
    size = draw.number(2, 4)
    ring, tail = labels[:size], labels[size : size + draw.number(1, 2)]
    reach = draw.number(7, 12)
    first = ring[0]
    start = f"""\
    front = open_front()
    ring = [front.make(label) for label in {ring}]
    for place, number in enumerate(ring):
        front.lead(number, ring[(place + 1) % {size}])
"""
    chain = f"""\
    front = open_front()
    chain = [front.make(label) for label in {labels}]
    for number, other in zip(chain, chain[1:]):
        front.lead(number, other)
"""
    return Blueprint(
        family="aliasing",
        summary="Things that lead to each other can be copied together with all that they lead to.",
        reason="Walking the copy looks right for a while, and each line of the copying does too; what "
        "it has noted when it comes back to where it began can only be seen while it runs.",
        fix_size=1,
        methods=_METHODS,
        made=f"$Core({reach})",
        core=_CORE.replace('"""$Things that', '"""The $things that'),
        more={},
        defect=Change(old=_NOTE + _LOOP, new=_LOOP + _NOTE),
        decoys=_DECOYS,
        visible=_visible(chain, labels, size, start),
        hidden=_hidden(first, labels, reach, size, start, tail),
        target="test_a_ring_is_copied_once",
        stop=Stop(function="$Core._copy", hit=2, expression="len(copies)", buggy="0", fixed="1"),
    )


def _visible(chain: str, labels: Sequence[str], size: int, start: str) -> str:
    return f"""
def test_a_chain_is_copied_once():
{chain}    front.double(chain[0])
    assert front.count() == {2 * len(labels)}


def test_a_copy_has_the_same_labels_in_the_same_order():
{chain}    assert front.walk(front.double(chain[0]), {len(labels) - 1}) == {labels}


def test_a_copy_from_the_middle_leaves_out_what_is_before():
{chain}    front.double(chain[2])
    assert front.count() == {2 * len(labels) - 2}


def test_walking_a_ring_comes_round():
{start}    assert front.end(ring[0], {size}) == 0


def test_a_ring_is_copied_once():
{start}    front.double(ring[0])
    assert front.count() == {2 * size}
"""


def _hidden(first: str, labels: Sequence[str], reach: int, size: int, start: str, tail: list[str]) -> str:
    return f'''
def test_a_ring_behind_a_path_is_copied_once():
{start}    path = [front.make(label) for label in {tail}]
    for number, other in zip(path, [*path[1:], ring[0]]):
        front.lead(number, other)
    front.double(path[0])
    assert front.count() == {2 * (size + len(tail))}


def test_the_copy_of_a_ring_comes_round_to_itself():
{start}    copy = front.double(ring[1])
    assert copy == {size}
    assert front.end(copy, {3 * size}) == {size}


def test_two_with_one_label_stay_two():
{start}    twin = front.make("{first}")
    front.lead(twin, ring[0])
    front.double(twin)
    assert front.count() == {2 * size + 2}


def test_one_that_leads_to_itself_is_copied_once():
    front = open_front()
    alone = front.make("{first}")
    front.lead(alone, alone)
    assert front.double(alone) == 1
    assert front.count() == 2


def test_what_two_lead_to_is_copied_once():
    front = open_front()
    top, left, right, below = (front.make(label) for label in {labels[:4]})
    for number, other in ((top, left), (top, right), (left, below), (right, below)):
        front.lead(number, other)
    front.double(top)
    assert front.count() == 8


def test_a_copy_ends_where_its_reach_does():
    front = open_front()
    chain = [front.make("{first}-%d" % place) for place in range({reach + 4})]
    for number, other in zip(chain, chain[1:]):
        front.lead(number, other)
    front.double(chain[0])
    assert front.count() == {2 * reach + 5}
'''
