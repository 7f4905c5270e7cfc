"""Typed settings, declared as attributes of a settings class."""

from typing import Any


class SettingError(Exception):
    """A text or value that does not do for its setting; the message begins with the key."""


class Field:
    """An attribute whose text comes from the settings' source, and whose value has a type."""

    def __init__(self, default: Any) -> None:
        self.default = default
        self.name = ""
        self.owner: Any = None

    def __set_name__(self, owner: type, name: str) -> None:
        self.owner = owner
        self.name = name

    @property
    def key(self) -> str:
        """What the setting is called in a source."""
        return f"{self.owner.section}.{self.name}"

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        if instance is None:
            return self
        if self.name in instance.given:
            return instance.given[self.name]
        text = instance.source.text(self.key)
        return self.default if text is None else self.parsed(text)

    def __set__(self, instance: Any, value: Any) -> None:
        try:
            instance.given[self.name] = self.checked(value)
        except ValueError as error:
            raise SettingError(f"{self.key}: {error}") from error

    def parsed(self, text: str) -> Any:
        """The text as a value of the field's type."""
        try:
            return self.checked(self.convert(text.strip()))
        except ValueError as error:
            raise SettingError(f"{self.key}: {error}") from error

    def convert(self, text: str) -> Any:
        """The text in the field's type; raises ValueError."""
        return text

    def checked(self, value: Any) -> Any:
        """The value, if the field allows it; raises ValueError."""
        return value


class Number(Field):
    """A number between two bounds, of the type of its default."""

    def __init__(self, default: int | float, low: float = 0, high: float = float("inf")) -> None:
        super().__init__(default)
        self.low = low
        self.high = high

    def convert(self, text: str) -> int | float:
        return type(self.default)(text)

    def checked(self, value: Any) -> int | float:
        if not self.low <= value <= self.high:
            raise ValueError(f"{value} is not between {self.low} and {self.high}")
        return value


class Flag(Field):
    """Yes or no."""

    WORDS = {"yes": True, "true": True, "1": True, "no": False, "false": False, "0": False}

    def convert(self, text: str) -> bool:
        if text.lower() not in self.WORDS:
            raise ValueError(f"{text!r} is neither yes nor no")
        return self.WORDS[text.lower()]


class Choice(Field):
    """One of a few words, the first of which is the default."""

    def __init__(self, *words: str) -> None:
        super().__init__(words[0])
        self.words = words

    def checked(self, value: Any) -> str:
        if value not in self.words:
            raise ValueError(f"{value!r} is none of {', '.join(self.words)}")
        return value


class Words(Field):
    """Any number of words with commas between them."""

    def __init__(self, *words: str) -> None:
        super().__init__(words)

    def convert(self, text: str) -> tuple[str, ...]:
        return tuple(word.strip() for word in text.split(",") if word.strip())

    def checked(self, value: Any) -> tuple[str, ...]:
        if not value:
            raise ValueError("at least one word is needed")
        return tuple(value)
