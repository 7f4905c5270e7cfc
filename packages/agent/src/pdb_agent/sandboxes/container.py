"""A container of Docker or Podman: for machines where the kernel's own means are closed to us.

The engine is told to give it no network, no capabilities, no writable file system but two
bounded ones in memory, and bounds on memory and processes. The agent's sockets reach it
through a socket in a folder that both sides see, which takes a Linux host: an engine
that runs its containers in a virtual machine (macOS, Windows) cannot pass them on, and
there the whole of pdb-agent runs in the container instead.

Variables: PDB_AGENT_ENGINE (docker, podman or a path), PDB_AGENT_IMAGE (has Python and
pytest), PDB_AGENT_IMAGE_PYTHON (its path there), PDB_AGENT_RUNTIME (such as runsc),
PDB_AGENT_ENGINE_OPTIONS (further options of ``run``).
"""

import json
import os
import platform
import secrets
import shlex
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import mcp_pdb.client
from mcp_pdb.launcher import REAPER_SCRIPT

from pdb_agent.errors import SandboxError
from pdb_agent.sandbox import MEBIBYTE, Backend, Limits, SandboxSpec
from pdb_agent.sandboxes import container_exec, seccomp
from pdb_agent.sandboxes.held import HeldSandbox
from pdb_agent.sandboxes.host_user import ourselves
from pdb_agent.sandboxes.starting import INSIDE_SCRIPT, make_workspace, resource_limits, start

ENGINES = ("docker", "podman")
DEFAULT_IMAGE = "pdb-agent-sandbox"
DEFAULT_PYTHON = "/usr/local/bin/python3"
CODE_INSIDE = "/opt/pdb-agent"
DOOR_INSIDE = "/run/pdb-agent"
UID_INSIDE = 65534
AGENT_DEPTH = 2
"""The holder, Podman's monitor, the agent. Docker's containers are below its daemon, out of the watchdog's
sight: there the engine's own bound on memory holds."""
SHARED_MEMORY_BYTES = 8 * MEBIBYTE
HOLDERS = 4
"""Processes that hold the sandbox, and count among those that it may have."""
FAMILIES = (socket.AF_UNIX, socket.AF_INET, socket.AF_INET6)
_ASK_SECONDS = 20.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Engine:
    """Which engine runs containers, and of what."""

    executable: str
    image: str = DEFAULT_IMAGE
    """A name that ``run`` takes, or ``rootfs:FOLDER`` for Podman."""
    python: str = DEFAULT_PYTHON
    """Path of the interpreter in the image."""
    runtime: str | None = None
    options: tuple[str, ...] = ()

    @property
    def bounds_processes(self) -> bool:
        """False when it is told to do without control groups."""
        return "--cgroups=disabled" not in self.options


def find_engine(environment: Mapping[str, str] = os.environ) -> Engine:
    """The engine that the environment names, or the first that is installed. Raises SandboxError."""
    named = environment.get("PDB_AGENT_ENGINE")
    candidates = (named,) if named else ENGINES
    executable = next((path for name in candidates if (path := shutil.which(name))), None)
    if executable is None:
        raise SandboxError(
            f"No container engine is installed ({', '.join(candidates)}: not found): "
            "install Docker or Podman."
        )
    return Engine(
        executable=executable,
        image=environment.get("PDB_AGENT_IMAGE", DEFAULT_IMAGE),
        python=environment.get("PDB_AGENT_IMAGE_PYTHON", DEFAULT_PYTHON),
        runtime=environment.get("PDB_AGENT_RUNTIME"),
        options=tuple(shlex.split(environment.get("PDB_AGENT_ENGINE_OPTIONS", ""))),
    )


def start_container(spec: SandboxSpec, engine: Engine | None = None) -> HeldSandbox:
    """A sandbox whose start has begun; ``HeldSandbox.open`` waits for it. Raises SandboxError.

    Its Python is the image's: ``spec.python`` is not looked at.
    """
    if sys.platform != "linux":
        raise SandboxError(
            f"On {platform.system()} an engine's containers run in a virtual machine, which passes no "
            "sockets on: run the whole of pdb-agent in the container."
        )
    engine = engine or find_engine()
    _check_answers(engine)
    workspace = make_workspace()
    place = workspace.parent
    code = _gather_code(place)
    (place / "door").mkdir(mode=0o755)
    name = f"pdb-agent-{secrets.token_hex(8)}"

    def command(control: int, files: int) -> Sequence[str]:
        settings = {
            "command": [*run_command(engine, spec, workspace, name), *_entry(engine, spec, workspace)],
            "remove": [engine.executable, "rm", "--force", name],
            "door": str(place / "door" / "agent.sock"),
            "control": control,
            "files": files,
        }
        return (sys.executable, "-I", "-S", str(code / "container_exec.py"), "hold", json.dumps(settings))

    try:
        started = start(command, user=ourselves(), agent_depth=AGENT_DEPTH)
    except SandboxError:
        shutil.rmtree(place, ignore_errors=True)
        raise
    return HeldSandbox(
        Backend.CONTAINER,
        started,
        workspace=workspace,
        python=engine.python,
        environment={
            "PATH": f"{Path(engine.python).parent}:/usr/local/bin:/usr/bin:/bin",
            "HOME": "/tmp",
            "LANG": "C.UTF-8",
            "TZ": "UTC",
            "PYTHONDONTWRITEBYTECODE": "1",
            "PYTHONNOUSERSITE": "1",
            **spec.environment,
        },
        limits=spec.limits,
    )


