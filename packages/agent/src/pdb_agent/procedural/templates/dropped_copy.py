"""An order takes the standing list itself, where it is meant to start from a copy of it."""

from pdb_agent.procedural.draw import Draw
from pdb_agent.procedural.templates.blueprint import Blueprint, Change, Decoy, Setting, Stop
from pdb_agent.procedural.templates.layers import Method

_METHODS = (
    Method(
        name="set_standing",
        parameters=(("site", "str"), ("counts", "dict[str, int]")),
        summary="Say what every order of a $place starts with.",
    ),
    Method(
        name="start",
        parameters=(("site", "str"),),
        returns="int",
        summary="Start an order for a $place; its number.",
    ),
    Method(
        name="add",
        parameters=(("number", "int"), ("label", "str"), ("count", "int")),
        summary="Put a further row under an order.",
    ),
    Method(
        name="ask_more",
        parameters=(("number", "int"), ("label", "str"), ("count", "int")),
        summary="Ask for so many more of something that is in the order already.",
    ),
    Method(
        name="contents",
        parameters=(("number", "int"),),
        returns="dict[str, int]",
        summary="What an order asks for.",
    ),
    Method(
        name="total",
        parameters=(("number", "int"),),
        returns="int",
        summary="How many $things an order asks for.",
    ),
)
_CORE = '''\
"""Standing lists, and the orders that start from them."""

from dataclasses import dataclass


@dataclass
class Row:
    """So many $things of one kind."""

    label: str
    count: int


class $Core:
    """Keeps what each $place always asks for, and its orders."""

    def __init__(self) -> None:
        self._standing: dict[str, list[Row]] = {}
        self._orders: list[list[Row]] = []

    def set_standing(self, site: str, counts: dict[str, int]) -> None:
        """Say what every order of a $place starts with."""
        self._standing[site] = [Row(label, count) for label, count in counts.items()]

    def start(self, site: str) -> int:
        """Start an order for a $place; its number, from 0."""
        rows = self._standing[site]
        self._orders.append([Row(row.label, row.count) for row in rows])
        return len(self._orders) - 1

    def add(self, number: int, label: str, count: int) -> None:
        """Put a further row under an order."""
        self._orders[number].append(Row(label, count))

    def ask_more(self, number: int, label: str, count: int) -> None:
        """Ask for so many more of something that is in the order already."""
        for row in self._orders[number]:
            if row.label == label:
                row.count += count

    def contents(self, number: int) -> dict[str, int]:
        """What an order asks for."""
        return {row.label: row.count for row in self._orders[number]}

    def total(self, number: int) -> int:
        """How many $things an order asks for."""
        return sum(row.count for row in self._orders[number])
'''
_DEFECTIVE = "self._orders.append(rows)"
_DECOYS = (
    Decoy(
        name="copy_the_list_only",
        reason="A copy of the list is what comes to mind first, and a row that is added stays in its "
        "order. The rows in it are still shared, so asking for more changes every order.",
        changes=(Change(old=_DEFECTIVE, new="self._orders.append(list(rows))"),),
    ),
    Decoy(
        name="new_list_when_adding",
        reason="The row appears when it is added, so adding builds a new list. Asking for more "
        "of a row still reaches the standing list and all orders.",
        changes=(
            Change(
                old="self._orders[number].append(Row(label, count))",
                new="self._orders[number] = [*self._orders[number], Row(label, count)]",
            ),
        ),
    ),
)


def plan(draw: Draw, setting: Setting) -> Blueprint:
    """An instance: its labels, counts and how many rows a standing list has."""
    first, second, *others = setting.domain.labels
    here, there, *_ = setting.domain.sites
    counts = draw.numbers(draw.number(2, 4), 2, 19)
    standing = dict(zip(others, counts, strict=False))
    extra, more = draw.number(1, 9), draw.number(1, 9)
    kind = next(iter(standing))
    raised = standing | {kind: standing[kind] + more}
    return Blueprint(
        family="aliasing",
        summary="Orders for the $places: each starts from what the $place always asks for.",
        reason="The later order looks as if its own rows were added twice; only the list that two "
        "orders share, seen in the $core at run time, shows where the row came from.",
        fix_size=0,
        methods=_METHODS,
        made="$Core()",
        core=_CORE,
        more={},
        defect=Change(old="self._orders.append([Row(row.label, row.count) for row in rows])", new=_DEFECTIVE),
        decoys=_DECOYS,
        visible=_visible(extra, first, here, more, second, standing, there),
        hidden=f'''
def test_asking_for_more_changes_one_order():
    front = open_front()
    front.set_standing("{there}", {standing})
    earlier, later = front.start("{there}"), front.start("{there}")
    front.ask_more(later, "{kind}", {more})
    assert front.contents(earlier) == {standing}
    assert front.contents(later) == {raised}


def test_an_order_after_one_that_asked_for_more_starts_afresh():
    front = open_front()
    front.set_standing("{there}", {standing})
    front.ask_more(front.start("{there}"), "{kind}", {more})
    assert front.total(front.start("{there}")) == {sum(standing.values())}


def test_an_earlier_order_does_not_get_a_later_row():
    front = open_front()
    front.set_standing("{there}", {standing})
    earlier, later = front.start("{there}"), front.start("{there}")
    front.add(later, "{second}", {extra})
    assert front.contents(earlier) == {standing}
    assert front.contents(later) == {standing | {second: extra}}


def test_a_new_standing_list_leaves_orders_that_were_started():
    front = open_front()
    front.set_standing("{there}", {standing})
    earlier = front.start("{there}")
    front.set_standing("{there}", {{"{first}": {extra}}})
    assert front.contents(earlier) == {standing}
    assert front.contents(front.start("{there}")) == {{"{first}": {extra}}}


def test_more_of_something_that_is_not_in_the_order_changes_nothing():
    front = open_front()
    front.set_standing("{there}", {standing})
    number = front.start("{there}")
    front.ask_more(number, "{second}", {more})
    assert front.contents(number) == {standing}
''',
        target="test_a_later_order_starts_with_the_standing_list_again",
        stop=Stop(
            function="$Core.start",
            hit=2,
            expression="len(self._standing[site])",
            buggy=str(len(standing) + 1),
            fixed=str(len(standing)),
        ),
    )


def _visible(
    extra: int, first: str, here: str, more: int, second: str, standing: dict[str, int], there: str
) -> str:
    return f'''
def test_an_order_starts_with_the_standing_list():
    front = open_front()
    front.set_standing("{here}", {standing})
    assert front.contents(front.start("{here}")) == {standing}


def test_a_further_row_is_in_its_order():
    front = open_front()
    front.set_standing("{here}", {standing})
    number = front.start("{here}")
    front.add(number, "{first}", {extra})
    assert front.contents(number) == {standing | {first: extra}}


def test_two_places_have_lists_of_their_own():
    front = open_front()
    front.set_standing("{here}", {standing})
    front.set_standing("{there}", {{"{second}": {more}}})
    front.start("{here}")
    assert front.contents(front.start("{there}")) == {{"{second}": {more}}}


def test_total_counts_everything_in_the_order():
    front = open_front()
    front.set_standing("{here}", {standing})
    assert front.total(front.start("{here}")) == {sum(standing.values())}


def test_a_later_order_starts_with_the_standing_list_again():
    front = open_front()
    front.set_standing("{here}", {standing})
    front.add(front.start("{here}"), "{first}", {extra})
    assert front.contents(front.start("{here}")) == {standing}
'''
