"""Which Python runs the programs inside, and which folders it needs there."""

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from pdb_agent.errors import SandboxError

VARIABLE = "PDB_AGENT_PYTHON"
"""Names the interpreter for tasks; it needs pytest and nothing else."""
_TARGETS = ".targets"
_ASK = (
    "import importlib.util as u, json, sys; print(json.dumps({"
    "'version': '%d.%d' % sys.version_info[:2], 'prefix': sys.prefix, 'base': sys.base_prefix, "
    "'has_pytest': u.find_spec('pytest') is not None}))"
)
_ASK_SECONDS = 30.0


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskInterpreter:
    """A Python for programs inside."""

    path: Path
    version: str
    """Major and minor, such as 3.12."""
    prefix: Path
    base_prefix: Path
    has_pytest: bool

    @property
    def folders(self) -> tuple[Path, ...]:
        """What must be readable inside besides /usr."""
        prefixes = dict.fromkeys((self.base_prefix, self.prefix))
        return tuple(prefix for prefix in prefixes if not prefix.is_relative_to("/usr"))

    @property
    def search_path(self) -> str:
        """PATH for programs inside."""
        own = dict.fromkeys((self.prefix / "bin", self.base_prefix / "bin"))
        return ":".join([*map(str, own), "/usr/bin", "/bin"])


def task_interpreter(version: str | None = None) -> Path:
    """The Python for tasks: PDB_AGENT_PYTHON, the checkout's, or the one that runs this.

    ``version`` such as "3.12" asks for that one. Raises SandboxError when there is none.
    """
    candidates: list[Path] = []
    if named := os.environ.get(VARIABLE):
        candidates.append(Path(named))
    here = Path(__file__).resolve()
    wanted = version or f"{sys.version_info.major}.{sys.version_info.minor}"
    candidates += [folder / _TARGETS / f"py{wanted}" / "bin" / "python" for folder in here.parents]
    candidates.append(Path(sys.executable))
    for path in candidates:
        if path.exists() and (version is None or examine(path).version == version):
            return path
    raise SandboxError(
        f"There is no Python {wanted} for tasks: in a checkout run make setup, elsewhere set {VARIABLE} to "
        "the python of an environment that has pytest."
    )


@cache
def examine(path: Path) -> TaskInterpreter:
    """Ask an interpreter what it is. Raises SandboxError when it does not run."""
    try:
        answer = subprocess.run(
            [path, "-I", "-c", _ASK], capture_output=True, check=True, timeout=_ASK_SECONDS, text=True
        ).stdout
    except (OSError, subprocess.SubprocessError) as error:
        raise SandboxError(f"{path} does not run ({error}): set {VARIABLE} to another Python.") from error
    facts = json.loads(answer)
    return TaskInterpreter(
        path=path,
        version=facts["version"],
        prefix=Path(facts["prefix"]),
        base_prefix=Path(facts["base"]),
        has_pytest=facts["has_pytest"],
    )