def run_command(engine: Engine, spec: SandboxSpec, workspace: Path, name: str) -> list[str]:
    """The engine's command line up to and with the image."""
    command = [engine.executable, "run", "--rm", "--name", name, "--hostname", "sandbox"]
    command += ["--network", "none", "--read-only", "--cap-drop", "ALL"]
    command += ["--security-opt", "no-new-privileges", "--user", f"{UID_INSIDE}:{UID_INSIDE}"]
    command += [
        "--stop-timeout",
        "0",
        "--log-driver",
        "none",
        "--workdir",
        "/",
        "--shm-size",
        str(SHARED_MEMORY_BYTES),
    ]
    command += _bounds(engine, spec.limits)
    for folder in (str(workspace), "/tmp"):
        command += ["--tmpfs", f"{folder}:rw,nosuid,nodev,size={spec.limits.disk_bytes},mode=1777"]
    for source, target in _mounts(spec, workspace.parent):
        command += ["--mount", f"type=bind,source={source},target={target},readonly"]
    if engine.runtime is not None:
        command += ["--runtime", engine.runtime]
    command += engine.options
    command += ["--entrypoint", engine.python]
    return [*command, *_image(engine)]


def _bounds(engine: Engine, limits: Limits) -> Iterator[str]:
    yield from ("--ulimit", f"nofile={limits.open_files}:{limits.open_files}", "--ulimit", "core=0:0")
    if engine.bounds_processes:
        memory = str(limits.memory_bytes + 2 * limits.disk_bytes)
        yield from ("--memory", memory, "--memory-swap", memory)
        yield from ("--pids-limit", str(limits.processes + HOLDERS))


def _mounts(spec: SandboxSpec, place: Path) -> Iterator[tuple[Path, str]]:
    yield place / "code", CODE_INSIDE
    yield place / "door", DOOR_INSIDE
    for path in (*mcp_pdb.client.code_for_debuggees(), *spec.readable):
        yield path, str(path)


def _image(engine: Engine) -> Sequence[str]:
    kind, _, folder = engine.image.partition(":")
    return ("--rootfs", folder) if kind == "rootfs" else (engine.image,)


def _entry(engine: Engine, spec: SandboxSpec, workspace: Path) -> Iterator[str]:
    """What the interpreter in the container is told."""
    yield from ("-I", "-S", "-B", f"{CODE_INSIDE}/container_exec.py", "enter", f"{DOOR_INSIDE}/agent.sock")
    yield from (str(workspace), seccomp.program(families=FAMILIES).hex())
    amounts = resource_limits(spec.limits)
    if engine.bounds_processes:
        del amounts["RLIMIT_NPROC"]  # counted for all containers together, which have the same user
    yield from (f"{name}={amount}" for name, amount in amounts.items())


def _gather_code(place: Path) -> Path:
    """The agent's code in one folder for the container to see: as source, for its Python may be another."""
    code = place / "code"
    code.mkdir(mode=0o755)
    for script in (INSIDE_SCRIPT, REAPER_SCRIPT, Path(container_exec.__file__)):
        shutil.copyfile(script, code / script.name)
        (code / script.name).chmod(0o644)
    return code


@cache
def _check_answers(engine: Engine) -> None:
    try:
        answer = subprocess.run(
            [engine.executable, "version"],
            capture_output=True,
            text=True,
            timeout=_ASK_SECONDS,
            check=False,
        )
    except (OSError, subprocess.SubprocessError) as error:
        raise SandboxError(f"{engine.executable} does not run ({error}).") from error
    if answer.returncode != 0:
        said = (answer.stderr.strip() or "it said nothing").splitlines()[-1]
        raise SandboxError(
            f"{engine.executable} is installed but does not answer ({said}): "
            "start its service, or give yourself access to it."
        )
