"""V11: the debugger shows what the task says it shows."""

from collections.abc import Sequence
from pathlib import Path

from pdb_agent import witness
from pdb_agent.sandbox import Backend
from pdb_agent.task import Preference, Task
from pdb_agent.validation.rules import Complaint

LEAST_REASON_CHARACTERS = 20
QUICK_ENGINES = ("pdb",)


async def check_witness(
    task: Task, *, engines: Sequence[str] = witness.ENGINES, python: Path, backend: Backend | None
) -> list[Complaint]:
    """Complaints about the witness, or about the reason that stands in its place."""
    texts: list[str] = []
    if len(task.preference_reason.strip()) < LEAST_REASON_CHARACTERS:
        texts.append(
            "preference_reason says nothing: write why a debugger is, or is not, worth its turns here."
        )
    if task.witness is not None and task.witness.target not in task.fail_to_pass:
        texts.append(
            f"The witness's target {task.witness.target} is not in fail_to_pass: take a failing test."
        )
    elif task.preference is not Preference.AVOID:
        texts += await witness.complaints(task, engines=engines, python=python, backend=backend)
    return [Complaint(rule="V11", text=text) for text in texts]
