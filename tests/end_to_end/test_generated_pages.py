"""The reference and the transcripts in the documentation are what the server says today."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.slow
def test_make_docs_would_change_nothing() -> None:
    finished = subprocess.run(
        [sys.executable, "tools/reference.py", "--check"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )

    assert finished.returncode == 0, finished.stderr
