"""Whole runs: killed, interrupted, out of disk, with infrastructure that fails, and always continued."""

import os
import resource
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path

import psutil
import pytest
from pdb_agent.batch import ATTEMPTS, Plan, Progress, run_batch
from pdb_agent.config import PolicyConfig, config_of
from pdb_agent.episode import ExitReason, read_episode
from pdb_agent.messages import Message, Reply, ToolSpec
from pdb_agent.policies.oracle import OraclePolicy
from pdb_agent.policy import Policy, PolicyUnavailableError, Sampling
from pdb_agent.run_folder import RunFolder, Slot
from pdb_agent.task import Task
from pdb_agent.task_choice import TaskChoice, choose_tasks

pytestmark = [pytest.mark.anyio, pytest.mark.slow, pytest.mark.timeout(300)]
ROOT = Path(__file__).resolve().parents[2]
PATIENCE_SECONDS = 90.0


@dataclass(frozen=True)
class Runs:
    """What the command is asked for: two tasks, two arms, twice each, by an oracle."""

    tasks: tuple[str, str]
    arms: tuple[str, str]
    options: tuple[str, ...]

    def command(self, out: Path) -> list[str]:
        options = ["--arms", ",".join(self.arms), "--repetitions", "2", "--jobs", "2", *self.options]
        return [sys.executable, "-m", "pdb_agent.cli", "eval", "--out", str(out), *options]

    @property
    def table(self) -> str:
        return "".join(f"{arm}: 4 of 4 episodes solved (100.0%), 2 tasks\n" for arm in self.arms)

    @property
    def episodes(self) -> set[str]:
        return {
            f"{arm}/{task}/{number}.jsonl" for arm in self.arms for task in self.tasks for number in (0, 1)
        }


WRITTEN = Runs(
    tasks=("config_precedence", "pagination_window"),
    arms=("debug", "no-debugger"),
    options=("--tasks", "config_precedence,pagination_window"),
)
MADE = Runs(
    tasks=("gym_zero_held_1", "gym_zero_held_2"),
    arms=("debug", "edit-menu"),
    options=("-s", "tasks.gym={families=['zero']}"),
)
"""Quicker: small tasks."""


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@dataclass(frozen=True)
class Running:
    """A run in a process of its own."""

    process: subprocess.Popen[str]
    out: Path

    def wait_for(self, is_so: Callable[[], bool]) -> None:
        """Wait for something that the run writes."""
        deadline = time.monotonic() + PATIENCE_SECONDS
        while not is_so():
            assert self.process.poll() is None, self.process.communicate()
            assert time.monotonic() < deadline
            time.sleep(0.005)

    def episodes_done(self, count: int) -> None:
        """Wait until that many are told."""
        assert self.process.stderr is not None
        while count:
            line = self.process.stderr.readline()
            assert line, "it has ended"
            count -= "/8 " in line

    def end_by(self, *signals: int) -> list[psutil.Process]:
        """Send signals; all processes that there were below it and still are when it has ended."""
        self.process.send_signal(signal.SIGSTOP)  # so that none begins between looking and ending
        below = psutil.Process(self.process.pid).children(recursive=True)
        self.process.send_signal(signal.SIGCONT)
        for number in signals:
            self.process.send_signal(number)
        self.process.communicate(timeout=PATIENCE_SECONDS)
        _, alive = psutil.wait_procs(below, timeout=10)
        return alive


