"""The states that a plan went through."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from weaving.plan import Plan


@dataclass(frozen=True)
class Step:
    """A state and the command that led to it."""

    label: str
    state: dict[str, Any]


class History:
    """A line of steps with a place in it; the first step is the plan as it was opened."""

    def __init__(self, plan: Plan, depth: int = 100) -> None:
        self._plan = plan
        self._depth = depth
        self._steps = [Step("open", plan.state())]
        self._at = 0

    def add(self, label: str) -> None:
        """Make the plan's state the newest step; steps that were taken back are gone."""
        del self._steps[self._at + 1 :]
        self._steps.append(Step(label, self._plan.state()))
        del self._steps[: -self._depth]
        self._at = len(self._steps) - 1

    def back(self) -> str | None:
        """Go one step back and return the label of what was taken back, None at the start."""
        if self._at == 0:
            return None
        label = self._steps[self._at].label
        self._at -= 1
        self.reset()
        return label

    def forward(self) -> str | None:
        """Go one step forward and return its label, None at the end."""
        if self._at == len(self._steps) - 1:
            return None
        self._at += 1
        self.reset()
        return self._steps[self._at].label

    def reset(self) -> None:
        """Put the plan into the state of the step that history is at."""
        self._plan.restore(self._steps[self._at].state)

    def labels(self) -> list[str]:
        """The steps up to the present one."""
        return [step.label for step in self._steps[: self._at + 1]]
