"""Which tools a model gets: the arms of an experiment."""

from dataclasses import dataclass
from enum import StrEnum


class ToolsetName(StrEnum):
    """A way of acting."""

    DEBUG = "debug"
    """bash, read_file, edit_file, run_tests, done, and the debugger's tools."""
    NO_DEBUGGER = "no-debugger"
    """The same without the debugger."""
    UNLOCK_AFTER_EDITS = "unlock-after-k"
    """The debugger appears after k edits."""
    COMPOUND = "compound"
    """One debugger tool that takes breakpoints and expressions and gives a table of values."""
    CODING_TOOLS = "coding-tools"
    """Read, Edit, Write, Bash: a reply without a call is the final answer."""
    EDIT_MENU = "edit-menu"
    """Apply one of the changes that a procedural task offers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Toolset:
    """A toolset with its settings."""

    name: ToolsetName = ToolsetName.DEBUG
    unlock_after_edits: int = 5
    """For unlock-after-k."""
    engine: str = "pdb"
    """The debugger's engine where the model names none."""

    @property
    def has_debugger(self) -> bool:
        """Whether a debugger is among the tools, now or later."""
        return self.name in (
            ToolsetName.DEBUG,
            ToolsetName.UNLOCK_AFTER_EDITS,
            ToolsetName.COMPOUND,
        )

    @property
    def no_call_is_final(self) -> bool:
        """Whether a reply without a call is an answer, rather than a slip that is pointed out once."""
        return self.name in (ToolsetName.CODING_TOOLS, ToolsetName.EDIT_MENU)
