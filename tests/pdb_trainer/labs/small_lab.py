"""A lab that takes seconds: everything is there, and nothing is learned."""

from collections.abc import Sequence

from pdb_agent.config import LimitsConfig
from pdb_agent.messages import ToolSpec
from pdb_agent.procedural.gym import GymTask
from pdb_trainer.config import SamplerConfig
from pdb_trainer.labs.settings import BaseConfig, LabConfig, LabTasksConfig
from pdb_trainer.labs.task_sets import numbered

BASE = BaseConfig(hidden=16, layers=1, heads=2, vocabulary=400, passes=1, batch=4)
TOOLS = (
    ToolSpec(name="read_file", description="Show lines of a file, numbered.", schema={"type": "object"}),
    ToolSpec(name="edit", description="Apply one change of the menu.", schema={"type": "object"}),
)


def programs(count: int = 20) -> Sequence[GymTask]:
    return [numbered(number) for number in range(count)]


def small_lab() -> LabConfig:
    few = {"steps": 1, "checkpoint_every": 1}
    return LabConfig(
        tasks=LabTasksConfig(primer=20, oracle=3, practice=3, held_out=2, fixed=1),
        base=BASE,
        limits=LimitsConfig(turns=4, context_tokens=4096, format_errors=1),
        sampler=SamplerConfig(max_output_tokens=16, context_tokens=4096),
        sft={"examples_per_step": 2, "run": few},
        grpo={
            "algorithm": {"groups": 1, "group_size": 2, "least_group": 2},
            "reward": {"kind": "outcome"},
            "kl": {"beta": 0.0},
            "run": few,
        },
    )
