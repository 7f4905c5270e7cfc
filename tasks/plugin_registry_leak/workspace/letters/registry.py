"""What plug-ins add to the writing of letters."""

from collections.abc import Callable, Mapping
from typing import Protocol

Filter = Callable[[str], str]
Hook = Callable[[str], str]


class Plugin(Protocol):
    """Something that adds to a registry."""

    def install(self, registry: "Registry") -> None: ...


class Registry:
    """Filters by name, words by language and key, hooks by stage."""

    def __init__(
        self,
        filters: Mapping[str, Filter] | None = None,
        words: Mapping[str, dict[str, str]] | None = None,
        hooks: Mapping[str, list[Hook]] | None = None,
    ) -> None:
        self._filters = dict(filters or {})
        self._words = dict(words or {})
        self._hooks = dict(hooks or {})

    def extended(self) -> "Registry":
        """A registry that begins with all that is in this one."""
        return Registry(self._filters, self._words, self._hooks)

    def add_filter(self, name: str, function: Filter) -> None:
        """Make a filter known; an earlier one of that name gives way."""
        self._filters[name] = function

    def add_words(self, language: str, words: Mapping[str, str]) -> None:
        """Make words of a language known; earlier ones of the same key give way."""
        self._words.setdefault(language, {}).update(words)

    def add_hook(self, stage: str, hook: Hook) -> None:
        """Let the hook change the text of a stage, after the hooks that are there."""
        self._hooks.setdefault(stage, []).append(hook)

    def filtered(self, value: str, names: list[str]) -> str:
        """The value after the filters, from left to right."""
        for name in names:
            value = self._filters[name](value)
        return value

    def word(self, language: str, key: str) -> str:
        """The word, or its key where nobody knows it."""
        return self._words.get(language, {}).get(key, key)

    def hooked(self, stage: str, text: str) -> str:
        """The text after the hooks of the stage."""
        for hook in self._hooks.get(stage, []):
            text = hook(text)
        return text
