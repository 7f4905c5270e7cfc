import csv
import io
import json
import re
import time
from html.parser import HTMLParser
from pathlib import Path

import pytest
from pdb_agent.episode import ExitReason
from pdb_agent.report.build import DOCUMENT, EPISODES, PAGE, build_report
from pdb_agent.report.collect import ReportError
from pdb_agent.viewer.commands import view

from tests.pdb_agent.report.made_runs import BASE, PLAIN, TRAINED, write_run

pytestmark = pytest.mark.slow


class Structure(HTMLParser):
    """Whether every element is closed where it should be, and which ids there are."""

    VOID = frozenset({"meta", "br", "col", "hr"})

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.ids: list[str] = []
        self.faults: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.ids += [value for name, value in attrs if name == "id" and value]
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        pass

    def handle_endtag(self, tag: str) -> None:
        if not self.open or self.open.pop() != tag:
            self.faults.append(tag)


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two runs, of which the second has a trained policy."""
    folder = tmp_path_factory.mktemp("report")
    first = write_run(folder / "first", {"debug": BASE, "no-debugger": PLAIN})
    second = write_run(folder / "second", {"debug": TRAINED}, seed=1)
    build_report([first, second], folder / "out")
    return folder / "out"


def test_the_page_is_one_well_formed_file_that_loads_nothing(built: Path) -> None:
    text = (built / PAGE).read_text(encoding="utf-8")
    structure = Structure()
    structure.feed(text)

    assert structure.open == []
    assert structure.faults == []
    assert len(structure.ids) == len(set(structure.ids))
    assert "{" not in re.sub(r"<(style|script)>.*?</\1>", "", text, flags=re.DOTALL)
    assert not re.search(r"https?:|src=|@import|url\(", text)


def test_the_page_has_every_figure_and_table(built: Path) -> None:
    text = (built / PAGE).read_text(encoding="utf-8")

    figures = re.findall(r'<figure id="figure-([\w-]+)"', text)
    captions = re.findall(r"<caption>([^<]*)</caption>", text)
    assert figures == [
        "solve-rate",
        "pass-at-k",
        "turns-0",
        "turn-distribution",
        "coverage",
        "breakpoints",
        "task-size",
    ]
    for caption in ("Outcome", "Effort", "Failure classes", "Debugger", "Discipline", "Calls by tool"):
        assert caption in captions
    assert "Exit reasons: no-debugger" in captions
    assert "pass@1 by preference" in captions
    assert "Every episode, by task" in captions
    assert "How it was run" in captions


def test_arms_of_equal_name_are_told_apart_by_their_run(built: Path) -> None:
    document = json.loads((built / DOCUMENT).read_text(encoding="utf-8"))

    assert [arm["arm"] for arm in document["arms"]] == ["no-debugger", "first: debug", "second: debug"]
    pairs = [(one["before"], one["after"]) for one in document["comparisons"]]
    assert ("no-debugger", "first: debug") in pairs
    assert len(pairs) == 3


def test_the_sentences_tell_of_the_debugger_and_of_training_and_of_no_other_pair(built: Path) -> None:
    text = (built / PAGE).read_text(encoding="utf-8")

    told = re.findall(r"<li>([^<]+? against [^<]+?): \S+ points", text)
    assert told == ["first: debug against no-debugger", "second: debug against first: debug"]


def test_the_document_and_the_csv_agree(built: Path) -> None:
    document = json.loads((built / DOCUMENT).read_text(encoding="utf-8"))
    rows = list(csv.DictReader(io.StringIO((built / EPISODES).read_text(encoding="utf-8"))))

    assert len(rows) == 3 * 240
    for arm in document["arms"]:
        mine = [row for row in rows if row["arm"] == arm["arm"]]
        assert sum(row["solved"] == "1" for row in mine) == arm["rates"]["solved"]
        assert sum(row["scored"] == "0" for row in mine) == arm["infra"]
        by_cap = sum(row["ending"] == ExitReason.TURN_CAP for row in mine)
        assert by_cap == arm["effort"]["at_turn_cap"]["count"]
        if arm["debugger"]:
            opened = sum(row["opened"] == "1" and row["scored"] == "1" for row in mine)
            assert opened == arm["debugger"]["opened"]["count"]


def test_numbers_of_the_page_are_those_of_the_document(built: Path) -> None:
    text = (built / PAGE).read_text(encoding="utf-8")
    arm = json.loads((built / DOCUMENT).read_text(encoding="utf-8"))["arms"][0]

    rate = arm["rates"]["pass_at"]["1"]
    low, high = rate["interval"]["low"], rate["interval"]["high"]
    assert f"no-debugger solved {100 * rate['value']:.1f}% ({100 * low:.0f}–{100 * high:.0f})" in text


def test_two_hundred_and_forty_episodes_are_built_in_seconds(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", {"debug": BASE})
    began = time.process_time()
    build_report([run], tmp_path / "out")

    assert time.process_time() - began < 10


def test_the_grid_leads_to_the_viewers_pages_where_there_are_any(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", {"debug": BASE, "no-debugger": PLAIN}, tasks=2, repetitions=2)
    view([run], tmp_path / "out" / "viewer", io.StringIO())

    build_report([run], tmp_path / "out")

    text = (tmp_path / "out" / PAGE).read_text(encoding="utf-8")
    links = re.findall(r'<a href="(viewer/[^"]+)"', text)
    assert len(links) == 2 * 2 * 2
    assert len(set(links)) == 2 * 2  # the arms of an episode are side by side on one page
    assert all((tmp_path / "out" / link).is_file() for link in links)


def test_names_that_look_like_markup_are_shown_as_they_are(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", {"<b>&amp;": BASE}, tasks=1, repetitions=1)
    build_report([run], tmp_path / "out")

    text = (tmp_path / "out" / PAGE).read_text(encoding="utf-8")
    assert "<b>" not in text
    assert "&lt;b&gt;&amp;amp;" in text


def test_one_arm_of_one_task_makes_a_report_without_intervals(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", {"no-debugger": PLAIN}, tasks=1, repetitions=1)
    report = build_report([run], tmp_path / "out")

    assert report.comparisons == []
    found = report.metrics[0].rates.pass_at
    assert found[1] is None or found[1].interval is None
    assert found[3] is None


def test_files_that_cannot_be_read_and_attempts_moved_aside_are_left_out_and_the_former_named(
    tmp_path: Path,
) -> None:
    run = write_run(tmp_path / "run", {"debug": BASE}, tasks=2, repetitions=2)
    folder = next((run / "episodes" / "debug").iterdir())
    (folder / "0.jsonl").write_text("{}\n")
    (folder / "1.attempt-1.jsonl").write_text((folder / "1.jsonl").read_text())

    report = build_report([run], tmp_path / "out")

    assert report.metrics[0].episodes == 3
    assert f"episodes/debug/{folder.name}/0.jsonl" in (tmp_path / "out" / PAGE).read_text()


def test_an_episode_that_was_cut_off_is_not_scored(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", {"debug": BASE}, tasks=2, repetitions=2)
    file = next((run / "episodes" / "debug").iterdir()) / "0.jsonl"
    file.write_bytes(b"\n".join(file.read_bytes().splitlines()[:-1]) + b"\n")

    report = build_report([run], tmp_path / "out")

    assert report.metrics[0].infra >= 1
    assert "cut_off" in report.metrics[0].endings


@pytest.mark.parametrize("content", ["[]", "{"])
def test_a_manifest_that_is_none_is_told(tmp_path: Path, content: str) -> None:
    run = write_run(tmp_path / "run", {"debug": BASE}, tasks=1, repetitions=1)
    (run / "manifest.json").write_text(content)

    with pytest.raises(ReportError, match=r"manifest\.json .* restore it"):
        build_report([run], tmp_path / "out")


def test_a_folder_without_episodes_is_told_what_to_be(tmp_path: Path) -> None:
    with pytest.raises(ReportError, match="give the folder that `pdb-agent eval` wrote to"):
        build_report([tmp_path], tmp_path / "out")
