"""TRL's GRPO loss, backward pass and optimiser step on recorded rows; runs in TRL's own environment.

``python bench/peers/trl_step.py MODEL ADAPTER ROWS.npz OUT.npz MICROBATCH STEPS`` prints one line of JSON.
Knows nothing of our packages: rows come as arrays, and the weight of each token takes the advantage's place.
"""

import json
import resource
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import torch
from datasets import Dataset
from peft import PeftModel
from transformers import AutoModelForCausalLM, AutoTokenizer
from trl import GRPOConfig, GRPOTrainer

LEARNING_RATE = 1e-5


def trainer_of(model: str, adapter: str, scratch: str) -> GRPOTrainer:
    base = AutoModelForCausalLM.from_pretrained(model, dtype=torch.float32)
    arguments = GRPOConfig(
        output_dir=scratch,
        use_cpu=True,
        bf16=False,
        per_device_train_batch_size=2,
        num_generations=2,
        steps_per_generation=1,
        gradient_checkpointing=False,
        learning_rate=LEARNING_RATE,
        beta=0.0,
        epsilon=0.2,
        epsilon_high=0.28,
        loss_type="dapo",  # a plain sum over num_items_in_batch
        report_to="none",
    )
    trainer = GRPOTrainer(
        model=PeftModel.from_pretrained(base, adapter, is_trainable=True),
        reward_funcs=lambda completions, **_: [0.0] * len(completions),
        args=arguments,
        train_dataset=Dataset.from_list([{"prompt": "t2"}] * 2),
        processing_class=AutoTokenizer.from_pretrained(model),
    )
    trainer.current_gradient_accumulation_steps = 1
    trainer.model.train()
    return trainer


def batches(file: Any, microbatch: int) -> list[dict[str, torch.Tensor]]:
    """Rows of like length together, as many as fit with padding; prompts padded left, all else right."""
    ends = np.cumsum(file["lengths"])[:-1]
    columns = {
        name: np.split(file[name], ends) for name in ("token_ids", "loss_mask", "old_logprobs", "weight")
    }
    order = np.argsort(file["lengths"], kind="stable")
    chosen: list[list[int]] = []
    for index in order.tolist():
        longest = int(file["lengths"][index])
        if chosen and (len(chosen[-1]) + 1) * longest <= microbatch:
            chosen[-1].append(index)
        else:
            chosen.append([index])
    return [padded(columns, file["prompts"], indexes) for indexes in chosen]


def padded(
    columns: dict[str, list[np.ndarray]], prompts: np.ndarray, indexes: list[int]
) -> dict[str, torch.Tensor]:
    left = max(int(prompts[index]) for index in indexes)
    right = max(len(columns["token_ids"][index]) - int(prompts[index]) for index in indexes)
    count = len(indexes)
    shape = (count, right)
    batch = {
        "prompt_ids": np.zeros((count, left), np.int64),
        "prompt_mask": np.zeros((count, left), np.int64),
        "completion_ids": np.zeros(shape, np.int64),
        "completion_mask": np.zeros(shape, np.int64),
        "tool_mask": np.zeros(shape, np.int64),
        "advantages": np.zeros(shape, np.float32),
        "old_per_token_logps": np.zeros(shape, np.float32),
    }
    for line, index in enumerate(indexes):
        start = int(prompts[index])
        size = len(columns["token_ids"][index]) - start
        batch["prompt_ids"][line, left - start :] = columns["token_ids"][index][:start]
        batch["prompt_mask"][line, left - start :] = 1
        batch["completion_ids"][line, :size] = columns["token_ids"][index][start:]
        batch["completion_mask"][line, :size] = 1
        batch["tool_mask"][line, :size] = columns["loss_mask"][index][start:]
        batch["advantages"][line, :size] = columns["weight"][index][start:]
        batch["old_per_token_logps"][line, :size] = columns["old_logprobs"][index][start:]
    tensors = {name: torch.from_numpy(value) for name, value in batch.items()}
    return {**tensors, "num_items_in_batch": torch.tensor(1.0)}


def step(
    trainer: GRPOTrainer, prepared: list[dict[str, torch.Tensor]], optimiser: torch.optim.Optimizer
) -> float:
    optimiser.zero_grad()
    loss = 0.0
    for batch in prepared:
        part = trainer.compute_loss(trainer.model, batch)
        part.backward()
        loss += float(part.detach())
    torch.nn.utils.clip_grad_norm_([p for p in trainer.model.parameters() if p.requires_grad], float("inf"))
    optimiser.step()
    return loss


def resident_kilobytes() -> int:
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * resource.getpagesize() // 1024


def peak_kilobytes() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def main(model: str, adapter: str, rows: str, out: str, microbatch: str, steps: str) -> None:
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as scratch, np.load(rows) as file:
        trainer = trainer_of(model, adapter, scratch)
        prepared = batches(file, int(microbatch))
        trained = {name: p for name, p in trainer.model.named_parameters() if p.requires_grad}
        optimiser = torch.optim.AdamW(trained.values(), lr=LEARNING_RATE, betas=(0.9, 0.95), weight_decay=0.0)
        before = resident_kilobytes()
        wall: list[float] = []
        cpu: list[float] = []
        losses: list[float] = []
        for number in range(int(steps)):
            began, busy = time.perf_counter(), time.process_time()
            losses.append(step(trainer, prepared, optimiser))
            wall.append(time.perf_counter() - began)
            cpu.append(time.process_time() - busy)
            if number == 0:
                gradients = {
                    name.replace(".default", ""): p.grad.numpy()
                    for name, p in trained.items()
                    if p.grad is not None
                }
                np.savez(Path(out), allow_pickle=False, **gradients)
    tokens = sum(batch["prompt_ids"].numel() + batch["completion_ids"].numel() for batch in prepared)
    answer = {
        "tokens": tokens,
        "wall_seconds": wall,
        "cpu_seconds": cpu,
        "step_kilobytes": peak_kilobytes() - before,
        "loss": losses[0],
    }
    print(json.dumps(answer))


if __name__ == "__main__":
    main(*sys.argv[1:])
