"""Break the learner's arithmetic in known ways, and see that the tests notice.

``python tools/mutants.py [NAME ...]``. Each mutation replaces one place in a copy of the package and
runs the tests that should know. One that survives means a test that cannot fail; the exit status is then 1.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "packages" / "trainer" / "src"
TESTS = ROOT / "tests" / "pdb_trainer"
ONE_FAILED = 1  # of pytest; anything else that is not 0 is a run that did not happen


@dataclass(frozen=True, slots=True, kw_only=True)
class Mutation:
    """One way to be wrong: ``before``, which is there exactly once, becomes ``after``."""

    name: str
    module: str
    before: str
    after: str
    tests: str


MUTATIONS = (
    Mutation(
        name="flip the sign of the advantage",
        module="advantage",
        before="values = rewards - rewards.mean()",
        after="values = rewards.mean() - rewards",
        tests="test_advantage",
    ),
    Mutation(
        name="drop the mask from the weights",
        module="advantage",
        before="np.where(row.loss_mask, weight, 0)",
        after="(weight + 0 * row.weight)",
        tests="test_advantage",
    ),
    Mutation(
        name="drop the mask from the loss",
        module="model",
        before="np.flatnonzero(rows.loss_mask)",
        after="np.flatnonzero(rows.position_ids)",
        tests="test_model",
    ),
    Mutation(
        name="train on what the tools said",
        module="sequences",
        before="self.masks.append(np.full(length, is_sampled))",
        after="self.masks.append(np.full(length, len(self.masks) > 0))",
        tests="test_sequences",
    ),
    Mutation(
        name="skip the clip",
        module="loss",
        before="surrogate = torch.minimum(surrogate, bounded * weight)",
        after="surrogate = surrogate + 0 * bounded",
        tests="test_loss",
    ),
    Mutation(
        name="widen both bounds of the clip",
        module="loss",
        before="ratio.clamp(1 - settings.clip_low, 1 + settings.clip_high)",
        after="ratio.clamp(1 - settings.clip_high, 1 + settings.clip_high)",
        tests="test_loss",
    ),
    Mutation(
        name="skip the dual clip",
        module="loss",
        before="torch.maximum(surrogate, settings.dual_clip * weight)",
        after="surrogate",
        tests="test_loss",
    ),
    Mutation(
        name="use log-probs that moved with the policy",
        module="loss",
        before="(logprobs - tokens.old_logprobs).clamp",
        after="(logprobs - logprobs.detach()).clamp",
        tests="test_loss",
    ),
    Mutation(
        name="use log-probs of the token before",
        module="microbatch_loss",
        before="_on(weight, microbatch.old_logprobs[mask])",
        after="_on(weight, np.roll(microbatch.old_logprobs, 1)[mask])",
        tests="test_learner",
    ),
    Mutation(
        name="train on stale tokens",
        module="advantage",
        before="row.loss_mask & (row.version >= oldest)",
        after="row.loss_mask & (row.version >= -1)",
        tests="test_advantage",
    ),
    Mutation(
        name="swap two responses' importance weights",
        module="loss",
        before="response_weight[tokens.response]",
        after="response_weight.flip(0)[tokens.response]",
        tests="test_loss",
    ),
    Mutation(
        name="swap two responses' lengths",
        module="advantage",
        before="sizes[row.episode, int(number)] += int(count)",
        after="sizes[row.episode, int(number) ^ 1] += int(count)",
        tests="test_advantage",
    ),
    Mutation(
        name="let a gradient through the response weight",
        module="loss",
        before="_response_weights(log_ratio.detach(), tokens, settings)",
        after="_response_weights(log_ratio, tokens, settings)",
        tests="test_loss",
    ),
    Mutation(
        name="prefer long trajectories",
        module="advantage",
        before="(lengths.mean() / lengths) ** alpha",
        after="(lengths / lengths.mean()) ** alpha",
        tests="test_advantage",
    ),
    Mutation(
        name="leave uniform groups out of the denominators",
        module="advantage",
        before="_with_weights(kept, scales, len(groups), settings.aggregation)",
        after="_with_weights(kept, scales, sum(map(any, [[advantages[e.episode] for e in g]"
        " for g in groups.values()])), settings.aggregation)",
        tests="test_advantage",
    ),
    Mutation(
        name="take the mean over a microbatch",
        module="microbatch_loss",
        before="return MicrobatchLoss(loss=loss, step=step, policy=policy)",
        after="return MicrobatchLoss(loss=loss / max(1, len(logprobs)), step=step, policy=policy)",
        tests="test_learner",
    ),
    Mutation(
        name="let packed rows see each other",
        module="packed_attention",
        before="in pairwise(starts)",
        after="in [(0, starts[-1])]",
        tests="test_model",
    ),
    Mutation(
        name="score the token at its own place",
        module="model",
        before="[rows.places - 1]",
        after="[rows.places]",
        tests="test_model",
    ),
    Mutation(
        name="forget the temperature in the gradient",
        module="logprobs",
        before="(slope_logprobs[part] / temperature)",
        after="slope_logprobs[part]",
        tests="test_logprobs",
    ),
    Mutation(
        name="turn the KL around",
        module="loss",
        before="(reference - logprobs).clamp",
        after="(logprobs - reference).clamp",
        tests="test_loss",
    ),
    Mutation(
        name="measure the KL to the policy itself",
        module="microbatch_loss",
        before="model.logprobs(rows, REFERENCE, temperature)",
        after="model.logprobs(rows, temperature=temperature)",
        tests="test_learner",
    ),
    Mutation(
        name="lower the price of a policy that is too far",
        module="kl",
        before="(1 + self.rate * error)",
        after="(1 - self.rate * error)",
        tests="test_kl",
    ),
    Mutation(
        name="push away from what is to be imitated",
        module="microbatch_loss",
        before="return MicrobatchLoss(loss=weight * plain,",
        after="return MicrobatchLoss(loss=-weight * plain,",
        tests="test_learner",
    ),
    Mutation(
        name="step on what is not finite",
        module="learner",
        before="if not (math.isfinite(norm) and math.isfinite(float(step.loss))):",
        after="if math.isinf(norm) and math.isinf(float(step.loss)):",
        tests="test_learner",
    ),
    Mutation(
        name="resume without the optimiser",
        module="learner",
        before='self._optimiser.load_state_dict(_copied(state["optimiser"]))',
        after="pass",
        tests="test_learner",
    ),
    Mutation(
        name="scale an adapter twice",
        module="adapter_files",
        before="return scaled, LoraSettings(rank=settings.rank, alpha=float(settings.rank),",
        after="return scaled, LoraSettings(rank=settings.rank, alpha=settings.alpha,",
        tests="test_lora",
    ),
)


class StaleMutationError(Exception):
    """A mutation does not fit the source any more."""


def mutated(source: str, mutation: Mutation) -> str:
    """The module's text with the mutation. Raises StaleMutationError."""
    found = source.count(mutation.before)
    if found != 1:
        raise StaleMutationError(
            f"{mutation.name}: {mutation.module}.py has {found} places with {mutation.before!r}, not 1: "
            "bring tools/mutants.py up to date."
        )
    return source.replace(mutation.before, mutation.after)


