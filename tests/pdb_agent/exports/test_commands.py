import json
from io import StringIO
from pathlib import Path

import pytest
from pdb_agent.episode import EpisodeLog, ExitReason, Replied
from pdb_agent.exports.commands import Kind, export
from pdb_agent.exports.conversation import ExportError

from tests.pdb_agent.episode_making import done, ended, episode
from tests.pdb_agent.viewer.scenes import debugged, given_up


@pytest.fixture
def run_folder(tmp_path: Path) -> Path:
    """Two arms of one task, an episode that ended by infrastructure, and an earlier attempt."""
    infra = episode([[done()]], end=ended(solved=False, turns=1, reason=ExitReason.SANDBOX))
    run = tmp_path / "run"
    for arm, number, made in (
        ("trained", "0", debugged()),
        ("base", "0", given_up()),
        ("base", "1", infra),
        ("base", "1.attempt-1", infra),
    ):
        file = run / "episodes" / arm / "cart" / f"{number}.jsonl"
        file.parent.mkdir(parents=True, exist_ok=True)
        with EpisodeLog(file) as log:
            assert made.ended is not None
            for event in (made.started, *made.events, made.ended):
                log.append(event)
    return run


@pytest.mark.parametrize("kind", [Kind.SFT, Kind.OPENAI_CHAT])
def test_a_run_becomes_a_line_for_each_episode_that_counts(run_folder: Path, tmp_path: Path, kind: Kind):
    out, stream = tmp_path / "new" / "lines.jsonl", StringIO()
    assert export(kind, run_folder, out, stream) == 0
    lines = [json.loads(line) for line in out.read_text(encoding="utf-8").splitlines()]
    assert [len(line["messages"]) for line in lines] == [8, 26]
    assert stream.getvalue() == f"2 episodes in {out}; 1 left out that did not come to an end that counts\n"


def test_trajectories_lie_by_arm_and_task(run_folder: Path, tmp_path: Path):
    export("atif", run_folder, tmp_path / "out", StringIO())
    files = sorted(path.relative_to(tmp_path / "out") for path in (tmp_path / "out").rglob("*.json"))
    assert files == [Path("base/cart/0.trajectory.json"), Path("trained/cart/0.trajectory.json")]


def test_an_unknown_kind_and_an_empty_folder_say_what_to_give(run_folder: Path, tmp_path: Path):
    with pytest.raises(ExportError, match="there are atif, sft, openai-chat"):
        export("csv", run_folder, tmp_path / "x", StringIO())
    with pytest.raises(ExportError, match="give the folder of a run"):
        export("sft", tmp_path, tmp_path / "x", StringIO())


def test_odd_characters_survive_as_ascii(tmp_path: Path):
    made = debugged()
    reply = next(event for event in made.events if isinstance(event, Replied))
    assert "→" not in json.dumps(reply.reply.message.text)
    file = tmp_path / "episodes" / "a" / "b" / "0.jsonl"
    file.parent.mkdir(parents=True)
    with EpisodeLog(file) as log:
        assert made.ended is not None
        for event in (made.started, *made.events, made.ended):
            log.append(event)
    export("sft", tmp_path, tmp_path / "x.jsonl", StringIO())
    text = (tmp_path / "x.jsonl").read_text(encoding="utf-8")
    assert text.isascii()
    assert "result: 0 → 9" in json.loads(text)["messages"][12]["content"]
