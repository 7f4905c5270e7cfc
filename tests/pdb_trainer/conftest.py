import os

os.environ.setdefault("OMP_NUM_THREADS", "1")  # read once, when torch is first imported

from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def tiny_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a tiny random model; nothing may be written into it."""
    from tests.pdb_trainer.tiny_runs import make_model

    return make_model(tmp_path_factory.mktemp("models") / "tiny")


@pytest.fixture(scope="session")
def tiny_corpus(tiny_model: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A corpus for the tiny model; nothing may be written into it."""
    from tests.pdb_trainer.tiny_runs import make_corpus

    return make_corpus(tmp_path_factory.mktemp("corpora") / "made", tiny_model)
