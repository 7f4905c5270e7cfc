"""The tiny random model of smoke runs."""

import hashlib
from pathlib import Path

import pytest
from pdb_trainer.errors import ConfigError
from pdb_trainer.renderers.opening import prove_renderer
from pdb_trainer.tiny_model import SPECIAL, TinyModel, make_tiny_model
from tokenizers import Tokenizer

pytestmark = pytest.mark.slow
SMALL = TinyModel(hidden=16, layers=1, heads=2, vocabulary=512)


def hashes(folder: Path) -> dict[str, str]:
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in folder.iterdir()}


def test_the_same_size_is_the_same_model_and_a_seed_another(tmp_path: Path) -> None:
    for name, size in (
        ("a", SMALL),
        ("b", SMALL),
        ("c", TinyModel(hidden=16, layers=1, heads=2, vocabulary=512, seed=1)),
    ):
        make_tiny_model(tmp_path / name, size)
    first, second, third = (hashes(tmp_path / name) for name in "abc")
    assert first == second
    assert {name for name in first if first[name] != third[name]} == {"model.safetensors"}
    opened = prove_renderer(None, tmp_path / "a")
    assert (opened.renderer.name, opened.notes) == ("chatml", ())
    tokenizer = Tokenizer.from_file(str(tmp_path / "a" / "tokenizer.json"))
    assert tokenizer.get_vocab_size() == 512
    text = "Ünïcode ☃ and <|im_start|>"
    assert tokenizer.decode(tokenizer.encode(text).ids, skip_special_tokens=False) == text
    assert all(len(tokenizer.encode(name).ids) == 1 for name in SPECIAL)
    with pytest.raises(ConfigError, match="is not empty"):
        make_tiny_model(tmp_path / "a", SMALL)
