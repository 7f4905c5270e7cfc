"""What a run would do, said without doing it: settings resolved, files looked at, memory estimated."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

from pdb_agent.errors import AgentError

from pdb_trainer.config import GrpoConfig, SftConfig
from pdb_trainer.errors import ConfigError, TrainerError
from pdb_trainer.memory_estimate import LearnerSize, ModelShape, estimate
from pdb_trainer.training_tasks import training_tasks

_MODEL_FILES = ("config.json", "tokenizer.json")
_ADAPTER_FILES = ("adapter_config.json", "adapter_model.safetensors")


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """Something that was looked at."""

    is_well: bool
    words: str


def dry_run(config: SftConfig | GrpoConfig, stream: TextIO) -> int:
    """Write what would run; 0 when all that it needs is there, 1 when something is missing."""
    stream.write(json.dumps(json.loads(config.model_dump_json()), indent=2) + "\n\n")
    findings = list(look(config))
    for finding in findings:
        stream.write(f"{'ok     ' if finding.is_well else 'missing'} {finding.words}\n")
    stream.write("\nMemory of one rank of the learner, at its fullest:\n")
    try:
        for line in estimate(model_shape(config), learner_size(config)).lines():
            stream.write(f"  {line}\n")
    except ConfigError as error:
        stream.write(f"  not known: {error}\n")
    stream.write(f"\n{plan(config)}\n")
    return 0 if all(finding.is_well for finding in findings) else 1


def look(config: SftConfig | GrpoConfig) -> Iterator[Finding]:
    """Everything that the run reads, and whether it is there."""
    yield from _files("the base model", config.model.path, _MODEL_FILES)
    if config.model.path.is_dir():
        has_weights = any(config.model.path.glob("*.safetensors"))
        yield Finding(is_well=has_weights, words=f"the base model's weights in {config.model.path}")
    if config.adapter.start is not None:
        yield from _files("the adapter to begin with", config.adapter.start, _ADAPTER_FILES)
    match config:
        case SftConfig():
            yield _folder("the corpus", config.corpus.path)
        case GrpoConfig():
            if config.anchor.corpus is not None and config.anchor.weight:
                yield _folder("the anchor's corpus", config.anchor.corpus)
            yield _tasks(config)
            if config.sampler.kind == "vllm" and config.sampler.python is not None:
                found = config.sampler.python.exists()
                yield Finding(is_well=found, words=f"vLLM's Python, {config.sampler.python}")


def model_shape(config: SftConfig | GrpoConfig) -> ModelShape:
    """From the model's folder, or where that is elsewhere from the settings. Raises ConfigError."""
    path = config.model.path / "config.json"
    if path.exists():
        try:
            return ModelShape.of(json.loads(path.read_text(encoding="utf-8")))
        except ValueError as error:
            raise ConfigError(f"{path} is no JSON ({error}): give a model's folder.") from error
    if config.model.shape is not None:
        return ModelShape.of(config.model.shape.model_dump())
    raise ConfigError(f"{path} is not there: give the model's folder, or its numbers as model.shape.")


def learner_size(config: SftConfig | GrpoConfig) -> LearnerSize:
    """What the settings say about sizes."""
    return LearnerSize(
        dtype=config.model.dtype,
        rank=config.adapter.rank,
        microbatch_tokens=config.batch.microbatch_tokens,
        checkpointing=config.batch.checkpointing,
        has_reference=isinstance(config, GrpoConfig) and config.kl.beta > 0,
        ranks=config.run.ranks,
    )


def plan(config: SftConfig | GrpoConfig) -> str:
    """What would run, in a sentence or two."""
    end = f"from seed {config.run.seed}, with a checkpoint every {config.run.checkpoint_every} steps."
    match config:
        case SftConfig():
            return (
                f"Would imitate {config.corpus.path}: {config.run.steps} steps of "
                f"{config.examples_per_step} examples {end}"
            )
        case GrpoConfig():
            algorithm = config.algorithm
            episodes = algorithm.groups * algorithm.group_size
            drawn = "in this process" if config.sampler.kind == "local" else "by vLLM"
            return (
                f"Would run {config.run.steps} steps of {algorithm.groups} groups of {algorithm.group_size} "
                f"({episodes} episodes a step, {episodes * config.run.steps} in all) with the toolset "
                f"{config.toolset.name}, replies drawn {drawn}, {end}"
            )


def _files(what: str, folder: Path, names: tuple[str, ...]) -> Iterator[Finding]:
    if not folder.is_dir():
        yield Finding(is_well=False, words=f"{what}: there is no folder {folder}")
        return
    for name in names:
        yield Finding(is_well=(folder / name).is_file(), words=f"{what}, {folder / name}")


def _folder(what: str, folder: Path) -> Finding:
    return Finding(is_well=folder.exists(), words=f"{what}, {folder}")


def _tasks(config: GrpoConfig) -> Finding:
    try:
        count = len(training_tasks(config.tasks, config.toolset).tasks)
    except (TrainerError, AgentError) as error:
        return Finding(is_well=False, words=f"tasks: {error}")
    return Finding(is_well=True, words=f"{count} tasks to train on")
