"""A corpus on disk: what is read is what was written, and what is damaged is told by its number."""

import dataclasses
import json
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from pdb_agent.task import Split
from pdb_agent.task_files import find_tasks_root, load_all
from pdb_trainer.corpus.example import Example, Provenance
from pdb_trainer.corpus.leakage import LeakageGuard, SourceTask, task_to_learn
from pdb_trainer.corpus.store import (
    read_conversation,
    read_corpus,
    read_examples,
    read_manifest,
    refuse_other_hashes,
)
from pdb_trainer.corpus.writing import Contents, write_corpus
from pdb_trainer.errors import CorpusError, LeakageError

from tests.pdb_trainer.corpus.corpus_making import NO_GUARD

PROVENANCE = Provenance(
    policy="oracle/solution",
    generation=2,
    adapter_hash="abc",
    run="run",
    arm="debug",
    toolset="debug",
    number=3,
    turns=5,
    episode_hash="def",
)
TASK = SourceTask(id="cart", content_hash="1", group="carts", split="train", sources={"a.py": "a = 1\n"})


def example(number: int, length: int = 4, task: str = "cart") -> Example:
    return Example(
        id=f"{task}/full/{number}",
        task=task,
        group="carts",
        kind="full" if number else "microskill:read_before_edit",
        part="held_out" if number == 1 else "train",
        token_ids=np.arange(number, number + length, dtype=np.uint32),
        trained=np.arange(length) % 2 == 1,
        provenance=PROVENANCE,
    )


def contents(*examples: Example, task: SourceTask = TASK) -> Contents:
    return Contents(
        examples=examples,
        conversations=[[{"role": "user", "content": f"say {one.id}\u2028"}] for one in examples],
        tasks={task.id: task},
        rejected=[],
        manifest={"hashes": {"renderer": "chatml", "tokenizer": "123456789012345"}, "counts": {}},
    )


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    path = tmp_path / "corpus"
    write_corpus(path, contents(*(example(number, 3 + number) for number in range(4))))
    return path


def change(path: Path, number: int, edit: Callable[[bytes], bytes]) -> None:
    lines = path.read_bytes().split(b"\n")
    lines[number - 1] = edit(lines[number - 1])
    path.write_bytes(b"\n".join(lines))


def test_what_is_read_is_what_was_written(folder: Path):
    read = read_examples(folder, guard=NO_GUARD)
    for number, one in enumerate(read):
        wanted = example(number, 3 + number)
        for name in ("id", "task", "group", "kind", "part", "provenance", "trained_tokens"):
            assert getattr(one, name) == getattr(wanted, name)
        np.testing.assert_array_equal(one.token_ids, wanted.token_ids)
        np.testing.assert_array_equal(one.trained, wanted.trained)
        assert (one.token_ids.dtype, one.trained.dtype) == (np.uint32, np.bool_)
    assert len(read) == 4
    assert [one.id for one in read_examples(folder, part="held_out", guard=NO_GUARD)] == ["cart/full/1"]
    about, messages = read_conversation(folder, 3)
    assert about["id"] == "cart/full/2"
    assert messages == [{"role": "user", "content": "say cart/full/2\u2028"}]


@pytest.mark.parametrize(
    ("edit", "why"),
    [
        (lambda line: line[:50], "it is no example"),
        (lambda line: b"\xff" + line, "it is no example"),
        (lambda line: line.replace(b'"kind"', b'"sort"'), "it is no example"),
        (lambda line: line.replace(b'"index":1', b'"index":9'), "the arrays have no place 9"),
        (lambda line: line.replace(b'"index":1', b'"index":2'), "its tokens are not those"),
        (lambda line: line.replace(b'"task":"cart"', b'"task":"cars"'), "its task cars is not in tasks.json"),
    ],
    ids=["cut off", "not UTF-8", "unknown key", "no such place", "another's place", "unknown task"],
)
def test_a_bad_line_is_told_by_its_number_and_all_others_stay_readable(
    folder: Path, edit: Callable[[bytes], bytes], why: str
):
    change(folder / "examples.jsonl", 2, edit)
    corpus = read_corpus(folder, guard=NO_GUARD)
    assert [one.number for one in corpus.bad_lines] == [2]
    assert why in corpus.bad_lines[0].why
    assert [one.id[-1] for one in corpus.examples] == ["0", "2", "3"]
    with pytest.raises(CorpusError, match=r"examples.jsonl, line 2: .*Delete the line"):
        read_examples(folder, guard=NO_GUARD)


