"""A run's folder: one run at a time, its own episodes only, and nothing that counts is rewritten."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from pdb_agent.episode import Ended, EpisodeLog, ExitReason
from pdb_agent.run_folder import RunFolder, RunFolderError, Slot, read_or_none, write_whole

from tests.pdb_agent.episode_making import ended, started

SLOT = Slot(task="cart", number=0, arm="debug")
MANIFEST: dict[str, Any] = {"config": {"repetitions": 1}, "task_set": "abc", "began": "now"}
HOLD = """
import sys
from pathlib import Path
from pdb_agent.run_folder import RunFolder
with RunFolder(Path(sys.argv[1])).locked():
    print("held", flush=True)
    sys.stdin.read()
"""


def write_episode(path: Path, end: Ended | None) -> bytes:
    with EpisodeLog(path) as log:
        log.append(started())
        if end is not None:
            log.append(end)
    return path.read_bytes()


def names(folder: RunFolder) -> list[str]:
    return sorted(path.name for path in folder.file(SLOT).parent.iterdir())


def test_two_runs_on_one_folder_are_refused_while_the_first_is_at_work(tmp_path: Path):
    folder = RunFolder(tmp_path / "run")
    with subprocess.Popen(
        [sys.executable, "-c", HOLD, str(folder.path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == b"held\n"
        words = r"Another run is at work in .*run: wait for it, or give another folder"
        with pytest.raises(RunFolderError, match=words), folder.locked():
            pass
        other.kill()
    with folder.locked():
        pass


@pytest.mark.parametrize("path", ["file", "file/below"])
def test_what_is_no_folder_is_refused(tmp_path: Path, path: str):
    (tmp_path / "file").write_text("")
    with pytest.raises(RunFolderError, match="cannot be a run's folder"), RunFolder(tmp_path / path).locked():
        pass


def test_a_run_is_claimed_once_and_continued_with_the_same_settings_only(tmp_path: Path):
    folder = RunFolder(tmp_path)
    assert folder.claim(MANIFEST, {"cart": {}}) is False
    before = (tmp_path / "manifest.json").read_bytes()
    assert folder.claim({**MANIFEST, "began": "later"}, {}) is True
    assert (tmp_path / "manifest.json").read_bytes() == before
    assert json.loads((tmp_path / "tasks.json").read_text()) == {"cart": {}}
    with pytest.raises(
        RunFolderError, match="holds a run with another config and task_set: give another folder"
    ):
        folder.claim({"config": {"repetitions": 2}, "task_set": "abd"}, {})
    with pytest.raises(RunFolderError, match="holds a run with another prompt"):
        folder.claim({**MANIFEST, "prompt": "other"}, {})


def test_episodes_without_a_manifest_are_nobodys(tmp_path: Path):
    (tmp_path / "episodes" / "debug").mkdir(parents=True)
    with pytest.raises(RunFolderError, match="has episodes but no manifest"):
        RunFolder(tmp_path).claim(MANIFEST, {})


def test_a_manifest_that_is_none_is_said(tmp_path: Path):
    (tmp_path / "manifest.json").write_text("{")
    with pytest.raises(RunFolderError, match=r"manifest\.json is no manifest .*: give an empty folder"):
        RunFolder(tmp_path).claim(MANIFEST, {})


def test_an_episode_with_a_valid_end_is_left_alone(tmp_path: Path):
    folder = RunFolder(tmp_path)
    path = folder.prepare(SLOT)
    assert path == tmp_path / "episodes/debug/cart/0.jsonl"
    assert path is not None
    content = write_episode(path, ended(solved=False, turns=3))
    assert folder.prepare(SLOT) is None
    assert path.read_bytes() == content
    assert [(slot, episode.is_valid) for slot, episode in folder.episodes()] == [(SLOT, True)]


@pytest.mark.parametrize("reason", [None, ExitReason.PROVIDER_FATAL, ExitReason.SANDBOX, ExitReason.GRADER])
def test_what_was_cut_off_or_failed_is_kept_beside_and_run_again(tmp_path: Path, reason: ExitReason | None):
    end = ended(solved=False, turns=1, reason=reason) if reason else None
    folder = RunFolder(tmp_path)
    contents: list[bytes] = []
    for _ in range(12):
        path = folder.prepare(SLOT)
        assert path is not None
        contents.append(write_episode(path, end))
    kept = [folder.file(SLOT).with_name(f"0.attempt-{number}.jsonl").read_bytes() for number in range(1, 12)]
    assert kept == contents[:-1]
    assert len(list(folder.episodes())) == 1


def test_an_attempt_is_never_written_over(tmp_path: Path):
    folder = RunFolder(tmp_path)
    for _ in range(3):
        path = folder.prepare(SLOT)
        assert path is not None
        write_episode(path, None)
    folder.file(SLOT).with_name("0.attempt-1.jsonl").unlink()
    assert folder.prepare(SLOT) is not None
    assert names(folder) == ["0.attempt-2.jsonl", "0.attempt-3.jsonl"]


@pytest.mark.parametrize("content", [b"", b"{", b'{"event":"star', b"no json\n"])
def test_a_file_cut_off_in_its_first_line_is_no_episode_and_run_again(tmp_path: Path, content: bytes):
    folder = RunFolder(tmp_path)
    path = folder.prepare(SLOT)
    assert path is not None
    path.write_bytes(content)
    assert read_or_none(path) is None
    assert list(folder.episodes()) == []
    assert folder.prepare(SLOT) == path
    assert names(folder) == ["0.attempt-1.jsonl"]


def test_numbers_of_two_digits_are_not_taken_for_each_other(tmp_path: Path):
    folder = RunFolder(tmp_path)
    tenth = Slot(task="cart", number=10, arm="debug")
    for slot in (tenth, SLOT):
        path = folder.prepare(slot)
        assert path is not None
        write_episode(path, None)
    assert folder.prepare(SLOT) is not None
    assert names(folder) == ["0.attempt-1.jsonl", "10.jsonl"]


def test_json_is_there_whole_or_not_at_all(tmp_path: Path):
    write_whole(tmp_path / "a.json", {"b": 1})
    with pytest.raises(TypeError):
        write_whole(tmp_path / "a.json", {("no", "key"): 1})  # type: ignore[dict-item]
    assert json.loads((tmp_path / "a.json").read_text()) == {"b": 1}
