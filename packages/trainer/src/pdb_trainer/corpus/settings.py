"""What goes into a corpus, and what does not; all defaults in one place."""

from typing import Literal

from pdb_agent.config import LimitsConfig, PolicyConfig, SamplingConfig
from pdb_agent.sandbox import Backend
from pdb_agent.toolsets import ToolsetName
from pydantic import Field

from pdb_trainer.config import TasksConfig, Tree

Skill = Literal["read_before_edit", "debugger_discipline", "retest_before_done", "recover_from_failed_edit"]
SKILLS: tuple[Skill, ...] = (
    "read_before_edit",
    "debugger_discipline",
    "retest_before_done",
    "recover_from_failed_edit",
)


class GateSettings(Tree):
    """Thresholds of the behaviour gates; an episode that crosses one is no example."""

    debugger_share: float = Field(default=0.6, gt=0, le=1)
    """Of all calls, those to the debugger, at the most."""
    debugger_streak: int = Field(default=12, ge=1)
    """Debugger calls in a row, at the most."""
    first_source_edit: float = Field(default=0.75, gt=0, le=1)
    """Of all turns, those before the first effective edit, at the most."""
    require_final_verify: bool = True
    """The tests to be repaired have to be run after the last edit."""
    blind_steps: int = Field(default=3, ge=2)
    """So many steps in a row without an inspection are blind."""
    repeats: int = Field(default=3, ge=2)
    """So many equal calls with equal answers in a row are a loop."""
    require_order: bool = True
    """Every call has to be one that can be answered at its time."""
    require_read: bool = True
    """Every file has to be read before it is first edited."""
    require_use: bool = True
    """Every inspection has to be followed by an edit or a test run."""
    require_passing_run: bool = True
    """The last test run before the end has to pass."""


class CorpusSettings(Tree):
    """How a corpus is built."""

    max_tokens: int = Field(default=16_384, ge=16)
    """A longer example is dropped whole, and counted."""
    per_task: int = Field(default=4, ge=1)
    """Whole episodes of one task, at the most: alternately the shortest and the longest."""
    same_edits: int = Field(default=2, ge=1)
    """Whole episodes of a task that make the same edits in the same order, at the most."""
    microskills: tuple[Skill, ...] = SKILLS
    per_task_and_skill: int = Field(default=1, ge=1)
    """Microskill examples of one kind and task, at the most."""
    held_out: float = Field(default=0.1, ge=0, lt=1)
    """Share of the examples that training never sees, about: whole groups of tasks."""
    seed: int = 0
    """Decides which groups are held out."""
    gates: GateSettings = Field(default_factory=GateSettings)


class CollectConfig(Tree):
    """How episodes are collected on tasks of the training split."""

    policy: PolicyConfig = PolicyConfig()
    """The oracle, which needs no network, or ``provider/model``."""
    sampling: SamplingConfig = SamplingConfig()
    limits: LimitsConfig = LimitsConfig()
    tasks: TasksConfig = TasksConfig()
    toolsets: tuple[ToolsetName, ...] = Field(default=(ToolsetName.DEBUG,), min_length=1)
    """Every task is run with each of them."""
    unlock_after_edits: int = Field(default=5, ge=1)
    """For unlock-after-k, whose episodes make no examples."""
    repetitions: int = Field(default=1, ge=1)
    backend: Backend | None = None
    """Sandbox; None is the strongest that works."""
