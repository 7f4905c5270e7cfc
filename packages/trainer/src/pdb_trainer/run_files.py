"""Names of what lies in a run's folder; ``config_reading`` has run.json, ``run_log`` the metrics."""

CHECKPOINTS = "checkpoints"
ROLLOUTS = "rollouts"
"""A folder per step."""
EPISODES = "episodes"
"""Whole transcripts, a folder per step."""
EVALUATIONS = "evaluations"
"""A folder per step, as ``pdb-agent report`` reads them."""
