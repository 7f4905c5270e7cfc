"""A program of the gym: a function with places that can be right or not."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from string import Template

Value = int | list[int] | list[list[int]]
Arguments = tuple[Value, ...]


class Operation(StrEnum):
    """What the edit menu offers; the same menu, in this order, for every task."""

    RANGE_START = "fix_range_start"
    RANGE_END = "fix_range_end"
    INIT = "fix_init"
    COMPARE = "fix_compare"
    MINMAX = "fix_minmax"
    ZERO = "fix_zero"


@dataclass(frozen=True, slots=True, kw_only=True)
class Slot:
    """A piece of one line that one operation of the menu rewrites."""

    operation: Operation
    right: str
    other: str
    """What stands here when this is the defect."""
    miss: str | None = None
    """What the operation writes when nothing is amiss here; ``other`` if None."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """A function whose text has a hole ``$fix_…`` for each slot, and ``$function`` for its name."""

    name: str
    text: str
    slots: tuple[Slot, ...]
    inputs: tuple[Arguments, ...]
    """Argument lists to make tests of; the right function takes all of them."""

    def slot(self, operation: Operation) -> Slot | None:
        """The place that an operation rewrites, if it is in this program."""
        return next((slot for slot in self.slots if slot.operation is operation), None)

    def source(self, function: str, changes: Mapping[Operation, str]) -> str:
        """The program's text: every slot right but for the ``changes``."""
        pieces = {slot.operation.value: changes.get(slot.operation, slot.right) for slot in self.slots}
        return Template(self.text).substitute(pieces, function=function)
