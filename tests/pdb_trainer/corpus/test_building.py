"""From runs to a corpus: what is kept, what is not and why."""

import dataclasses
import json
from pathlib import Path
from typing import Any

import pytest
from pdb_agent.episode import Episode, ExitReason, Replied
from pdb_agent.messages import Stop
from pdb_trainer.corpus.building import BuildReport, build_corpus
from pdb_trainer.corpus.gathering import BuildProgress
from pdb_trainer.corpus.leakage import open_guard
from pdb_trainer.corpus.origin import Origin, read_origin, write_origin
from pdb_trainer.corpus.settings import CorpusSettings
from pdb_trainer.corpus.store import read_conversation, read_corpus, read_examples, read_rejected
from pdb_trainer.errors import CorpusError, LeakageError
from pdb_trainer.renderers.template_renderer import TemplateRenderer

from tests.pdb_agent.episode_making import Act, done, edit, ended
from tests.pdb_trainer.corpus.corpus_making import (
    FAILING,
    GOOD,
    NO_GUARD,
    PASSING,
    READ,
    byte_renderer,
    of,
    write_run,
)

PLAIN: dict[str, Any] = {"microskills": (), "held_out": 0.0}


@pytest.fixture(scope="module")
def renderer(tmp_path_factory: pytest.TempPathFactory) -> TemplateRenderer:
    return byte_renderer(tmp_path_factory.mktemp("model"))


@pytest.fixture
def build(tmp_path: Path, renderer: TemplateRenderer):
    def built(*episodes: Episode, groups: dict[str, str] | None = None, **settings: Any) -> BuildReport:
        run = write_run(tmp_path / "run", episodes, groups=groups)
        return build_corpus(
            CorpusSettings(**PLAIN | settings),
            [run],
            tmp_path / "corpus",
            renderer,
            NO_GUARD,
            hashes={"tokenizer": "t"},
        )

    return built


def longer(turns: int, new: str = "b", **start: Any) -> Episode:
    """A good episode of ``turns`` turns, which is told from others by what it edits in."""
    return of(FAILING, READ, edit(new=new), PASSING, done(), turns_before=turns - 5, **start)


def kept_turns(folder: Path) -> list[int]:
    return [one.provenance.turns for one in read_examples(folder, guard=NO_GUARD)]


def test_only_solved_episodes_that_pass_the_gates_are_whole_examples(build, tmp_path: Path):
    no_end = dataclasses.replace(of(*GOOD), ended=None)
    outage = dataclasses.replace(of(*GOOD), ended=ended(solved=False, turns=5, reason=ExitReason.SANDBOX))
    hasty = of(FAILING, edit(), done())
    report = build(of(*GOOD), of(*GOOD, solved=False), hasty, no_end, outage)
    assert (report.episodes, report.solved, report.rejected) == (5, 2, 4)
    assert report.reasons == {
        "no valid end": 2,
        "not solved": 1,
        "final source edit was never retested": 1,
        "edit without a prior read of that file": 1,
        "done before a passing run": 1,
    }
    assert report.examples == {"full": {"train": 1}}
    rejected = read_rejected(tmp_path / "corpus")
    assert [line["number"] for line in rejected] == [1, 2, 3, 4]
    assert rejected[1]["reasons"]["done before a passing run"] == "the last test run did not pass"
    assert rejected[0]["reasons"] == {"not solved": "hidden_fail"}


def test_an_example_says_where_it_comes_from(build, tmp_path: Path):
    build(longer(7), groups={"cart": "carts"})
    (one,) = read_examples(tmp_path / "corpus", guard=NO_GUARD)
    assert (one.task, one.group, one.kind, one.part) == ("cart", "carts", "full", "train")
    about = one.provenance
    assert (about.policy, about.generation, about.adapter_hash) == ("vllm/small", 0, None)
    assert (about.run, about.arm, about.toolset, about.number, about.turns) == ("run", "debug", "debug", 0, 7)
    manifest = read_corpus(tmp_path / "corpus", guard=NO_GUARD).manifest
    assert manifest["hashes"] == {"renderer": "chatml", "tokenizer": "t"}
    assert [*manifest["tools"].values()] == ["debug"]


def test_of_each_task_the_shortest_and_the_longest_are_kept_up_to_the_cap(build, tmp_path: Path):
    episodes = [longer(turns, new=f"b{turns}") for turns in (9, 5, 8, 6, 7)]
    report = build(*episodes, per_task=3)
    assert sorted(kept_turns(tmp_path / "corpus")) == [5, 6, 9]
    assert report.reasons == {"over the cap of its task": 2}


