"""Which policy a run's episodes come from: a teacher, or what some rounds of training had made."""

from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from pdb_trainer.errors import CorpusError
from pdb_trainer.whole_files import write_whole

ORIGIN = "origin.json"


class Origin(BaseModel):
    """Written into a run's folder when a policy in training makes it."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    generation: int = Field(default=0, ge=0)
    """0 for teachers."""
    adapter_hash: str | None = None
    """Of the policy's adapter; None for teachers and for the base model."""


def write_origin(run: Path, origin: Origin) -> None:
    """Say where a run comes from; a run that says otherwise already is refused. Raises CorpusError."""
    there = read_origin(run) if (run / ORIGIN).exists() else None
    if there not in (None, origin):
        raise CorpusError(
            f"{run} holds episodes of generation {there.generation}, adapter {there.adapter_hash}: give "
            "another folder for this policy's."
        )
    try:
        run.mkdir(parents=True, exist_ok=True)
        write_whole(run / ORIGIN, (origin.model_dump_json() + "\n").encode())
    except OSError as error:
        raise CorpusError(f"{run} cannot be written ({error.strerror}): give another folder.") from error


def read_origin(run: Path) -> Origin:
    """Where a run comes from; a run that does not say is a teacher's. Raises CorpusError."""
    path = run / ORIGIN
    if not path.exists():
        return Origin()
    try:
        return Origin.model_validate_json(path.read_bytes())
    except (OSError, ValidationError) as error:
        raise CorpusError(f"{path} is damaged: write it again, or delete it for a teacher's run.") from error
