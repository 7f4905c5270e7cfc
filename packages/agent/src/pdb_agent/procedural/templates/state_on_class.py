"""What belongs to one instance lies on its class, so all of them have it."""

from pdb_agent.procedural.draw import Draw
from pdb_agent.procedural.templates.blueprint import Blueprint, Change, Decoy, Setting, Stop
from pdb_agent.procedural.templates.layers import Method

_METHODS = (
    Method(
        name="take",
        parameters=(("label", "str"), ("count", "int")),
        returns="bool",
        summary="Take some $things in; False if there is no room for that many of the kind.",
    ),
    Method(
        name="load",
        parameters=(("counts", "dict[str, int]"),),
        summary="Take over what was counted elsewhere.",
    ),
    Method(
        name="count", parameters=(("label", "str"),), returns="int", summary="How many of a kind there are."
    ),
    Method(
        name="deliveries",
        parameters=(("label", "str"),),
        returns="list[int]",
        summary="The counts of a kind, one for each time some came.",
    ),
)
_CORE = '''\
"""What came in, by kind."""


class $Core:
    """Counts the $things of one $place."""

    def __init__(self, room: int) -> None:
        self._room = room
        self._taken: dict[str, list[int]] = {}

    def take(self, label: str, count: int) -> bool:
        """Take some $things in; False if there is no room for that many of the kind."""
        if self.count(label) + count > self._room:
            return False
        self._taken.setdefault(label, []).append(count)
        return True

    def load(self, counts: dict[str, int]) -> None:
        """Take over what was counted elsewhere."""
        for label, count in counts.items():
            self._taken.setdefault(label, []).append(count)

    def count(self, label: str) -> int:
        """How many of a kind there are."""
        return sum(self._taken.get(label, ()))

    def deliveries(self, label: str) -> list[int]:
        """The counts of a kind, one for each time some came."""
        return list(self._taken.get(label, ()))
'''
_RIGHT = """\
    def __init__(self, room: int) -> None:
        self._room = room
        self._taken: dict[str, list[int]] = {}
"""
_DEFECTIVE = """\
    _taken: dict[str, list[int]] = {}

    def __init__(self, room: int) -> None:
        self._room = room
"""
_DECOYS = (
    Decoy(
        name="clear_when_opening",
        reason="A new one starts empty when opening clears what is there. The one that was "
        "open before loses all that it counted.",
        changes=(
            Change(
                old="        self._room = room\n",
                new="        self._room = room\n        self._taken.clear()\n",
            ),
        ),
    ),
    Decoy(
        name="new_dictionary_when_taking",
        reason="Taking is where the count of the other one rises, so taking builds a "
        "dictionary of its own. What is taken over by load still lands in the shared "
        "one.",
        changes=(
            Change(
                old="        self._taken.setdefault(label, []).append(count)\n        return True\n",
                new="        self._taken = {**self._taken, label: [*self.deliveries(label), count]}\n"
                "        return True\n",
            ),
        ),
    ),
)


def plan(draw: Draw, setting: Setting) -> Blueprint:
    """An instance: labels of its own for each test, so that no test depends on which ran before it."""
    kinds = [f"{label}-{draw.number(10, 99)}{place}" for place, label in enumerate(setting.domain.labels * 2)]
    room = draw.number(20, 60)
    some, other, third = draw.numbers(3, 2, room // 3)
    return Blueprint(
        family="shared_state",
        summary=f"Counts what comes in at a $place, which has room for {room} $things of a kind.",
        reason="Each part of the program counts as it says; that two of them count in the same "
        "dictionary shows only in what the second one holds before anything came to it.",
        fix_size=1,
        methods=_METHODS,
        made=f"$Core({room})",
        core=_CORE,
        more={},
        defect=Change(old=_RIGHT, new=_DEFECTIVE),
        decoys=_DECOYS,
        visible=_visible(kinds, other, room, some, third),
        hidden=_hidden(kinds, other, room, some, third),
        target="test_a_new_one_starts_empty",
        stop=Stop(function="$Core.count", hit=2, expression="len(self._taken)", buggy="1", fixed="0"),
    )


def _visible(kinds: list[str], other: int, room: int, some: int, third: int) -> str:
    return f'''
def test_what_is_taken_is_counted():
    front = open_front()
    assert front.take("{kinds[0]}", {some}) is True
    assert front.take("{kinds[0]}", {other}) is True
    assert front.count("{kinds[0]}") == {some + other}


def test_more_than_there_is_room_for_is_refused():
    front = open_front()
    assert front.take("{kinds[1]}", {room}) is True
    assert front.take("{kinds[1]}", 1) is False
    assert front.count("{kinds[1]}") == {room}


def test_counts_from_elsewhere_are_taken_over():
    front = open_front()
    front.load({{"{kinds[2]}": {third}, "{kinds[3]}": {some}}})
    assert [front.count("{kinds[2]}"), front.count("{kinds[3]}")] == {[third, some]}


def test_each_delivery_is_kept():
    front = open_front()
    front.take("{kinds[4]}", {some})
    front.take("{kinds[4]}", {third})
    assert front.deliveries("{kinds[4]}") == {[some, third]}


def test_a_new_one_starts_empty():
    open_front().take("{kinds[5]}", {some})
    assert open_front().count("{kinds[5]}") == 0
'''


def _hidden(kinds: list[str], other: int, room: int, some: int, third: int) -> str:
    return f'''
def test_opening_another_leaves_the_first_as_it_is():
    first = open_front()
    first.take("{kinds[6]}", {some})
    open_front()
    assert first.count("{kinds[6]}") == {some}


def test_what_one_takes_over_does_not_reach_another():
    first, second = open_front(), open_front()
    first.load({{"{kinds[7]}": {other}}})
    assert second.count("{kinds[7]}") == 0
    assert first.count("{kinds[7]}") == {other}


def test_two_that_take_the_same_kind_count_for_themselves():
    first, second = open_front(), open_front()
    first.take("{kinds[8]}", {some})
    second.take("{kinds[8]}", {third})
    assert [first.deliveries("{kinds[8]}"), second.deliveries("{kinds[8]}")] == {[[some], [third]]}


def test_room_is_for_each_of_them():
    first, second = open_front(), open_front()
    assert first.take("{kinds[9]}", {room}) is True
    assert second.take("{kinds[9]}", {room}) is True


def test_a_kind_that_never_came_counts_nothing():
    assert open_front().count("{kinds[10]}") == 0


def test_taking_follows_on_what_was_taken_over():
    front = open_front()
    front.load({{"{kinds[11]}": {third}}})
    front.take("{kinds[11]}", {other})
    assert front.deliveries("{kinds[11]}") == {[third, other]}
'''
