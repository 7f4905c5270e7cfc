"""An interpreter that a user without rights may start, at the path that it has."""

import os
from pathlib import Path

import pytest
from pdb_agent.errors import SandboxError
from pdb_agent.sandboxes.host_user import check_open
from pdb_agent.sandboxes.interpreters import examine, task_interpreter

SYSTEM_PYTHON = Path("/usr/bin/python3")


def python_open_to_all() -> Path:
    """Skips the test where root has nothing but Pythons below closed folders."""
    for candidate in (task_interpreter(), SYSTEM_PYTHON):
        if candidate.exists():
            try:
                if os.geteuid() == 0:
                    check_open(examine(candidate).folders)
            except SandboxError:
                continue
            return candidate
    pytest.skip("every Python here lies below a folder that is closed to other users")


@pytest.fixture(scope="session")
def open_python() -> Path:
    return python_open_to_all()
