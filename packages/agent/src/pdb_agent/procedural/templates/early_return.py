"""A way out in the middle leaves behind what was claimed at the start."""

from pdb_agent.procedural.draw import Draw
from pdb_agent.procedural.templates.blueprint import Blueprint, Change, Decoy, Setting, Stop
from pdb_agent.procedural.templates.layers import Method

_METHODS = (
    Method(name="put", parameters=(("site", "str"), ("count", "int")), summary="Bring $things to a $place."),
    Method(
        name="held", parameters=(("site", "str"),), returns="int", summary="How many $things a $place holds."
    ),
    Method(
        name="move",
        parameters=(("source", "str"), ("target", "str"), ("count", "int")),
        returns="bool",
        summary="Move $things; False if they are too few, or one of the $places is in a move already.",
    ),
    Method(
        name="listen",
        parameters=(("listener", "Callable[[str, str], object]"),),
        summary="Call somebody with both $places in the middle of each move.",
    ),
)
_CORE = '''\
"""Moves between $places."""

from collections.abc import Callable


class FullError(Exception):
    """A $place has no room for what would come."""


class $Core:
    """Moves $things between $places; a $place takes part in one move at a time."""

    def __init__(self, room: int) -> None:
        self._room = room
        self._held: dict[str, int] = {}
        self._moving: set[str] = set()
        self._listeners: list[Callable[[str, str], object]] = []

    def put(self, site: str, count: int) -> None:
        """Bring $things to a $place. Raises FullError when they do not go in."""
        if self.held(site) + count > self._room:
            raise FullError(site)
        self._held[site] = self.held(site) + count

    def held(self, site: str) -> int:
        """How many $things a $place holds."""
        return self._held.get(site, 0)

    def listen(self, listener: Callable[[str, str], object]) -> None:
        """Call somebody with both $places in the middle of each move."""
        self._listeners.append(listener)

    def move(self, source: str, target: str, count: int) -> bool:
        """Move $things; False if they are too few, or one of the $places is in a move already.

        Raises FullError when they do not go in.
        """
        if self._moving & {source, target}:
            return False
        self._moving |= {source, target}
        try:
            return self._carry(source, target, count)
        finally:
            self._moving -= {source, target}

    def _carry(self, source: str, target: str, count: int) -> bool:
        if self.held(source) < count:
            return False
        self.put(target, count)
        for listener in self._listeners:
            listener(source, target)
        self._held[source] -= count
        return True
'''
_RIGHT = """\
        try:
            return self._carry(source, target, count)
        finally:
            self._moving -= {source, target}
"""
_DEFECTIVE = """\
        if not self._carry(source, target, count):
            return False
        self._moving -= {source, target}
        return True
"""
_DECOYS = (
    Decoy(
        name="clear_before_returning_false",
        reason="The way out that the failing test takes lets go first. A move that ends by FullError "
        "still keeps both for ever.",
        changes=(
            Change(
                old="count):\n            return False\n",
                new="count):\n            self._moving -= {source, target}\n            return False\n",
            ),
        ),
    ),
    Decoy(
        name="look_before_claiming",
        reason="A move with too few is refused before it claims anything. One that does not go in is "
        "found out later, and its claim stays.",
        changes=(
            Change(
                old="        self._moving |= {source, target}\n",
                new="        if self.held(source) < count:\n            return False\n"
                "        self._moving |= {source, target}\n",
            ),
        ),
    ),
)


def plan(draw: Draw, setting: Setting) -> Blueprint:
    """An instance: the room of a place and the counts that are moved."""
    here, there, third, *_ = setting.domain.sites
    room = draw.number(20, 50)
    few, more = draw.number(2, 6), draw.number(7, 12)
    return Blueprint(
        family="resources",
        summary=f"Moves what the $places hold; each has room for {room} $things.",
        reason="The move that is refused has all it needs, and the one before it was refused rightly; "
        "what that one left in the $core is seen when the next begins.",
        fix_size=1,
        methods=_METHODS,
        made=f"$Core({room})",
        core=_CORE,
        more={},
        defect=Change(old=_RIGHT, new=_DEFECTIVE),
        decoys=_DECOYS,
        test_imports=("FullError",),
        visible=_visible(few, here, more, there, third),
        hidden=_hidden(few, here, more, room, there, third),
        target="test_a_move_works_once_there_are_enough",
        stop=Stop(
            function="$Core.move",
            hit=2,
            expression="sorted(self._moving)",
            buggy=repr(sorted([here, there])),
            fixed="[]",
        ),
    )


def _visible(few: int, here: str, more: int, there: str, third: str) -> str:
    return f'''
def test_a_move_changes_both_places():
    front = open_front()
    front.put("{here}", {more})
    assert front.move("{here}", "{there}", {few}) is True
    assert [front.held("{here}"), front.held("{there}")] == {[more - few, few]}


def test_a_move_of_too_many_is_refused():
    front = open_front()
    front.put("{here}", {few})
    assert front.move("{here}", "{there}", {more}) is False
    assert [front.held("{here}"), front.held("{there}")] == {[few, 0]}


def test_places_move_one_after_another():
    front = open_front()
    front.put("{here}", {more})
    front.move("{here}", "{there}", {more})
    assert front.move("{there}", "{third}", {few}) is True
    assert front.held("{third}") == {few}


def test_a_place_in_a_move_takes_part_in_no_other():
    front = open_front()
    answers = []
    front.put("{here}", {more})
    front.listen(lambda source, target: answers.append(front.move(source, "{third}", 1)))
    front.move("{here}", "{there}", {few})
    assert answers == [False]


def test_a_move_works_once_there_are_enough():
    front = open_front()
    front.put("{here}", {few})
    front.move("{here}", "{there}", {more})
    front.put("{here}", {more})
    assert front.move("{here}", "{there}", {more}) is True
'''


def _hidden(few: int, here: str, more: int, room: int, there: str, third: str) -> str:
    return f'''
def test_a_place_that_was_full_takes_smaller_moves():
    front = open_front()
    front.put("{here}", {more})
    front.put("{there}", {room - few})
    with pytest.raises(FullError):
        front.move("{here}", "{there}", {more})
    assert front.move("{here}", "{there}", {few}) is True
    assert front.held("{there}") == {room}


def test_the_source_of_a_move_that_did_not_go_in_moves_elsewhere():
    front = open_front()
    front.put("{here}", {more})
    front.put("{there}", {room})
    with pytest.raises(FullError):
        front.move("{here}", "{there}", 1)
    assert front.move("{here}", "{third}", {more}) is True
    assert [front.held("{here}"), front.held("{third}")] == {[0, more]}


def test_the_target_of_a_refused_move_takes_another():
    front = open_front()
    front.put("{third}", {few})
    assert front.move("{here}", "{there}", {few}) is False
    assert front.move("{third}", "{there}", {few}) is True
    assert front.held("{there}") == {few}


def test_what_does_not_go_in_stays():
    front = open_front()
    front.put("{third}", {more})
    front.put("{here}", {room - few})
    with pytest.raises(FullError):
        front.move("{third}", "{here}", {few + 1})
    assert front.held("{third}") == {more}


def test_two_refusals_leave_the_way_free():
    front = open_front()
    front.put("{there}", {few})
    answers = [front.move("{there}", "{third}", count) for count in ({more}, {more + 1}, {few})]
    assert answers == [False, False, True]
'''
