"""Configurations from TOML and ``a.b=value`` overrides; what does not do is said in one sentence.

``a.b=`` without a value takes the default again.
"""

import difflib
import json
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar, cast, get_args

from pdb_agent.manifest import commit
from pydantic import BaseModel, ValidationError

from pdb_trainer.config import GrpoConfig, SftConfig
from pdb_trainer.errors import ConfigError
from pdb_trainer.whole_files import write_whole

RUN_FILE = "run.json"
C = TypeVar("C", SftConfig, GrpoConfig)
TreeT = TypeVar("TreeT", bound=BaseModel)


def read_sft(path: Path | None, overrides: Sequence[str] = ()) -> SftConfig:
    """A supervised run's tree. Raises ConfigError."""
    return _tree(SftConfig, read_table(path, overrides))


def read_grpo(path: Path | None, overrides: Sequence[str] = ()) -> GrpoConfig:
    """A reinforcement learning run's tree. Raises ConfigError."""
    return _tree(GrpoConfig, read_table(path, overrides))


def read_either(path: Path, overrides: Sequence[str] = ()) -> SftConfig | GrpoConfig:
    """Whichever its key ``kind`` says. Raises ConfigError."""
    table = read_table(path, overrides)
    match table.get("kind"):
        case "sft":
            return _tree(SftConfig, table)
        case "grpo":
            return _tree(GrpoConfig, table)
        case other:
            raise ConfigError(f'{path} has kind {other!r}: write kind = "sft" or kind = "grpo" at its top.')


def read_table(path: Path | None, overrides: Sequence[str]) -> dict[str, Any]:
    """A TOML file (None: nothing) with overrides. Raises ConfigError."""
    table: dict[str, Any] = {}
    if path is not None:
        try:
            table = tomllib.loads(path.read_text(encoding="utf-8"))
        except OSError as error:
            raise ConfigError(f"{path} cannot be read ({error.strerror}): give a TOML file.") from error
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            raise ConfigError(f"{path} is no TOML: {error}.") from error
    for override in overrides:
        _override(table, override)
    return table


def write_run_file(folder: Path, config: SftConfig | GrpoConfig) -> None:
    """Write the resolved tree and the code's commit into a run's folder, or see that they agree with it.

    Of a run that goes on, only what decides nothing of what is learned may change. Raises ConfigError.
    """
    path = folder / RUN_FILE
    now: dict[str, Any] = {"format": 1, "config": json.loads(config.model_dump_json()), "commit": commit()}
    if path.exists():
        try:
            there = json.loads(path.read_text(encoding="utf-8"))["config"]
        except (ValueError, KeyError, TypeError) as error:
            raise ConfigError(f"{path} is damaged: give another folder.") from error
        names = sorted(_differing(there, now["config"]))
        differing = [name for name in names if not name.startswith(_MAY_CHANGE[config.kind])]
        if differing:
            raise ConfigError(
                f"{folder} holds a run with another {', '.join(differing)}: give another folder, or the "
                f"settings that its {RUN_FILE} has."
            )
    try:
        write_whole(path, (json.dumps(now, indent=2, sort_keys=True) + "\n").encode())
    except OSError as error:
        raise ConfigError(f"{path} cannot be written ({error.strerror}): give another folder.") from error


_HARMLESS = (
    "run.steps",
    "run.checkpoint_every",
    "run.keep_",
    "sampler.base_url",
    "sampler.python",
    "sampler.attempts",
    "measure_every",
    "evaluation.",
    "alarms.",
)
_MAY_CHANGE = {
    "grpo": _HARMLESS,
    "sft": (*_HARMLESS, "tasks.", "toolset.", "limits.", "sampler."),  # for evaluations only
}
"""Beginnings of settings that decide nothing of what is learned, by the run's kind."""


def _differing(there: object, here: object, place: str = "") -> set[str]:
    """Names of the settings in which two resolved trees differ."""
    if not (isinstance(there, dict) and isinstance(here, dict)):
        return set() if there == here else {place}
    names: set[str] = set()
    first, second = cast("dict[str, Any]", there), cast("dict[str, Any]", here)
    for key in first.keys() | second.keys():
        names |= _differing(first.get(key), second.get(key), f"{place}.{key}" if place else key)
    return names


def _override(table: dict[str, Any], override: str) -> None:
    name, equals, text = override.partition("=")
    if not equals or not name:
        raise ConfigError(f"{override!r} is no setting: write --set name.of.it=value.")
    *folders, last = name.split(".")
    for folder in folders:
        inner = table.setdefault(folder, {})
        if not isinstance(inner, dict):
            raise ConfigError(f"{name}: {folder} is a value, so nothing lies below it.")
        table = cast("dict[str, Any]", inner)
    if text:
        table[last] = _value(text)
    else:  # TOML has no word for nothing
        table.pop(last, None)


def _value(text: str) -> Any:
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return text  # a word without quotes


def _tree(kind: type[C], table: Mapping[str, Any]) -> C:
    own = kind.model_fields["kind"].default
    if table.get("kind", own) != own:
        raise ConfigError(f"These settings are for pdb-trainer {table['kind']}, not for pdb-trainer {own}.")
    return tree_of(kind, table)


def tree_of(kind: type[TreeT], table: Mapping[str, Any]) -> TreeT:
    """A tree of any kind. Raises ConfigError, in one sentence that names the setting."""
    try:
        return kind.model_validate(dict(table))
    except ValidationError as error:
        raise ConfigError(_sentence(kind, error)) from error


def _sentence(kind: type[BaseModel], error: ValidationError) -> str:
    # An unknown key is said first: a misspelt one often also leaves the right one missing.
    faults = sorted(error.errors(), key=lambda fault: fault["type"] != "extra_forbidden")
    first = faults[0]
    place = ".".join(map(str, first["loc"]))
    match first["type"]:
        case "extra_forbidden":
            return f"There is no setting {place}: the nearest is {_nearest(place, list(settings(kind)))}."
        case "missing":
            return f"The setting {place} is missing: give it in the file or by --set {place}=…."
        case _:
            words = first["msg"].removeprefix("Value error, ")
            return f"The setting {place} does not do: {words}." if place else f"This does not do: {words}."


def _nearest(place: str, known: Sequence[str]) -> str:
    """The likeliest of the known settings: by its whole name, or by its last part alone."""
    return max(known, key=lambda name: (_likeness(name, place), -len(name)))


def _likeness(name: str, place: str) -> float:
    whole = difflib.SequenceMatcher(a=name, b=place).ratio()
    last = difflib.SequenceMatcher(a=name.rpartition(".")[2], b=place.rpartition(".")[2]).ratio()
    return max(whole, 0.9 * last)


def settings(kind: type[BaseModel], stem: str = "") -> Iterator[str]:
    """Dotted names of all settings of a tree."""
    for name, field in kind.model_fields.items():
        inner = [one for one in (field.annotation, *get_args(field.annotation)) if _is_tree(one)]
        yield stem + name
        for tree in inner:
            yield from settings(cast("type[BaseModel]", tree), f"{stem}{name}.")


def _is_tree(annotation: object) -> bool:
    return isinstance(annotation, type) and issubclass(annotation, BaseModel)
