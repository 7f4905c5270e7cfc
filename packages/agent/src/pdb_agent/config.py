"""What a run is made of: one frozen tree, read from TOML, with the only defaults.

Unknown keys are errors. The resolved tree is written into the run's manifest.
"""

import tomllib
from collections.abc import Mapping, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any, Literal, Self, cast, get_args

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from pdb_agent.errors import AgentError
from pdb_agent.limits import EpisodeLimits
from pdb_agent.policy import Sampling
from pdb_agent.procedural.gym import LabFamily
from pdb_agent.sandbox import Backend
from pdb_agent.task import Split
from pdb_agent.toolsets import Toolset, ToolsetName


class ConfigError(AgentError):
    """A setting that does not do; the message names it and says what would."""


class _Tree(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class PolicyConfig(_Tree):
    """Who answers."""

    name: str = "oracle"
    """``oracle``, or ``provider/model``: anthropic, openai, openrouter, vllm, compatible."""
    base_url: str | None = None
    key_variable: str | None = None
    """Environment variable that holds the key; None takes the provider's own."""
    timeout_seconds: float = Field(default=600.0, gt=0)
    extra_body: dict[str, Any] = Field(default_factory=dict)


class SamplingConfig(_Tree):
    """How replies are drawn."""

    temperature: float | None = Field(default=0.1, ge=0)
    top_p: float | None = Field(default=None, gt=0, le=1)
    max_output_tokens: int = Field(default=4096, ge=16)
    effort: Literal["none", "low", "medium", "high", "max"] | None = None
    seed: int | None = None

    def record(self) -> Sampling:
        """As policies take it."""
        return Sampling(**self.model_dump())


class LimitsConfig(_Tree):
    """What an episode may use."""

    turns: int = Field(default=50, ge=1)
    context_tokens: int = Field(default=30_000, ge=2000)
    wall_seconds: float | None = Field(default=1800.0, gt=0)
    output_tokens: int | None = Field(default=None, ge=1)
    cost: Decimal | None = Field(default=None, gt=0)
    format_errors: int = Field(default=3, ge=1)
    repeats: int = Field(default=4, ge=2)
    debugger_streak: int = Field(default=20, ge=2)
    idle_turns: int = Field(default=15, ge=2)

    def record(self) -> EpisodeLimits:
        """As the loop takes it."""
        return EpisodeLimits(**self.model_dump())


class ArmConfig(_Tree):
    """One way of acting that is measured."""

    toolset: ToolsetName = ToolsetName.DEBUG
    unlock_after_edits: int = Field(default=5, ge=1)
    mcp_servers: Path | None = None
    """An ``mcpServers`` file: the tools of its servers are added."""
    policy: PolicyConfig | None = None
    """Instead of the run's."""

    def record(self) -> Toolset:
        """As the toolbox takes it."""
        return Toolset(name=self.toolset, unlock_after_edits=self.unlock_after_edits)


class GymConfig(_Tree):
    """Tasks that the procedural gym makes."""

    families: tuple[LabFamily, ...] = Field(default=tuple(LabFamily), min_length=1)
    count: int | None = Field(default=None, ge=1)
    """How many, family by family in turn; None is all that are held out, or 20."""
    held_out: bool = True
    """Those that training never meets; otherwise the first ones that it does."""


class TasksConfig(_Tree):
    """Which tasks: the gym's, or those of a folder."""

    root: Path | None = None
    split: Split | None = None
    ids: tuple[str, ...] = ()
    """Only these; none and no split: all."""
    gym: GymConfig | None = None

    @model_validator(mode="after")
    def _is_one_kind(self) -> Self:
        if self.gym is not None and (self.root is not None or self.split is not None):
            raise ValueError("the gym makes its tasks, so there is no root or split beside it")
        return self


class RunConfig(_Tree):
    """Everything that decides what an evaluation does."""

    policy: PolicyConfig = Field(default_factory=PolicyConfig)
    sampling: SamplingConfig = Field(default_factory=SamplingConfig)
    limits: LimitsConfig = Field(default_factory=LimitsConfig)
    tasks: TasksConfig = Field(default_factory=TasksConfig)
    arms: dict[str, ArmConfig] = Field(default_factory=lambda: {"debug": ArmConfig()}, min_length=1)
    repetitions: int = Field(default=8, ge=1)
    backend: Backend | None = None


def read_config(path: Path | None, overrides: Sequence[str] = ()) -> RunConfig:
    """The tree of a file (None: the defaults) with ``a.b=value`` overrides. Raises ConfigError."""
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
    return config_of(table)


def config_of(table: Mapping[str, Any]) -> RunConfig:
    """The tree of a table. Raises ConfigError for the first thing in it that does not do."""
    try:
        return RunConfig.model_validate(dict(table))
    except ValidationError as error:
        raise ConfigError(_sentence(error)) from error


def _override(table: dict[str, Any], override: str) -> None:
    name, equals, text = override.partition("=")
    if not equals or not name:
        raise ConfigError(f"{override!r} is no setting: write name.of.it=value.")
    *folders, last = name.split(".")
    for folder in folders:
        inner = table.setdefault(folder, {})
        if not isinstance(inner, dict):
            raise ConfigError(f"{name}: {folder} is a value, so nothing lies below it.")
        table = cast("dict[str, Any]", inner)
    table[last] = _value(text)


def _value(text: str) -> Any:
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return text  # a word without quotes


def _sentence(error: ValidationError) -> str:
    first = error.errors()[0]
    place = ".".join(map(str, first["loc"]))
    if first["type"] == "extra_forbidden":
        known = _known(first["loc"])
        return f"There is no setting {place}: there are {', '.join(known)}."
    return f"The setting {place} does not do: {first['msg'].lower()}."


def _known(place: tuple[int | str, ...]) -> list[str]:
    """Names of the settings beside an unknown one."""
    if place[0] == "arms":
        tree, parts = ArmConfig, place[2:-1]
    else:
        tree, parts = RunConfig, place[:-1]
    for part in parts:
        annotation = tree.model_fields[str(part)].annotation
        models = [one for one in (annotation, *get_args(annotation)) if _is_tree(one)]
        tree = cast("type[_Tree]", models[0])
    return list(tree.model_fields)


def _is_tree(annotation: object) -> bool:
    return isinstance(annotation, type) and issubclass(annotation, _Tree)