@contextmanager
def running(runs: Runs, out: Path) -> Generator[Running]:
    with subprocess.Popen(
        runs.command(out), cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            yield Running(process, out)
        finally:
            process.kill()


def finish(runs: Runs, out: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        runs.command(out), cwd=ROOT, capture_output=True, text=True, timeout=PATIENCE_SECONDS, check=False
    )


def files(out: Path) -> dict[str, bytes]:
    episodes = out / "episodes"
    return {path.relative_to(episodes).as_posix(): path.read_bytes() for path in episodes.rglob("*.jsonl")}


def valid(out: Path) -> dict[str, bytes]:
    """Episodes that count."""
    folder = RunFolder(out)
    slots = [slot for slot, episode in folder.episodes() if episode.is_valid]
    return {f"{slot.arm}/{slot.task}/{slot.number}.jsonl": folder.file(slot).read_bytes() for slot in slots}


def attempts(out: Path) -> list[str]:
    return sorted(name for name in files(out) if "attempt" in name)


def test_a_run_that_is_killed_halfway_is_continued_to_the_same_table(tmp_path: Path):
    with running(WRITTEN, tmp_path) as run:
        run.episodes_done(3)
        assert run.end_by(signal.SIGKILL) == []
    before = valid(tmp_path)
    cut_off = files(tmp_path).keys() - before.keys()
    assert 3 <= len(before) < 8
    assert len(cut_off) <= 2
    done = finish(WRITTEN, tmp_path)
    assert (done.returncode, done.stdout) == (0, WRITTEN.table), done.stderr
    assert f"{tmp_path} is continued: what is there stays as it is.\n" in done.stderr
    after = valid(tmp_path)
    assert after.keys() == WRITTEN.episodes
    assert {name: after[name] for name in before} == before
    assert len(attempts(tmp_path)) == len(cut_off)
    told = Counter(line.split(":")[0].partition(" ")[2] for line in done.stderr.splitlines()[1:])
    assert set(told.values()) == {1}
    assert len(told) == 8 - len(before)
    again = finish(WRITTEN, tmp_path)
    assert (again.returncode, again.stdout) == (0, WRITTEN.table)
    assert valid(tmp_path) == after


MOMENTS = [
    ("", 0, 1),
    ("manifest.json", 0, 1),
    ("**/*.jsonl", 0, 1),
    ("**/*.jsonl", 0, 2),
    ("", 1, 1),
]
"""A file that is to appear, episodes to be told, and how often Ctrl-C is then pressed."""


def test_ctrl_c_at_any_moment_leaves_no_process_and_what_is_done_is_kept(tmp_path: Path):
    kept: dict[str, bytes] = {}
    for glob, told, times in MOMENTS:
        before = set(tmp_path.glob(glob or "none"))
        with running(MADE, tmp_path) as run:
            if glob:
                run.wait_for(lambda: set(tmp_path.glob(glob)) != before)  # noqa: B023 - called at once
            run.episodes_done(told)
            assert run.end_by(*[signal.SIGINT] * times) == []
            assert run.process.returncode in (130, -signal.SIGINT)
        now = valid(tmp_path)
        assert {name: now[name] for name in kept} == kept
        kept = now
    assert kept
    done = finish(MADE, tmp_path)
    assert (done.returncode, done.stdout) == (0, MADE.table), done.stderr
    after = valid(tmp_path)
    assert after.keys() == MADE.episodes
    assert {name: after[name] for name in kept} == kept


def test_two_runs_on_one_folder_are_refused(tmp_path: Path):
    with running(MADE, tmp_path) as run:
        run.wait_for((tmp_path / "manifest.json").exists)
        second = finish(MADE, tmp_path)
        assert run.end_by(signal.SIGINT) == []
    assert second.returncode == 2
    assert second.stderr == (
        f"pdb-agent: Another run is at work in {tmp_path}: wait for it, or give another folder.\n"
    )


def test_a_disk_that_is_full_while_logging_ends_the_run_and_it_is_continued(tmp_path: Path):
    with running(MADE, tmp_path) as run:
        run.wait_for((tmp_path / "manifest.json").exists)
        most = (10_000, resource.RLIM_INFINITY)  # a menu's episode fits, one with a debugger does not
        psutil.Process(run.process.pid).rlimit(psutil.RLIMIT_FSIZE, most)
        _, said = run.process.communicate(timeout=PATIENCE_SECONDS)
    assert run.process.returncode == 2
    last = said.splitlines()[-1]
    assert last.startswith("pdb-agent: ")
    assert "cannot be written (File too large): make room and run the same command again" in last
    assert "Traceback" not in said
    before = valid(tmp_path)
    done = finish(MADE, tmp_path)
    assert (done.returncode, done.stdout) == (0, MADE.table), done.stderr
    after = valid(tmp_path)
    assert after.keys() == MADE.episodes
    assert {name: after[name] for name in before} == before


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may mount a small disk")
def test_a_disk_without_room_for_the_run_is_said(tmp_path: Path):
    mount = f'mount -t tmpfs -o size=60k none {tmp_path} && exec "$@"'
    done = subprocess.run(
        ["unshare", "--mount", "sh", "-c", mount, "sh", *MADE.command(tmp_path / "run")],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=PATIENCE_SECONDS,
        check=False,
    )
    if "unshare" in done.stderr or "mount:" in done.stderr:
        pytest.skip("mounting is not allowed here")
    assert done.returncode == 2
    assert "cannot be written (No space left on device): make room" in done.stderr.splitlines()[-1]


class Unsteady:
    """Fails as often as it is told to, then hands over to the oracle (meets ``Policy``)."""

    name = "unsteady/oracle"

    def __init__(self, oracle: Policy, failures: list[str]) -> None:
        self._oracle = oracle
        self._failures = failures

    async def respond(
        self, system: str, messages: Sequence[Message], tools: Sequence[ToolSpec], sampling: Sampling
    ) -> Reply:
        if self._failures:
            raise PolicyUnavailableError(self._failures.pop())
        return await self._oracle.respond(system, messages, tools, sampling)

    async def aclose(self) -> None:
        pass


class Run:
    """A run of one gym task, in this process."""

    def __init__(self, out: Path, failures: int, *, repetitions: int = 1) -> None:
        table = {"tasks": {"gym": {"families": ["zero"], "count": 1}}, "repetitions": repetitions}
        self.config = config_of({**table, "arms": {"plain": {"toolset": "no-debugger"}}})
        self.choice: TaskChoice = choose_tasks(self.config)
        self.folder = RunFolder(out)
        self.failures = [f"down {number}" for number in range(failures)]
        self.told: list[Progress] = []
        self.slot = Slot(task=self.choice.tasks[0].id, number=0, arm="plain")

    def policy_for(self, config: PolicyConfig, task: Task) -> Policy:
        return Unsteady(OraclePolicy(task), self.failures)

    async def go(self) -> int:
        plan = Plan(
            config=self.config,
            tasks=self.choice.tasks,
            tiers={},
            price=lambda policy, reply: Decimal(1),
            jobs=2,
        )
        return await run_batch(plan, self.folder, self.policy_for, self.told.append)

    def reasons(self) -> list[ExitReason]:
        paths = sorted(self.folder.file(self.slot).parent.iterdir())
        ends = [read_episode(path).ended for path in paths]
        return [end.reason for end in ends if end is not None]


async def test_ends_by_infrastructure_are_run_again_and_kept_as_attempts(tmp_path: Path):
    run = Run(tmp_path, failures=2)
    assert await run.go() == 0
    names = sorted(path.name for path in run.folder.file(run.slot).parent.iterdir())
    assert names == ["0.attempt-1.jsonl", "0.attempt-2.jsonl", "0.jsonl"]
    assert run.reasons() == [ExitReason.PROVIDER_FATAL, ExitReason.PROVIDER_FATAL, ExitReason.DONE]
    assert [told.done for told in run.told] == [0, 0, 1]


async def test_after_three_such_ends_an_episode_waits_for_the_next_command(tmp_path: Path):
    run = Run(tmp_path, failures=100)
    assert await run.go() == 1
    assert run.reasons() == [ExitReason.PROVIDER_FATAL] * ATTEMPTS
    assert len(run.failures) == 100 - ATTEMPTS
    again = Run(tmp_path, failures=0)
    assert await again.go() == 0
    assert again.reasons() == [*[ExitReason.PROVIDER_FATAL] * ATTEMPTS, ExitReason.DONE]


async def test_what_is_valid_is_never_run_again(tmp_path: Path):
    run = Run(tmp_path, failures=0, repetitions=2)
    assert await run.go() == 0
    path = run.folder.file(run.slot)
    before = (path.read_bytes(), path.stat().st_mtime_ns)
    again = Run(tmp_path, failures=100, repetitions=2)
    assert await again.go() == 0
    assert again.told == []
    assert len(again.failures) == 100
    assert (path.read_bytes(), path.stat().st_mtime_ns) == before


def test_repetitions_come_one_after_the_other_so_that_a_run_cut_off_is_balanced(tmp_path: Path):
    config = config_of({"repetitions": 2, "arms": {"a": {}, "b": {}}, "tasks": {"gym": {"count": 2}}})
    tasks = choose_tasks(config).tasks
    slots = Plan(config=config, tasks=tasks, tiers={}, price=lambda policy, reply: None).slots()
    assert [(slot.number, slot.arm) for slot in slots] == [
        (0, "a"),
        (0, "b"),
        (0, "a"),
        (0, "b"),
        (1, "a"),
        (1, "b"),
        (1, "a"),
        (1, "b"),
    ]
    assert len(set(slots)) == 8
