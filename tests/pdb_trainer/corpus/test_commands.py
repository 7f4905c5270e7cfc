"""The command's words: what is printed, and what is said of bad input."""

import io
import json
from pathlib import Path

import pytest
from pdb_trainer.cli import main
from pdb_trainer.corpus.commands import tokenizer_hashes
from pdb_trainer.corpus.display import Display

from tests.pdb_agent.episode_making import done, edit
from tests.pdb_trainer.corpus.corpus_making import FAILING, GOOD, byte_model, of, write_run


@pytest.fixture
def corpus(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Path:
    run = write_run(tmp_path / "run", [of(*GOOD), of(FAILING, edit(), done()), of(*GOOD, solved=False)])
    asked = ["corpus", "build", str(run), "--out", str(tmp_path / "corpus")]
    options = ["--model", str(byte_model(tmp_path / "model")), "--renderer", "chatml", "--set", "held_out=0"]
    assert main([*asked, *options]) == 0
    return tmp_path / "corpus"


def test_building_prints_what_came_of_it_and_the_table_of_reasons(
    corpus: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    again = ["corpus", "build", str(tmp_path / "run"), "--out", str(tmp_path / "again")]
    assert main([*again, "--model", str(tmp_path / "model"), "--renderer", "chatml"]) == 0
    said, progress = capsys.readouterr()
    assert "3 episodes, 2 solved; 2 gave no whole example" in said
    assert "  full: 1 to train, 0 held out" in said
    assert "  not solved                              1\n" in said
    assert "  final source edit was never retested    1\n" in said
    assert "  edit without a prior read of that file  1\n" in said
    assert "read 3/3: 3 candidates" in progress


def test_stats_count_by_kind_and_name_damaged_lines(corpus: Path, capsys: pytest.CaptureFixture[str]):
    assert main(["corpus", "stats", str(corpus)]) == 0
    said = capsys.readouterr().out
    assert "full" in said
    assert "vllm/small" in said
    assert "3 examples, tasks: 1;" in said
    assert "done before a passing run" in said
    lines = (corpus / "examples.jsonl").read_text("utf-8").splitlines()
    (corpus / "examples.jsonl").write_text("\n".join([lines[0], "{", lines[2], ""]), "utf-8")
    assert main(["corpus", "stats", str(corpus)]) == 1
    assert "line 2 is damaged: it is no example" in capsys.readouterr().out


def test_show_marks_what_is_trained(corpus: Path, capsys: pytest.CaptureFixture[str]):
    assert main(["corpus", "show", str(corpus), "2"]) == 0
    said = capsys.readouterr().out
    assert "kind: microskill:read_before_edit" in said
    assert '── assistant (trained)\nread_file {"path": "shop/cart.py"}' in said
    assert "── assistant\nrun_tests {}" in said


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["stats", "NOWHERE"], "is no corpus: build one with pdb-trainer corpus build"),
        (["show", "CORPUS", "9"], "has 3 examples: give a number from 1 to that"),
        (["build", "NOWHERE", "--out", "OUT", "--model", "MODEL"], "is no folder of a run"),
        (["build", "RUN", "--out", "OUT", "--model", "MODEL", "--set", "per_tusk=1"], "nearest is per_task"),
        (["build", "RUN", "--out", "OUT", "--model", "NOWHERE"], "tokenizer.json"),
        (["build", "RUN", "--out", "RUN", "--model", "MODEL"], "holds something that is no corpus"),
        (["collect", "--out", "OUT", "--set", 'tasks.ids=["toctou_file_check"]'], "is of the test split"),
        (["collect", "--out", "OUT", "--set", 'toolsets=["edit-menu"]'], "needs tasks with an edit menu"),
    ],
)
def test_bad_input_is_one_sentence_with_a_way_on(
    corpus: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], words: str
):
    places = {
        "CORPUS": corpus,
        "RUN": tmp_path / "run",
        "MODEL": tmp_path / "model",
        "OUT": tmp_path / "out",
        "NOWHERE": tmp_path / "nowhere",
    }
    given = [str(places.get(one, one)) for one in arguments]
    if "build" in given:
        given += ["--renderer", "chatml"]
    assert main(["corpus", *given]) == 2
    said = capsys.readouterr().err.splitlines()[-1]
    assert words in said
    assert said.startswith("pdb-trainer: ")
    assert not (tmp_path / "out").exists()


def test_the_manifest_names_what_made_the_tokens(corpus: Path, tmp_path: Path):
    manifest = json.loads((corpus / "manifest.json").read_text("utf-8"))
    assert manifest["hashes"] == {"renderer": "chatml", **tokenizer_hashes(tmp_path / "model")}
    assert set(tokenizer_hashes(tmp_path / "model")) == {"tokenizer"}


def test_progress_without_a_terminal_is_a_line_at_the_end_and_now_and_then():
    stream = io.StringIO()
    with Display("read", stream) as display:
        display.tell(1, 2, "one")
        display.tell(2, 2, "two")
    assert stream.getvalue() == "read 2/2: two\n"
