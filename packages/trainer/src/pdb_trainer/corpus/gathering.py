"""Reads runs of an agent into candidates for a corpus, and says of every other episode why it is none."""

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pdb_agent.episode import Episode
from pdb_agent.manifest import tools_hash
from pdb_agent.run_folder import RunFolder

from pdb_trainer.corpus.conversation import Conversation, UnfitEpisodeError, conversation_of, for_people
from pdb_trainer.corpus.deduplication import edits_key, token_key
from pdb_trainer.corpus.example import FULL, MICROSKILL, Example, Provenance
from pdb_trainer.corpus.gates import Conduct, Gate, conduct_of, rejections
from pdb_trainer.corpus.leakage import LeakageGuard, SourceTask, source_task
from pdb_trainer.corpus.microskills import moments
from pdb_trainer.corpus.origin import Origin, read_origin
from pdb_trainer.corpus.settings import CorpusSettings
from pdb_trainer.corpus.tokenising import tokenised
from pdb_trainer.errors import CorpusError
from pdb_trainer.renderers.renderer import Renderer

NO_END = "no valid end"
NOT_SOLVED = "not solved"
TOO_LONG = "longer than max_tokens"
SAME_TOKENS = "same tokens as another"
SAME_EDITS = "same edits as others"
OVER_CAP = "over the cap of its task"
REASONS = (NO_END, NOT_SOLVED, *map(str, Gate), TOO_LONG, SAME_TOKENS, SAME_EDITS, OVER_CAP)
"""In the order of the table."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BuildProgress:
    """Told after every episode that was read."""

    episodes: int
    total: int
    examples: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where an episode lies; tells the candidates of a task apart."""

    run: str
    arm: str
    task: str
    number: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Rejected:
    """An episode that is no example as a whole."""

    place: Place
    reasons: Mapping[str, str]
    """With details, which may be empty."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """What may become an example."""

    example: Example
    messages: Sequence[Mapping[str, Any]]
    place: Place
    edits: str
    """The same for nearly equal ones."""

    @property
    def order(self) -> tuple[object, ...]:
        """Short ones first."""
        place = self.place
        return self.example.provenance.turns, place.run, place.arm, place.number, self.example.id


@dataclass(slots=True, kw_only=True)
class Gathered:
    """All that came out of reading."""

    full: list[Candidate] = field(default_factory=list[Candidate])
    skills: list[Candidate] = field(default_factory=list[Candidate])
    tasks: dict[str, SourceTask] = field(default_factory=dict[str, SourceTask])
    rejected: list[Rejected] = field(default_factory=list[Rejected])
    dropped: Counter[str] = field(default_factory=Counter[str])
    """Microskills that came to nothing, by reason."""
    tools: dict[str, str] = field(default_factory=dict[str, str])
    """Toolsets by the hash of their schemas."""
    episodes: int = 0
    solved: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class _Found:
    place: Place
    episode: Episode
    origin: Origin
    group: str | None


class Gatherer:
    """Takes in episodes one by one."""

    def __init__(self, settings: CorpusSettings, renderer: Renderer, guard: LeakageGuard) -> None:
        self._settings = settings
        self._renderer = renderer
        self._guard = guard
        self._keys: set[str] = set()
        self.gathered = Gathered()

    def read(self, runs: Sequence[Path], tell: Callable[[BuildProgress], None]) -> Gathered:
        """All episodes of runs. Raises LeakageError, and CorpusError for a folder that is no run."""
        _refuse_equal_names(runs)
        total = sum(len(list(run.glob("episodes/*/*/*.jsonl"))) for run in runs)
        gathered = self.gathered
        for found in _episodes(runs):
            gathered.episodes += 1
            reasons = self._take(found)
            if reasons:
                gathered.rejected.append(Rejected(place=found.place, reasons=reasons))
            count = len(gathered.full) + len(gathered.skills)
            tell(BuildProgress(episodes=gathered.episodes, total=total, examples=count))
        if not gathered.episodes:
            raise CorpusError(f"There is no episode in {', '.join(map(str, runs))}: collect some first.")
        return gathered

    def _take(self, found: _Found) -> Mapping[str, str] | None:
        """Why an episode is no example as a whole, or None when it is one."""
        episode, seen = found.episode, self.gathered
        if not episode.is_valid:
            return {NO_END: ""}
        self._check_task(found)
        if not episode.solved:
            return {NOT_SOLVED: str(episode.ended.failure) if episode.ended else ""}
        seen.solved += 1
        conduct = conduct_of(episode)
        try:
            conversation = conversation_of(episode)
        except UnfitEpisodeError as error:
            return {str(error): ""}
        seen.tools[tools_hash(episode.started.tools)] = episode.started.toolset
        self._take_moments(found, conduct, conversation)
        if objections := rejections(conduct, self._settings.gates):
            return {str(one.gate): one.detail for one in objections}
        candidate = self._candidate(found, conduct, conversation, FULL, conversation.sound)
        if isinstance(candidate, str):
            return {candidate: ""}
        seen.full.append(candidate)
        return None

    def _check_task(self, found: _Found) -> None:
        task, known = source_task(found.episode.started, found.group), self.gathered.tasks
        if known.get(task.id) == task:
            return
        self._guard.check(task)
        if task.id in known:
            raise CorpusError(
                f"{task.id} is another task in {found.place.run} than in a run before it: give runs of one "
                "version of the tasks."
            )
        known[task.id] = task

    def _take_moments(self, found: _Found, conduct: Conduct, conversation: Conversation) -> None:
        for moment in moments(conduct, self._settings.microskills):
            kind = MICROSKILL + moment.skill
            if moment.last >= conversation.replies or not moment.replies <= conversation.sound:
                self.gathered.dropped["not sound"] += 1
                continue
            candidate = self._candidate(found, conduct, conversation.up_to(moment.last), kind, moment.replies)
            if isinstance(candidate, str):
                self.gathered.dropped[candidate] += 1
            else:
                self.gathered.skills.append(candidate)

    def _candidate(
        self,
        found: _Found,
        conduct: Conduct,
        conversation: Conversation,
        kind: str,
        trained: frozenset[int],
    ) -> Candidate | str:
        """An example, or why there is none."""
        token_ids, mask = tokenised(conversation, trained, self._renderer)
        if len(token_ids) > self._settings.max_tokens:
            return TOO_LONG
        key = token_key(token_ids, mask)
        if key in self._keys:
            return SAME_TOKENS
        self._keys.add(key)
        messages = for_people(conversation, trained)
        started = found.episode.started
        example = Example(
            id=f"{started.task}/{kind}/{key[:12]}",
            task=started.task,
            group=self.gathered.tasks[started.task].group,
            kind=kind,
            part="train",
            token_ids=token_ids,
            trained=mask,
            provenance=_provenance(found, messages),
        )
        return Candidate(example=example, messages=messages, place=found.place, edits=edits_key(conduct))


def _refuse_equal_names(runs: Sequence[Path]) -> None:
    """An example names its run by the folder's name alone."""
    names = Counter(run.name for run in runs)
    if twice := [name for name, count in names.items() if count > 1]:
        raise CorpusError(f"More than one run is called {twice[0]}: rename one, or give it once only.")


