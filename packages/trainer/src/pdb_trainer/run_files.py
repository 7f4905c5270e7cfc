"""Names of what lies in a run's folder; ``config_reading`` has run.json, ``run_log`` the metrics."""

import shutil
from pathlib import Path

CHECKPOINTS = "checkpoints"
ROLLOUTS = "rollouts"
"""A folder per step."""
EPISODES = "episodes"
"""Whole transcripts, a folder per step."""
EVALUATIONS = "evaluations"
"""A folder per step, as ``pdb-agent report`` reads them."""
SERVER_LOG = "vllm.log"
"""What a server that was started here printed."""


def step_name(step: int) -> str:
    """Of a step's folder."""
    return f"step-{step:06d}"


def forget_after(folder: Path, done: int) -> None:
    """Remove what steps after ``done`` left behind: a run that goes on makes them again."""
    for kind in (ROLLOUTS, EPISODES, EVALUATIONS):
        for place in (folder / kind).glob("step-*"):
            if place.name > step_name(done):
                shutil.rmtree(place)