def test_of_equal_edits_in_equal_order_few_are_kept_whatever_was_looked_at(build, tmp_path: Path):
    spaced = of(FAILING, READ, edit(new="b  =   1"), READ, PASSING, done())
    same = [*[longer(turns, new="b = 1") for turns in (5, 6, 7)], spaced]
    other = of(FAILING, READ, edit(new="c"), FAILING, edit(gone="c", new="b"), PASSING, done())
    report = build(*same, other, same_edits=2, per_task=9)
    assert report.reasons == {"same edits as others": 2}
    assert sorted(kept_turns(tmp_path / "corpus")) == [5, 7, 7]


def test_the_same_tokens_are_one_example(build):
    report = build(of(*GOOD), of(*GOOD), microskills=("read_before_edit",))
    assert report.reasons == {"same tokens as another": 1}
    assert report.dropped_microskills == {"same tokens as another": 1}
    assert report.examples == {"full": {"train": 1}, "microskill:read_before_edit": {"train": 1}}


def test_what_is_too_long_is_dropped_whole_and_counted(build, tmp_path: Path):
    long = of(FAILING, READ, dataclasses.replace(edit(), text="x" * 3000), PASSING, done())
    report = build(of(*GOOD), long, max_tokens=2500)
    assert report.reasons == {"longer than max_tokens": 1}
    assert all(len(one.token_ids) <= 2500 for one in read_examples(tmp_path / "corpus", guard=NO_GUARD))


def test_an_episode_that_is_no_example_as_a_whole_still_gives_what_it_did_well(build, tmp_path: Path):
    many = [Act(name="bash", arguments={"command": f"ls {n}"}) for n in range(20)]
    late = of(*many, READ, edit(), PASSING, done())
    failed = of(*GOOD, solved=False)
    report = build(late, failed, microskills=("read_before_edit", "retest_before_done"))
    assert report.reasons == {"not solved": 1, "late source edit": 1}
    assert report.examples == {
        "microskill:read_before_edit": {"train": 1},
        "microskill:retest_before_done": {"train": 1},
    }
    cut, whole = read_examples(tmp_path / "corpus", guard=NO_GUARD)
    assert len(cut.token_ids) < len(whole.token_ids)
    assert (whole.token_ids[: len(cut.token_ids)] == cut.token_ids).all()


def test_only_the_replies_of_the_skill_are_trained(build, tmp_path: Path, renderer: TemplateRenderer):
    build(of(*GOOD), microskills=("read_before_edit",))
    skill = next(one for one in read_examples(tmp_path / "corpus", guard=NO_GUARD) if one.kind != "full")
    said = renderer.decode([int(one) for one in skill.token_ids[skill.trained]])
    assert '"read_file"' in said
    assert '"edit_file"' in said
    assert "run_tests" not in said
    assert "run_tests" in renderer.decode([int(one) for one in skill.token_ids])


def test_a_reply_that_was_cut_off_is_never_trained(build, tmp_path: Path):
    made = of(*GOOD)
    turns = [event for event in made.events if isinstance(event, Replied)]
    cut = dataclasses.replace(turns[1], reply=dataclasses.replace(turns[1].reply, stop=Stop.MAX_TOKENS))
    events = tuple(cut if event is turns[1] else event for event in made.events)
    report = build(dataclasses.replace(made, events=events), microskills=("read_before_edit",))
    assert report.examples == {"full": {"train": 1}}
    assert report.dropped_microskills == {"not sound": 1}
    _, messages = read_conversation(tmp_path / "corpus", 1)
    trained = [message["train"] for message in messages if message["role"] == "assistant"]
    assert trained == [True, False, True, True, True]


def test_whole_groups_of_tasks_are_held_out(build, tmp_path: Path):
    episodes = [longer(5, task=f"task{n}", new=f"b{n}") for n in range(20)]
    groups = {f"task{n}": f"group{n // 2}" for n in range(20)}
    report = build(*episodes, groups=groups, held_out=0.25)
    read = read_examples(tmp_path / "corpus", guard=NO_GUARD)
    away = {one.group for one in read if one.part == "held_out"}
    assert report.examples == {"full": {"held_out": 4, "train": 16}}
    assert len(away) == 2
    assert not away & {one.group for one in read if one.part == "train"}


