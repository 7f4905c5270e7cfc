"""Tools, the drawers that they belong in, and who has them."""

from __future__ import annotations

from dataclasses import dataclass, field


class NotIn(Exception):
    """The tool is out already."""


@dataclass(unsafe_hash=True)
class Tool:
    """One tool; no two have the same number."""

    number: int
    cabinet: int
    drawer: int
    name: str = field(compare=False)
    uses: int = field(default=0, compare=False)

    def place(self) -> str:
        """Where the tool belongs, such as 2.4 for the fourth drawer of cabinet 2."""
        return f"{self.cabinet}.{self.drawer}"


class Crib:
    """All tools of the workshop."""

    def __init__(self) -> None:
        self._tools: dict[int, Tool] = {}
        self._out: dict[Tool, str] = {}
        self._dull: set[Tool] = set()

    def add(self, name: str, cabinet: int, drawer: int) -> Tool:
        """Take a new tool in under the next number."""
        number = len(self._tools) + 1
        self._tools[number] = Tool(number, cabinet, drawer, name)
        return self._tools[number]

    def tool(self, number: int) -> Tool:
        """The tool with that number."""
        return self._tools[number]

    def lend(self, number: int, person: str) -> None:
        """Hand a tool out; NotIn when somebody has it."""
        tool = self.tool(number)
        if tool in self._out:
            raise NotIn(f"{tool.name} is with {self._out[tool]}")
        self._out[tool] = person
        tool.uses += 1

    def take_back(self, number: int) -> str | None:
        """Take a tool in again; who brought it, or None when it was not out."""
        return self._out.pop(self.tool(number), None)

    def move(self, number: int, cabinet: int, drawer: int) -> None:
        """Give a tool another drawer to belong in."""
        tool = self.tool(number)
        tool.cabinet, tool.drawer = cabinet, drawer

    def rename(self, number: int, name: str) -> None:
        """Call a tool something else."""
        self.tool(number).name = name

    def mark_dull(self, number: int) -> None:
        """Put a tool on the list for the grindstone."""
        self._dull.add(self.tool(number))

    def sharpen(self, number: int) -> bool:
        """Take a tool off that list; False when it was not there."""
        tool = self.tool(number)
        was_dull = tool in self._dull
        self._dull.discard(tool)
        return was_dull

    def dull(self) -> list[str]:
        """Names of the tools for the grindstone."""
        return sorted(tool.name for tool in self._dull)

    def out(self) -> dict[str, str]:
        """Who has what, by the name of the tool."""
        return {tool.name: person for tool, person in self._out.items()}

    def contents(self, place: str) -> list[str]:
        """Names of the tools that lie in a drawer now."""
        tools = self._tools.values()
        return [tool.name for tool in tools if tool.place() == place and tool not in self._out]
