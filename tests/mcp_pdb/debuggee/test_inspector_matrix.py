import os
import subprocess
import sys
from pathlib import Path

import pytest
from mcp_pdb.debuggee import inspector

ROOT = Path(__file__).parents[3]
VERSIONS = ("3.8", "3.9", "3.10", "3.11", "3.12", "3.13")


@pytest.fixture(params=[*VERSIONS, "own"])
def interpreter(request):
    if request.param == "own":
        return sys.executable
    path = ROOT / ".targets" / f"py{request.param}" / "bin" / "python"
    if not path.exists():
        pytest.skip(f"no Python {request.param} on this machine; make setup fetches it")
    return str(path)


def test_the_core_promises_hold_on_every_interpreter(interpreter):
    script = ROOT / "tests" / "programs" / "inspector_matrix.py"
    folder = Path(inspector.__file__).parent
    finished = subprocess.run(
        [interpreter, "-W", "error", str(script), str(folder)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        env={**os.environ, "PYTHONUTF8": "1"},
    )
    assert finished.returncode == 0, finished.stdout + finished.stderr
    assert finished.stdout.endswith("0 failed\n")
    assert not finished.stderr


def test_nothing_heavy_is_imported_to_inspect(interpreter):
    code = (
        "import sys, types; before = set(sys.modules); package = types.ModuleType('_mcp_pdb_debuggee');"
        "package.__path__ = [sys.argv[1]]; sys.modules['_mcp_pdb_debuggee'] = package;"
        "from _mcp_pdb_debuggee import inspector, safe_repr;"
        "print(*sorted(set(sys.modules) - before))"
    )
    folder = str(Path(inspector.__file__).parent)
    finished = subprocess.run(
        [interpreter, "-I", "-c", code, folder], capture_output=True, text=True, timeout=60, check=True
    )
    heavy = {
        "typing",
        "inspect",
        "dataclasses",
        "re",
        "ast",
        "enum",
        "threading",
        "ctypes",
        "difflib",
        "json",
    }
    assert not heavy & set(finished.stdout.split())
