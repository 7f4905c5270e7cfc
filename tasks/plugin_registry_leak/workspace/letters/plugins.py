"""The plug-ins we have."""

from collections.abc import Mapping

from letters.registry import Registry


class Basics:
    """Filters and English words that every house wants."""

    def install(self, registry: Registry) -> None:
        registry.add_filter("title", str.title)
        registry.add_filter("upper", str.upper)
        registry.add_words("en", {"greeting": "Dear", "closing": "Yours"})


class Footer:
    """A line below every letter."""

    def __init__(self, line: str) -> None:
        self.line = line

    def install(self, registry: Registry) -> None:
        registry.add_hook("after", lambda text: f"{text}\n{self.line}")


class Numbering:
    """A running number above every letter."""

    def __init__(self) -> None:
        self.written = 0

    def install(self, registry: Registry) -> None:
        registry.add_hook("after", self.number)

    def number(self, text: str) -> str:
        """The text with the next number above it."""
        self.written += 1
        return f"No. {self.written}\n{text}"


class Glossary:
    """Words of one's own."""

    def __init__(self, language: str, words: Mapping[str, str]) -> None:
        self.language = language
        self.words = dict(words)

    def install(self, registry: Registry) -> None:
        registry.add_words(self.language, self.words)


class Shorthand:
    """Abbreviations that are written out before anything is filled in."""

    def __init__(self, short: Mapping[str, str]) -> None:
        self.short = dict(short)

    def install(self, registry: Registry) -> None:
        registry.add_hook("before", self.written_out)

    def written_out(self, text: str) -> str:
        """The text with every abbreviation in full."""
        for short, full in self.short.items():
            text = text.replace(short, full)
        return text
