"""A choice is kept as a generator, which the first question uses up."""

from pdb_agent.procedural.draw import Draw
from pdb_agent.procedural.templates.blueprint import Blueprint, Change, Decoy, Setting, Stop
from pdb_agent.procedural.templates.layers import Method

_METHODS = (
    Method(
        name="enter", parameters=(("label", "str"), ("count", "int")), summary="Write down so many of a kind."
    ),
    Method(
        name="choose",
        parameters=(("least", "int"),),
        summary="Choose the entries of at least so many for the questions that follow.",
    ),
    Method(name="total", returns="int", summary="How many $things the chosen entries are together."),
    Method(name="number", returns="int", summary="How many entries are chosen."),
    Method(name="labels", returns="list[str]", summary="The kinds in the chosen entries, in their order."),
)
_CORE = '''\
"""Entries, and a choice among them."""

from collections.abc import Iterable
from typing import NamedTuple


class Entry(NamedTuple):
    """So many $things of a kind."""

    label: str
    count: int


class $Core:
    """Writes down what the $place has and answers for a choice of it."""

    def __init__(self) -> None:
        self._entries: list[Entry] = []
        self._chosen: Iterable[Entry] = ()

    def enter(self, label: str, count: int) -> None:
        """Write down so many of a kind."""
        self._entries.append(Entry(label, count))

    def choose(self, least: int) -> None:
        """Choose the entries of at least so many for the questions that follow."""
        self._chosen = [entry for entry in self._entries if entry.count >= least]

    def total(self) -> int:
        """How many $things the chosen entries are together."""
        return sum(entry.count for entry in self._chosen)

    def number(self) -> int:
        """How many entries are chosen."""
        return sum(1 for _ in self._chosen)

    def labels(self) -> list[str]:
        """The kinds in the chosen entries, in their order."""
        return [entry.label for entry in self._chosen]
'''
_RIGHT = "self._chosen = [entry for entry in self._entries if entry.count >= least]"
_DEFECTIVE = "self._chosen = (entry for entry in self._entries if entry.count >= least)"
_DECOYS = (
    Decoy(
        name="keep_it_in_total",
        reason="The total is asked first and uses the choice up, so it makes a list of it. Any other "
        "question that comes first still leaves nothing for the next.",
        changes=(
            Change(
                old="        return sum(entry.count for entry in self._chosen)\n",
                new="        self._chosen = list(self._chosen)\n"
                "        return sum(entry.count for entry in self._chosen)\n",
            ),
        ),
    ),
    Decoy(
        name="one_iterator_for_each_sum",
        reason="Two sums want two iterators, and tee makes them. A question that comes again, "
        "or that comes after an entry was added, still finds the same one-time choice.",
        changes=(
            Change(
                old="from typing import NamedTuple\n",
                new="from itertools import tee\nfrom typing import NamedTuple\n",
            ),
            Change(
                old="        self._chosen: Iterable[Entry] = ()\n",
                new="        self._chosen: Iterable[Entry] = ()\n"
                "        self._counted: Iterable[Entry] = ()\n",
            ),
            Change(
                old=_DEFECTIVE,
                new=_DEFECTIVE + "\n        self._chosen, self._counted = tee(self._chosen)",
            ),
            Change(old="sum(1 for _ in self._chosen)", new="sum(1 for _ in self._counted)"),
        ),
    ),
)


def plan(draw: Draw, setting: Setting) -> Blueprint:
    """An instance: the entries and where the choice cuts them."""
    labels = setting.domain.labels
    counts = draw.several(range(2, 60), draw.number(4, 6))
    least = sorted(counts)[len(counts) // 2]
    entries = list(zip(labels, counts, strict=False))
    chosen = [entry for entry in entries if entry[1] >= least]
    total, kinds = sum(count for _, count in chosen), [label for label, _ in chosen]
    late = draw.number(60, 90)
    start = (
        f"    front = open_front()\n    for label, count in {entries}:\n        front.enter(label, count)\n"
    )
    return Blueprint(
        family="iterators",
        summary="Writes down counts, and answers questions about a choice of them.",
        reason="Each answer is right when it is asked for alone; what the choice still holds at the "
        "second question is to be seen in the $core at that moment.",
        fix_size=0,
        methods=_METHODS,
        made="$Core()",
        core=_CORE,
        more={},
        defect=Change(old=_RIGHT, new=_DEFECTIVE),
        decoys=_DECOYS,
        visible=_visible(chosen, kinds, late, least, start, total),
        hidden=f'''
def test_number_and_labels_are_of_the_same_choice():
{start}    front.choose({least})
    assert front.number() == {len(chosen)}
    assert front.labels() == {kinds}


def test_labels_and_total_are_of_the_same_choice():
{start}    front.choose(0)
    assert front.labels() == {[label for label, _ in entries]}
    assert front.total() == {sum(counts)}


def test_the_same_question_has_the_same_answer_again():
{start}    front.choose({least})
    assert [front.number(), front.number()] == {[len(chosen)] * 2}


def test_an_entry_that_comes_later_is_not_chosen():
{start}    front.choose({least})
    front.enter("{labels[0]}", {late})
    assert front.total() == {total}


def test_choosing_again_takes_later_entries_in():
{start}    front.choose({least})
    front.enter("{labels[0]}", {late})
    front.choose({least})
    assert front.number() == {len(chosen) + 1}
''',
        target="test_total_and_number_are_of_the_same_choice",
        stop=Stop(
            function="$Core.number",
            hit=1,
            expression="isinstance(self._chosen, list)",
            buggy="False",
            fixed="True",
        ),
    )


def _visible(
    chosen: list[tuple[str, int]], kinds: list[str], late: int, least: int, start: str, total: int
) -> str:
    return f"""
def test_the_total_is_of_the_chosen_entries():
{start}    front.choose({least})
    assert front.total() == {total}


def test_the_labels_of_the_chosen_entries_are_in_order():
{start}    front.choose({least})
    assert front.labels() == {kinds}


def test_nothing_is_chosen_at_first():
{start}    assert front.number() == 0


def test_a_choice_that_nothing_meets_is_empty():
{start}    front.choose({late})
    assert front.labels() == []


def test_total_and_number_are_of_the_same_choice():
{start}    front.choose({least})
    assert [front.total(), front.number()] == {[total, len(chosen)]}
"""