def main(argv: Sequence[str] | None = None) -> int:
    """Run every mutation asked for; 0 when all of them are noticed."""
    parser = argparse.ArgumentParser(description="See that the learner's tests notice known mistakes.")
    parser.add_argument("names", nargs="*", metavar="NAME", help="parts of names; without, all")
    arguments = parser.parse_args(argv)
    chosen = [
        each
        for each in MUTATIONS
        if not arguments.names or any(name in each.name for name in arguments.names)
    ]
    if not chosen:
        print("No mutation has such a name.", file=sys.stderr)
        return 2
    print(f"{'mutation':<46} {'tests':<16} {'seconds':>7}  result", flush=True)
    with tempfile.TemporaryDirectory(prefix="mutants-") as folder:
        failed = _run("", sorted({each.tests for each in chosen}), Path(folder), None)
        if failed != "SURVIVED":
            print("The tests do not pass as they are: nothing can be told.", file=sys.stderr)
            return 2
        results = [_run(each.name, [each.tests], Path(folder), each) for each in chosen]
    survivors = sum(result != "noticed" for result in results)
    print(f"{len(results) - survivors} of {len(results)} were noticed.")
    return 1 if survivors else 0


def _run(name: str, tests: Sequence[str], folder: Path, mutation: Mutation | None) -> str:
    began = time.monotonic()
    copy = folder / "src"
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(SOURCE, copy, ignore=shutil.ignore_patterns("__pycache__"))
    if mutation:
        path = copy / "pdb_trainer" / f"{mutation.module}.py"
        path.write_text(mutated(path.read_text(encoding="utf-8"), mutation), encoding="utf-8")
    status = _pytest(copy, tests)
    result = {0: "SURVIVED", ONE_FAILED: "noticed"}.get(status, f"BROKEN (pytest ended with {status})")
    if mutation:
        print(f"{name:<46} {mutation.tests:<16} {time.monotonic() - began:7.1f}  {result}", flush=True)
    return result


def _pytest(copy: Path, tests: Sequence[str]) -> int:
    """The status of a run in which ``copy`` is what gets imported."""
    where = subprocess.run(
        [sys.executable, "-c", "import pdb_trainer; print(pdb_trainer.__file__)"],
        env=_environment(copy),
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    if not Path(where.strip()).is_relative_to(copy):
        raise SystemExit(
            f"The tests would import {where.strip()}, not the copy: is the package installed editable?"
        )
    files = [str(TESTS / f"{each}.py") for each in tests]
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-x",
        "-q",
        "-p",
        "no:cacheprovider",
        "-p",
        "no:randomly",
        *files,
    ]
    return subprocess.run(
        command,
        cwd=ROOT,
        env=_environment(copy),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        check=False,
    ).returncode


def _environment(copy: Path) -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(copy), "PYTHONDONTWRITEBYTECODE": "1", "OMP_NUM_THREADS": "1"}


if __name__ == "__main__":
    raise SystemExit(main())
