"""Carries attacks out: a fresh sandbox for each, a look at the host before and after."""

import json
import os
import secrets
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, suppress
from dataclasses import dataclass
from pathlib import Path

import anyio

from pdb_agent.errors import SandboxEndedError
from pdb_agent.sandbox import CommandResult, Limits, Sandbox, SandboxSpec
from pdb_agent.sandboxes.attacks.judging import NotStopped, Observed, Stopped, Verdict, read_report
from pdb_agent.sandboxes.attacks.scene import Scene, set_scene
from pdb_agent.sandboxes.attacks.survivors import end_marked, marked
from pdb_agent.sandboxes.attacks.table import ATTACK_LIMITS, Attack

SURVIVAL_SECONDS = 0.1
"""How long after its command a process of it may still be seen."""
PATIENCE_SECONDS = 25.0
"""How long beyond its own time limit a command may keep the host waiting."""
_SURVEY_SECONDS = 10.0
_PROGRAMS = Path(__file__).parent / "programs"

Opener = Callable[[SandboxSpec], AbstractAsyncContextManager[Sandbox]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What became of one attack."""

    attack: Attack
    verdict: Verdict
    survivors: int
    """Processes of it that were seen 100 ms after its command."""
    seconds: float

    @property
    def is_stopped(self) -> bool:
        """True when the attack came to nothing and left nothing."""
        return isinstance(self.verdict, Stopped) and self.survivors == 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Ground:
    """Where attacks are carried out."""

    opener: Opener
    python: Path
    uid: int
    """The user on the host that programs inside have."""
    shares_pids: bool
    """The sandbox numbers its processes as the host does, and may name the host's."""

    def settings(self, attack: Attack, scene: Scene) -> dict[str, object]:
        """What the attack's program is told."""
        spared = [os.getpid(), *_ancestors(os.getpid())] if self.shares_pids else []
        return {
            **scene.settings(),
            **attack.settings,
            "spare": spared,
            "may_signal_all": not self.shares_pids,
        }


def attack_spec(python: Path, limits: Limits = ATTACK_LIMITS) -> SandboxSpec:
    """A sandbox with the attacks' programs in its workspace."""
    files = {f"programs/{path.name}": path.read_bytes() for path in sorted(_PROGRAMS.glob("*.py"))}
    return SandboxSpec(python=python, files=files, limits=limits)


async def prepare_ground(opener: Opener, python: Path) -> Ground:
    """Find out whose rights the sandbox's processes have. Raises SandboxError when there is none."""
    uid, shares_pids = await _survey(opener, python)
    return Ground(opener=opener, python=python, uid=uid, shares_pids=shares_pids)


async def carry_out(attack: Attack, ground: Ground) -> Outcome:
    """Run one attack in a fresh sandbox and judge it. Raises SandboxError when none can be had."""
    began = time.monotonic()
    marker = f"pdb-agent-{attack.name}-{secrets.token_hex(8)}"
    with set_scene(ground.uid) as scene:
        try:
            async with ground.opener(attack_spec(ground.python, attack.limits)) as sandbox:
                observed = await _observe(attack, ground.settings(attack, scene), sandbox, scene, marker)
                await anyio.sleep(SURVIVAL_SECONDS)
                survivors = marked(marker)
                verdict = attack.judge(observed, scene)
            survivors |= marked(marker)
        finally:
            end_marked(marker)
            scene.clear(marker)
    if survivors and isinstance(verdict, Stopped):
        verdict = NotStopped(evidence=f"{len(survivors)} processes lived on; {verdict.evidence}")
    return Outcome(attack=attack, verdict=verdict, survivors=len(survivors), seconds=time.monotonic() - began)


async def _observe(
    attack: Attack, settings: Mapping[str, object], sandbox: Sandbox, scene: Scene, marker: str
) -> Observed:
    room = _room_for_files(sandbox.workspace)
    result: CommandResult | None = None
    ended_because: str | None = None
    is_hung = is_alive = False
    fetched: dict[str, bytes | None] = {}
    argv = _argv(sandbox, attack.module, attack.name, marker, settings)
    try:
        with anyio.fail_after(attack.timeout_seconds + PATIENCE_SECONDS):
            result = await sandbox.run(argv, timeout_seconds=attack.timeout_seconds)
            fetched = await sandbox.get(attack.fetches) if attack.fetches else {}
            if attack.aims_at_agent:
                is_alive = (await sandbox.run(["true"], timeout_seconds=5)).exit_code == 0
    except SandboxEndedError as error:
        ended_because = str(error)
    except TimeoutError:
        is_hung = True
    return Observed(
        limits=attack.limits,
        timeout_seconds=attack.timeout_seconds,
        report=read_report(result.output) if result else {},
        result=result,
        ended_because=ended_because,
        is_hung=is_hung,
        is_alive=is_alive,
        fetched=fetched,
        inodes_lost=room - _room_for_files(sandbox.workspace),
        strays=tuple(scene.strays(marker)),
    )


async def _survey(opener: Opener, python: Path) -> tuple[int, bool]:
    """The user that a program inside is on the host, and whether it shares the host's process numbers."""
    marker = f"pdb-agent-survey-{secrets.token_hex(8)}"
    found: set[int] = set()
    uid, shares_pids = os.geteuid(), False
    async with opener(attack_spec(python)) as sandbox:
        argv = _argv(sandbox, "exhausting", "linger", marker, {"seconds": _SURVEY_SECONDS})
        async with anyio.create_task_group() as tasks:

            async def run() -> None:
                await sandbox.run(argv, timeout_seconds=_SURVEY_SECONDS)
                tasks.cancel_scope.cancel()

            tasks.start_soon(run)
            while not found:
                found = marked(marker)
                await anyio.sleep(0.01)
            for pid in found:
                with suppress(OSError):
                    uid, shares_pids = _whose(pid)
            tasks.cancel_scope.cancel()
    return uid, shares_pids


def _argv(
    sandbox: Sandbox, module: str, name: str, marker: str, settings: Mapping[str, object]
) -> Sequence[str]:
    start = (sandbox.python, "-E", "-s", "-S", "-B", "-m", f"programs.{module}")
    return (*start, name, marker, json.dumps(dict(settings)))


def _whose(pid: int) -> tuple[int, bool]:
    lines = dict(
        line.split(":", 1)
        for line in Path(f"/proc/{pid}/status").read_text(encoding="utf-8").splitlines()
        if ":" in line
    )
    return int(lines["Uid"].split()[1]), len(lines.get("NSpid", "1").split()) == 1


def _ancestors(pid: int) -> list[int]:
    found: list[int] = []
    while pid > 1:
        status = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
        pid = int(status.rpartition(")")[2].split()[1])
        found.append(pid)
    return found


def _room_for_files(workspace: Path) -> int:
    """How many more files the host's file systems take, as far as a sandbox's folders might lie there."""
    folders = {workspace if workspace.exists() else Path("/"), Path(tempfile.gettempdir())}
    devices = {folder.stat().st_dev: folder for folder in folders}
    return sum(os.statvfs(folder).f_ffree for folder in devices.values())
