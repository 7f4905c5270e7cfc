"""Supervised fine-tuning on a tiny random model, whole runs."""

import io
import json
from pathlib import Path

import pytest
from pdb_agent.episode import Replied
from pdb_agent.errors import AgentError
from pdb_agent.run_folder import RunFolder
from pdb_trainer import sft
from pdb_trainer.checkpoint import latest
from pdb_trainer.config import RunConfig, SftConfig
from pdb_trainer.corpus.commands import tokenizer_hashes
from pdb_trainer.errors import CheckpointError, ConfigError, CorpusError
from pdb_trainer.run_log import read_metrics
from pdb_trainer.run_place import in_folder

from tests.pdb_trainer.tiny_runs import adapter_hash, files_no_longer_than, make_corpus, sft_config

pytestmark = pytest.mark.slow


def run(config: SftConfig, folder: Path) -> str:
    stream = io.StringIO()
    assert in_folder(sft.train, config, folder, stream) == 0
    return stream.getvalue()


def test_a_run_learns_what_the_corpus_says(tiny_model: Path, tiny_corpus: Path, tmp_path: Path) -> None:
    settings = {"run": {"steps": 24, "checkpoint_every": 10}, "optimiser": {"learning_rate": 0.05}}
    said = run(sft_config(tiny_model, tiny_corpus, **settings), tmp_path)
    metrics = read_metrics(tmp_path)
    assert [one["step"] for one in metrics] == list(range(1, 25))
    assert metrics[-1]["loss"] < metrics[0]["loss"] - 0.1
    held_out = [one["held_out/loss"] for one in metrics if "held_out/loss" in one]
    assert len(held_out) == 6
    assert held_out[-1] < held_out[0]
    assert sorted(path.name for path in (tmp_path / "checkpoints").iterdir()) == [
        "step-000020",
        "step-000024",
    ]
    assert "step 24/24: loss" in said
    assert metrics[-1]["passes"] == pytest.approx(24 * 3 / 10)


def test_two_halves_are_a_whole(tiny_model: Path, tiny_corpus: Path, tmp_path: Path) -> None:
    config = sft_config(tiny_model, tiny_corpus)
    run(config, tmp_path / "whole")
    half = config.model_copy(update={"run": config.run.model_copy(update={"steps": 4})})
    run(half, tmp_path / "halves")
    said = run(config, tmp_path / "halves")
    assert "goes on after step 4" in said
    assert adapter_hash(tmp_path / "halves") == adapter_hash(tmp_path / "whole")
    whole, halves = latest(tmp_path / "whole" / "checkpoints"), latest(tmp_path / "halves" / "checkpoints")
    assert whole is not None
    assert halves is not None
    assert (halves.step, halves.counters) == (whole.step, whole.counters) == (8, {"drawn": 24})
    assert "All 8 steps in" in run(config, tmp_path / "halves")
    losses = [[one["loss"] for one in read_metrics(tmp_path / name)] for name in ("whole", "halves")]
    assert losses[0] == losses[1]


def test_a_full_disk_at_a_checkpoint_ends_the_run_and_costs_nothing_but_the_steps_since(
    tiny_model: Path, tiny_corpus: Path, tmp_path: Path
) -> None:
    config = sft_config(tiny_model, tiny_corpus, run={"steps": 5, "checkpoint_every": 1})
    run(config, tmp_path / "whole")
    run(config.model_copy(update={"run": RunConfig(steps=2)}), tmp_path / "full")
    with files_no_longer_than(12_000), pytest.raises(CheckpointError, match="step-000002 is intact"):
        run(config, tmp_path / "full")
    assert [one["step"] for one in read_metrics(tmp_path / "full")] == [1, 2, 3]
    assert "goes on after step 2" in run(config, tmp_path / "full")
    assert [one["step"] for one in read_metrics(tmp_path / "full")] == [1, 2, 3, 4, 5]
    assert adapter_hash(tmp_path / "full") == adapter_hash(tmp_path / "whole")


def test_two_runs_in_one_folder_are_refused(tiny_model: Path, tiny_corpus: Path, tmp_path: Path) -> None:
    with RunFolder(tmp_path).locked(), pytest.raises(AgentError, match="Another run is at work"):
        run(sft_config(tiny_model, tiny_corpus), tmp_path)


