"""The head alone, chunked or with full logits, in a process of its own: prints JSON."""

import json
import resource
import sys
import time
from pathlib import Path

import torch
from pdb_trainer.logprobs import chosen_logprobs
from torch import Tensor


def full(hidden: Tensor, weight: Tensor, targets: Tensor) -> Tensor:
    table = torch.log_softmax((hidden @ weight.T).float(), dim=-1)
    return table.gather(1, targets[:, None])[:, 0]


def main(way: str, places: str, hidden_size: str, vocabulary: str, steps: str) -> None:
    torch.set_num_threads(1)
    torch.manual_seed(0)
    hidden = torch.randn(int(places), int(hidden_size), requires_grad=True)
    weight = torch.randn(int(vocabulary), int(hidden_size)) / int(hidden_size) ** 0.5
    targets = torch.randint(0, int(vocabulary), (int(places),))
    before = (
        int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1]) * resource.getpagesize() // 1024
    )
    wall: list[float] = []
    cpu: list[float] = []
    for _ in range(int(steps)):
        began, busy = time.perf_counter(), time.process_time()
        values = (
            full(hidden, weight, targets) if way == "full" else chosen_logprobs(hidden, weight, targets)[0]
        )
        (gradient,) = torch.autograd.grad(values.sum(), hidden)
        wall.append(time.perf_counter() - began)
        cpu.append(time.process_time() - busy)
    answer = {
        "tokens": int(places),
        "wall_seconds": wall,
        "cpu_seconds": cpu,
        "step_kilobytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before,
        "loss": float(values.sum().detach()),
        "gradient": float(gradient.abs().sum()),
    }
    print(json.dumps(answer))


if __name__ == "__main__":
    main(*sys.argv[1:])
