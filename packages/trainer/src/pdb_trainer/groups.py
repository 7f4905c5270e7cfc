"""Groups being filled with episodes: sealed, requeued or dropped. Pure: it owns no task and no clock.

Every episode that was dispatched leaves exactly once: trained with its group, dropped with a cause, or
failed with a cause, in which case its place is free and another is to be dispatched.
"""

import statistics
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import StrEnum

from pdb_trainer.errors import ConfigError, RolloutError
from pdb_trainer.rollout import Rollout


class Fate(StrEnum):
    """How an episode left."""

    TRAINED = "trained"
    """With its group, which is handed to the learner."""
    DROPPED = "dropped"
    FAILED = "failed"


TOO_SLOW = "too_slow"
"""Cause: still running when its group was sealed without it, or was filled anew."""
NEVER_FILLED = "never_filled"
"""Cause: its group was requeued as often as may be."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Left:
    """An episode that is done with."""

    group: str
    episode: str
    fate: Fate
    cause: str
    """Empty for one that is trained."""
    was_running: bool
    """It has to be cancelled: whatever it still comes to is of no use."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SealedGroup:
    """A group to learn from."""

    group: str
    rollouts: tuple[Rollout, ...]
    """In the order in which they were dispatched."""
    is_partial: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Changes:
    """What came of something that happened."""

    sealed: tuple[SealedGroup, ...] = ()
    left: tuple[Left, ...] = ()
    requeued: tuple[str, ...] = ()
    """Groups whose slow episodes were given up; others are to be dispatched in their place."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """A group that needs episodes."""

    group: str
    missing: int
    """Those that are running are not missing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupSettings:
    """When a group is full, and when it is full enough."""

    size: int = 12
    least: int = 8
    """Finished episodes for a group that is sealed because the others take too long."""
    patience: float = 2.0
    """Times the median episode, since the last dispatch of a group."""
    requeues: int = 2
    """So often a group with too few is filled up again; then it is dropped."""
    window: int = 256
    """Episodes that the median is of, the latest."""

    def __post_init__(self) -> None:
        if not 1 <= self.least <= self.size:
            raise ConfigError(f"A group of {self.size} cannot be sealed at {self.least}: lower the least.")


@dataclass(slots=True)
class _Group:
    order: list[str] = field(default_factory=list[str])
    running: dict[str, float] = field(default_factory=dict[str, float])
    """When each was dispatched."""
    finished: dict[str, Rollout] = field(default_factory=dict[str, Rollout])
    requeues: int = 0


