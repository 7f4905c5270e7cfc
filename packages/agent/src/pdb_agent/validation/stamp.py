"""What a full validation found, committed beside the tasks and keyed by their content."""

import json
from dataclasses import asdict, dataclass
from pathlib import Path

from pdb_agent.errors import TaskError
from pdb_agent.grading.verdict import Tier
from pdb_agent.task import Task
from pdb_agent.task_files import STAMPS_FOLDER, content_hash

RULES_VERSION = 1
"""Goes up when a rule becomes stricter, so that older stamps no longer count."""
VALID = "valid"


@dataclass(frozen=True, slots=True, kw_only=True)
class Stamp:
    """The outcome of one full validation."""

    id: str
    content_hash: str
    rules_version: int
    pythons: tuple[str, ...]
    """Full versions, such as 3.12.1."""
    repeats: int
    """Runs of each version of the task on each Python."""
    outcome: str
    """``valid``, or the rules that complained."""
    tier: str | None
    """The strongest grading tier that hosts the task's tests."""

    def is_valid_for(self, task: Task) -> bool:
        """Whether the task, as it now is, has passed."""
        return (
            self.outcome == VALID
            and self.rules_version == RULES_VERSION
            and self.content_hash == content_hash(task.folder)
        )


def stamp_path(folder: Path) -> Path:
    """Where the stamp of the task in ``folder`` lies."""
    return folder.parent / STAMPS_FOLDER / f"{folder.name}.json"


def read_stamp(task: Task) -> Stamp | None:
    """The task's stamp, or None. Raises TaskError when its file is none."""
    path = stamp_path(task.folder)
    if not path.exists():
        return None
    try:
        fields = json.loads(path.read_text("utf-8"))
        return Stamp(**fields | {"pythons": tuple(fields["pythons"])})
    except (ValueError, TypeError, KeyError) as error:
        raise TaskError(
            f"{path} is no stamp ({error}): delete it and run `pdb-agent tasks validate {task.id}`."
        ) from None


def write_stamp(folder: Path, stamp: Stamp) -> None:
    """Replace the stamp of the task in ``folder``."""
    path = stamp_path(folder)
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(asdict(stamp), indent=2) + "\n", "utf-8")


def tier_of(task: Task) -> Tier:
    """The tier to grade a task by: its valid stamp's, else the one that hosts all tests."""
    stamp = read_stamp(task)
    if stamp is None or stamp.tier is None or not stamp.is_valid_for(task):
        return Tier.SAME_PROCESS
    return Tier(stamp.tier)