def _episodes(runs: Sequence[Path]) -> Iterator[_Found]:
    for run in runs:
        origin = read_origin(run)
        groups = _groups(run)
        for slot, episode in RunFolder(run).episodes():
            place = Place(run=run.name, arm=slot.arm, task=slot.task, number=slot.number)
            yield _Found(place=place, episode=episode, origin=origin, group=groups.get(slot.task))


def _groups(run: Path) -> Mapping[str, str]:
    """Groups of a run's tasks by id, as its tasks.json tells them."""
    try:
        tasks = json.loads((run / "tasks.json").read_text(encoding="utf-8"))
        return {name: str(task["group"]) for name, task in tasks.items()}
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise CorpusError(
            f"{run} is no folder of a run ({error}): give one that has a tasks.json."
        ) from error


def _provenance(found: _Found, messages: Sequence[Mapping[str, Any]]) -> Provenance:
    started, ended = found.episode.started, found.episode.ended
    return Provenance(
        policy=started.policy,
        generation=found.origin.generation,
        adapter_hash=found.origin.adapter_hash,
        run=found.place.run,
        arm=started.arm,
        toolset=started.toolset,
        number=started.number,
        turns=ended.turns if ended else 0,
        episode_hash=hashlib.sha256(json.dumps(messages, sort_keys=True).encode()).hexdigest(),
    )
