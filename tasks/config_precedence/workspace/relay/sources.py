"""Where settings are given: each source as texts by setting name."""

from collections.abc import Iterable, Mapping, Sequence

DEFAULTS: Mapping[str, str] = {"host": "localhost", "port": "25", "secure": "no", "recipients": ""}
ENVIRONMENT_MARK = "RELAY_"


class SettingsError(ValueError):
    """A setting cannot be read; the message says which and where."""


def from_file(lines: Iterable[str]) -> dict[str, str]:
    """The settings in the lines of a settings file."""
    found: dict[str, str] = {}
    for number, line in enumerate(lines, start=1):
        text = line.partition("#")[0].strip()
        if not text:
            continue
        name, equals, value = text.partition("=")
        if not equals or name.strip() not in DEFAULTS:
            raise SettingsError(f"Line {number} of the file is not a setting: {text}")
        found[name.strip()] = value.strip()
    return found


def from_environment(environment: Mapping[str, str]) -> dict[str, str]:
    """The settings among the environment variables."""
    named = {name: environment.get(ENVIRONMENT_MARK + name.upper(), "") for name in DEFAULTS}
    return {name: value for name, value in named.items() if value}


def from_arguments(arguments: Sequence[str]) -> dict[str, str]:
    """The settings on a command line, each as --name and value."""
    found: dict[str, str] = {}
    rest = list(arguments)
    while rest:
        option = rest.pop(0)
        name = option[2:]
        if not option.startswith("--") or name not in DEFAULTS or not rest:
            raise SettingsError(f"Not a setting with its value: {option}")
        found[name] = rest.pop(0)
    return found
