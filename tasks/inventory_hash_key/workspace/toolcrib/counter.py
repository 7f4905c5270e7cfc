"""The clerk's commands."""

from __future__ import annotations

from toolcrib.crib import Crib, NotIn
from toolcrib.people import People


class Counter:
    """Carries out one line at a time and answers with one."""

    def __init__(self, crib: Crib, people: People) -> None:
        self._crib = crib
        self._people = people

    def enter(self, line: str) -> str:
        """Carry out a command; the answer says what happened."""
        word, number, *rest = line.split()
        tool = self._crib.tool(int(number))
        if word == "lend":
            return self._lend(tool.number, rest[0])
        if word == "back":
            return self._back(tool.number)
        if word == "move":
            cabinet, drawer = rest[0].split(".")
            self._crib.move(tool.number, int(cabinet), int(drawer))
            return f"{tool.name} belongs in {tool.place()}"
        if word == "dull":
            self._crib.mark_dull(tool.number)
            return f"{tool.name} is due"
        return f"no command {word}"

    def _lend(self, number: int, person: str) -> str:
        if not self._people.may_borrow(person):
            return f"{person} may not borrow"
        try:
            self._crib.lend(number, person)
        except NotIn as reason:
            return str(reason)
        self._people.took(person)
        return f"{person} has {self._crib.tool(number).name}"

    def _back(self, number: int) -> str:
        tool = self._crib.tool(number)
        person = self._crib.take_back(number)
        if person is None:
            return f"{tool.name} was not out"
        self._people.brought(person)
        return f"{tool.name} back from {person}, to {tool.place()}"
