"""Targets run in a real interpreter, with hooks that write down what they are told."""

import json
import os
import subprocess
import sys
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from mcp_pdb.debuggee import run_target

ROOT = Path(__file__).parents[3]
VERSIONS = ("3.8", "3.9", "3.10", "3.11", "3.12", "3.13")
LIMIT_SECONDS = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """What one run printed and told."""

    code: int
    stdout: str
    stderr: str
    events: Sequence[dict[str, Any]]

    def notes(self, kind: str) -> list[Any]:
        """The data of all notes of a kind."""
        return [event["data"] for event in self.events if event["event"] == "note" and event["kind"] == kind]

    def named(self, name: str) -> list[dict[str, Any]]:
        """All events of a name."""
        return [event for event in self.events if event["event"] == name]

    @property
    def outcomes(self) -> dict[str, str]:
        """Outcomes by the last part of a test's id."""
        return {
            note["id"].split("::")[-1].split(".")[-1]: note["outcome"] for note in self.notes("test_result")
        }


class Project:
    """A folder of files and the ways to run them."""

    def __init__(self, folder: Path, python: str) -> None:
        self.folder = folder
        self.python = python

    def write(self, name: str, source: str) -> str:
        """Write a file; returns its path."""
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(source).lstrip("\n"), encoding="utf-8")
        return str(path)

    def run(
        self, kind: str, target: str, *args: str, on_failure: str = "stop", stop_at_entry: bool = True
    ) -> Run:
        """Run a target under the debugger's runner."""
        spec = {
            "kind": kind,
            "target": target,
            "args": list(args),
            "on_failure": on_failure,
            "stop_at_entry": stop_at_entry,
            "cwd": str(self.folder),
        }
        events = self.folder.parent / "events.jsonl"
        events.unlink(missing_ok=True)
        driver = ROOT / "tests" / "programs" / "drive_target.py"
        code_folder = Path(run_target.__file__).parent
        finished = self.plain(str(driver), str(code_folder), str(events), json.dumps(spec))
        told = events.read_text(encoding="utf-8").splitlines() if events.exists() else []
        return Run(
            code=finished.returncode,
            stdout=finished.stdout,
            stderr=finished.stderr,
            events=[json.loads(line) for line in told],
        )

    def plain(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run the interpreter itself."""
        return subprocess.run(
            [self.python, *arguments],
            cwd=self.folder,
            capture_output=True,
            text=True,
            timeout=LIMIT_SECONDS,
            check=False,
            env={**os.environ, "PYTHONUTF8": "1"},
        )


def target_python(version: str) -> str:
    """The interpreter of a target environment, which holds pytest and no plugins."""
    path = ROOT / ".targets" / f"py{version}" / "bin" / "python"
    if not path.exists():
        pytest.skip(f"no Python {version} on this machine; make setup fetches it")
    return str(path)


@pytest.fixture
def project(tmp_path: Path) -> Project:
    """An empty project, run by the oldest Python whose tracebacks mark columns."""
    folder = tmp_path / "project"
    folder.mkdir()
    return Project(folder.resolve(), target_python("3.11"))


@pytest.fixture
def plugin_project(project: Project) -> Project:
    """The same, run in the environment of these tests, which has plugins of pytest."""
    return Project(project.folder, sys.executable)


@pytest.fixture(params=VERSIONS)
def any_project(request: pytest.FixtureRequest, project: Project) -> Project:
    """An empty project, run by each interpreter that targets may have."""
    return Project(project.folder, target_python(request.param))
