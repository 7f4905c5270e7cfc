"""What ``pdb-agent demo`` does: one real bug, two arms, graded, with pages to open."""

import shutil
from pathlib import Path
from typing import TextIO

import anyio

from pdb_agent.config import config_of
from pdb_agent.report import commands as report_commands
from pdb_agent.run_commands import evaluate
from pdb_agent.run_folder import MANIFEST, RunFolderError
from pdb_agent.task_files import find_tasks_root
from pdb_agent.viewer import commands as viewer_commands

TASK = "reentrant_lock_owner"
_WORDS = """
An agent repairs a gate that turns away the thread that holds it, once with the debugger and once without.
It is played by a policy that knows the solution, so that no model is needed; sandbox, tools, debugger and
grading are those that a model meets.
"""


def demo(out: Path, stream: TextIO) -> int:
    """Run it in a fresh folder ``out``, and say which pages to open; the exit status.

    Raises RunFolderError when there is something else in the folder, and what ``evaluate`` raises.
    """
    run = out / "run"
    if out.exists():
        if any(out.iterdir()) and not (run / MANIFEST).exists():
            raise RunFolderError(f"{out} holds something that is no demo: give another folder with --out.")
        shutil.rmtree(out)
    stream.write(_WORDS)
    stream.flush()
    config = config_of(
        {
            "tasks": {"ids": [TASK]},
            "repetitions": 1,
            "arms": {"debug": {"toolset": "debug"}, "no-debugger": {"toolset": "no-debugger"}},
        }
    )

    async def episodes() -> int:
        return await evaluate(config, run, jobs=1, stream=stream, progress=stream)

    status = anyio.run(episodes)
    report_commands.write_report([run], out, stream, find_tasks_root())
    viewer_commands.view([run], out / "viewer", stream)
    return status
