"""The whole way with nothing made up: the oracle in the real sandbox, a corpus of it, and back."""

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path

import anyio
import pytest
from pdb_agent.batch import Progress
from pdb_agent.policies.scripted import ScriptedPolicy, scripted_call
from pdb_agent.procedural.gym import LabFamily, generate
from pdb_agent.run_folder import RunFolderError
from pdb_agent.toolsets import ToolsetName
from pdb_trainer.config import GymTasksConfig, TasksConfig
from pdb_trainer.corpus.building import build_corpus
from pdb_trainer.corpus.collecting import choose_training_tasks, collect, refuse_changing_tools
from pdb_trainer.corpus.harvest import harvest
from pdb_trainer.corpus.leakage import LeakageGuard, open_guard
from pdb_trainer.corpus.origin import Origin, read_origin
from pdb_trainer.corpus.settings import CollectConfig, CorpusSettings
from pdb_trainer.corpus.store import read_conversation, read_examples
from pdb_trainer.errors import ConfigError, CorpusError, LeakageError
from pdb_trainer.renderers.template_renderer import TemplateRenderer

from tests.pdb_trainer.corpus.corpus_making import byte_renderer

GYM_TOOLSETS = (ToolsetName.EDIT_MENU, ToolsetName.CODING_TOOLS, ToolsetName.DEBUG)
REPOSITORY_TASKS = ("inventory_hash_key", "pagination_window")


def gym(count: int, *families: LabFamily) -> TasksConfig:
    return TasksConfig(gym=GymTasksConfig(families=families or tuple(LabFamily), count=count))


def collected(config: CollectConfig, out: Path, tell: Callable[[Progress], None] = lambda now: None) -> int:
    return anyio.run(partial(collect, config, out, open_guard(), jobs=2, tell=tell))


@pytest.fixture(scope="module")
def renderer(tmp_path_factory: pytest.TempPathFactory) -> TemplateRenderer:
    return byte_renderer(tmp_path_factory.mktemp("model"))


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Two tasks of the gym with three toolsets, and two of the repository's with the debugger."""
    folder = tmp_path_factory.mktemp("runs")
    assert collected(CollectConfig(tasks=gym(2), toolsets=GYM_TOOLSETS), folder / "gym") == 0
    assert collected(CollectConfig(tasks=TasksConfig(ids=REPOSITORY_TASKS)), folder / "tasks") == 0
    return folder / "gym", folder / "tasks"


@pytest.mark.slow
def test_what_the_oracle_does_becomes_a_corpus_whose_mask_covers_only_what_it_says(
    runs: tuple[Path, Path], renderer: TemplateRenderer, tmp_path: Path
):
    settings = CorpusSettings(max_tokens=60_000, per_task=9, same_edits=9)
    report = build_corpus(settings, runs, tmp_path / "corpus", renderer, open_guard(), hashes={})
    assert (report.episodes, report.solved, report.rejected) == (8, 8, 0)
    assert {kind: sum(parts.values()) for kind, parts in report.examples.items()} == {
        "full": 8,
        "microskill:debugger_discipline": 1,
        "microskill:read_before_edit": 4,
        "microskill:retest_before_done": 4,
    }
    examples = read_examples(tmp_path / "corpus")
    for number, example in enumerate(examples, start=1):
        _, messages = read_conversation(tmp_path / "corpus", number)
        said = [one for one in messages if one["role"] == "assistant" and one["train"]]
        spans = spans_of(example.token_ids.tolist(), example.trained.tolist())
        texts = [renderer.decode(span) for span in spans]
        assert len(texts) == len(said)
        for text, message in zip(texts, said, strict=True):
            assert text.startswith(message["content"])
            assert text.endswith("<|im_end|>")
            assert all(f'"name": "{call["name"]}"' in text for call in message.get("calls", []))
            assert "<|im_start|>" not in text
            assert "tool_response" not in text
    assert {one.provenance.toolset for one in examples} == {str(name) for name in GYM_TOOLSETS}
    assert {one.provenance.policy for one in examples} == {"oracle/solution"}
    again = tmp_path / "again"
    build_corpus(settings, runs, again, renderer, open_guard(), hashes={})
    assert {path.name: path.read_bytes() for path in again.iterdir()} == {
        path.name: path.read_bytes() for path in (tmp_path / "corpus").iterdir()
    }


@pytest.mark.slow
def test_a_collection_that_is_there_is_left_alone_and_another_one_is_refused(runs: tuple[Path, Path]):
    told: list[Progress] = []
    before = {path: path.read_bytes() for path in runs[0].glob("episodes/*/*/*")}
    assert collected(CollectConfig(tasks=gym(2), toolsets=GYM_TOOLSETS), runs[0], told.append) == 0
    assert told == []
    assert {path: path.read_bytes() for path in runs[0].glob("episodes/*/*/*")} == before
    with pytest.raises(RunFolderError, match="holds a run with another config"):
        collected(CollectConfig(tasks=gym(3), toolsets=GYM_TOOLSETS), runs[0])


