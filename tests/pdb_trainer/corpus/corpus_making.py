"""Runs of made episodes on disk, and a renderer that knows every byte: what a corpus is built of in tests."""

import dataclasses
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pdb_agent.episode import Episode, EpisodeLog, Said
from pdb_agent.messages import ToolSpec
from pdb_trainer.corpus.leakage import LeakageGuard
from pdb_trainer.renderers.opening import open_renderer
from pdb_trainer.renderers.template_renderer import TemplateRenderer
from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers

from tests.pdb_agent.episode_making import TEST, Act, done, edit, episode

READ = Act(name="read_file", arguments={"path": "shop/cart.py"}, facts={"path": "shop/cart.py"})
FAILING = Act(name="run_tests", text="1 failed", facts={"tests": [], "passed": [], "failed": [TEST]})
PASSING = Act(name="run_tests", text="1 passed", facts={"tests": [], "passed": [TEST], "failed": []})
GOOD = (FAILING, READ, edit(), PASSING, done())
TASK = ToolSpec(name="done", description="The end.", schema={"type": "object", "properties": {}})
NO_GUARD = LeakageGuard(())


def byte_model(folder: Path) -> Path:
    """A model's folder with a tokenizer whose tokens are bytes; chatml brings its own template."""
    alphabet = {byte: number for number, byte in enumerate(sorted(pre_tokenizers.ByteLevel.alphabet()))}
    tokenizer = Tokenizer(models.BPE(vocab=alphabet, merges=[]))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    names = ("<|endoftext|>", "<|im_start|>", "<|im_end|>")
    tokenizer.add_special_tokens([AddedToken(name, special=True, normalized=False) for name in names])
    folder.mkdir(parents=True, exist_ok=True)
    tokenizer.save(str(folder / "tokenizer.json"))
    return folder


def byte_renderer(folder: Path) -> TemplateRenderer:
    return open_renderer("chatml", byte_model(folder))


def of(*acts: Act, solved: bool = True, turns_before: int = 0, **start: Any) -> Episode:
    """One call in each turn, on a task of the training split, from its first words on."""
    looks = [Act(name="bash", arguments={"command": f"ls {n}"}) for n in range(turns_before)]
    given: dict[str, Any] = {"split": "train", "tools": (TASK,)} | start
    made = episode([[one] for one in (*looks, *acts)], solved=solved, **given)
    return dataclasses.replace(made, events=(Said(at=0.0, text="Repair it.", why="task"), *made.events))


def write_run(folder: Path, episodes: Sequence[Episode], *, groups: Mapping[str, str] | None = None) -> Path:
    """A run's folder; repetitions are numbered as they come."""
    folder.mkdir(parents=True)
    numbers: dict[str, int] = {}
    tasks: dict[str, Any] = {}
    for one in episodes:
        name = one.started.task
        number = numbers.setdefault(name, 0)
        numbers[name] += 1
        path = folder / "episodes" / one.started.arm / name / f"{number}.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        with EpisodeLog(path) as log:
            started = dataclasses.replace(one.started, number=number)
            for event in (started, *one.events, *([one.ended] if one.ended else [])):
                log.append(event)
        tasks[name] = {"group": (groups or {}).get(name, name), "split": one.started.split}
    (folder / "tasks.json").write_text(json.dumps(tasks), "utf-8")
    return folder
