"""Which backend to take: the first that starts its real profile and stops three attacks.

A program that is installed proves nothing; kernels, containers and security modules
refuse what a backend needs in many ways. The choice is recorded for every run.
"""

import platform
import subprocess
from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from pathlib import Path

from pdb_agent.errors import NoSandboxError, SandboxError
from pdb_agent.sandbox import Backend, Sandbox, SandboxSpec
from pdb_agent.sandboxes import landlock_exec
from pdb_agent.sandboxes.attacks.running import carry_out, prepare_ground
from pdb_agent.sandboxes.attacks.table import PROBES
from pdb_agent.sandboxes.bubblewrap import INSTALL, find_bubblewrap
from pdb_agent.sandboxes.container import find_engine
from pdb_agent.sandboxes.diagnosis import KernelFacts, fix_for, no_backend_elsewhere
from pdb_agent.sandboxes.interpreters import task_interpreter

ORDER = (Backend.BUBBLEWRAP, Backend.LANDLOCK, Backend.CONTAINER)
"""The strongest first; a container comes last because it needs an image."""
_ASK_SECONDS = 20.0

BackendOpener = Callable[[SandboxSpec, Backend], AbstractAsyncContextManager[Sandbox]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Rejected:
    """A backend that does not work here."""

    backend: Backend
    reason: str
    fix: str | None
    """What to do about it, where the reason does not say so itself."""

    @property
    def sentence(self) -> str:
        """Reason and fix in one line."""
        return f"{self.backend}: {self.reason}" + (f" → {self.fix}" if self.fix else "")


@dataclass(frozen=True, slots=True, kw_only=True)
class Chosen:
    """The backend to take, and how it came to be chosen: part of every run's manifest."""

    backend: Backend
    version: str
    stops: tuple[str, ...]
    """The attacks that were tried and stopped."""
    rejected: tuple[Rejected, ...] = ()

    def as_dict(self) -> dict[str, object]:
        """For a manifest."""
        return {
            "backend": str(self.backend),
            "version": self.version,
            "kernel": platform.release(),
            "stops": list(self.stops),
            "not_taken": [
                {"backend": str(one.backend), "reason": one.reason, "fix": one.fix} for one in self.rejected
            ],
        }


async def choose(
    opener: BackendOpener, *, wanted: Backend | None = None, python: Path | None = None
) -> Chosen:
    """The strongest backend that works here, or ``wanted`` if that one does.

    ``Backend.UNSAFE_NONE`` is taken only when wanted, and untried. Raises NoSandboxError
    with what was tried, why it failed, what is at stake and the ways on.
    """
    if wanted is Backend.UNSAFE_NONE:
        return Chosen(backend=wanted, version="none", stops=())
    elsewhere = no_backend_elsewhere()
    if elsewhere is not None:
        raise NoSandboxError(elsewhere)
    rejected: list[Rejected] = []
    for backend in (wanted,) if wanted is not None else ORDER:
        found = await try_backend(opener, backend, python or task_interpreter())
        if isinstance(found, Chosen):
            return Chosen(
                backend=found.backend, version=found.version, stops=found.stops, rejected=tuple(rejected)
            )
        rejected.append(found)
    raise NoSandboxError(nothing_works(rejected))


async def try_backend(opener: BackendOpener, backend: Backend, python: Path) -> Chosen | Rejected:
    """Start the backend's real profile, run ``true`` in it, and three attacks."""
    try:
        async with opener(SandboxSpec(python=python), backend) as sandbox:
            result = await sandbox.run(["true"], timeout_seconds=10)
        if result.exit_code != 0:
            return _rejected(backend, f"not even `true` runs in it ({result.output.strip()[-200:]})")
        ground = await prepare_ground(lambda spec: opener(spec, backend), python)
        outcomes = [await carry_out(attack, ground) for attack in PROBES]
    except SandboxError as error:
        return _rejected(backend, str(error))
    through = [outcome for outcome in outcomes if not outcome.is_stopped]
    if through:
        first = through[0]
        return _rejected(backend, f"it does not stop this: {first.attack.title} ({first.verdict.evidence})")
    return Chosen(
        backend=backend,
        version=version_of(backend),
        stops=tuple(outcome.attack.name for outcome in outcomes),
    )


def version_of(backend: Backend) -> str:
    """What exactly holds the sandbox."""
    match backend:
        case Backend.BUBBLEWRAP:
            return _answer([find_bubblewrap(), "--version"])
        case Backend.LANDLOCK:
            return f"Landlock ABI {landlock_exec.abi_version()}"
        case Backend.CONTAINER:
            return _answer([find_engine().executable, "--version"])
        case Backend.UNSAFE_NONE:
            return "none"


def nothing_works(rejected: Sequence[Rejected]) -> str:
    """The message for a machine without a sandbox."""
    tried = "\n".join(f"  {one.sentence}" for one in rejected)
    return (
        f"No sandbox works on this machine. Tried:\n{tried}\n"
        "Without one, code that a model wrote would run with your user's rights: it could read your files "
        "and keys, use your network, and change or delete what you can.\n"
        "Three ways on:\n"
        f"  1. {INSTALL}, or mend what is named above;\n"
        "  2. start Docker or Podman, name an image with Python and pytest in PDB_AGENT_IMAGE, and use "
        "--backend container;\n"
        "  3. accept the risk, on a machine that holds nothing of value: --backend unsafe-none."
    )


def _rejected(backend: Backend, reason: str) -> Rejected:
    return Rejected(backend=backend, reason=reason, fix=fix_for(reason, KernelFacts.read()))


def _answer(command: Sequence[str]) -> str:
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=_ASK_SECONDS, check=False)
    except (OSError, subprocess.SubprocessError):
        return "unknown"
    return done.stdout.strip() or "unknown"