def test_a_second_build_is_equal_byte_by_byte_whatever_was_there(build, tmp_path: Path, renderer):
    build(*[longer(turns, new=f"b{turns}") for turns in (9, 5, 8)], microskills=("read_before_edit",))
    first = {path.name: path.read_bytes() for path in (tmp_path / "corpus").iterdir()}
    settings = CorpusSettings(microskills=("read_before_edit",), held_out=0.0)
    for _ in range(2):
        build_corpus(
            settings, [tmp_path / "run"], tmp_path / "again", renderer, NO_GUARD, hashes={"tokenizer": "t"}
        )
        assert {path.name: path.read_bytes() for path in (tmp_path / "again").iterdir()} == first


@pytest.mark.parametrize("split", ["validation", "test", ""])
def test_an_episode_of_another_split_stops_the_build_by_its_tasks_name(build, tmp_path: Path, split: str):
    with pytest.raises(LeakageError, match=r"cart is of the (validation|test|nameless) split"):
        build(of(*GOOD), of(*GOOD, task="cart2"), of(*GOOD, split=split, task="cart"))
    assert not (tmp_path / "corpus").exists()


def test_a_failed_episode_of_a_forbidden_task_stops_the_build_too(tmp_path: Path, renderer: TemplateRenderer):
    run = write_run(tmp_path / "run", [of(*GOOD, solved=False, task="toctou_file_check")])
    with pytest.raises(LeakageError, match="toctou_file_check has the name of toctou_file_check"):
        build_corpus(CorpusSettings(), [run], tmp_path / "corpus", renderer, open_guard(), hashes={})


def test_two_versions_of_a_task_do_not_mix(build):
    with pytest.raises(CorpusError, match="cart is another task in run"):
        build(of(*GOOD), of(*GOOD, task_hash="new"))


def test_nothing_left_is_said_with_its_reasons(build, tmp_path: Path):
    with pytest.raises(CorpusError, match="No example is left of 2 episodes: not solved 2"):
        build(of(*GOOD, solved=False), of(*GOOD, solved=False))
    assert not (tmp_path / "corpus").exists()


def test_a_folder_without_episodes_or_that_is_no_run_is_said(tmp_path: Path, renderer: TemplateRenderer):
    def build_of(run: Path) -> None:
        build_corpus(CorpusSettings(), [run], tmp_path / "corpus", renderer, NO_GUARD, hashes={})

    with pytest.raises(CorpusError, match="There is no episode in"):
        build_of(write_run(tmp_path / "empty", []))
    with pytest.raises(CorpusError, match="is no folder of a run"):
        build_of(tmp_path / "nowhere")


def test_runs_are_told_apart_by_their_names(tmp_path: Path, renderer: TemplateRenderer):
    runs = [write_run(tmp_path / place / "run", [of(*GOOD)]) for place in ("one", "other")]
    with pytest.raises(CorpusError, match="More than one run is called run"):
        build_corpus(CorpusSettings(), runs, tmp_path / "corpus", renderer, NO_GUARD, hashes={})


def test_generations_and_teachers_keep_their_origin_in_one_corpus(tmp_path: Path, renderer: TemplateRenderer):
    teacher = write_run(tmp_path / "teacher", [longer(5, new="b0")])
    own = write_run(tmp_path / "own", [longer(6, new="b1", policy="policy-v7")])
    write_origin(own, Origin(generation=2, adapter_hash="cafe"))
    told: list[BuildProgress] = []
    build_corpus(
        CorpusSettings(**PLAIN),
        [teacher, own],
        tmp_path / "corpus",
        renderer,
        NO_GUARD,
        hashes={},
        tell=told.append,
    )
    read = read_examples(tmp_path / "corpus", guard=NO_GUARD)
    found = {(one.provenance.policy, one.provenance.generation, one.provenance.adapter_hash) for one in read}
    assert found == {("vllm/small", 0, None), ("policy-v7", 2, "cafe")}
    assert [(one.episodes, one.total, one.examples) for one in told] == [(1, 2, 1), (2, 2, 2)]


def test_a_run_is_of_one_policy(tmp_path: Path):
    write_origin(tmp_path / "run", Origin(generation=1, adapter_hash="a"))
    write_origin(tmp_path / "run", Origin(generation=1, adapter_hash="a"))
    with pytest.raises(CorpusError, match="holds episodes of generation 1, adapter a"):
        write_origin(tmp_path / "run", Origin(generation=2, adapter_hash="b"))
    (tmp_path / "run" / "origin.json").write_text(json.dumps({"generation": -1}), "utf-8")
    with pytest.raises(CorpusError, match=r"origin.json is damaged"):
        read_origin(tmp_path / "run")
