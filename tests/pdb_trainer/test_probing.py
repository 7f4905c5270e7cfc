"""The probe in the real sandbox: what is counted is what the grader said."""

import dataclasses
import io
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import anyio
import pytest
from pdb_agent.batch import Progress
from pdb_agent.config import SamplingConfig
from pdb_agent.messages import Message, Reply, ToolSpec
from pdb_agent.policies.oracle import OraclePolicy
from pdb_agent.policies.scripted import ScriptedPolicy
from pdb_agent.policy import Policy, Sampling
from pdb_agent.procedural.gym import LabFamily, generate
from pdb_agent.task import Task
from pdb_agent.toolsets import ToolsetName
from pdb_trainer.config import AlgorithmConfig, GymTasksConfig, TasksConfig
from pdb_trainer.corpus.leakage import open_guard
from pdb_trainer.corpus.settings import CollectConfig
from pdb_trainer.probe import Demand, Passes
from pdb_trainer.probing import demand_of, probe, read_passes, write_report

from tests.pdb_agent.episode_making import done
from tests.pdb_trainer.corpus.corpus_making import GOOD, of, write_run

CONFIG = CollectConfig(
    sampling=SamplingConfig(seed=0),
    tasks=TasksConfig(gym=GymTasksConfig(families=(LabFamily.RANGE,), count=2)),
    toolsets=(ToolsetName.EDIT_MENU,),
    repetitions=2,
)


class Moody:
    """Knows the solution of one task, and tells it in tries with an even number alone."""

    name = "moody/one"

    def __init__(self, task: Task) -> None:
        right = str(generate(LabFamily.RANGE, 0).right_operation)
        self._oracle = OraclePolicy(task, right_operation=right)
        self._silent = ScriptedPolicy(["I do not know."])
        self._knows = task.id == "gym_range_0"

    async def respond(
        self, system: str, messages: Sequence[Message], tools: Sequence[ToolSpec], sampling: Sampling
    ) -> Reply:
        tells = self._knows and sampling.seed is not None and sampling.seed % 2 == 0
        policy: Policy = self._oracle if tells else self._silent
        return await policy.respond(system, messages, tools, sampling)

    async def aclose(self) -> None: ...


@pytest.mark.slow
def test_passes_are_counted_by_task_and_a_probe_that_is_there_is_only_counted(tmp_path: Path):
    told: list[Progress] = []
    demand = Demand(group_size=2, groups=1, tries=4)
    run = partial(
        probe,
        CONFIG,
        tmp_path / "run",
        open_guard(),
        demand,
        jobs=2,
        policy_for=lambda config, task: Moody(task),
        tell=told.append,
    )
    made = anyio.run(run)
    assert made.passes == {
        "gym_range_0": Passes(passed=1, tries=2),
        "gym_range_1": Passes(passed=0, tries=2),
    }
    assert (made.found.mixed_chance, made.found.kept_groups) == (0.25, 1.0)
    assert len(told) == 4
    assert anyio.run(run).passes == made.passes
    assert len(told) == 4
    text = io.StringIO()
    write_report(made, text)
    assert "tasks: 2; 1 never passed, 1 mixed (50%), 0 always passed" in text.getvalue()
    assert "P(mixed group) at 2 episodes a group: 0.250" in text.getvalue()
    assert "mixed groups to expect in 4 tries: 1.00; wanted: 1" in text.getvalue()


def test_tries_without_a_valid_end_do_not_count(tmp_path: Path):
    cut_off = dataclasses.replace(of(*GOOD), ended=None)
    run = write_run(tmp_path / "run", [of(*GOOD), cut_off, of(done(), solved=False), of(*GOOD, task="other")])
    assert read_passes(run) == {"cart": Passes(passed=1, tries=2), "other": Passes(passed=1, tries=1)}


def test_what_a_run_wants_follows_from_how_it_treats_uniform_groups():
    resampling = AlgorithmConfig(uniform="resample", groups=4, group_size=6, least_group=6, resample_tries=16)
    assert demand_of(resampling) == Demand(group_size=6, groups=4, tries=16)
    skipping = AlgorithmConfig(uniform="skip", groups=4, group_size=12)
    assert demand_of(skipping) == Demand(group_size=12, groups=1, tries=4)
