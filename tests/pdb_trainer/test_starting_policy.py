"""A recipe's policy acts without learning: probed, and harvested with its name and its adapter's hash."""

import io
from pathlib import Path

import pytest
from pdb_agent.episode import Replied
from pdb_agent.run_folder import RunFolder
from pdb_trainer.adapter_files import write_adapter
from pdb_trainer.config import GrpoConfig
from pdb_trainer.corpus.origin import read_origin
from pdb_trainer.errors import CheckpointError, ProbeError
from pdb_trainer.harvesting import Harvested, harvest_run
from pdb_trainer.learner_opening import open_learner
from pdb_trainer.probing import probe_run
from pdb_trainer.starting_policy import acting, adapter_hash

from tests.pdb_trainer.tiny_runs import grpo_config

SHORT = {
    "tasks": {"gym": {"count": 1}},
    "limits": {"turns": 1, "context_tokens": 4000},
    "sampler": {"max_output_tokens": 16, "context_tokens": 4096, "concurrency": 2},
}


@pytest.fixture
def config(tiny_model: Path, tmp_path: Path) -> GrpoConfig:
    """With an adapter that changes every reply."""
    fresh = grpo_config(tiny_model, **SHORT)
    learner = open_learner(fresh, temperature=1.0)
    changed = {name: tensor + 0.5 for name, tensor in learner.adapter().items()}
    write_adapter(tmp_path / "adapter", changed, learner.model.adapters.settings, base=str(tiny_model))
    return grpo_config(tiny_model, **SHORT, adapter={"rank": 4, "alpha": 8, "start": tmp_path / "adapter"})


def replies(run: Path) -> list[Replied]:
    return [
        event
        for _, episode in RunFolder(run).episodes()
        for event in episode.events
        if isinstance(event, Replied)
    ]


@pytest.mark.slow
def test_a_harvest_keeps_generation_adapter_and_tokens_of_the_policy(config: GrpoConfig, tmp_path: Path):
    said, progress = io.StringIO(), io.StringIO()
    harvested = Harvested(generation=3, repetitions=2)
    assert harvest_run(config, tmp_path / "own", harvested, said, progress) == 0
    origin = read_origin(tmp_path / "own")
    assert (origin.generation, origin.adapter_hash) == (3, adapter_hash(config.adapter.start))
    assert "2 episodes, 0 of them solved" in said.getvalue()
    assert "harvested 2/2: 0 of 2 solved" in progress.getvalue()
    tokens = [event.reply.tokens for event in replies(tmp_path / "own")]
    assert [one.version for one in tokens if one] == ["policy-v0"] * 2
    assert tokens[0] != tokens[1]  # each repetition draws from a seed of its own


@pytest.mark.slow
def test_a_probe_of_a_policy_that_never_passes_refuses_unless_it_is_wanted_anyway(
    config: GrpoConfig, tmp_path: Path
):
    said = io.StringIO()

    def run(*, anyway: bool) -> int:
        return probe_run(
            config, tmp_path / "probe", tries=2, anyway=anyway, stream=said, progress=io.StringIO()
        )

    with pytest.raises(ProbeError, match=r"cannot fill its batches: 2 groups of 3 give 0\.00 mixed ones"):
        run(anyway=False)
    assert run(anyway=True) == 0
    assert said.getvalue().count("tasks: 1; 1 never passed, 0 mixed (0%), 0 always passed") == 2


def test_a_recipes_policy_acts_with_its_own_tools_limits_and_draws(tiny_model: Path):
    recipe = grpo_config(tiny_model, **SHORT)
    acts = acting(recipe, repetitions=4)
    assert acts.policy.name == f"live/{tiny_model.name}"
    assert (acts.limits, acts.tasks, acts.repetitions) == (recipe.limits, recipe.tasks, 4)
    assert [str(name) for name in acts.toolsets] == ["edit-menu"]
    assert (acts.sampling.temperature, acts.sampling.max_output_tokens, acts.sampling.seed) == (1.0, 16, 0)


def test_without_an_adapter_there_is_no_hash_and_a_missing_one_is_said(tmp_path: Path):
    assert adapter_hash(None) is None
    with pytest.raises(CheckpointError, match=r"nowhere"):
        adapter_hash(tmp_path / "nowhere")
