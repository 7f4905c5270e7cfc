"""Shows whether a policy learns: base, SFT and GRPO, each measured on programs it never met.

Oracle episodes, practice and measurements go through the real tools, sandbox and grader; SFT and GRPO are
those of ``pdb-trainer sft`` and ``grpo``. A folder that was begun goes on with what is missing.
"""

import json
import os
import platform
import time
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TextIO

import anyio
from pdb_agent.episode import Episode
from pdb_agent.loop import EpisodeSettings
from pdb_agent.manifest import commit
from pdb_agent.messages import ToolSpec
from pdb_agent.policy import Sampling
from pdb_agent.procedural.gym import GymTask
from pdb_agent.sandbox import SandboxSpec
from pdb_agent.sandboxes.interpreters import task_interpreter
from pdb_agent.toolbox import open_toolbox
from pdb_agent.toolsets import Toolset, ToolsetName
from pydantic import ValidationError

from pdb_trainer import grpo, sft
from pdb_trainer.config import GrpoConfig, SftConfig
from pdb_trainer.corpus import commands as corpus_commands
from pdb_trainer.corpus.settings import CollectConfig, CorpusSettings
from pdb_trainer.errors import ConfigError
from pdb_trainer.labs import results
from pdb_trainer.labs.base_model import make_base
from pdb_trainer.labs.evaluating import Measure, measure
from pdb_trainer.labs.settings import LabConfig
from pdb_trainer.labs.task_sets import TaskSets, task_sets, to_measure
from pdb_trainer.model_hashes import base_hash
from pdb_trainer.run_files import CHECKPOINTS, step_name
from pdb_trainer.run_log import METRICS
from pdb_trainer.run_place import in_folder
from pdb_trainer.starting_policy import open_starting_policy
from pdb_trainer.whole_files import write_whole

RESULTS = "results.json"
_SHOWN_EPISODES = 3
_TOLD_EVERY_SECONDS = 5.0


@dataclass(slots=True, kw_only=True)
class Lab:
    """A lab at work in its folder."""

    config: LabConfig
    folder: Path
    sets: TaskSets
    tools: tuple[ToolSpec, ...]
    stream: TextIO
    seconds: dict[str, float] = field(default_factory=dict[str, float])
    """By stage, of this call."""

    @contextmanager
    def stage(self, name: str) -> Generator[None]:
        """Say what begins, and count its time."""
        began = time.monotonic()
        self.stream.write(f"{name} …\n")
        self.stream.flush()
        yield
        self.seconds[name] = round(time.monotonic() - began, 1)
        self.stream.write(f"{name}: {self.seconds[name]:g} s\n")

    @property
    def model(self) -> Path:
        """The base's folder."""
        given = self.config.model
        return self.folder / "base" if given is None else given.path

    def adapter(self, stage: str, steps: int) -> Path:
        """What a stage's last step left."""
        return self.folder / stage / CHECKPOINTS / step_name(steps) / "adapter"


def learn_smoke(config: LabConfig, folder: Path, stream: TextIO) -> int:
    """Run what is missing; 0 when both stages raise the solve rate beyond chance, else 1.

    Raises TrainerError and AgentError.
    """
    lab = Lab(config=config, folder=folder, sets=task_sets(config.tasks), tools=(), stream=stream)
    lab.tools = anyio.run(_tools, lab.sets.held_out[0])
    sft_config, grpo_config = configs(lab)
    base = _base(lab)
    _corpus(lab)
    started = time.monotonic()
    with lab.stage("sft"):
        in_folder(sft.train, sft_config, folder / results.SFT, stream)
    with lab.stage("grpo"):
        in_folder(grpo.train, grpo_config, folder / results.RL, stream)
    adapters = {
        results.BASE: None,
        results.SFT: grpo_config.adapter.start,
        results.RL: lab.adapter(results.RL, grpo_config.run.steps),
    }
    measured = {stage: _measured(lab, grpo_config, stage, adapter) for stage, adapter in adapters.items()}
    lab.seconds["training and measuring"] = round(time.monotonic() - started, 1)
    return _conclude(lab, base, measured, (sft_config, grpo_config))


def configs(lab: Lab) -> tuple[SftConfig, GrpoConfig]:
    """The two recipes. Raises ConfigError where their tables do not do."""
    sets = lab.sets
    practice = {
        "gym": {"count": len(sets.oracle) + len(sets.practice)},
        "ids": tuple(task.name for task in sets.practice),
    }
    try:
        sft_config = lab.config.sft_config(lab.model, lab.folder / "corpus")
        start = lab.adapter(results.SFT, sft_config.run.steps)
        return sft_config, lab.config.grpo_config(lab.model, start, practice)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"]))
        raise ConfigError(f"The lab's recipe has an unfit {place}: {first['msg']}.") from error


async def _tools(task: GymTask) -> tuple[ToolSpec, ...]:
    """The tools as a policy is told of them."""
    measured, menu = to_measure(task)
    spec = SandboxSpec(python=task_interpreter(), files=measured.workspace)
    async with open_toolbox(measured, _toolset(), spec=spec, menu=menu) as toolbox:
        return toolbox.specs


def _toolset() -> Toolset:
    return Toolset(name=ToolsetName.EDIT_MENU)


