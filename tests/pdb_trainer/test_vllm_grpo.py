"""GRPO with a real vLLM that draws the replies, step by step."""

import io
from collections.abc import Iterator
from pathlib import Path

import pytest
from pdb_agent.serving.vllm_server import VllmServer
from pdb_trainer import grpo
from pdb_trainer.rollout_store import RolloutStore
from pdb_trainer.run_log import read_metrics
from pdb_trainer.run_place import in_folder

from tests.pdb_agent.serving.local_vllm import MODEL, needs_vllm
from tests.pdb_trainer.served_policy import LAG, LORA, served_policy
from tests.pdb_trainer.tiny_runs import adapter_hash, grpo_config, make_corpus

pytestmark = [pytest.mark.vllm, pytest.mark.slow, pytest.mark.timeout(600), needs_vllm]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[VllmServer]:
    with served_policy(tmp_path_factory.mktemp("vllm"), "float32") as server:
        yield server


def test_each_step_is_drawn_with_the_weights_of_the_step_before(server: VllmServer, tmp_path: Path) -> None:
    corpus = make_corpus(tmp_path / "corpus", MODEL, train=2, held_out=0)
    config = grpo_config(
        MODEL,
        model={"path": MODEL, "renderer": "chatml", "dtype": "float32"},
        adapter={"rank": LORA.rank, "alpha": LORA.alpha},
        limits={"turns": 1, "context_tokens": 4000},
        sampler={
            "kind": "vllm",
            "base_url": server.base_url,
            "max_output_tokens": 32,
            "context_tokens": 4096,
            "concurrency": 2,
        },
        algorithm={"groups": 1, "group_size": 2, "least_group": 2, "staleness": LAG},
        anchor={"corpus": corpus, "tokens": 64, "weight": 1.0},
        run={"steps": 2},
    )
    folder = tmp_path / "run"
    for steps in (1, 2):  # ended after a step, and gone on with
        run = config.run.model_copy(update={"steps": steps})
        part = config.model_copy(update={"run": run})
        assert in_folder(grpo.train, part, folder, io.StringIO()) == 0
    drawn = [
        {turn.version for rollout in RolloutStore(step).read() for turn in rollout.turns}
        for step in sorted((folder / "rollouts").iterdir())
    ]
    assert drawn == [{"policy-v0"}, {"policy-v1"}]
    first, second = read_metrics(folder)
    assert second["anchor_loss"] < first["anchor_loss"]
    assert adapter_hash(folder)