def test_a_line_that_stands_twice_counts_once(folder: Path):
    lines = (folder / "examples.jsonl").read_bytes().split(b"\n")
    (folder / "examples.jsonl").write_bytes(b"\n".join([lines[0], *lines]))
    corpus = read_corpus(folder, guard=NO_GUARD)
    assert [one.number for one in corpus.bad_lines] == [2]
    assert len(corpus.examples) == 4


def test_a_line_that_was_deleted_leaves_the_others_as_they_were(folder: Path):
    lines = (folder / "examples.jsonl").read_bytes().split(b"\n")
    (folder / "examples.jsonl").write_bytes(b"\n".join([lines[0], *lines[2:]]))
    read = read_examples(folder, guard=NO_GUARD)
    assert [list(one.token_ids) for one in read] == [
        list(example(number, 3 + number).token_ids) for number in (0, 2, 3)
    ]


@pytest.mark.parametrize("name", ["tokens.npz", "tasks.json", "manifest.json", "examples.jsonl"])
def test_a_missing_or_damaged_file_is_named(folder: Path, name: str):
    if name != "examples.jsonl":
        (folder / name).write_bytes((folder / name).read_bytes()[:-20])
        with pytest.raises(CorpusError, match=name):
            read_corpus(folder, guard=NO_GUARD)
    (folder / name).unlink()
    with pytest.raises(CorpusError, match=rf"{name}|is no corpus"):
        read_corpus(folder, guard=NO_GUARD)


def test_a_task_that_has_become_forbidden_since_is_refused_when_it_is_read(folder: Path):
    tasks = load_all(find_tasks_root())
    task = next(task for task in tasks if task.split is Split.TRAIN)
    moved = dataclasses.replace(task, split=Split.VALIDATION)
    path = folder.with_name("other")
    write_corpus(path, contents(example(0, task=task.id), task=task_to_learn(task)))
    assert len(read_examples(path)) == 1
    with pytest.raises(
        LeakageError, match=rf"{task.id} has the name of {task.id}, which is of the validation"
    ):
        read_examples(path, guard=LeakageGuard([moved]))


def test_equal_contents_are_equal_bytes_and_no_date_is_in_them(folder: Path, tmp_path: Path):
    again = tmp_path / "again"
    write_corpus(again, contents(*(example(number, 3 + number) for number in range(4))))
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == {
        path.name: path.read_bytes() for path in again.iterdir()
    }
    with zipfile.ZipFile(folder / "tokens.npz") as packed:
        assert {entry.date_time for entry in packed.infolist()} == {(1980, 1, 1, 0, 0, 0)}


def test_a_corpus_is_replaced_and_anything_else_is_left_alone(folder: Path, tmp_path: Path):
    write_corpus(folder, contents(example(7)))
    assert len(read_examples(folder, guard=NO_GUARD)) == 1
    assert {path.name for path in tmp_path.iterdir()} == {"corpus"}
    other = tmp_path / "thesis"
    other.mkdir()
    (other / "chapter1").write_text("years of work", "utf-8")
    with pytest.raises(CorpusError, match="holds something that is no corpus"):
        write_corpus(other, contents(example(7)))
    assert (other / "chapter1").read_text("utf-8") == "years of work"


def test_a_corpus_that_cannot_be_written_leaves_nothing_behind(tmp_path: Path):
    (tmp_path / "file").write_text("", "utf-8")
    with pytest.raises(CorpusError, match="cannot be written"):
        write_corpus(tmp_path / "file" / "corpus", contents(example(0)))
    assert {path.name for path in tmp_path.iterdir()} == {"file"}


def test_a_corpus_of_another_tokenizer_is_refused(folder: Path):
    manifest = read_manifest(folder)
    refuse_other_hashes(manifest, {"renderer": "chatml", "template": "unknown there"})
    with pytest.raises(CorpusError, match=r"another tokenizer \(123456789012; this is 99\)"):
        refuse_other_hashes(manifest, {"tokenizer": "99"})


def test_another_format_is_said(folder: Path):
    (folder / "manifest.json").write_text(json.dumps({"format": 2}), "utf-8")
    with pytest.raises(CorpusError, match="has format 2, and this reads 1"):
        read_corpus(folder, guard=NO_GUARD)


def test_there_are_only_so_many_lines(folder: Path):
    with pytest.raises(CorpusError, match="has 4 examples: give a number from 1"):
        read_conversation(folder, 5)
