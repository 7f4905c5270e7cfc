"""Where a data set came from, and where its tasks may go."""

import hashlib
import subprocess
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pdb_agent.errors import ImportFormatError
from pdb_agent.importers.records import ImportReport
from pdb_agent.task_writer import toml_table

RECORD = "import.toml"
_LICENCES = ("LICENSE", "LICENSE.txt", "LICENSE.md", "LICENCE", "LICENCE.txt", "COPYING", "COPYING.txt")
_GIT_SECONDS = 60.0
_KNOWN = (
    ("Permission is hereby granted, free of charge", "MIT"),
    ("Apache License", "Apache-2.0"),
    ("Neither the name", "BSD-3-Clause"),
    ("Redistribution and use in source and binary forms", "BSD-2-Clause"),
)
"""Words of licences that are often met; the first that are found name it."""


def licence_file(source: Path) -> Path | None:
    """The nearest licence: in a folder or above it, but not beyond a repository's root."""
    for folder in (source, *source.resolve().parents):
        for name in _LICENCES:
            if (folder / name).is_file():
                return folder / name
        if (folder / ".git").exists():
            return None
    return None


def licence_name(source: Path) -> str:
    """What a task says about its licence: the name of one that is often met, or what there is."""
    path = licence_file(source)
    if path is None:
        return "unknown: the source has no licence file"
    text = path.read_text("utf-8", "replace")
    return next((name for words, name in _KNOWN if words in text), f"see {path.name} of the source")


def check_destination(destination: Path) -> None:
    """Raises ImportFormatError when tasks of others must not be written there, or something is there."""
    resolved = destination.resolve()
    for folder in (resolved, *resolved.parents):
        if folder.name == "tasks" and (folder.parent / "packages" / "agent").is_dir():
            raise ImportFormatError(
                f"{destination} lies in the repository's own tasks: give a folder outside of it, since the "
                "data of others is never committed here."
            )
    if destination.exists() and (not destination.is_dir() or any(destination.iterdir())):
        raise ImportFormatError(f"{destination} holds something already: give a new folder.")


def source_commit(source: Path) -> str:
    """The commit that a folder stands at; empty when it is in no git repository."""
    folder = source if source.is_dir() else source.parent
    try:
        result = subprocess.run(
            ["git", "-C", folder, "rev-parse", "HEAD"],
            capture_output=True,
            timeout=_GIT_SECONDS,
            text=True,
            check=True,
        )
    except (OSError, subprocess.SubprocessError):
        return ""
    return result.stdout.strip()


def write_record(kind: str, source: Path, destination: Path, report: ImportReport, commit: str = "") -> None:
    """Write ``import.toml`` beside the tasks, and a copy of the licence."""
    destination.mkdir(parents=True, exist_ok=True)
    licence = licence_file(source)
    head: dict[str, object] = {
        "kind": kind,
        "source": source.resolve().name,
        "commit": commit or source_commit(source),
        "licence_file": licence.name if licence else "",
        "licence_sha256": _sha256(licence) if licence else "",
    }
    if source.is_file():
        head["source_sha256"] = _sha256(source)
    (destination / RECORD).write_text(toml_table(head) + "".join(_entries(report)), "utf-8")
    if licence:
        (destination / f"{licence.name}.{kind}").write_bytes(licence.read_bytes())


def rules_not_applicable(folder: Path) -> frozenset[str]:
    """The rules of validation that say nothing about the task in ``folder``; none unless it was imported."""
    try:
        record = tomllib.loads((folder.parent / RECORD).read_text("utf-8"))
    except (OSError, ValueError):
        return frozenset()
    tasks: list[dict[str, Any]] = record.get("task", [])
    return frozenset(
        rule for task in tasks if task["id"] == folder.name for rule in task["rules_not_applicable"]
    )


def _entries(report: ImportReport) -> Iterator[str]:
    for task in report.tasks:
        values: dict[str, object] = {
            "id": task.id,
            "origin": task.origin,
            "source_sha256": task.digest,
            "content_hash": task.content_hash,
            "rules_not_applicable": task.rules_not_applicable,
            "notes": task.notes,
        }
        yield f"\n[[task]]\n{toml_table(values)}"
    for skipped in report.skipped:
        yield f"\n[[skipped]]\n{toml_table({'origin': skipped.origin, 'reason': skipped.reason})}"


def _sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()
