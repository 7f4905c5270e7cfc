"""A house, and the offices that write in its name."""

import re

from letters.plugins import Basics
from letters.registry import Plugin, Registry

FIELD = re.compile(r"\{(\w+)((?:\|\w+)*)\}")
WORD = re.compile(r"\[(\w+)\]")


class Office:
    """Writes letters."""

    def __init__(self, registry: Registry, language: str = "en") -> None:
        self._registry = registry
        self._language = language

    def write(self, template: str, **values: str) -> str:
        """The letter that the template makes of the values."""

        def fill(match: re.Match[str]) -> str:
            names = [name for name in match[2].split("|") if name]
            return self._registry.filtered(values[match[1]], names)

        text = self._registry.hooked("before", template)
        text = WORD.sub(lambda match: self._registry.word(self._language, match[1]), text)
        return self._registry.hooked("after", FIELD.sub(fill, text))


class House:
    """What all its offices have in common."""

    def __init__(self, *plugins: Plugin) -> None:
        self._registry = Registry()
        for plugin in (Basics(), *plugins):
            self.adopt(plugin)

    def adopt(self, plugin: Plugin) -> None:
        """Give the plug-in to all offices that open from now on."""
        plugin.install(self._registry)

    def office(self, *plugins: Plugin, language: str = "en") -> Office:
        """Open an office, with plug-ins of its own."""
        registry = self._registry.extended()
        for plugin in plugins:
            plugin.install(registry)
        return Office(registry, language)
