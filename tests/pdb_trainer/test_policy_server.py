"""What a server for training is told on its command line; starting a real one is tested where vLLM is."""

import sys
from pathlib import Path

import pytest
from pdb_trainer.errors import ConfigError, SamplerUnavailableError
from pdb_trainer.policy_server import (
    PolicyServerSettings,
    server_command,
    serving_settings,
    start_policy_server,
)


def option(arguments: tuple[str, ...], name: str) -> str:
    return arguments[arguments.index(name) + 1]


def test_the_server_takes_tokens_and_adapters_and_tells_what_it_sampled_from():
    serving = serving_settings(PolicyServerSettings(lag=3, adapter_rank=12, context_tokens=4096))
    for flag in ("--enable-scale-out", "--enable-lora", "--enable-prefix-caching"):
        assert flag in serving.arguments
    assert "--no-enable-chunked-prefill" in serving.arguments  # with a seed it ends vLLM on the CPU
    assert option(serving.arguments, "--max-lora-rank") == "16"  # of those it takes, the next
    assert option(serving.arguments, "--max-loras") == "5"
    assert int(option(serving.arguments, "--max-cpu-loras")) > 5
    assert option(serving.arguments, "--logprobs-mode") == "processed_logprobs"
    assert (serving.served_name, serving.max_model_len) == ("base", 4096)
    assert serving.environment["VLLM_SERVER_DEV_MODE"] == "1"
    assert serving.environment["VLLM_ALLOW_RUNTIME_LORA_UPDATING"] == "1"


def test_only_the_extension_is_on_the_servers_path_before_what_was_there(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("PYTHONPATH", "/elsewhere")
    serving = serving_settings(PolicyServerSettings())
    first, second = serving.environment["PYTHONPATH"].split(":")
    module, _, name = option(serving.arguments, "--worker-extension-cls").partition(".")
    assert [file.name for file in Path(first).glob("*.py")] == [f"{module}.py"]
    assert f"class {name}:" in (Path(first) / f"{module}.py").read_text("utf-8")
    assert second == "/elsewhere"


@pytest.mark.parametrize("rank", [0, 513])
def test_a_rank_that_vllm_does_not_take_is_refused(rank: int):
    with pytest.raises(ConfigError, match=f"rank 1 to 512, not {rank}"):
        serving_settings(PolicyServerSettings(adapter_rank=rank))


def test_a_negative_lag_is_refused():
    with pytest.raises(ConfigError, match="lag is -1"):
        serving_settings(PolicyServerSettings(lag=-1))


def test_the_command_starts_the_same_server_by_hand():
    command = server_command(Path("/models/my model"), Path("/env/bin/python"), port=9000)
    assert "/env/bin/python -m vllm.entrypoints.openai.api_server --model '/models/my model'" in command
    assert "--port 9000" in command
    assert "--worker-extension-cls vllm_extension.PolicyAdapters" in command
    assert command.startswith("env PYTHONPATH=")
    assert "VLLM_SERVER_DEV_MODE=1" in command


@pytest.mark.anyio
@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_a_server_that_does_not_start_is_infrastructure_and_says_why(tmp_path: Path):
    (tmp_path / "config.json").write_text("{}", "utf-8")
    with pytest.raises(SamplerUnavailableError, match="No module named 'vllm'"):
        async with start_policy_server(tmp_path, Path(sys.executable), log=tmp_path / "log"):
            pass
