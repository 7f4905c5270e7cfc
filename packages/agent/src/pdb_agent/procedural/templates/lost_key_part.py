"""What was worked out is remembered under a key that leaves out one thing it depends on."""

from dataclasses import dataclass

from pdb_agent.procedural.draw import Draw
from pdb_agent.procedural.templates.blueprint import Blueprint, Change, Decoy, Setting, Stop
from pdb_agent.procedural.templates.layers import Method

_METHODS = (
    Method(
        name="set_price",
        parameters=(("label", "str"), ("price", "int")),
        summary="Say what one $thing of a kind costs.",
    ),
    Method(
        name="set_rate",
        parameters=(("site", "str"), ("percent", "int")),
        summary="Say what a $place adds, in percent.",
    ),
    Method(
        name="cost",
        parameters=(("site", "str"), ("label", "str"), ("count", "int")),
        returns="int",
        summary="What so many of a kind cost at a $place.",
    ),
    Method(name="worked_out", returns="int", summary="How many answers had to be worked out so far."),
)
_CORE = '''\
"""What $things cost."""


class $Core:
    """Works out costs, each once as long as prices and rates stay."""

    def __init__(self) -> None:
        self._prices: dict[str, int] = {}
        self._rates: dict[str, int] = {}
        self._known: dict[tuple[str | int, ...], int] = {}
        self._count = 0

    def set_price(self, label: str, price: int) -> None:
        """Say what one $thing of a kind costs."""
        self._prices[label] = price
        self._known.clear()

    def set_rate(self, site: str, percent: int) -> None:
        """Say what a $place adds, in percent."""
        self._rates[site] = percent
        self._known.clear()

    def cost(self, site: str, label: str, count: int) -> int:
        """What so many of a kind cost at a $place."""
        key = (site, label, count)
        if key not in self._known:
            self._known[key] = self._work_out(site, label, count)
        return self._known[key]

    def worked_out(self) -> int:
        """How many answers had to be worked out so far."""
        return self._count

    def _work_out(self, site: str, label: str, count: int) -> int:
        self._count += 1
        plain = self._prices[label] * count
        return plain + plain * self._rates.get(site, 0) // 100
'''


@dataclass(frozen=True, slots=True, kw_only=True)
class _Prices:
    """The parameters of an instance."""

    label: str
    other: str
    here: str
    there: str
    price: int
    dearer: int
    low: int
    high: int
    few: int
    many: int
    lost: str
    """The part that the key lacks."""

    @property
    def second(self) -> tuple[str, str, int, int]:
        """A question that differs from the first in the lost part alone: place, kind, price and percent."""
        if self.lost == "site":
            return (self.there, self.label, self.price, self.high)
        return (self.here, self.other, self.dearer, self.low)

    @property
    def key(self) -> str:
        """The line that makes the key."""
        return "key = (label, count)" if self.lost == "site" else "key = (site, count)"

    def start(self) -> str:
        """The lines with which tests begin."""
        return f'''\
    front = open_front()
    front.set_price("{self.label}", {self.price})
    front.set_price("{self.other}", {self.dearer})
    front.set_rate("{self.here}", {self.low})
    front.set_rate("{self.there}", {self.high})
'''


def plan(draw: Draw, setting: Setting) -> Blueprint:
    """An instance: its prices and rates, and which part the key has lost."""
    label, other, *_ = setting.domain.labels
    here, there, *_ = setting.domain.sites
    p = _Prices(
        label=label,
        other=other,
        here=here,
        there=there,
        price=draw.number(20, 90),
        dearer=draw.number(100, 400),
        low=draw.number(2, 9),
        high=draw.number(11, 40),
        few=draw.number(2, 5),
        many=draw.number(6, 12),
        lost=draw.pick(("site", "label")),
    )
    known = (label, p.few) if p.lost == "site" else (here, p.few)
    return Blueprint(
        family="caching",
        summary="Costs of the $things at each $place, worked out once and remembered.",
        reason="Prices, rates and the sum are right where they are read; the answer comes from another "
        "question, which the keys in the $core's memory show.",
        fix_size=0,
        methods=_METHODS,
        made="$Core()",
        core=_CORE,
        more={},
        defect=Change(old="key = (site, label, count)", new=p.key),
        decoys=_decoys(p),
        visible=_visible(p),
        hidden=_hidden(p),
        target="test_two_questions_get_answers_of_their_own",
        stop=Stop(
            function="$Core.cost",
            hit=2,
            expression="list(self._known)",
            buggy=repr([known]),
            fixed=repr([(here, label, p.few)]),
        ),
    )