class Groups:
    """All groups that are not sealed yet. Times are seconds of any one clock."""

    def __init__(self, settings: GroupSettings) -> None:
        self._settings = settings
        self._open: dict[str, _Group] = {}
        self._group_of: dict[str, str] = {}
        self._seconds: deque[float] = deque(maxlen=settings.window)

    @property
    def median_seconds(self) -> float | None:
        """Of the latest episodes; None before the first has finished."""
        return statistics.median(self._seconds) if self._seconds else None

    @property
    def running(self) -> int:
        """Episodes in flight."""
        return sum(len(one.running) for one in self._open.values())

    def wanted(self) -> tuple[Wanted, ...]:
        """Groups that need episodes, the one closest to full first, then the oldest."""
        missing = [
            Wanted(group=name, missing=self._settings.size - len(one.running) - len(one.finished))
            for name, one in self._open.items()
        ]
        return tuple(sorted((one for one in missing if one.missing > 0), key=lambda one: one.missing))

    def open(self, group: str) -> None:
        """Begin a group. Raises RolloutError when it is open."""
        if group in self._open:
            raise RolloutError(f"Group {group} is open already: give each draw of a task a name of its own.")
        self._open[group] = _Group()

    def dispatch(self, group: str, episode: str, now: float) -> None:
        """An episode was started. Raises RolloutError for a name that was used, or a group without room."""
        if episode in self._group_of:
            raise RolloutError(f"Episode {episode} was dispatched before: give each try a name of its own.")
        if group not in {one.group for one in self.wanted()}:
            raise RolloutError(f"Group {group} takes no more episodes: dispatch only those that are wanted.")
        self._group_of[episode] = group
        one = self._open[group]
        one.order.append(episode)
        one.running[episode] = now

    def finish(self, episode: str, rollout: Rollout, now: float) -> Changes:
        """An episode came to an end; no change where it has left before.

        Raises RolloutError for one that was never dispatched.
        """
        if rollout.infra_error:
            return self.fail(episode, rollout.exit_reason)
        one = self._of(episode)
        if one is None:
            return Changes()
        self._seconds.append(now - one.running.pop(episode))
        one.finished[episode] = rollout
        if len(one.finished) < self._settings.size:
            return Changes()
        return self._seal(self._group_of[episode])

    def fail(self, episode: str, cause: str) -> Changes:
        """An episode says nothing of the policy: another one takes its place."""
        one = self._of(episode)
        if one is None:
            return Changes()
        del one.running[episode]
        one.order.remove(episode)
        return Changes(left=(self._left(episode, Fate.FAILED, cause, was_running=False),))

    def tick(self, now: float) -> Changes:
        """Time has passed: groups that wait too long for their last episodes are sealed, requeued or dropped.

        A group that has episodes to be dispatched yet waits for its turn, not for them.
        """
        median = self.median_seconds
        unfilled = {one.group for one in self.wanted()}
        late = [
            name
            for name, one in self._open.items()
            if median is not None
            and name not in unfilled
            and now - max(one.running.values()) > self._settings.patience * median
        ]
        return _together(self._give_up_waiting(name) for name in late)

    def drop(self, group: str, cause: str) -> Changes:
        """A group is not to be learned from. Raises RolloutError when it is not open."""
        if group not in self._open:
            raise RolloutError(f"Group {group} is not open: it was sealed or dropped before.")
        one = self._open.pop(group)
        return Changes(
            left=tuple(
                self._left(episode, Fate.DROPPED, cause, was_running=episode in one.running)
                for episode in one.order
            )
        )

    def drop_all(self, cause: str) -> Changes:
        """The end of a run: what is unfinished is given up."""
        return _together([self.drop(name, cause) for name in list(self._open)])

    def _give_up_waiting(self, name: str) -> Changes:
        one = self._open[name]
        if len(one.finished) >= self._settings.least:
            return self._seal(name)
        if one.requeues >= self._settings.requeues:
            return self.drop(name, NEVER_FILLED)
        one.requeues += 1
        slow = list(one.running)
        one.running.clear()
        one.order = [episode for episode in one.order if episode in one.finished]
        left = [self._left(episode, Fate.DROPPED, TOO_SLOW, was_running=True) for episode in slow]
        return Changes(left=tuple(left), requeued=(name,))

    def _seal(self, name: str) -> Changes:
        one = self._open.pop(name)
        sealed = SealedGroup(
            group=name,
            rollouts=tuple(one.finished[episode] for episode in one.order if episode in one.finished),
            is_partial=len(one.finished) < self._settings.size,
        )
        left = [
            self._left(episode, Fate.TRAINED, "", was_running=False)
            if episode in one.finished
            else self._left(episode, Fate.DROPPED, TOO_SLOW, was_running=True)
            for episode in one.order
        ]
        return Changes(sealed=(sealed,), left=tuple(left))

    def _of(self, episode: str) -> _Group | None:
        """The group in which an episode runs; None when it has left. Raises RolloutError."""
        if episode not in self._group_of:
            raise RolloutError(f"Episode {episode} was never dispatched: dispatch it first.")
        one = self._open.get(self._group_of[episode])
        return one if one is not None and episode in one.running else None

    def _left(self, episode: str, fate: Fate, cause: str, *, was_running: bool) -> Left:
        group = self._group_of[episode]
        return Left(group=group, episode=episode, fate=fate, cause=cause, was_running=was_running)


def _together(many: Iterable[Changes]) -> Changes:
    changes = list(many)
    return Changes(
        sealed=tuple(one for each in changes for one in each.sealed),
        left=tuple(one for each in changes for one in each.left),
        requeued=tuple(one for each in changes for one in each.requeued),
    )
