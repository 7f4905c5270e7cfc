"""A training run's settings: read, checked, written down."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from pdb_trainer.config import GrpoConfig, SftConfig
from pdb_trainer.config_reading import (
    RUN_FILE,
    read_either,
    read_grpo,
    read_sft,
    settings,
    write_run_file,
)
from pdb_trainer.errors import ConfigError

MODEL = 'model.path="m"'


def written(folder: Path, text: str) -> Path:
    path = folder / "recipe.toml"
    path.write_text(text, "utf-8")
    return path


def test_the_defaults_are_the_recipe() -> None:
    config = read_grpo(None, [MODEL])
    algorithm = config.algorithm
    assert (algorithm.groups, algorithm.group_size, algorithm.least_group) == (4, 12, 8)
    assert (algorithm.clip_low, algorithm.clip_high, algorithm.dual_clip) == (0.20, 0.28, 10.0)
    assert (algorithm.length_alpha, algorithm.response_scale, algorithm.response_bounds) == (
        0.25,
        48.0,
        (0.1, 5.0),
    )
    assert (algorithm.divide_by_std, algorithm.staleness, algorithm.log_ratio_clamp) == (False, 4, 20.0)
    assert (config.kl.beta, config.kl.target, config.kl.bounds) == (0.01, 0.02, (1e-4, 0.1))
    assert (config.anchor.weight, config.anchor.tokens, config.batch.microbatch_tokens) == (
        0.05,
        16_384,
        16_384,
    )
    assert (config.optimiser.learning_rate, config.optimiser.betas) == (2e-5, (0.9, 0.95))
    assert (config.optimiser.clip_norm, config.optimiser.warmup_steps) == (1.0, 5)
    assert config.sampler.temperature == 1.0


def test_overrides_go_before_the_file(tmp_path: Path) -> None:
    path = written(tmp_path, '[model]\npath = "m"\n[algorithm]\ngroups = 2\ngroup_size = 8\n')
    config = read_grpo(path, ["algorithm.groups=3", "toolset.name=no-debugger"])
    assert (config.algorithm.groups, config.algorithm.group_size) == (3, 8)
    assert config.toolset.name == "no-debugger"


def test_an_override_without_a_value_takes_the_default_again(tmp_path: Path) -> None:
    path = written(tmp_path, '[model]\npath = "m"\n[adapter]\nstart = "there"\nrank = 4\n')
    config = read_grpo(path, ["adapter.start=", "adapter.rank=", "algorithm.groups="])
    assert (config.adapter.start, config.adapter.rank, config.algorithm.groups) == (None, 16, 4)


@pytest.mark.parametrize(
    ("override", "unknown", "nearest"),
    [
        ("algorithm.clip_hihg=0.3", "algorithm.clip_hihg", "algorithm.clip_high"),
        ("algoritm.groups=3", "algoritm", "algorithm"),
        ("learning_rate=1", "learning_rate", "optimiser.learning_rate"),
        ("run.sed=1", "run.sed", "run.seed"),
    ],
)
def test_an_unknown_key_is_named_with_the_nearest_known(override: str, unknown: str, nearest: str) -> None:
    with pytest.raises(ConfigError) as raised:
        read_grpo(None, [MODEL, override])
    assert str(raised.value) == f"There is no setting {unknown}: the nearest is {nearest}."


def test_a_misspelt_key_is_said_before_the_missing_one() -> None:
    with pytest.raises(ConfigError, match=r"no setting model\.pth: the nearest is model\.path"):
        read_sft(None, ['model.pth="m"', 'corpus.path="c"'])


def test_what_is_missing_is_said() -> None:
    with pytest.raises(ConfigError, match=r"setting corpus is missing"):
        read_sft(None, [MODEL])


@pytest.mark.parametrize(
    ("override", "words"),
    [
        ("algorithm.groups=17", "algorithm.groups does not do"),
        ("algorithm.least_group=13", "more than a whole group"),
        ("algorithm.dual_clip=0.5", "above 1, or 0"),
        ("algorithm.response_bounds=[2.0, 5.0]", "lie around 1"),
        ('toolset.name="edit-menu"', "set tasks.gym"),
        ("limits.context_tokens=40000", "more than the sampler takes"),
        ("run.seed=-1", "run.seed does not do"),
        ("nonsense", "is no setting"),
        ("model.path.x=1", "nothing lies below"),
    ],
)
def test_what_does_not_go_together_is_refused(override: str, words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        read_grpo(None, [MODEL, override])


def test_a_file_that_is_none_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="cannot be read"):
        read_grpo(tmp_path / "nowhere.toml")
    with pytest.raises(ConfigError, match="is no TOML"):
        read_grpo(written(tmp_path, "a = ["))
    with pytest.raises(ConfigError, match='write kind = "sft" or kind = "grpo"'):
        read_either(written(tmp_path, 'kind = "ppo"'))


def test_the_kind_decides(tmp_path: Path) -> None:
    path = written(tmp_path, 'kind = "sft"\nmodel.path = "m"\ncorpus.path = "c"\n')
    assert isinstance(read_either(path), SftConfig)
    with pytest.raises(ConfigError, match="are for pdb-trainer sft, not for pdb-trainer grpo"):
        read_grpo(path)


def test_a_run_remembers_its_settings_and_refuses_others(tmp_path: Path) -> None:
    config = read_grpo(None, [MODEL])
    write_run_file(tmp_path, config)
    there = json.loads((tmp_path / RUN_FILE).read_text("utf-8"))
    assert GrpoConfig.model_validate(there["config"]) == config
    assert "commit" in there
    for harmless in ("run.steps=200", "evaluation.every=5", "alarms.most_kl=0.02", "run.keep_episodes=true"):
        write_run_file(tmp_path, read_grpo(None, [MODEL, harmless]))
    with pytest.raises(ConfigError, match=r"another algorithm\.groups, run\.seed: give"):
        write_run_file(
            tmp_path,
            read_grpo(None, [MODEL, "run.seed=3", "algorithm.groups=2"]),
        )


def test_how_an_evaluation_acts_may_change_in_a_supervised_run_but_not_in_grpo(tmp_path: Path) -> None:
    corpus, change = "corpus.path=there", "limits.turns=7"
    for kind in ("sft", "grpo"):
        (tmp_path / kind).mkdir()
    write_run_file(tmp_path / "sft", read_sft(None, [MODEL, corpus]))
    write_run_file(tmp_path / "sft", read_sft(None, [MODEL, corpus, change, "sampler.concurrency=3"]))
    with pytest.raises(ConfigError, match=r"another corpus\.path: give"):
        write_run_file(tmp_path / "sft", read_sft(None, [MODEL, "corpus.path=elsewhere"]))
    write_run_file(tmp_path / "grpo", read_grpo(None, [MODEL]))
    with pytest.raises(ConfigError, match=r"another limits\.turns: give"):
        write_run_file(tmp_path / "grpo", read_grpo(None, [MODEL, change]))


def test_every_setting_has_a_name() -> None:
    names = list(settings(GrpoConfig))
    assert {"algorithm.groups", "tasks.gym.families", "limits.turns", "kl.bounds"} <= set(names)
    assert len(names) == len(set(names))


def test_reading_settings_needs_no_tensors() -> None:
    code = "import sys, pdb_trainer.config_reading; print('torch' in sys.modules)"
    answer = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    assert answer.stdout.strip() == "False"