def _cost(of: int, count: int, percent: int) -> int:
    return of * count + of * count * percent // 100


def _decoys(p: _Prices) -> tuple[Decoy, ...]:
    return (
        Decoy(
            name="another_part_is_lost",
            reason="The place and the kind are what the failing test varies, so the key has these two. "
            "Another count of the same kind then gets the first one's cost.",
            changes=(Change(old=p.key, new="key = (site, label)"),),
        ),
        Decoy(
            name="forget_when_it_changes",
            reason="Forgetting everything whenever the question is about another one gives right costs. "
            "Two that take turns are then worked out again and again.",
            changes=(
                Change(
                    old="        self._count = 0\n",
                    new='        self._count = 0\n        self._latest = ""\n',
                ),
                Change(
                    old=f"        {p.key}\n",
                    new=f"        if self._latest != {p.lost}:\n            self._known.clear()\n"
                    f"            self._latest = {p.lost}\n        {p.key}\n",
                ),
            ),
        ),
    )


def _visible(p: _Prices) -> str:
    return f'''
def test_a_cost_is_the_price_with_what_the_place_adds():
{p.start()}    assert front.cost("{p.here}", "{p.label}", {p.few}) == {_cost(p.price, p.few, p.low)}


def test_a_question_that_comes_again_is_worked_out_once():
{p.start()}    assert front.cost("{p.there}", "{p.other}", {p.many}) == {_cost(p.dearer, p.many, p.high)}
    assert front.cost("{p.there}", "{p.other}", {p.many}) == {_cost(p.dearer, p.many, p.high)}
    assert front.worked_out() == 1


def test_a_new_price_holds_at_once():
{p.start()}    front.cost("{p.here}", "{p.label}", {p.many})
    front.set_price("{p.label}", {p.dearer})
    assert front.cost("{p.here}", "{p.label}", {p.many}) == {_cost(p.dearer, p.many, p.low)}


def test_a_new_rate_holds_at_once():
{p.start()}    front.cost("{p.here}", "{p.label}", {p.few})
    front.set_rate("{p.here}", {p.high})
    assert front.cost("{p.here}", "{p.label}", {p.few}) == {_cost(p.price, p.few, p.high)}


def test_two_questions_get_answers_of_their_own():
{p.start()}    assert front.cost("{p.here}", "{p.label}", {p.few}) == {_cost(p.price, p.few, p.low)}
    assert front.cost("{p.second[0]}", "{p.second[1]}", {p.few}) == {_cost(p.second[2], p.few, p.second[3])}
'''


def _hidden(p: _Prices) -> str:
    turns = [p.other, p.label, p.other]
    return f'''
def test_another_count_has_another_cost():
{p.start()}    front.cost("{p.here}", "{p.label}", {p.few})
    assert front.cost("{p.here}", "{p.label}", {p.many}) == {_cost(p.price, p.many, p.low)}


def test_two_places_that_take_turns_are_worked_out_once_each():
{p.start()}    costs = [front.cost(site, "{p.label}", {p.many}) for site in {[p.here, p.there] * 2}]
    assert costs == {[_cost(p.price, p.many, p.low), _cost(p.price, p.many, p.high)] * 2}
    assert front.worked_out() == 2


def test_two_kinds_that_take_turns_are_worked_out_once_each():
{p.start()}    costs = [front.cost("{p.there}", label, {p.few}) for label in {turns}]
    assert costs == {[_cost(price, p.few, p.high) for price in (p.dearer, p.price, p.dearer)]}
    assert front.worked_out() == 2


def test_a_place_without_a_rate_adds_nothing():
{p.start()}    front.cost("{p.there}", "{p.label}", {p.many})
    assert front.cost("elsewhere", "{p.label}", {p.many}) == {p.price * p.many}


def test_all_is_worked_out_again_after_a_new_price():
{p.start()}    front.cost("{p.here}", "{p.label}", {p.few})
    front.set_price("{p.label}", {p.price + 1})
    assert front.cost("{p.here}", "{p.label}", {p.few}) == {_cost(p.price + 1, p.few, p.low)}
    assert front.worked_out() == 2
'''
