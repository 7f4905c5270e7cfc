"""One way of ours to make the step, in a process of its own, which prints JSON."""

import json
import math
import resource
import sys
import time
from pathlib import Path

import numpy as np
import torch
from pdb_trainer.adapter_files import read_adapter
from pdb_trainer.learner import Learner, OptimiserSettings
from pdb_trainer.loss import LossSettings
from pdb_trainer.microbatch_loss import PolicyObjective
from pdb_trainer.model import load_policy
from pdb_trainer.packing import pack

from bench.learner_workload import VERSION, load_rows

SETTINGS = OptimiserSettings(learning_rate=1e-5, clip_norm=math.inf, warmup_steps=0)
OBJECTIVE = PolicyObjective(version=VERSION, loss=LossSettings(importance="token", dual_clip=None))
"""TRL's default loss, so that all ways compute the same gradient."""


def learner(model: Path, adapter: Path) -> Learner:
    tensors, lora = read_adapter(adapter)
    policy = load_policy(model, lora=lora, dtype=torch.float32)
    policy.load_adapter(tensors)
    return Learner(model=policy, settings=SETTINGS)


def gradients(learner: Learner) -> dict[str, np.ndarray]:
    parameters = learner.model.adapters.parameters()
    return {
        name: each.grad.numpy()
        for name, each in zip(learner.adapter(), parameters, strict=True)
        if each.grad is not None
    }


def resident_kilobytes() -> int:
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * resource.getpagesize() // 1024


def peak_kilobytes() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def main(model: str, adapter: str, rows: str, out: str, microbatch: str, steps: str) -> None:
    torch.set_num_threads(1)
    own = learner(Path(model), Path(adapter))
    batches = pack(load_rows(Path(rows)), max_tokens=int(microbatch)).microbatches
    before = resident_kilobytes()
    wall: list[float] = []
    cpu: list[float] = []
    losses: list[float] = []
    for number in range(int(steps)):
        began, busy = time.perf_counter(), time.process_time()
        losses.append(own.update(batches, objective=OBJECTIVE).loss)
        wall.append(time.perf_counter() - began)
        cpu.append(time.process_time() - busy)
        if number == 0:
            np.savez(out, allow_pickle=False, **gradients(own))
    answer = {
        "tokens": sum(each.tokens for each in batches),
        "wall_seconds": wall,
        "cpu_seconds": cpu,
        "step_kilobytes": peak_kilobytes() - before,
        "loss": losses[0],
    }
    print(json.dumps(answer))


if __name__ == "__main__":
    main(*sys.argv[1:])
