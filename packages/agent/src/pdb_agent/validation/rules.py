"""What makes a task valid, a sentence for each rule, and how a breach of one is told."""

from dataclasses import dataclass

FILES = "files"
MACHINE = "machine"
"""Stands for no rule: the task could not be checked for a reason that is not its own."""
RULES = {
    FILES: "The files are those of a task.",
    MACHINE: "This machine can check the task.",
    "V1": "Before the solution each fail_to_pass test fails by an assertion or a declared error, "
    "and each other visible test passes.",
    "V2": "After the solution all visible and hidden tests pass, none is skipped.",
    "V3": "Hidden tests fail before the solution, and hold inputs that visible tests do not.",
    "V4": "A decoy passes every visible test and fails a hidden one; there are two from difficulty 3 on.",
    "V5": "Every test's outcome is the same on each repeat, hash seed, order, load and Python.",
    "V6": "The suite takes 5 s at most with the solution, nothing hangs, and no thread or process is left.",
    "V7": "Nothing uses the network, writes outside the temporary folder or imports more than the standard "
    "library and pytest.",
    "V8": "No word, name or comment of the workspace tells of the defect or of its solution.",
    "V9": "The solution changes 30 lines of editable source at most and keeps public signatures.",
    "V10": "source_lines, source_files and content_hash are what `pdb-agent tasks measure` writes.",
    "V11": "A debugger sees different values before and after the solution at each witness, or the task says "
    "why a debugger is of no use.",
    "V12": "No source is nearly equal to one of a task in another split.",
    "V13": "The solution is graded as one; a workspace that is untouched, emptied, hollowed or lacks the "
    "failing test is not.",
    "V14": "Every patch applies exactly, forward and in reverse.",
    "V15": "What a failing test prints fits into one observation.",
    "V16": "The licence is given and nothing in the task is anybody else's.",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Complaint:
    """A breach of a rule."""

    rule: str
    """A key of ``RULES``."""
    text: str
    """What is amiss, where, and what to do; one sentence."""