def test_the_policy_is_measured_through_the_agent_between_steps(
    tiny_model: Path, tiny_corpus: Path, tmp_path: Path
) -> None:
    config = sft_config(
        tiny_model,
        tiny_corpus,
        tasks={"gym": {"count": 5}},
        toolset={"name": "edit-menu"},
        limits={"turns": 1, "context_tokens": 4000},
        sampler={"max_output_tokens": 32, "context_tokens": 4096, "concurrency": 2},
        evaluation={"every": 2, "count": 2},
        run={"steps": 3},
    )
    run(config, tmp_path)
    measured = {one["step"]: one.get("evaluation/episodes") for one in read_metrics(tmp_path)}
    assert measured == {1: None, 2: 2, 3: 2}
    episodes = [
        episode
        for step in (2, 3)
        for _, episode in RunFolder(tmp_path / "evaluations" / f"step-00000{step}").episodes()
    ]
    assert {one.started.split for one in episodes} == {"test"}
    versions = [event.reply.model for one in episodes for event in one.events if isinstance(event, Replied)]
    assert versions == ["policy-v2"] * 2 + ["policy-v3"] * 2


def test_another_seed_is_another_run(tiny_model: Path, tiny_corpus: Path, tmp_path: Path) -> None:
    for seed in (0, 1):
        run(sft_config(tiny_model, tiny_corpus, run={"steps": 1, "seed": seed}), tmp_path / str(seed))
    assert adapter_hash(tmp_path / "0") != adapter_hash(tmp_path / "1")


def test_only_the_wanted_kinds_are_imitated(tiny_model: Path, tiny_corpus: Path) -> None:
    config = sft_config(tiny_model, tiny_corpus, corpus={"path": tiny_corpus, "kinds": ["full"]})
    rows, _ = sft.read_rows(config, "train")
    assert len(rows) == 6
    assert not any(row.loss_mask[0] for row in rows)


def test_examples_that_do_not_fit_are_left_out_and_none_at_all_is_refused(
    tiny_model: Path, tiny_corpus: Path
) -> None:
    lengths = [len(row.token_ids) for row in sft.read_rows(sft_config(tiny_model, tiny_corpus), "train")[0]]
    most = sorted(lengths)[4]
    narrow = sft_config(tiny_model, tiny_corpus, batch={"microbatch_tokens": most})
    rows, dropped = sft.read_rows(narrow, "train")
    assert max(len(row.token_ids) for row in rows) <= most
    assert len(rows) + dropped == 10
    with pytest.raises(CorpusError, match="no example to train on of nothing"):
        sft.read_rows(
            sft_config(tiny_model, tiny_corpus, corpus={"path": tiny_corpus, "kinds": ["nothing"]}), "train"
        )


def test_a_corpus_of_another_tokenizer_is_refused(
    tiny_model: Path, tiny_corpus: Path, tmp_path: Path
) -> None:
    corpus = make_corpus(tmp_path / "corpus", tiny_model, train=2)
    path = corpus / "manifest.json"
    manifest = json.loads(path.read_text("utf-8"))
    manifest["hashes"] = dict.fromkeys(tokenizer_hashes(tiny_model), "0" * 64)
    path.write_text(json.dumps(manifest), "utf-8")
    with pytest.raises(CorpusError, match="was tokenised with another"):
        in_folder(sft.train, sft_config(tiny_model, corpus), tmp_path / "run", io.StringIO())


def test_a_folder_of_another_run_and_more_ranks_are_refused(
    tiny_model: Path, tiny_corpus: Path, tmp_path: Path
) -> None:
    run(sft_config(tiny_model, tiny_corpus, run={"steps": 1}), tmp_path)
    with pytest.raises(ConfigError, match=r"another examples_per_step: give another folder"):
        run(sft_config(tiny_model, tiny_corpus, examples_per_step=2), tmp_path)
    with pytest.raises(ConfigError, match="takes one process"):
        run(sft_config(tiny_model, tiny_corpus, run={"steps": 1, "ranks": 2}), tmp_path)
