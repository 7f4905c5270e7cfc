"""Sources of settings, and the base of the classes that read them."""

from collections.abc import Mapping
from typing import Any, ClassVar

from conf.fields import Field


class Source:
    """Layers of texts by key; an earlier layer wins over a later one."""

    def __init__(self, *layers: Mapping[str, str]) -> None:
        self._layers = [{key.lower(): text for key, text in layer.items()} for layer in layers]
        self._asked: set[str] = set()

    def text(self, key: str) -> str | None:
        """The text of a setting, or None where no layer has it."""
        self._asked.add(key)
        for layer in self._layers:
            if key in layer:
                return layer[key]
        return None

    def unread(self) -> list[str]:
        """The keys that nobody has asked for, sorted."""
        return sorted({key for layer in self._layers for key in layer} - self._asked)


class Settings:
    """Base of all settings classes: `class HttpSettings(Settings, section="http")`."""

    section: ClassVar[str] = ""
    fields: ClassVar[dict[str, Field]] = {}

    def __init_subclass__(cls, section: str = "", **options: Any) -> None:
        super().__init_subclass__(**options)
        cls.section = section or cls.section
        cls.fields = {
            name: member
            for base in reversed(cls.__mro__)
            for name, member in vars(base).items()
            if isinstance(member, Field)
        }
        for name, field in cls.fields.items():
            field.__set_name__(cls, name)

    def __init__(self, source: Source, **given: Any) -> None:
        self.source = source
        self.given: dict[str, Any] = {}
        for name, value in given.items():
            if name not in self.fields:
                raise TypeError(f"{type(self).__name__} has no setting {name}")
            setattr(self, name, value)

    def values(self) -> dict[str, Any]:
        """Every setting by name."""
        return {name: getattr(self, name) for name in sorted(self.fields)}

    @classmethod
    def template(cls) -> list[str]:
        """Lines to begin a settings file with: every key and its default."""
        return [f"{field.key} = {field.default}" for _, field in sorted(cls.fields.items())]
