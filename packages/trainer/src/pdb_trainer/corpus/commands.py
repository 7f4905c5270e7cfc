"""What ``pdb-trainer corpus`` does: collect, build, show, stats; ``harvesting`` has harvest."""

import hashlib
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TextIO

import anyio
from pdb_agent.run_folder import RunFolder
from rich.console import Console
from rich.table import Table
from rich.text import Text

from pdb_trainer.corpus.building import BuildReport, build_corpus
from pdb_trainer.corpus.collecting import collect, refuse_changing_tools
from pdb_trainer.corpus.display import Display, telling_of_episodes
from pdb_trainer.corpus.gathering import BuildProgress
from pdb_trainer.corpus.leakage import open_guard
from pdb_trainer.corpus.settings import CollectConfig, CorpusSettings
from pdb_trainer.corpus.store import read_conversation, read_corpus
from pdb_trainer.renderers.opening import open_renderer

_TOKENIZER_FILES = {"tokenizer": "tokenizer.json", "chat_template": "chat_template.jinja"}
_SHOWN_CHARS = 2000


def collect_run(config: CollectConfig, out: Path, *, jobs: int, stream: TextIO, progress: TextIO) -> int:
    """Collect episodes in a run's folder; 0 when every one has a valid end."""
    refuse_changing_tools(config)
    guard = open_guard(config.tasks.root)

    async def run() -> int:
        with Display("collected", progress) as display:
            return await collect(config, out, guard, jobs=jobs, tell=telling_of_episodes(display))

    return collected(out, anyio.run(run), stream)


def collected(out: Path, unfinished: int, stream: TextIO) -> int:
    """Say what a run's folder holds now; 0 when no episode is missing."""
    if unfinished:
        stream.write(f"{unfinished} episodes have no valid end: run the same command again.\n")
        return 1
    episodes = [episode for _, episode in RunFolder(out).episodes() if episode.is_valid]
    solved = sum(episode.solved for episode in episodes)
    stream.write(f"{out}: {len(episodes)} episodes, {solved} of them solved.\n")
    return 0


@dataclass(frozen=True, slots=True, kw_only=True)
class BuildRequest:
    """What to build, of what, for which model."""

    runs: Sequence[Path]
    out: Path
    model: Path
    """Folder with the tokenizer of the model that is to learn it."""
    renderer: str | None = None
    """None finds the one that fits the model's template."""
    tasks_root: Path | None = None
    """Tasks folder whose splits hold; None is the nearest."""


def build(settings: CorpusSettings, request: BuildRequest, stream: TextIO, progress: TextIO) -> int:
    """Build a corpus of runs, and print what became of every episode."""
    with Display("read", progress) as display:

        def tell(now: BuildProgress) -> None:
            display.tell(now.episodes, now.total, f"{now.examples} candidates")

        report = build_corpus(
            settings,
            request.runs,
            request.out,
            open_renderer(request.renderer, request.model),
            open_guard(request.tasks_root),
            hashes=tokenizer_hashes(request.model),
            tell=tell,
        )
    stream.write(report_text(report))
    stream.write(f"Written to {request.out}.\n")
    return 0


def stats(folder: Path, stream: TextIO) -> int:
    """Counts of a corpus, by kind, policy and reason; 1 when some of its lines are damaged."""
    corpus = read_corpus(folder)
    console = _console(stream)
    table = Table("kind", "part", "policy", "generation", "examples", "tokens", "trained", box=None)
    keys = Counter(
        (one.kind, one.part, one.provenance.policy, one.provenance.generation) for one in corpus.examples
    )
    for key, count in sorted(keys.items()):
        kind, part, policy, generation = key
        those = [
            one
            for one in corpus.examples
            if (one.kind, one.part, one.provenance.policy, one.provenance.generation) == key
        ]
        tokens = sum(len(one.token_ids) for one in those)
        trained = sum(one.trained_tokens for one in those)
        table.add_row(kind, part, policy, str(generation), str(count), f"{tokens:,}", f"{trained:,}")
    console.print(table)
    lengths = sorted(len(one.token_ids) for one in corpus.examples)
    if lengths:
        console.print(
            f"{len(lengths)} examples, tasks: {len({one.task for one in corpus.examples})}; tokens: median "
            f"{lengths[len(lengths) // 2]:,}, longest {lengths[-1]:,}",
            highlight=False,
        )
    stream.write(_reasons_text(corpus.manifest["counts"]["reasons"]))
    for bad in corpus.bad_lines:
        stream.write(f"line {bad.number} is damaged: {bad.why}\n")
    return 1 if corpus.bad_lines else 0


def show(folder: Path, number: int, stream: TextIO) -> int:
    """One example to read; what is trained stands out."""
    about, messages = read_conversation(folder, number)
    console = _console(stream)
    for name, value in about.items():
        words = ", ".join(f"{key} {one}" for key, one in value.items()) if isinstance(value, dict) else value
        console.print(Text(f"{name}: {words}", style="dim"))
    for message in messages:
        console.print(_message_text(message))
    return 0


def report_text(report: BuildReport) -> str:
    """What a build came to, with the table of reasons."""
    lines = [f"{report.episodes} episodes, {report.solved} solved; {report.rejected} gave no whole example"]
    for kind, parts in report.examples.items():
        lines.append(f"  {kind}: {parts.get('train', 0)} to train, {parts.get('held_out', 0)} held out")
    lines.append(
        f"tasks: {report.tasks}; tokens: {report.tokens:,}, {report.trained_tokens:,} of them to train"
    )
    dropped = ", ".join(f"{why} {count}" for why, count in report.dropped_microskills.items())
    if dropped:
        lines.append(f"microskills dropped: {dropped}")
    return "\n".join(lines) + "\n" + _reasons_text(report.reasons)


def tokenizer_hashes(model: Path) -> dict[str, str]:
    """Hashes of what makes tokens of text, for those of the files that a model's folder has."""
    return {
        name: hashlib.sha256((model / file).read_bytes()).hexdigest()
        for name, file in _TOKENIZER_FILES.items()
        if (model / file).exists()
    }


def _reasons_text(reasons: Mapping[str, int]) -> str:
    if not reasons:
        return "Every episode gave a whole example.\n"
    width = max(len(why) for why in reasons)
    lines = [f"  {why:<{width}}  {count}" for why, count in reasons.items()]
    return "Why episodes gave no whole example (one may have several reasons):\n" + "\n".join(lines) + "\n"


def _message_text(message: Mapping[str, Any]) -> Text:
    role = message["role"]
    trained = bool(message.get("train"))
    body = [str(message.get("reasoning", "")), str(message["content"])]
    body += [f"{call['name']} {json.dumps(call['arguments'])}" for call in message.get("calls", [])]
    text = "\n".join(part for part in body if part)
    if not trained and len(text) > _SHOWN_CHARS:
        text = f"{text[:_SHOWN_CHARS]} […]"
    name = f"{role} {message['name']}" if role == "tool" else role
    style = "bold green" if trained else ""
    return Text(f"── {name}{' (trained)' if trained else ''}\n", style="dim") + Text(text, style=style)


def _console(stream: TextIO) -> Console:
    width = None if stream.isatty() else 120
    return Console(file=stream, width=width, soft_wrap=True)
