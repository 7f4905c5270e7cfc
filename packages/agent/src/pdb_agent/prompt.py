"""The first words to a model: where it is, what is asked, what counts."""

import hashlib

from pdb_agent.task import Task
from pdb_agent.toolsets import Toolset, ToolsetName

_SYSTEM = """\
You repair a Python program. It lies in the current folder of a machine without network; you act through
tools only. Some of its tests fail. Find the cause and change the program so that it does what it is meant to
do, not only in the cases that the tests show: {judges}. Change only
{editable}; a change of a test does not count. Outputs are cut to a few thousand characters: ask narrowly."""
_HIDDEN_JUDGES = "other tests, which you cannot see, decide"
_OWN_JUDGES = "what passes has to go on passing"
_DEBUGGER = """\
You have a debugger. Where reading leaves several causes possible, start the failing test under it with a
breakpoint where they differ, look at the values there, and act on what you see."""
_LATER = "A debugger joins your tools once you have made {edits} edits."
_DONE = "When the tests pass and you are sure of the cause, call done."
_FINAL = "When you are finished, answer without a tool call."
_TASK = """\
These tests fail:
{tests}
Repair the program."""


def system_prompt(task: Task, toolset: Toolset) -> str:
    """What holds for the whole episode."""
    judges = _HIDDEN_JUDGES if task.hidden else _OWN_JUDGES
    parts = [_SYSTEM.format(editable=" and ".join(task.editable), judges=judges)]
    match toolset.name:
        case ToolsetName.DEBUG | ToolsetName.COMPOUND:
            parts.append(_DEBUGGER)
        case ToolsetName.UNLOCK_AFTER_EDITS:
            parts.append(_LATER.format(edits=toolset.unlock_after_edits))
        case _:
            pass
    parts.append(_FINAL if toolset.no_call_is_final else _DONE)
    return "\n\n".join(parts)


def first_message(task: Task) -> str:
    """What is asked."""
    return _TASK.format(tests="\n".join(f"- {test}" for test in task.fail_to_pass))


def prompt_hash() -> str:
    """Tells versions of these words apart."""
    words = "\0".join((_SYSTEM, _HIDDEN_JUDGES, _OWN_JUDGES, _DEBUGGER, _LATER, _DONE, _FINAL, _TASK))
    return hashlib.sha256(words.encode()).hexdigest()[:12]
