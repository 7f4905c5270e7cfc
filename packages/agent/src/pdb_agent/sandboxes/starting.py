"""Starting a backend's process: sockets to hand over, rights to give away."""

import atexit
import os
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import mcp_pdb.client
from mcp_pdb.launcher import REAPER_SCRIPT

from pdb_agent.errors import SandboxError
from pdb_agent.sandbox import Limits, SandboxSpec
from pdb_agent.sandboxes.held import Started
from pdb_agent.sandboxes.interpreters import TaskInterpreter
from pdb_agent.sandboxes.user import SandboxUser

INSIDE_SCRIPT = Path(__file__).with_name("inside.py")
_COMPILE = (
    "import py_compile as c, sys; [c.compile(a, b, doraise=True, invalidation_mode="
    "c.PycInvalidationMode.UNCHECKED_HASH) for a, b in zip(sys.argv[1::2], sys.argv[2::2])]"
)
_COMPILE_SECONDS = 30.0


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentCommand:
    """How the agent is started inside, once its sockets are known."""

    start: tuple[str, ...]
    rest: tuple[str, ...]

    def argv(self, control: int, files: int) -> tuple[str, ...]:
        """The command line for these two descriptors."""
        return (*self.start, str(control), str(files), *self.rest)


def agent_command(spec: SandboxSpec, workspace: Path) -> AgentCommand:
    """The agent for a sandbox of ``spec``."""
    limits = [f"{name}={value}" for name, value in resource_limits(spec.limits).items()]
    return AgentCommand(
        start=(str(spec.python), "-I", "-S", "-B", str(agent_code(spec.python) / "inside.pyc")),
        rest=(str(workspace), *limits),
    )


@cache
def agent_code(python: Path) -> Path:
    """A folder with the agent compiled for ``python``, for compiling takes longer than running.

    Lasts as long as this process. Raises SandboxError.
    """
    folder = Path(tempfile.mkdtemp(prefix="pdb-agent-code-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    pairs = [
        str(path)
        for script in (INSIDE_SCRIPT, REAPER_SCRIPT)
        for path in (script, folder / f"{script.stem}.pyc")
    ]
    try:
        subprocess.run(
            [python, "-I", "-S", "-c", _COMPILE, *pairs],
            check=True,
            capture_output=True,
            timeout=_COMPILE_SECONDS,
        )
    except (OSError, subprocess.SubprocessError) as error:
        raise SandboxError(f"The sandbox's agent cannot be compiled by {python} ({error}).") from error
    for path in (folder, *folder.iterdir()):
        path.chmod(0o755 if path.is_dir() else 0o644)
    return folder


def resource_limits(limits: Limits) -> dict[str, int]:
    """The limits of each process, by their names in the module ``resource``."""
    return {
        "RLIMIT_DATA": limits.memory_bytes,
        "RLIMIT_AS": limits.address_bytes,
        "RLIMIT_CPU": limits.cpu_seconds,
        "RLIMIT_NPROC": limits.processes,
        "RLIMIT_FSIZE": limits.file_bytes,
        "RLIMIT_NOFILE": limits.open_files,
        "RLIMIT_CORE": 0,
    }


def environment_inside(interpreter: TaskInterpreter) -> dict[str, str]:
    """The whole environment of programs inside."""
    return {
        "PATH": interpreter.search_path,
        "HOME": "/tmp",
        "LANG": "C.UTF-8",
        "TZ": "UTC",
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONNOUSERSITE": "1",
    }


def needed_folders(spec: SandboxSpec, interpreter: TaskInterpreter) -> tuple[Path, ...]:
    """What must be readable inside: the interpreter, the agent, and both engines' code."""
    own = (agent_code(spec.python), *mcp_pdb.client.code_for_debuggees())
    return tuple(dict.fromkeys((*interpreter.folders, *own, *spec.readable)))


def make_workspace() -> Path:
    """An empty folder for the host's copy; its path is the workspace's path inside too."""
    workspace = Path(tempfile.mkdtemp(prefix="pdb-")) / "project"
    workspace.mkdir()
    return workspace


def start(
    command: Callable[[int, int], Sequence[str]],
    *,
    user: SandboxUser,
    agent_depth: int,
    inherited: Sequence[int] = (),
) -> Started:
    """Start the process that ``command`` names for the descriptors of control and files.

    Call it from a thread that lives as long as the sandbox: the process is killed
    when the thread that started it ends. Raises SandboxError.
    """
    control, their_control = socket.socketpair()
    files, their_files = socket.socketpair()
    complaints = tempfile.TemporaryFile()  # noqa: SIM115 - it lives as long as the sandbox
    handed = (their_control.fileno(), their_files.fileno())
    rights = user if user.is_dropped else None
    argv = [str(part) for part in command(*handed)]
    with their_control, their_files:
        try:
            process = subprocess.Popen(
                argv,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=complaints,
                pass_fds=(*handed, *inherited),
                env={"PATH": os.defpath, "LANG": "C.UTF-8"},
                cwd="/",
                start_new_session=True,
                user=rights.uid if rights else None,
                group=rights.gid if rights else None,
                extra_groups=[] if rights else None,
            )
        except OSError as error:
            for end in (control, files, complaints):
                end.close()
            raise SandboxError(f"{argv[0]} cannot be started ({error.strerror}).") from error
    return Started(
        process=process, agent_depth=agent_depth, control=control, files=files, complaints=complaints
    )
