"""What a recipe would run, and how much memory that takes."""

import io
import json
from pathlib import Path

import pytest
from pdb_trainer.config import GrpoConfig, SftConfig
from pdb_trainer.config_reading import read_either
from pdb_trainer.dry_run import dry_run, look, model_shape
from pdb_trainer.errors import ConfigError
from pdb_trainer.memory_estimate import LearnerSize, ModelShape, estimate

RECIPES = Path(__file__).parents[2] / "packages" / "trainer" / "recipes"
TOY = ModelShape(
    hidden=8, layers=3, heads=2, kv_heads=1, head_dim=4, intermediate=16, vocabulary=100, tied=False
)
TOY_PARAMETERS = 3 * (8 * 8 + 2 * 8 * 4 + 8 * 8 + 3 * 8 * 16) + 2 * 100 * 8
TOY_ADAPTER = 3 * 2 * (16 + 2 * 12 + 16 + 3 * 24)


def size(**changes: object) -> LearnerSize:
    given = {
        "dtype": "float32",
        "rank": 2,
        "microbatch_tokens": 10,
        "checkpointing": True,
        "has_reference": True,
    }
    return LearnerSize(**(given | changes))  # pyright: ignore[reportArgumentType]


def test_parameters_are_counted_by_hand() -> None:
    assert TOY.parameters == TOY_PARAMETERS
    assert TOY.adapter_parameters(2) == TOY_ADAPTER


def test_the_estimate_is_what_its_parts_say() -> None:
    one = estimate(TOY, size())
    assert one.base == 4 * TOY_PARAMETERS
    assert (one.adapter, one.gradients, one.optimiser, one.reference) == (
        4 * TOY_ADAPTER,
        4 * TOY_ADAPTER,
        8 * TOY_ADAPTER,
        4 * TOY_ADAPTER,
    )
    assert one.total == sum(
        (one.base, one.adapter, one.gradients, one.optimiser, one.reference, one.activations, one.logits)
    )
    assert estimate(TOY, size(has_reference=False)).reference == 0
    assert estimate(TOY, size(dtype="bfloat16")).base == 2 * TOY_PARAMETERS
    assert estimate(TOY, size(checkpointing=False)).activations > one.activations
    assert estimate(TOY, size(microbatch_tokens=20)).activations == 2 * one.activations
    big = ModelShape(hidden=8, layers=30, heads=2, kv_heads=1, head_dim=4, intermediate=16, vocabulary=100)
    assert estimate(big, size(ranks=4)).base < estimate(big, size()).base
    assert list(one.lines())[-1].startswith("total")


def test_the_recipes_models_have_the_sizes_that_they_are_known_by() -> None:
    coder = model_shape(read_either(RECIPES / "qwen3_coder_30b.toml"))
    assert coder.parameters == pytest.approx(30.53e9, rel=0.001)
    smollm2 = ModelShape.of(
        {
            "hidden_size": 576,
            "num_hidden_layers": 30,
            "num_attention_heads": 9,
            "num_key_value_heads": 3,
            "intermediate_size": 1536,
            "vocab_size": 49152,
            "tie_word_embeddings": True,
        }
    )
    assert smollm2.parameters == pytest.approx(134.5e6, rel=0.001)
    with pytest.raises(ConfigError, match="has no hidden_size"):
        ModelShape.of({"num_attention_heads": 2})


@pytest.mark.parametrize(
    "recipe", ["smoke.toml", "smollm2_sft.toml", "smollm2_grpo.toml", "qwen3_coder_30b.toml"]
)
def test_a_recipe_lacks_nothing_but_what_is_made_first(recipe: str) -> None:
    few = [] if recipe == "qwen3_coder_30b.toml" else ["tasks.gym.count=5"]
    config = read_either(RECIPES / recipe, few)
    missing = [finding.words for finding in look(config) if not finding.is_well]
    assert all(any(word in words for word in ("model", "adapter", "corpus", "vLLM")) for words in missing)
    stream = io.StringIO()
    assert dry_run(config, stream) in (0, 1)
    assert "Would " in stream.getvalue()


def test_the_whole_recipe_says_every_value_of_its_sections(tmp_path: Path) -> None:
    stream = io.StringIO()
    config = read_either(RECIPES / "qwen3_coder_30b.toml", ["model.path=nowhere"])
    assert dry_run(config, stream) == 1
    said = stream.getvalue()
    shown = json.loads(said[: said.index("\n\n")])
    assert GrpoConfig.model_validate(shown) == config
    assert "missing the base model: there is no folder nowhere" in said
    assert "4 groups of 12 (48 episodes a step, 6000 in all)" in said
    assert "total" in said
    defaults = GrpoConfig.model_validate({"model": {"path": "nowhere"}})
    for section in ("algorithm", "kl", "optimiser", "alarms"):
        assert getattr(config, section) == getattr(defaults, section)


def test_what_is_there_is_found_and_what_is_not_is_named(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text("{", "utf-8")
    config = SftConfig.model_validate({"model": {"path": tmp_path}, "corpus": {"path": tmp_path / "none"}})
    stream = io.StringIO()
    assert dry_run(config, stream) == 1
    said = stream.getvalue()
    assert f"ok      the base model, {tmp_path / 'config.json'}" in said
    assert f"missing the base model, {tmp_path / 'tokenizer.json'}" in said
    assert f"missing the corpus, {tmp_path / 'none'}" in said
    assert "not known: " in said
    assert f"Would imitate {tmp_path / 'none'}" in said
