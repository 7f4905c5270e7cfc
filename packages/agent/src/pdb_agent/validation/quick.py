"""The check of one task that takes seconds: its text, and one run of each version on one Python."""

from collections.abc import Mapping
from pathlib import Path

from pdb_agent.task import Task
from pdb_agent.validation.confinement import check_imports, check_reach_of_runs
from pdb_agent.validation.hidden_inputs import check_hidden_inputs
from pdb_agent.validation.measures import check_measures
from pdb_agent.validation.originality import check_licence
from pdb_agent.validation.outcomes import check_outcomes
from pdb_agent.validation.places import open_place, variants
from pdb_agent.validation.rules import Complaint
from pdb_agent.validation.solution_shape import check_patches, check_solution
from pdb_agent.validation.suite import SuiteRequest, SuiteRun, run_suite
from pdb_agent.validation.wording import check_wording


def check_text(task: Task) -> list[Complaint]:
    """Complaints of the rules that need no run. If patches do not fit, theirs alone."""
    if complaints := check_patches(task):
        return complaints
    return [
        *check_hidden_inputs(task),
        *check_imports(task),
        *check_wording(task),
        *check_solution(task),
        *check_measures(task),
        *check_licence(task),
    ]


async def run_variants(task: Task, python: Path) -> dict[str, SuiteRun]:
    """One run of each version with all tests."""
    runs: dict[str, SuiteRun] = {}
    async with open_place(python) as place:
        for variant, files in variants(task).items():
            await place.lay(files)
            runs[variant] = await run_suite(place.suite, SuiteRequest(limits=task.limits))
    return runs


def check_runs(task: Task, runs: Mapping[str, SuiteRun]) -> list[Complaint]:
    """Complaints about one run of each version."""
    return [*check_outcomes(task, runs), *check_reach_of_runs(runs)]
