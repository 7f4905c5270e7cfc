"""One way in keeps the person where all others keep the person's number."""

from pdb_agent.procedural.draw import Draw
from pdb_agent.procedural.templates.blueprint import Blueprint, Change, Decoy, Setting, Stop
from pdb_agent.procedural.templates.layers import Method

MOST_LAYERS = 2
_METHODS = (
    Method(
        name="join", parameters=(("name", "str"),), returns="int", summary="Let somebody join; the number."
    ),
    Method(
        name="take",
        parameters=(("site", "str"), ("number", "int")),
        returns="bool",
        summary="Let the $owner of that number have a $place; False if another has it.",
    ),
    Method(
        name="hand_over",
        parameters=(("site", "str"), ("number", "int"), ("name", "str")),
        returns="bool",
        summary="Let the $owner of that name have the $place of another; False if it is not theirs.",
    ),
    Method(
        name="give_back",
        parameters=(("site", "str"), ("number", "int")),
        returns="bool",
        summary="Free a $place; False if it is not that $owner's.",
    ),
    Method(
        name="held_by",
        parameters=(("number", "int"),),
        returns="list[str]",
        summary="The $places of an $owner, sorted.",
    ),
)
_PEOPLE = '''\
"""Who takes part."""

from dataclasses import dataclass


@dataclass(frozen=True)
class $Owner:
    """Somebody who can have $places."""

    number: int
    name: str


class People:
    """All $owners, by number and by name."""

    def __init__(self) -> None:
        self._all: list[$Owner] = []

    def join(self, name: str) -> $Owner:
        """Let somebody join; numbers count from 1."""
        joined = $Owner(len(self._all) + 1, name)
        self._all.append(joined)
        return joined

    def named(self, name: str) -> $Owner:
        """The one of that name. Raises LookupError if there is none."""
        for person in self._all:
            if person.name == name:
                return person
        raise LookupError(name)
'''
_CORE = '''\
"""Who has which $place."""

from $package.people import People


class $Core:
    """Gives $places to $owners, one at a time."""

    def __init__(self) -> None:
        self._people = People()
        self._holders: dict[str, object] = {}

    def join(self, name: str) -> int:
        """Let somebody join; the number."""
        return self._people.join(name).number

    def take(self, site: str, number: int) -> bool:
        """Let the $owner of that number have a $place; False if another has it."""
        return self._holders.setdefault(site, number) == number

    def hand_over(self, site: str, number: int, name: str) -> bool:
        """Let the $owner of that name have the $place of another; False if it is not theirs."""
        if self._holders.get(site) != number:
            return False
        successor = self._people.named(name)
        self._holders[site] = successor.number
        return True

    def give_back(self, site: str, number: int) -> bool:
        """Free a $place; False if it is not that $owner's."""
        if self._holders.get(site) != number:
            return False
        del self._holders[site]
        return True

    def held_by(self, number: int) -> list[str]:
        """The $places of an $owner, sorted."""
        return sorted(site for site, holder in self._holders.items() if holder == number)
'''
_DEFECTIVE = "self._holders[site] = successor\n"
_GIVE_BACK = '''\
        """Free a $place; False if it is not that $owner's."""
        if self._holders.get(site) != number:
'''
_DECOYS = (
    Decoy(
        name="compare_both_when_giving_back",
        reason="Giving back is what is refused, so it also looks at the number of what is "
        "kept. Asking for all that somebody has, and handing over again, still compare "
        "the two.",
        changes=(
            Change(
                old=_GIVE_BACK,
                new='        """Free a $place; False if it is not that $owner\'s."""\n'
                "        holder = self._holders.get(site)\n"
                '        if getattr(holder, "number", holder) != number:\n',
            ),
        ),
    ),
    Decoy(
        name="let_anybody_give_it_back",
        reason="What was handed over can be given back when giving back asks no more. A "
        "stranger can then free it too.",
        changes=(
            Change(
                old=_GIVE_BACK,
                new='        """Free a $place; False if it is not that $owner\'s."""\n'
                "        holder = self._holders.get(site)\n"
                "        if holder is None or (isinstance(holder, int) and holder != number):\n",
            ),
        ),
    ),
)


