"""Functions made in a loop look their numbers up when they are called, and find the last ones."""

from pdb_agent.procedural.draw import Draw
from pdb_agent.procedural.templates.blueprint import Blueprint, Change, Decoy, Setting, Stop
from pdb_agent.procedural.templates.layers import Method

Rule = tuple[str, int, int]
"""A place, its percent and its least charge."""

_METHODS = (
    Method(
        name="set_rules",
        parameters=(("table", "list[tuple[str, int, int]]"),),
        summary="Set for each $place what it charges: percent of the worth, and the least.",
    ),
    Method(
        name="charge",
        parameters=(("site", "str"), ("worth", "int")),
        returns="int",
        summary="What a $place charges for $things of that worth.",
    ),
    Method(
        name="together",
        parameters=(("site", "str"), ("worths", "list[int]")),
        returns="int",
        summary="What it charges for several, one by one.",
    ),
    Method(name="sites", returns="list[str]", summary="The $places that have a rule, sorted."),
)
_CORE = '''\
"""What $places charge."""

from collections.abc import Callable


class $Core:
    """Holds the rule of each $place."""

    def __init__(self) -> None:
        self._rules: dict[str, Callable[[int], int]] = {}

    def set_rules(self, table: list[tuple[str, int, int]]) -> None:
        """Set for each $place what it charges: percent of the worth, and the least."""
        for site, percent, least in table:
            self._rules[site] = lambda worth, percent=percent, least=least: max(least, worth * percent // 100)

    def charge(self, site: str, worth: int) -> int:
        """What a $place charges for $things of that worth."""
        return self._rules[site](worth)

    def together(self, site: str, worths: list[int]) -> int:
        """What it charges for several, one by one."""
        return sum(self.charge(site, worth) for worth in worths)

    def sites(self) -> list[str]:
        """The $places that have a rule, sorted."""
        return sorted(self._rules)
'''
_RIGHT = "lambda worth, percent=percent, least=least: max(least, worth * percent // 100)"
_DEFECTIVE = "lambda worth: max(least, worth * percent // 100)"
_DECOYS = (
    Decoy(
        name="bind_the_rate_only",
        reason="The rate is what the failing test sees, and binding it makes the test pass. "
        "The least charge is still that of the last one.",
        changes=(
            Change(
                old=_DEFECTIVE,
                new="lambda worth, percent=percent: max(least, worth * percent // 100)",
            ),
        ),
    ),
    Decoy(
        name="partial_of_a_method",
        reason="A partial binds the rate without a trick of defaults. The least charge is "
        "looked up on the object, which knows the last one.",
        changes=(
            Change(
                old="from collections.abc import Callable\n",
                new="from collections.abc import Callable\nfrom functools import partial\n",
            ),
            Change(
                old=f"            self._rules[site] = {_DEFECTIVE}\n",
                new="            self._least = least\n"
                "            self._rules[site] = partial(self._rule, percent)\n\n"
                "    def _rule(self, percent: int, worth: int) -> int:\n"
                "        return max(self._least, worth * percent // 100)\n",
            ),
        ),
    ),
)


def _charge(rule: Rule, worth: int) -> int:
    return max(rule[2], worth * rule[1] // 100)


def plan(draw: Draw, setting: Setting) -> Blueprint:
    """An instance: how many places there are, their rates and least charges."""
    sites = list(setting.domain.sites[: draw.number(2, 4)])
    rates = draw.several(range(5, 40), len(sites))
    leasts = draw.several(range(3, 30), len(sites))
    table = list(zip(sites, rates, leasts, strict=True))
    small, large = draw.number(1, 9), draw.number(8, 20) * 100
    first, last = table[0], table[-1]

    each_large, each_small = (
        [_charge(rule, large) for rule in table],
        [_charge(rule, small) for rule in table],
    )
    several = [large, small, large]
    start = f"    front = open_front()\n    front.set_rules({table})\n"
    return Blueprint(
        family="closures",
        summary="Says what each $place charges: a part of the worth, but never less than its least.",
        reason="The table is right and so is the formula; calling the rule of another $place at the "
        "stop shows that all of them give the same.",
        fix_size=0,
        methods=_METHODS,
        made="$Core()",
        core=_CORE,
        more={},
        defect=Change(old=_RIGHT, new=_DEFECTIVE),
        decoys=_DECOYS,
        visible=_visible(each_large, first, large, last, sites, small, start),
        hidden=f'''
def test_each_place_has_a_least_charge_of_its_own():
{start}    assert [front.charge(site, {small}) for site in {sites}] == {each_small}


def test_a_later_rule_leaves_earlier_ones():
    front = open_front()
    front.set_rules({[last]})
    front.set_rules({[first]})
    assert front.charge("{last[0]}", {large + 100}) == {_charge(last, large + 100)}
    assert front.charge("{first[0]}", {large + 100}) == {_charge(first, large + 100)}


def test_a_rule_can_be_replaced():
{start}    front.set_rules({[(first[0], last[1], last[2])]})
    assert front.charge("{first[0]}", {large}) == {_charge(last, large)}


def test_several_are_charged_by_the_rule_of_their_place():
{start}    assert front.together("{first[0]}", {several}) == {sum(_charge(first, worth) for worth in several)}


def test_nothing_is_charged_the_least():
{start}    assert [front.charge(site, 0) for site in {sites}] == {leasts}
''',
        target="test_each_place_charges_by_its_own_rule",
        stop=Stop(
            function="$Core.charge",
            hit=1,
            expression="self._rules[site](100000)",
            buggy=str(_charge(last, 100000)),
            fixed=str(_charge(first, 100000)),
        ),
    )


def _visible(
    each_large: list[int], first: Rule, large: int, last: Rule, sites: list[str], small: int, start: str
) -> str:
    return f'''
def test_a_place_charges_its_part_of_the_worth():
    front = open_front()
    front.set_rules({[first]})
    assert front.charge("{first[0]}", {large}) == {_charge(first, large)}


def test_a_place_charges_its_least_at_least():
    front = open_front()
    front.set_rules({[last]})
    assert front.charge("{last[0]}", {small}) == {_charge(last, small)}


def test_all_places_with_a_rule_are_listed():
{start}    assert front.sites() == {sorted(sites)}


def test_several_are_charged_one_by_one():
    front = open_front()
    front.set_rules({[last]})
    assert front.together("{last[0]}", {[small, large]}) == {_charge(last, small) + _charge(last, large)}


def test_each_place_charges_by_its_own_rule():
{start}    assert [front.charge(site, {large}) for site in {sites}] == {each_large}
'''