def _base(lab: Lab) -> Mapping[str, Any]:
    """Make the base where none is given; what is told of it."""
    if lab.config.model is not None:
        return {"path": str(lab.model), "sha256": base_hash(lab.model)}
    record = lab.folder / "base.json"
    if not record.exists():
        with lab.stage("base"):
            made = make_base(
                lab.model,
                lab.sets.primer,
                lab.tools,
                lab.config.base,
                lab.config.seed,
                _telling(lab.stream, lambda step, steps, loss: f"base {step}/{steps}: loss {loss:.2f}"),
            )
        write_whole(record, json.dumps(made).encode())
    return json.loads(record.read_bytes())


def _corpus(lab: Lab) -> None:
    """Oracle episodes, and a corpus of them."""
    config = lab.config
    collecting = CollectConfig.model_validate(
        {
            "tasks": {"gym": {"count": len(lab.sets.oracle)}},
            "toolsets": ("edit-menu",),
            "limits": config.limits.model_dump(),
        }
    )
    corpus = lab.folder / "corpus"
    if corpus.exists():
        return
    with lab.stage("oracle"):
        runs = lab.folder / "oracle"
        corpus_commands.collect_run(collecting, runs, jobs=2, stream=lab.stream, progress=lab.stream)
    with lab.stage("corpus"):
        request = corpus_commands.BuildRequest(runs=[runs], out=corpus, model=lab.model)
        settings = CorpusSettings(held_out=0.0, microskills=())
        corpus_commands.build(settings, request, lab.stream, lab.stream)


def _measured(
    lab: Lab, config: GrpoConfig, stage: str, adapter: Path | None
) -> tuple[dict[str, Episode], dict[str, Episode]]:
    """Episodes of a stage's policy on the held-out programs, and on the ten that are fixed."""
    starting = config.model_copy(update={"adapter": config.adapter.model_copy(update={"start": adapter})})
    folder = lab.folder / "measured" / stage

    async def run() -> tuple[dict[str, Episode], dict[str, Episode]]:
        settings = _measure(lab)
        few = lab.config.tasks.held_out_for_base if stage == results.BASE else None
        tasks = lab.sets.held_out[:few]
        total = len(tasks)
        tell = _telling(lab.stream, lambda done, solved: f"{stage} {done}/{total}: {solved} solved")
        async with open_starting_policy(starting, folder) as policy:
            held_out = await measure(policy, tasks, settings, folder / "held_out", tell)
            return held_out, await measure(policy, lab.sets.fixed, settings, folder / "fixed")

    with lab.stage(f"measuring {stage}"):
        return anyio.run(run)


def _measure(lab: Lab) -> Measure:
    config = lab.config
    episode = EpisodeSettings(
        arm="policy",
        toolset=_toolset(),
        limits=config.limits.record(),
        sampling=Sampling(
            temperature=config.sampler.temperature, max_output_tokens=config.sampler.max_output_tokens
        ),
    )
    sampler = config.sampler
    return Measure(
        episode=episode, seed=config.seed, concurrency=sampler.concurrency, attempts=sampler.attempts
    )


def _conclude(
    lab: Lab,
    base: Mapping[str, Any],
    measured: Mapping[str, tuple[dict[str, Episode], dict[str, Episode]]],
    recipes: tuple[SftConfig, GrpoConfig],
) -> int:
    """Write the results, print a summary; the exit status."""
    found = results.differences_of({stage: results.solved_of(one) for stage, (one, _) in measured.items()})
    records = {stage: results.stage_record(one) for stage, (one, _) in measured.items()}
    is_shown = all(one.is_a_rise for one in found)
    record = {
        "format": 1,
        "is_shown": is_shown,
        "evaluations": records,
        "differences": [results.difference_record(one) for one in found],
        "fixed_tasks": {stage: results.stage_record(one) for stage, (_, one) in measured.items()},
        "steps": {stage: _metrics(lab.folder / stage) for stage in (results.SFT, results.RL)},
        "base": base,
        "transcripts": {
            stage: {task: results.transcript(one[task]) for task in list(one)[:_SHOWN_EPISODES]}
            for stage, (one, _) in measured.items()
        },
        "configuration": {
            "lab": json.loads(lab.config.model_dump_json()),
            **{recipe.kind: json.loads(recipe.model_dump_json()) for recipe in recipes},
        },
        "tools": [
            {"name": tool.name, "description": tool.description, "schema": dict(tool.schema)}
            for tool in lab.tools
        ],
        "seconds": lab.seconds,
        "commit": commit(),
        "machine": f"{platform.platform()}, {os.cpu_count()} cores",
        "limits": (*results.LIMITS, *(() if lab.config.model else results.LIMITS_OF_A_MADE_BASE)),
    }
    write_whole(lab.folder / RESULTS, (json.dumps(record, indent=1) + "\n").encode())
    lab.stream.write(results.summary(records, found))
    lab.stream.write(f"All numbers, transcripts and settings: {lab.folder / RESULTS}\n")
    return 0 if is_shown else 1


def _metrics(folder: Path) -> list[Mapping[str, Any]]:
    path = folder / METRICS
    return [json.loads(line) for line in path.read_bytes().splitlines()] if path.exists() else []


def _telling(stream: TextIO, words: Callable[..., str]) -> Callable[..., None]:
    """Says how it goes, a line now and then."""
    told = time.monotonic()

    def tell(*numbers: float) -> None:
        nonlocal told
        if time.monotonic() - told >= _TOLD_EVERY_SECONDS:
            told = time.monotonic()
            stream.write(words(*numbers) + "\n")
            stream.flush()

    return tell
