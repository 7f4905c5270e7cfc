"""What a run was made with, so that its numbers can be read years later."""

import hashlib
import json
import platform
import subprocess
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from pdb_agent.config import RunConfig
from pdb_agent.messages import ToolSpec
from pdb_agent.prompt import prompt_hash
from pdb_agent.task import Task

PACKAGES = ("pdb-agent", "mcp-pdb-server", "mcp", "debugpy", "pytest", "anthropic", "openai")
_GIT_SECONDS = 10.0


def make_manifest(
    config: RunConfig,
    tasks: Sequence[Task],
    *,
    sandbox: Mapping[str, object],
    tiers: Mapping[str, str],
    tools: Mapping[str, str],
) -> dict[str, Any]:
    """The manifest of a run that begins now."""
    return {
        "format": 1,
        "began": datetime.now(UTC).isoformat(timespec="seconds"),
        "config": json.loads(config.model_dump_json()),
        "task_set": task_set_hash(tasks),
        "prompt": prompt_hash(),
        "tools": dict(tools),
        "commit": commit(),
        "packages": {name: _version(name) for name in PACKAGES},
        "python": platform.python_version(),
        "platform": platform.platform(),
        "sandbox": dict(sandbox),
        "grading_tiers": dict(tiers),
    }


def describe_tasks(tasks: Sequence[Task]) -> dict[str, Any]:
    """What reports want to know of the tasks of a run, by id."""
    return {
        task.id: {
            "family": task.family,
            "preference": task.preference,
            "difficulty": task.difficulty,
            "split": task.split,
            "group": task.group,
            "source_lines": task.source_lines,
            "source_files": task.source_files,
            "content_hash": task.content_hash,
            "target": task.target,
        }
        for task in tasks
    }


def task_set_hash(tasks: Sequence[Task]) -> str:
    """Tells sets of tasks apart: by ids and contents."""
    lines = sorted(f"{task.id} {task.content_hash}" for task in tasks)
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()[:16]


def tools_hash(specs: Sequence[ToolSpec]) -> str:
    """Tells sets of tools apart: by names, words and schemas."""
    told = [[spec.name, spec.description, dict(spec.schema)] for spec in specs]
    return hashlib.sha256(json.dumps(told, sort_keys=True).encode()).hexdigest()[:12]


def commit() -> str | None:
    """The commit that this code is of, with + when there are changes beside it; None outside a checkout."""
    here = Path(__file__).parent
    head = _git(here, "rev-parse", "HEAD")
    if head is None:
        return None
    return head + ("+" if _git(here, "status", "--porcelain", "--untracked-files=no") else "")


def _git(folder: Path, *arguments: str) -> str | None:
    try:
        finished = subprocess.run(
            ["git", *arguments], cwd=folder, capture_output=True, text=True, timeout=_GIT_SECONDS, check=True
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return finished.stdout.strip()


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None