@pytest.mark.slow
def test_a_policys_own_successes_are_harvested_with_its_generation_and_adapter(
    renderer: TemplateRenderer, tmp_path: Path
):
    task = generate(LabFamily.RANGE, 0)
    policy = ScriptedPolicy(
        [
            [scripted_call("read_file", path=task.source_path)],
            [scripted_call("edit", op=str(task.right_operation))],
            [scripted_call("run_tests")],
            "It passes.",
        ],
        name="live/policy-v3",
    )
    config = CollectConfig(tasks=gym(1, LabFamily.RANGE), toolsets=(ToolsetName.EDIT_MENU,))
    origin = Origin(generation=2, adapter_hash="cafe")
    run = partial(harvest, policy, origin, config, tmp_path / "own", open_guard(), jobs=1)
    assert anyio.run(run) == 0
    assert read_origin(tmp_path / "own") == origin
    build_corpus(
        CorpusSettings(max_tokens=60_000, held_out=0.0),
        [tmp_path / "own"],
        tmp_path / "corpus",
        renderer,
        open_guard(),
        hashes={},
    )
    about = read_examples(tmp_path / "corpus")[0].provenance
    assert (about.policy, about.generation, about.adapter_hash) == ("live/policy-v3", 2, "cafe")


@pytest.mark.slow
def test_the_harvest_of_another_policy_wants_another_folder(runs: tuple[Path, Path]):
    config = CollectConfig(tasks=gym(2), toolsets=GYM_TOOLSETS)
    policy = ScriptedPolicy(["Nothing."], name="oracle")
    run = partial(harvest, policy, Origin(generation=1), config, runs[0], open_guard(), jobs=1)
    with pytest.raises(CorpusError, match="holds episodes of generation 0"):
        anyio.run(run)


def test_generation_zero_is_no_policy_in_training(tmp_path: Path):
    run = partial(
        harvest, ScriptedPolicy([]), Origin(), CollectConfig(), tmp_path / "run", open_guard(), jobs=1
    )
    with pytest.raises(CorpusError, match="Generation 0 is for teachers"):
        anyio.run(run)
    assert not (tmp_path / "run").exists()


def test_a_task_of_another_split_is_refused_by_name_before_anything_runs(tmp_path: Path):
    config = CollectConfig(tasks=TasksConfig(ids=("inventory_hash_key", "toctou_file_check")))
    with pytest.raises(LeakageError, match="toctou_file_check is of the test split"):
        collected(config, tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_without_ids_all_tasks_of_the_training_split_are_meant():
    choice, _ = choose_training_tasks(CollectConfig(), open_guard())
    assert len(choice.tasks) == 20
    assert {str(task.split) for task in choice.tasks} == {"train"}


def test_programs_that_a_guard_holds_out_are_passed_over_and_others_come_instead():
    kept = [generate(LabFamily.RANGE, 0), generate(LabFamily.RANGE, 2)]
    config = CollectConfig(tasks=gym(3, LabFamily.RANGE), toolsets=(ToolsetName.EDIT_MENU,))
    choice, tasks = choose_training_tasks(config, LeakageGuard((), kept))
    assert [task.id for task in choice.tasks] == ["gym_range_1", "gym_range_3", "gym_range_4"]
    assert tasks.ids == ("gym_range_1", "gym_range_3", "gym_range_4")
    assert choice.menus.keys() == choice.right_operations.keys() == set(tasks.ids)
    assert json.loads(tasks.model_dump_json())["gym"]["held_out"] is False


def test_a_guard_that_holds_out_everything_leaves_nothing():
    everything = LeakageGuard((), [generate(LabFamily.RANGE, seed) for seed in range(45)])
    config = CollectConfig(tasks=gym(1, LabFamily.RANGE), toolsets=(ToolsetName.EDIT_MENU,))
    with pytest.raises(ConfigError, match="The gym has no 1 tasks beside those held out"):
        choose_training_tasks(config, everything)


def test_named_tasks_of_the_gym_have_to_be_among_those_counted():
    tasks = TasksConfig(gym=GymTasksConfig(families=(LabFamily.RANGE,), count=3), ids=("gym_range_2",))
    config = CollectConfig(tasks=tasks, toolsets=(ToolsetName.EDIT_MENU,))
    assert [task.id for task in choose_training_tasks(config, open_guard())[0].tasks] == ["gym_range_2"]
    beyond = config.model_copy(update={"tasks": tasks.model_copy(update={"ids": ("gym_range_7",)})})
    with pytest.raises(ConfigError, match="gym_range_7 is none of the 3 tasks"):
        choose_training_tasks(beyond, open_guard())


def test_tools_that_appear_on_the_way_are_refused():
    with pytest.raises(ConfigError, match="leave out unlock-after-k"):
        refuse_changing_tools(CollectConfig(toolsets=(ToolsetName.UNLOCK_AFTER_EDITS,)))


def spans_of(token_ids: list[int], trained: list[bool]) -> list[list[int]]:
    """Runs of trained tokens."""
    spans: list[list[int]] = []
    before = False
    for token, is_trained in zip(token_ids, trained, strict=True):
        if is_trained:
            if not before:
                spans.append([])
            spans[-1].append(token)
        before = is_trained
    return spans
