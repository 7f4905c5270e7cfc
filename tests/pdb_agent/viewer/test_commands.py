from dataclasses import replace
from io import StringIO
from pathlib import Path

import pytest
from pdb_agent.episode import Episode, EpisodeFileError, EpisodeLog
from pdb_agent.viewer.build import ViewerError, build_page
from pdb_agent.viewer.commands import view

from tests.pdb_agent.viewer.scenes import debugged, given_up


def write(made: Episode, file: Path) -> Path:
    file.parent.mkdir(parents=True, exist_ok=True)
    with EpisodeLog(file) as log:
        assert made.ended is not None
        for event in (made.started, *made.events, made.ended):
            log.append(event)
    return file


def test_one_or_two_files_make_a_page(tmp_path: Path):
    one, other = write(given_up(), tmp_path / "a.jsonl"), write(debugged(), tmp_path / "b.jsonl")
    out, stream = tmp_path / "pages" / "pair.html", StringIO()
    assert view([one, other], out, stream) == 0
    assert "<title>cart: base and trained</title>" in out.read_text(encoding="utf-8")
    assert stream.getvalue() == f"Open {out.as_uri()}\n"


def test_a_run_makes_a_page_per_task_with_its_arms_side_by_side_and_an_index(tmp_path: Path):
    run = tmp_path / "run"
    for arm, made in (("base", given_up()), ("trained", debugged())):
        write(made, run / "episodes" / arm / "cart" / "0.jsonl")
    write(debugged(), run / "episodes" / "trained" / "cart" / "1.jsonl")
    stream = StringIO()
    assert view([run], tmp_path / "out", stream) == 0
    names = sorted(path.name for path in (tmp_path / "out").iterdir())
    assert names == ["cart-0-base-trained.html", "cart-1-trained.html", "index.html"]
    index = (tmp_path / "out" / "index.html").read_text(encoding="utf-8")
    assert '<a href="cart-0-base-trained.html">cart 0</a> base not solved; trained solved' in index
    assert stream.getvalue().startswith("2 pages.")


def test_the_same_arm_twice_is_told_apart(tmp_path: Path):
    first = debugged()
    second = replace(first, started=replace(first.started, number=1))
    build_page([first, second], tmp_path / "x.html")
    text = (tmp_path / "x.html").read_text(encoding="utf-8")
    assert "trained · vllm/small · 0" in text
    assert "trained · vllm/small · 1" in text


@pytest.mark.parametrize("count", [0, 3])
def test_another_number_of_episodes_is_refused(tmp_path: Path, count: int):
    with pytest.raises(ViewerError, match="one episode or two"):
        build_page([debugged()] * count, tmp_path / "x.html")
    with pytest.raises(ViewerError, match="give one episode's file"):
        view(
            [write(debugged(), tmp_path / f"{number}.jsonl") for number in range(count)],
            tmp_path / "x",
            StringIO(),
        )


def test_a_missing_path_an_empty_run_and_a_broken_file_say_what_to_do(tmp_path: Path):
    with pytest.raises(ViewerError, match="is no file"):
        view([tmp_path / "nothing"], tmp_path / "x.html", StringIO())
    with pytest.raises(ViewerError, match="no episodes"):
        view([tmp_path], tmp_path / "x", StringIO())
    broken = tmp_path / "broken.jsonl"
    broken.write_text("{}\n", encoding="utf-8")
    with pytest.raises(EpisodeFileError, match="line 1"):
        view([broken], tmp_path / "x.html", StringIO())