def plan(draw: Draw, setting: Setting) -> Blueprint:
    """An instance: who takes part, and how many joined before them."""
    here, there, third, *_ = setting.domain.sites
    ada, ben, cleo, *guests = draw.several(("Ada", "Ben", "Cleo", "Dora", "Emil", "Fay", "Gus", "Hal"), 6)
    guests = guests[: draw.number(0, 2)]
    first = len(guests) + 1
    start = f"""\
    front = open_front()
    for name in {[*guests, ada, ben, cleo]}:
        front.join(name)
"""
    return Blueprint(
        family="equality",
        summary="Says who has which $place; it can be handed over to somebody else.",
        reason="The $place was handed over and giving it back is refused: both read well, and only the "
        "kind of value that the $core holds tells why they do not agree.",
        fix_size=0,
        methods=_METHODS,
        made="$Core()",
        core=_CORE,
        more={"people": _PEOPLE},
        defect=Change(old="self._holders[site] = successor.number\n", new=_DEFECTIVE),
        decoys=_DECOYS,
        visible=_visible(ben, cleo, first, here, start, there),
        hidden=_hidden(ben, cleo, first, here, start, third),
        target="test_who_got_a_place_can_give_it_back",
        stop=Stop(
            function="$Core.give_back",
            hit=1,
            expression="isinstance(self._holders[site], int)",
            buggy="False",
            fixed="True",
        ),
    )


def _visible(ben: str, cleo: str, first: int, here: str, start: str, there: str) -> str:
    return f'''
def test_a_place_that_is_taken_is_refused_to_others():
{start}    assert front.take("{here}", {first}) is True
    assert front.take("{here}", {first + 1}) is False


def test_who_has_a_place_may_take_it_again():
{start}    front.take("{here}", {first})
    assert front.take("{here}", {first}) is True


def test_a_place_that_is_given_back_is_free():
{start}    front.take("{here}", {first})
    assert front.give_back("{here}", {first}) is True
    assert front.take("{here}", {first + 2}) is True


def test_only_who_has_a_place_hands_it_over():
{start}    front.take("{here}", {first})
    assert front.hand_over("{here}", {first + 1}, "{cleo}") is False


def test_all_places_of_somebody_are_listed():
{start}    front.take("{there}", {first})
    front.take("{here}", {first})
    assert front.held_by({first}) == {sorted([here, there])}


def test_who_got_a_place_can_give_it_back():
{start}    front.take("{here}", {first})
    front.hand_over("{here}", {first}, "{ben}")
    assert front.give_back("{here}", {first + 1}) is True
'''


def _hidden(ben: str, cleo: str, first: int, here: str, start: str, third: str) -> str:
    return f'''
def test_a_place_that_was_handed_over_is_listed():
{start}    front.take("{third}", {first + 1})
    assert front.hand_over("{third}", {first + 1}, "{cleo}") is True
    assert front.held_by({first + 2}) == ["{third}"]
    assert front.held_by({first + 1}) == []


def test_a_place_can_be_handed_over_twice():
{start}    front.take("{third}", {first})
    front.hand_over("{third}", {first}, "{ben}")
    assert front.hand_over("{third}", {first + 1}, "{cleo}") is True
    assert front.give_back("{third}", {first + 2}) is True


def test_a_stranger_cannot_give_back_what_was_handed_over():
{start}    front.take("{third}", {first})
    front.hand_over("{third}", {first}, "{ben}")
    assert front.give_back("{third}", {first + 2}) is False
    assert front.give_back("{third}", {first}) is False


def test_who_got_a_place_may_take_it_again():
{start}    front.take("{third}", {first})
    front.hand_over("{third}", {first}, "{cleo}")
    assert front.take("{third}", {first + 2}) is True


def test_handing_over_to_oneself_keeps_it():
{start}    front.take("{here}", {first + 2})
    front.hand_over("{here}", {first + 2}, "{cleo}")
    assert front.held_by({first + 2}) == ["{here}"]
'''
