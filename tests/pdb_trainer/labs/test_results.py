import pytest
from pdb_agent.episode import Episode, ExitReason
from pdb_trainer.labs.results import (
    BASE,
    RL,
    SFT,
    Difference,
    difference_record,
    differences_of,
    solved_of,
    stage_record,
    summary,
    transcript,
)

from tests.pdb_agent.episode_making import act, ended, episode

TASKS = [f"task-{number:02d}" for number in range(20)]


def solving(count: int) -> dict[str, float]:
    """The first so many of twenty tasks."""
    return {task: float(number < count) for number, task in enumerate(TASKS)}


def found(base: int, sft: int, rl: int) -> list[Difference]:
    return differences_of({BASE: solving(base), SFT: solving(sft), RL: solving(rl)})


def test_a_difference_on_most_of_twenty_tasks_is_a_rise() -> None:
    first, second = found(0, 10, 20)

    assert (first.estimate.value, first.wins, first.losses, first.ties) == (0.5, 10, 0, 10)
    assert first.estimate.interval is not None
    assert 0.2 < first.estimate.interval.low < 0.4
    assert first.is_a_rise
    assert second.is_a_rise


def test_one_more_task_of_twenty_is_no_rise_and_neither_is_none() -> None:
    one_more, none_more = found(5, 6, 6)

    assert not one_more.is_a_rise  # a resample without that task comes up more than once in forty times
    assert none_more.estimate.value == 0.0
    assert not none_more.is_a_rise


def test_a_fall_is_no_rise() -> None:
    assert [one.is_a_rise for one in found(20, 10, 0)] == [False, False]


def test_fewer_than_ten_tasks_prove_nothing() -> None:
    none, every = dict.fromkeys(TASKS[:9], 0.0), dict.fromkeys(TASKS[:9], 1.0)
    first, _ = differences_of({BASE: none, SFT: every, RL: every})

    assert first.estimate.value == 1.0
    assert not first.is_a_rise


def test_stages_that_saw_different_tasks_are_not_compared() -> None:
    other = {f"other-{task}": 1.0 for task in TASKS}

    with pytest.raises(ValueError, match="base and sft were measured on different tasks"):
        differences_of({BASE: solving(1), SFT: other, RL: other})


def test_the_base_may_be_measured_on_some_of_the_tasks() -> None:
    few = dict.fromkeys(TASKS[:12], 0.0)
    first, second = differences_of({BASE: few, SFT: solving(6), RL: solving(20)})

    assert (first.estimate.tasks, first.estimate.value) == (12, 0.5)
    assert (second.estimate.tasks, second.estimate.value) == (20, 0.7)


def test_pairs_are_matched_by_task_whatever_their_order() -> None:
    backwards = dict(reversed(solving(10).items()))
    first, _ = differences_of({BASE: solving(10), SFT: backwards, RL: backwards})

    assert (first.wins, first.losses) == (0, 0)


def test_a_stages_record_counts_each_task_and_how_episodes_ended() -> None:
    episodes = made_episodes()
    record = stage_record(episodes)

    assert solved_of(episodes) == {"one": 1.0, "two": 0.0}
    assert record["tasks"] == {"one": {"episodes": 1, "solved": 1}, "two": {"episodes": 1, "solved": 0}}
    assert record["ends"] == {"done": 1, "turn_cap": 1}
    assert record["solved"]["mean"] == 0.5
    assert record["solved"]["low"] is None


def test_a_transcript_tells_who_said_what_and_how_it_ended() -> None:
    lines = transcript(made_episodes()["one"])

    assert [line["who"] for line in lines] == ["model", "read_file", "end"]
    assert lines[0]["text"].endswith("read_file({'path': 'a.py'})")
    assert lines[1]["text"] == "   1 a = 1"
    assert lines[2]["text"] == "done, solved: True"


def test_the_summary_says_which_stage_did_not_rise() -> None:
    episodes = made_episodes()
    records = {stage: stage_record(episodes) for stage in (BASE, SFT, RL)}
    text = summary(records, found(0, 15, 15))

    assert "base to sft: +75.0%" in text
    assert text.count("NO RISE") == 1
    assert difference_record(found(0, 15, 15)[1])["is_a_rise"] is False


def made_episodes() -> dict[str, Episode]:
    read = act("read_file", "   1 a = 1", path="a.py")
    return {
        "one": episode([[read]]),
        "two": episode([[read]], end=ended(solved=False, turns=1, reason=ExitReason.TURN_CAP)),
    }
