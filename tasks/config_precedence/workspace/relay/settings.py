"""The settings in force."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from relay.sources import DEFAULTS, SettingsError, from_arguments, from_environment, from_file


@dataclass(frozen=True)
class Settings:
    """What the relay runs with, and the source of each setting by name."""

    host: str
    port: int
    secure: bool
    recipients: tuple[str, ...]
    origins: Mapping[str, str]


def load(arguments: Sequence[str], environment: Mapping[str, str], file: Iterable[str] = ()) -> Settings:
    """Put the settings together from all the places where they are given; ``file`` is read by lines."""
    layers = [
        ("arguments", from_arguments(arguments)),
        ("file", from_file(file)),
        ("environment", from_environment(environment)),
        ("defaults", DEFAULTS),
    ]
    texts: dict[str, str] = {}
    origins: dict[str, str] = {}
    for origin, layer in layers:
        for name, text in layer.items():
            if name not in texts:
                texts[name] = text
                origins[name] = origin
    return Settings(
        host=texts["host"],
        port=_port(texts["port"]),
        secure=_yes_or_no(texts["secure"]),
        recipients=tuple(name.strip() for name in texts["recipients"].split(",") if name.strip()),
        origins=origins,
    )


def _port(text: str) -> int:
    if not text.isdecimal() or not 0 < int(text) < 65536:
        raise SettingsError(f"A port is a number from 1 to 65535, not {text}.")
    return int(text)


def _yes_or_no(text: str) -> bool:
    if text not in ("yes", "no"):
        raise SettingsError(f"Write yes or no, not {text}.")
    return text == "yes"
