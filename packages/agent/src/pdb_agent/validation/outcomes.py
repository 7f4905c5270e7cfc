"""V1 to V4, V6 and V15: what one run of each version of a task shows."""

from collections.abc import Iterator, Mapping, Sequence

from pdb_agent.task import Task
from pdb_agent.task_files import read_task_table
from pdb_agent.validation.rules import Complaint
from pdb_agent.validation.suite import ASSERTIONS, Outcome, SuiteRun

MOST_SUITE_SECONDS = 5.0
OBSERVATION_CHARACTERS = 4000
"""What a model is shown of one tool's answer."""
DIFFICULTY_OF_TWO_DECOYS = 3
_NOT_RUN = Outcome(outcome="not run")


def check_outcomes(task: Task, runs: Mapping[str, Sequence[SuiteRun]]) -> list[Complaint]:
    """Complaints about the runs of each version, see ``places.versions_of_files``; at least one of each.

    What each run has to show is looked at in the first, how it ends in all.
    """
    firsts = {version: of_version[0] for version, of_version in runs.items()}
    checks = {
        "V1": _before(task, firsts["buggy"]),
        "V2": _after(task, firsts["fixed"]),
        "V3": _hidden_before(firsts["buggy"]),
        "V4": _decoys(task, firsts),
        "V6": _endings(runs),
        "V15": _messages(task, firsts["buggy"]),
    }
    return [Complaint(rule=rule, text=text) for rule, texts in checks.items() for text in texts]


def _before(task: Task, run: SuiteRun) -> Iterator[str]:
    yield from _uncollected(run, "before the solution")
    accepted = ASSERTIONS.union(read_task_table(task.folder).declared_errors)
    visible = run.below("tests")
    for test in task.fail_to_pass:
        outcome = visible.get(test, _NOT_RUN)
        if outcome.outcome != "failed":
            yield f"{test} is in fail_to_pass, but before the solution it is {outcome.kind}: let it fail."
        elif outcome.error not in accepted:
            yield (
                f"{test} fails by {outcome.error} rather than by an assertion: assert what it expects, or "
                "put the error's name into declared_errors."
            )
    for test in task.pass_to_pass:
        if (outcome := visible.get(test, _NOT_RUN)).outcome != "passed":
            yield f"{test} is in pass_to_pass, but before the solution it is {outcome.kind}: {_last(outcome)}"
    for test in sorted(visible.keys() - {*task.fail_to_pass, *task.pass_to_pass}):
        yield f"{test} is in neither fail_to_pass nor pass_to_pass: add it to one."


def _after(task: Task, run: SuiteRun) -> Iterator[str]:
    yield from _uncollected(run, "with the solution")
    for test, outcome in run.outcomes.items():
        if outcome.outcome != "passed":
            yield f"With the solution {test} is {outcome.kind}: {_last(outcome)}"
    for test in (*task.fail_to_pass, *task.pass_to_pass):
        if test not in run.outcomes:
            yield f"With the solution {test} is not run: is its name right?"
    if not run.below("hidden"):
        yield "No hidden test runs: write functions test_*."


def _hidden_before(run: SuiteRun) -> Iterator[str]:
    if not run.failing("hidden"):
        yield "Every hidden test passes before the solution: add one that needs it."


def _decoys(task: Task, runs: Mapping[str, SuiteRun]) -> Iterator[str]:
    needed = 2 if task.difficulty >= DIFFICULTY_OF_TWO_DECOYS else 1
    if len(task.decoys) < needed:
        yield f"Difficulty {task.difficulty} needs {needed} decoys, and there are {len(task.decoys)}."
    for decoy in task.decoys:
        run = runs[f"decoy {decoy.name}"]
        yield from _uncollected(run, f"with decoy {decoy.name}")
        for test in run.failing("tests"):
            outcome = run.outcomes[test]
            yield f"With decoy {decoy.name} visible {test} is {outcome.kind}: a decoy passes them all."
        if not run.failing("hidden"):
            yield f"With decoy {decoy.name} every hidden test passes: add one that tells it from a solution."


def _endings(runs: Mapping[str, Sequence[SuiteRun]]) -> Iterator[str]:
    seconds = min((run.seconds for run in runs["fixed"] if not run.timed_out), default=0.0)
    if seconds > MOST_SUITE_SECONDS:
        yield (
            f"With the solution the suite takes {seconds:.1f} s, more than {MOST_SUITE_SECONDS:g} s: "
            "make its waits shorter."
        )
    for version, of_version in runs.items():
        hanging = next((run for run in of_version if run.timed_out), None)
        if hanging is not None:
            names = [test for test, outcome in hanging.outcomes.items() if outcome.outcome == "timed out"]
            where = names[0] if names else "something beside the tests"
            yield f"The run hangs ({version}: {where}): end every wait by a limit of its own."
        if any(not run.finished and not run.timed_out for run in of_version):
            yield f"The process ends before pytest does ({version}): end no process in a test."
        left = next((run.left for run in of_version if run.left), ())
        if left:
            yield f"The tests leave something running ({version}: {', '.join(left[:3])}): end it in them."


def _messages(task: Task, run: SuiteRun) -> Iterator[str]:
    for test in task.fail_to_pass:
        length = len(run.outcomes.get(test, _NOT_RUN).message)
        if length > OBSERVATION_CHARACTERS:
            yield (
                f"What {test} prints has {length} characters, more than the {OBSERVATION_CHARACTERS} of one "
                "observation: compare smaller values."
            )


def _uncollected(run: SuiteRun, when: str) -> Iterator[str]:
    for module, message in run.uncollected.items():
        last = message.strip().splitlines()[-1:] or [""]
        yield f"{module} cannot be collected {when}: {last[0].strip()}"
    if not run.outcomes and not run.uncollected:
        yield f"No test runs {when}: {run.output.strip()[-300:] or 'pytest says nothing'}"


def _last(outcome: Outcome) -> str:
    """The line of a message that says most."""
    lines = [line for line in outcome.message.splitlines() if line.startswith("E ")]
    return lines[0][1:].strip() if lines else "see its output."
