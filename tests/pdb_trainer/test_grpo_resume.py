"""A run of GRPO that is killed, stopped or cut short ends as one that was left alone."""

import io
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest
from pdb_trainer import grpo
from pdb_trainer.checkpoint import newest_step
from pdb_trainer.config_reading import read_grpo
from pdb_trainer.rollout_store import RolloutStore
from pdb_trainer.run_files import CHECKPOINTS
from pdb_trainer.run_log import read_metrics
from pdb_trainer.run_place import in_folder

from tests.pdb_trainer.tiny_runs import adapter_hash

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]
SMOKE = Path(__file__).parents[2] / "packages" / "trainer" / "recipes" / "smoke.toml"
AFTER_STEPS = (0, 0, 1, 1, 2)
"""Each kill comes at a random moment after so many steps."""
STEPS = 5
_PATIENCE_SECONDS = 120.0


@pytest.fixture(scope="module")
def overrides(tiny_model: Path) -> list[str]:
    return [
        f"model.path={tiny_model}",
        "adapter.rank=2",
        "algorithm.group_size=3",
        "sampler.max_output_tokens=160",
        "optimiser.learning_rate=0.02",
        f"run.steps={STEPS}",
    ]


@pytest.fixture(scope="module")
def undisturbed(overrides: list[str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs") / "undisturbed"
    assert in_folder(grpo.train, read_grpo(SMOKE, overrides), folder, io.StringIO()) == 0
    return folder


@contextmanager
def started(overrides: Sequence[str], folder: Path) -> Generator[subprocess.Popen[bytes]]:
    """The command as a person starts it; none of its processes is left after the block."""
    settings = [word for override in overrides for word in ("--set", override)]
    with subprocess.Popen(
        [
            sys.executable,
            "-m",
            "pdb_trainer.cli",
            "grpo",
            "--config",
            str(SMOKE),
            "--out",
            str(folder),
            *settings,
        ],
        stderr=subprocess.PIPE,
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def wait_until(happened: Callable[[], bool], process: subprocess.Popen[bytes]) -> None:
    """Until something has come of a run that was started."""
    until = time.monotonic() + _PATIENCE_SECONDS
    while not happened() and process.poll() is None and time.monotonic() < until:
        try:
            process.wait(0.05)
        except subprocess.TimeoutExpired:
            continue
    assert happened(), process.stderr.read().decode() if process.stderr else ""


def descendants(process: subprocess.Popen[bytes]) -> list[psutil.Process]:
    try:
        return psutil.Process(process.pid).children(recursive=True)
    except psutil.NoSuchProcess:
        return []


def rollouts_of(folder: Path) -> list[tuple[str, float, list[list[int]]]]:
    steps = sorted((folder / "rollouts").iterdir())
    rollouts = [rollout for step in steps for rollout in RolloutStore(step).read()]
    return [(one.episode, one.reward, [turn.sampled_ids.tolist() for turn in one.turns]) for one in rollouts]


def assert_the_same(folder: Path, undisturbed: Path) -> None:
    assert adapter_hash(folder) == adapter_hash(undisturbed)
    assert rollouts_of(folder) == rollouts_of(undisturbed)
    assert [one["step"] for one in read_metrics(folder)] == list(range(1, STEPS + 1))
    for name in ("loss", "reward/mean", "kl", "grad_norm"):
        mine, theirs = ([one.get(name) for one in read_metrics(each)] for each in (folder, undisturbed))
        assert mine == theirs


def test_the_undisturbed_run_has_something_to_learn(undisturbed: Path) -> None:
    metrics = read_metrics(undisturbed)
    assert any(one["grad_norm"] > 0 for one in metrics)
    assert all(one["parity/kl"] < 1e-6 for one in metrics if "parity/kl" in one)
    assert any(one["kl"] > 0 for one in metrics)


def test_killed_at_random_five_times_it_ends_as_if_nothing_had_been(
    overrides: list[str], undisturbed: Path, tmp_path: Path
) -> None:
    folder, draw = tmp_path / "killed", random.Random(20)
    step_seconds = read_metrics(undisturbed)[-1]["seconds/rollouts"]
    survivors: list[psutil.Process] = []
    killed = 0
    for least in AFTER_STEPS:
        with started(overrides, folder) as process:

            def at_work(pid: int = process.pid, least: int = least) -> bool:
                is_open = any(folder.glob(f"tensorboard/*.{pid}.*"))
                return is_open and newest_step(folder / CHECKPOINTS) >= least

            wait_until(at_work, process)
            try:
                process.wait(draw.uniform(0.0, step_seconds))
            except subprocess.TimeoutExpired:
                survivors += descendants(process)
                process.send_signal(signal.SIGKILL)
                killed += 1
    assert killed == len(AFTER_STEPS)
    stream = io.StringIO()
    assert in_folder(grpo.train, read_grpo(SMOKE, overrides), folder, stream) == 0
    assert "goes on after step" in stream.getvalue()
    assert_the_same(folder, undisturbed)
    assert psutil.wait_procs(survivors, timeout=20)[1] == []


@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_ctrl_c_or_sigterm_ends_it_cleanly_and_the_same_command_goes_on(
    number: signal.Signals, status: int, overrides: list[str], undisturbed: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "stopped"
    with started(overrides, folder) as process:
        wait_until(lambda: newest_step(folder / CHECKPOINTS) >= 1, process)
        children = descendants(process)
        process.send_signal(number)
        assert process.wait(_PATIENCE_SECONDS) == status
        said = process.stderr.read().decode() if process.stderr else ""
    assert "The same command goes on from the last checkpoint" in said
    assert "Traceback" not in said
    assert psutil.wait_procs(children, timeout=20)[1] == []
    stream = io.StringIO()
    assert in_folder(grpo.train, read_grpo(SMOKE, overrides), folder, stream) == 0
    assert "goes on after step" in stream.getvalue()
    assert_the_same(folder, undisturbed)
