"""Menus that are made from a list of entries."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

Command = Callable[..., None]


@dataclass(frozen=True)
class Entry:
    """A key, what is shown beside it, and the command it gives, with arguments."""

    key: str
    title: str
    command: str
    arguments: tuple[str, ...] = ()


class Menu:
    """Keys and what happens when they are pressed."""

    def __init__(self, entries: Iterable[Entry], commands: Mapping[str, Command]) -> None:
        self.pressed: list[str] = []
        self._titles: dict[str, str] = {}
        self._handlers: dict[str, Callable[[], None]] = {}
        for entry in entries:
            command = commands[entry.command]

            def run() -> None:
                self.pressed.append(entry.title)
                command(*entry.arguments)

            self._titles[entry.key] = entry.title
            self._handlers[entry.key] = run

    def lines(self) -> list[str]:
        """The menu as it is shown."""
        return [f"[{key}] {title}" for key, title in self._titles.items()]

    def press(self, *keys: str) -> None:
        """Do what the keys stand for, one after the other; raises KeyError for an unknown one."""
        for key in keys:
            self._handlers[key]()
