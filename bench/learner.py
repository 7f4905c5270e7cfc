"""One learner step on the same recorded episodes, several ways: ``python -m bench.learner [--quick]``.

Chains packed side by side, a row for each response in the same learner, and TRL's GRPO loss step on both
kinds of rows, each in a process of its own, one after the other in rounds; then the chunked head beside
full logits. All ways compute the same gradient, which is checked. TRL is installed into ``.envs/trl`` when it
is missing.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from bench.learner_workload import (
    ALPHA,
    RANK,
    Shape,
    described,
    per_response,
    rollouts,
    save_model,
    save_rows,
    weighed_rows,
)
from bench.setup_peers import ENVIRONMENTS, Peer, SetupError, install
from bench.tables import text_table

ROOT = Path(__file__).resolve().parents[1]
TRL = Peer(
    name="trl",
    version="1.16.0",
    requirements=("torch==2.13.0", "trl==1.16.0", "peft==0.21.2", "transformers>=5.16.1,<5.20"),
)
CHAINS = "chains, packed"
RESPONSES = "a row per response, packed"
TRL_RESPONSES = "a row per response, TRL"
TRL_CHAINS = "a row per episode, TRL"
FEWER_TOKENS, LESS_TIME = 5.0, 3.0
GRADIENTS_AGREE = 1e-3
"""Largest difference over the largest entry, in float32 over sums of other orders."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """One way, over all rounds; each step was timed."""

    tokens: int
    """Computed in a step, padding included."""
    wall_seconds: tuple[float, ...]
    cpu_seconds: tuple[float, ...]
    step_kilobytes: int
    """Of the process at its peak, over what it had before its first step."""
    loss: float

    @property
    def wall(self) -> float:
        """Median."""
        return statistics.median(self.wall_seconds)

    @property
    def cpu(self) -> float:
        """The least, which neither the first step's start nor load by others disturbs."""
        return min(self.cpu_seconds)

    def joined(self, other: "Measured") -> "Measured":
        """With another round of the same."""
        return replace(
            self,
            wall_seconds=self.wall_seconds + other.wall_seconds,
            cpu_seconds=self.cpu_seconds + other.cpu_seconds,
            step_kilobytes=max(self.step_kilobytes, other.step_kilobytes),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Ratio:
    """How many times more another way needs than ours."""

    tokens: float
    cpu: float
    wall: float
    memory: float


def ratio(other: Measured, ours: Measured) -> Ratio:
    return Ratio(
        tokens=other.tokens / ours.tokens,
        cpu=other.cpu / ours.cpu,
        wall=other.wall / ours.wall,
        memory=other.step_kilobytes / max(1, ours.step_kilobytes),
    )


def targets_met(against_rows: Ratio) -> bool:
    """The promise: a fifth of the tokens of a row per response, and a third of the time."""
    return against_rows.tokens >= FEWER_TOKENS and against_rows.cpu >= LESS_TIME


def prepare(shape: Shape, folder: Path) -> None:
    """Write the model, an adapter that does something, and both kinds of rows with its log-probabilities."""
    import torch
    from pdb_trainer.adapter_files import write_adapter
    from pdb_trainer.learner import Learner
    from pdb_trainer.lora import LoraSettings
    from pdb_trainer.model import load_policy
    from pdb_trainer.packing import pack
    from transformers.utils.logging import disable_progress_bar

    disable_progress_bar()
    save_model(shape, folder / "model")
    lora = LoraSettings(rank=RANK, alpha=ALPHA)
    policy = load_policy(folder / "model", lora=lora, dtype=torch.float32)
    generator = torch.Generator().manual_seed(1)
    with torch.no_grad():
        for each in policy.adapters.parameters():
            each += 0.02 * torch.randn(each.shape, generator=generator)
    write_adapter(folder / "adapter", policy.adapter(), lora)
    learner = Learner(model=policy)
    rng = np.random.default_rng(1)
    rows = []
    for row in weighed_rows(rollouts(shape)):
        (batch,) = pack([row], max_tokens=len(row.token_ids)).microbatches
        sampled = learner.logprobs(batch) + np.where(
            row.loss_mask, rng.normal(0, 0.05, len(row.token_ids)), 0
        )
        rows.append(replace(row, old_logprobs=sampled.astype(np.float32)))
    save_rows(rows, folder / "chains.npz")
    save_rows(per_response(rows), folder / "responses.npz")


def measure(command: Sequence[str]) -> Measured:
    """Run one way to its end. Raises SetupError where it fails."""
    environment = {
        **os.environ,
        "OMP_NUM_THREADS": "1",
        "HF_HUB_OFFLINE": "1",
        "TRANSFORMERS_VERBOSITY": "error",
    }
    finished = subprocess.run(
        list(command), cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )
    if finished.returncode:
        raise SetupError(f"{' '.join(command[1:3])} failed: {finished.stderr.strip().splitlines()[-1:]}")
    answer: dict[str, Any] = json.loads(finished.stdout.splitlines()[-1])
    return Measured(
        tokens=answer["tokens"],
        wall_seconds=tuple(answer["wall_seconds"]),
        cpu_seconds=tuple(answer["cpu_seconds"]),
        step_kilobytes=answer["step_kilobytes"],
        loss=answer["loss"],
    )


def commands(shape: Shape, folder: Path, steps: int, *, with_trl: bool) -> dict[str, list[str]]:
    """What to run for each way."""
    ours = [sys.executable, "-m", "bench.learner_step"]
    theirs = [str(ENVIRONMENTS / "trl" / "bin" / "python"), str(ROOT / "bench" / "peers" / "trl_step.py")]
    ways = {CHAINS: (ours, "chains"), RESPONSES: (ours, "responses")}
    if with_trl:
        ways |= {TRL_RESPONSES: (theirs, "responses"), TRL_CHAINS: (theirs, "chains")}
    return {
        name: [
            *program,
            *(str(folder / part) for part in ("model", "adapter", f"{rows}.npz", f"{name}.gradient.npz")),
            str(shape.microbatch),
            str(steps),
        ]
        for name, (program, rows) in ways.items()
    }


def gradient_difference(folder: Path, name: str) -> float:
    """Largest difference to the gradient of chains, over the latter's largest entry."""
    with (
        np.load(folder / f"{CHAINS}.gradient.npz") as ours,
        np.load(folder / f"{name}.gradient.npz") as theirs,
    ):
        if set(ours) != set(theirs):
            raise SetupError(f"{name} trained other matrices than {CHAINS}.")
        largest = max(float(np.abs(ours[each]).max()) for each in ours)
        return max(float(np.abs(ours[each] - theirs[each]).max()) for each in ours) / largest


def heads(rounds: int, steps: int, *, places: int, vocabulary: int, hidden: int) -> dict[str, Measured]:
    """The chunked head and full logits, on the same random states."""
    found: dict[str, Measured] = {}
    for _ in range(rounds):
        for way in ("chunked", "full"):
            sizes = [str(places), str(hidden), str(vocabulary), str(steps)]
            one = measure([sys.executable, "-m", "bench.learner_head", way, *sizes])
            found[way] = found[way].joined(one) if way in found else one
    return found


def rows_of(found: Mapping[str, Measured], ours: str, agreement: Mapping[str, float]) -> list[list[str]]:
    """A table: each way, and how many times more it needs than ours."""
    table = [["way", "tokens", "x", "CPU s", "x", "wall s", "x", "memory MiB", "x", "gradient off by"]]
    for name, one in found.items():
        times = ratio(one, found[ours])
        table.append(
            [
                name,
                f"{one.tokens:,}",
                f"{times.tokens:.1f}",
                f"{one.cpu:.2f}",
                f"{times.cpu:.1f}",
                f"{one.wall:.2f}",
                f"{times.wall:.1f}",
                f"{one.step_kilobytes / 1024:,.0f}",
                f"{times.memory:.1f}",
                f"{agreement[name]:.1e}" if name in agreement else "",
            ]
        )
    return table


def with_peer() -> bool:
    """Make TRL's environment when it is missing; False, with the reason told, where it cannot be had."""
    try:
        print(install(TRL), flush=True)
    except SetupError as error:
        print(f"TRL is left out: {error}", flush=True)
        return False
    return True


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Measure one learner step, several ways.")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--steps", type=int, default=2, help="timed in each round")
    parser.add_argument("--quick", action="store_true", help="one round of one step, without TRL")
    arguments = parser.parse_args(argv)
    rounds, steps = (1, 1) if arguments.quick else (arguments.rounds, arguments.steps)
    shape = Shape()
    print(described(shape), flush=True)
    with_trl = not arguments.quick and with_peer()
    with tempfile.TemporaryDirectory(prefix="bench-learner-") as name:
        folder = Path(name)
        prepare(shape, folder)
        found: dict[str, Measured] = {}
        for number in range(rounds):
            for way, command in commands(shape, folder, steps, with_trl=with_trl).items():
                print(f"round {number + 1} of {rounds}: {way}", file=sys.stderr, flush=True)
                one = measure(command)
                found[way] = found[way].joined(one) if way in found else one
        agreement = {way: gradient_difference(folder, way) for way in found}
    print(text_table(rows_of(found, CHAINS, agreement)))
    head = heads(rounds, steps, places=2048, vocabulary=49_152, hidden=576)
    print("\nHead of 49,152 tokens (SmolLM2's) at 2,048 places")
    print(text_table(rows_of(head, "chunked", {})))
    times = ratio(found[RESPONSES], found[CHAINS])
    met = targets_met(times) and max(agreement.values()) < GRADIENTS_AGREE
    print(
        f"\nAgainst a row per response: {times.tokens:.1f}x fewer tokens (target {FEWER_TOKENS:.0f}), "
        f"{times.cpu:.1f}x less time (target {LESS_TIME:.0f}): {'met' if met else 'MISSED'}"
    )
    return 0 if met else 1


if __name__ == "__main__":
    raise SystemExit(main())
