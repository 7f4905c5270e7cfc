"""What was worked out is remembered under a key that leaves out one thing it depends on."""

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


def plan(draw: Draw, setting: Setting) -> Blueprint:
    """An instance: its prices and rates, and which part the key has lost."""
    label, other, *_ = setting.domain.labels
    here, there, *_ = setting.domain.sites
    price, dearer = draw.number(20, 90), draw.number(100, 400)
    low, high = draw.number(2, 9), draw.number(11, 40)
    few, many = draw.number(2, 5), draw.number(6, 12)
    start = f'''\
    front = open_front()
    front.set_price("{label}", {price})
    front.set_price("{other}", {dearer})
    front.set_rate("{here}", {low})
    front.set_rate("{there}", {high})
'''

    def cost(of: int, count: int, percent: int) -> int:
        return of * count + of * count * percent // 100

    lost = draw.pick(("site", "label"))
    left = ("label", "count") if lost == "site" else ("site", "count")
    forgotten = "key = (site, label)"
    # Two questions that differ in the lost part alone.
    second = (there, label, price, high) if lost == "site" else (here, other, dearer, low)
    known = (label, few) if lost == "site" else (here, few)
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
        defect=Change(old="key = (site, label, count)", new=f"key = ({left[0]}, {left[1]})"),
        decoys=(
            Decoy(
                name="another_part_is_lost",
                reason="The place and the kind are what the failing test varies, so the key has these two. "
                "Another count of the same kind then gets the first one's cost.",
                changes=(Change(old=f"key = ({left[0]}, {left[1]})", new=forgotten),),
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
                        old=f"        key = ({left[0]}, {left[1]})\n",
                        new=f"        if self._latest != {lost}:\n            self._known.clear()\n"
                        f"            self._latest = {lost}\n        key = ({left[0]}, {left[1]})\n",
                    ),
                ),
            ),
        ),
        visible=f'''
def test_a_cost_is_the_price_with_what_the_place_adds():
{start}    assert front.cost("{here}", "{label}", {few}) == {cost(price, few, low)}


def test_a_question_that_comes_again_is_worked_out_once():
{start}    assert front.cost("{there}", "{other}", {many}) == {cost(dearer, many, high)}
    assert front.cost("{there}", "{other}", {many}) == {cost(dearer, many, high)}
    assert front.worked_out() == 1


def test_a_new_price_holds_at_once():
{start}    front.cost("{here}", "{label}", {many})
    front.set_price("{label}", {dearer})
    assert front.cost("{here}", "{label}", {many}) == {cost(dearer, many, low)}


def test_a_new_rate_holds_at_once():
{start}    front.cost("{here}", "{label}", {few})
    front.set_rate("{here}", {high})
    assert front.cost("{here}", "{label}", {few}) == {cost(price, few, high)}


def test_two_questions_get_answers_of_their_own():
{start}    assert front.cost("{here}", "{label}", {few}) == {cost(price, few, low)}
    assert front.cost("{second[0]}", "{second[1]}", {few}) == {cost(second[2], few, second[3])}
''',
        hidden=f'''
def test_another_count_has_another_cost():
{start}    front.cost("{here}", "{label}", {few})
    assert front.cost("{here}", "{label}", {many}) == {cost(price, many, low)}


def test_two_places_that_take_turns_are_worked_out_once_each():
{start}    costs = [front.cost(site, "{label}", {many}) for site in {[here, there] * 2}]
    assert costs == {[cost(price, many, low), cost(price, many, high)] * 2}
    assert front.worked_out() == 2


def test_two_kinds_that_take_turns_are_worked_out_once_each():
{start}    costs = [front.cost("{there}", label, {few}) for label in ("{other}", "{label}", "{other}")]
    assert costs == {[cost(dearer, few, high), cost(price, few, high), cost(dearer, few, high)]}
    assert front.worked_out() == 2


def test_a_place_without_a_rate_adds_nothing():
{start}    front.cost("{there}", "{label}", {many})
    assert front.cost("elsewhere", "{label}", {many}) == {price * many}


def test_all_is_worked_out_again_after_a_new_price():
{start}    front.cost("{here}", "{label}", {few})
    front.set_price("{label}", {price + 1})
    assert front.cost("{here}", "{label}", {few}) == {cost(price + 1, few, low)}
    assert front.worked_out() == 2
''',
        target="test_two_questions_get_answers_of_their_own",
        stop=Stop(
            function="$Core.cost",
            hit=2,
            expression="list(self._known)",
            buggy=repr([known]),
            fixed=repr([(here, label, few)]),
        ),
    )
