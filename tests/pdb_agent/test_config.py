"""Settings: from a file, from the command line, and what is said of those that do not do."""

from decimal import Decimal
from pathlib import Path

import pytest
from pdb_agent.config import ConfigError, RunConfig, config_of, read_config
from pdb_agent.limits import EpisodeLimits
from pdb_agent.policy import Sampling
from pdb_agent.sandbox import Backend
from pdb_agent.toolsets import Toolset, ToolsetName

FILE = """
repetitions = 4

[policy]
name = "vllm/tiny"
base_url = "http://127.0.0.1:8000/v1"

[sampling]
temperature = 0.7

[arms.with]
[arms.without]
toolset = "no-debugger"
[arms.other]
toolset = "unlock-after-k"
unlock_after_edits = 2
policy = {name = "oracle"}
"""


def written(folder: Path, text: str | bytes) -> Path:
    path = folder / "run.toml"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def test_the_defaults_are_those_of_the_loop():
    config = read_config(None)
    assert config == RunConfig()
    assert config.limits.record() == EpisodeLimits()
    assert config.sampling.record() == Sampling()
    assert list(config.arms) == ["debug"]
    assert config.arms["debug"].record() == Toolset()


def test_a_file_is_read_whole(tmp_path: Path):
    config = read_config(written(tmp_path, FILE))
    assert config.repetitions == 4
    assert config.policy.name == "vllm/tiny"
    assert config.sampling.record().temperature == 0.7
    assert list(config.arms) == ["with", "without", "other"]
    assert config.arms["without"].record().name is ToolsetName.NO_DEBUGGER
    assert config.arms["other"].record() == Toolset(name=ToolsetName.UNLOCK_AFTER_EDITS, unlock_after_edits=2)
    assert config.arms["other"].policy is not None
    assert config.arms["with"].policy is None


def test_settings_of_the_command_line_go_before_the_file(tmp_path: Path):
    overrides = [
        "repetitions=2",
        "policy.base_url=http://[::1]:9/v1",
        "limits.cost=1.50",
        "limits.turns=30",
        "backend=landlock",
        'tasks.ids=["a", "b"]',
        "arms.without.toolset=compound",
        "policy.extra_body.top_k=20",
        "sampling.effort=high",
        "limits.turns=31",
    ]
    config = read_config(written(tmp_path, FILE), overrides)
    assert config.repetitions == 2
    assert (config.policy.name, config.policy.base_url) == ("vllm/tiny", "http://[::1]:9/v1")
    assert config.policy.extra_body == {"top_k": 20}
    assert (config.limits.cost, config.limits.turns) == (Decimal("1.50"), 31)
    assert config.backend is Backend.LANDLOCK
    assert config.tasks.ids == ("a", "b")
    assert config.arms["without"].toolset is ToolsetName.COMPOUND
    assert config.sampling.effort == "high"


def test_a_tree_comes_back_from_its_record():
    config = read_config(
        None, ["limits.cost=0.1", "tasks.gym.families=['zero']", "arms.a.policy.name=oracle"]
    )
    assert RunConfig.model_validate_json(config.model_dump_json()) == config


@pytest.mark.parametrize(
    ("override", "words"),
    [
        ("polciy.name=x", "There is no setting polciy: there are policy, sampling, limits, tasks, arms,"),
        ("limits.turn=3", "There is no setting limits.turn: there are turns, context_tokens,"),
        (
            "arms.a.tools=x",
            "There is no setting arms.a.tools: there are toolset, unlock_after_edits, mcp_servers, policy.",
        ),
        ("arms.a.policy.key=x", "There is no setting arms.a.policy.key: there are name, base_url,"),
        ("tasks.gym.n=3", "There is no setting tasks.gym.n: there are families, count, held_out."),
        (
            "limits.turns=0",
            "The setting limits.turns does not do: input should be greater than or equal to 1.",
        ),
        ("limits.turns=many", "The setting limits.turns does not do: input should be a valid integer"),
        ("arms={}", "The setting arms does not do: dictionary should have at least 1 item"),
        (
            "arms.a.toolset=all",
            "The setting arms.a.toolset does not do: input should be 'debug', 'no-debugger'",
        ),
        ("backend=chroot", "The setting backend does not do: input should be 'bubblewrap'"),
        ("tasks.split=all", "The setting tasks.split does not do: input should be 'train'"),
        ("limits.turns", "'limits.turns' is no setting: write name.of.it=value."),
        ("=3", "'=3' is no setting: write name.of.it=value."),
        ("repetitions.x=3", "repetitions.x: repetitions is a value, so nothing lies below it."),
    ],
)
def test_a_setting_that_does_not_do_is_named_with_what_would(override: str, words: str):
    with pytest.raises(ConfigError) as caught:
        read_config(None, ["repetitions=1", override])
    assert str(caught.value).startswith(words)


def test_an_unknown_key_in_a_file_is_refused(tmp_path: Path):
    with pytest.raises(ConfigError, match=r"There is no setting limits\.turnz: there are turns"):
        read_config(written(tmp_path, "[limits]\nturnz = 3\n"))


@pytest.mark.parametrize("text", ["a = ", "[a", b"a = '\xff'"])
def test_a_file_that_is_no_toml_is_said(tmp_path: Path, text: str | bytes):
    with pytest.raises(ConfigError, match=r"run\.toml is no TOML: "):
        read_config(written(tmp_path, text))


def test_a_file_that_cannot_be_read_is_said(tmp_path: Path):
    with pytest.raises(ConfigError, match=r"none\.toml cannot be read \(No such file or directory\): give"):
        read_config(tmp_path / "none.toml")
    with pytest.raises(ConfigError, match="cannot be read"):
        read_config(tmp_path)


def test_the_gym_and_a_split_do_not_go_together():
    with pytest.raises(ConfigError, match="the gym makes its tasks"):
        config_of({"tasks": {"gym": {}, "split": "test"}})
