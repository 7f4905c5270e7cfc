"""The commands as a person runs them."""

import os
import pty
import re
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest
from mcp_pdb.diagnose import Command, understand
from mcp_pdb.reanchor import reanchor
from mcp_pdb.records import Breakpoint, BreakpointSpec

MCP_PDB = [sys.executable, "-m", "mcp_pdb"]
FAILING = """
    def average(numbers):
        return sum(numbers) / len(numbers)


    def test_empty():
        assert average([]) == 0


    def test_two():
        assert average([1, 2]) == 1.5
"""


def run(*arguments: str, cwd: Path | None = None) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [*MCP_PDB, *arguments], cwd=cwd, capture_output=True, text=True, timeout=60, check=False
    )


def test_help_answers_in_well_under_a_second():
    began = time.perf_counter()
    finished = run("--help")
    assert time.perf_counter() - began < 0.9
    assert finished.returncode == 0
    assert all(command in finished.stdout for command in ("serve", "demo", "diagnose", "doctor"))


def test_the_demo_shows_a_whole_session_and_its_cause():
    finished = run("demo")
    assert finished.returncode == 0, finished.stderr
    said = finished.stdout
    assert "raised: AssertionError: 13.5 != 21.15" in said
    assert re.search(r"breakpoint 1: prices\.py:\d+ in discounted", said)
    assert "returned: discounted() -> 13.5" in said
    assert "So discounted() subtracts the percentage itself" in said


def test_diagnose_prints_the_post_mortem_of_a_failing_test(tmp_path: Path):
    (tmp_path / "test_average.py").write_text(textwrap.dedent(FAILING), encoding="utf-8")
    finished = run("diagnose", "--python", sys.executable, "--", "pytest", "test_average.py", cwd=tmp_path)
    assert finished.returncode == 1
    assert "raised: ZeroDivisionError: division by zero" in finished.stdout
    assert "#1 test_average.py:7 in test_empty" in finished.stdout
    assert "numbers = " in finished.stdout


def test_diagnose_is_silent_about_what_succeeds_but_its_end(tmp_path: Path):
    (tmp_path / "test_average.py").write_text(textwrap.dedent(FAILING), encoding="utf-8")
    words = (
        "diagnose",
        "--python",
        sys.executable,
        "--",
        "python",
        "-m",
        "pytest",
        "-k",
        "two",
        "test_average.py",
    )
    finished = run(*words, cwd=tmp_path)
    assert finished.returncode == 0, finished.stdout
    assert "exited with code 0" in finished.stdout


def test_diagnose_follows_a_script_and_its_arguments(tmp_path: Path):
    (tmp_path / "script.py").write_text("import sys\nraise ValueError(sys.argv[1])\n", encoding="utf-8")
    finished = run(
        "diagnose", "--python", sys.executable, "--", "python", "script.py", "--loud", cwd=tmp_path
    )
    assert finished.returncode == 1
    assert "raised: ValueError: --loud" in finished.stdout


def test_diagnose_without_a_command_says_how():
    finished = run("diagnose")
    assert finished.returncode == 2
    assert finished.stdout == "diagnose takes a command: mcp-pdb diagnose -- pytest tests/test_x.py::test_y\n"


@pytest.mark.parametrize(
    ("words", "command"),
    [
        ("pytest -k two", Command(target="", args=("-k", "two"), kind="pytest")),
        ("pytest a.py::test_b -x", Command(target="a.py::test_b", args=("-x",), kind="pytest")),
        ("python -m pytest a.py::b", Command(target="a.py::b", kind="pytest")),
        (
            "./bin/python3 -m shop.run -v",
            Command(target="-m shop.run", args=("-v",), kind="module", python="./bin/python3"),
        ),
        ("python -m unittest a.B.test_c", Command(target="a.B.test_c", kind="unittest")),
        ("python -c 1/0", Command(target="1/0", kind="code")),
        ("script.py one", Command(target="script.py", args=("one",), kind="script")),
    ],
)
def test_a_command_line_is_understood(words: str, command: Command):
    assert understand(words.split()) == command


def test_the_doctor_tries_both_engines(tmp_path: Path):
    finished = run("doctor", "--python", sys.executable, cwd=tmp_path)
    assert finished.returncode == 0, finished.stdout
    assert "engine pdb: works" in finished.stdout
    assert "engine debugpy: works" in finished.stdout
    assert "pytest (for pytest targets): installed" in finished.stdout


def test_the_doctor_says_what_is_wrong_with_an_interpreter(tmp_path: Path):
    finished = run("doctor", "--python", str(tmp_path / "absent"), cwd=tmp_path)
    assert finished.returncode == 1
    assert finished.stdout.splitlines()[-1].startswith("interpreter: ")


def test_on_a_terminal_the_server_says_how_to_register_it():
    ours, theirs = pty.openpty()
    process = subprocess.Popen(MCP_PDB, stdin=theirs, stdout=theirs, stderr=subprocess.PIPE, text=True)
    os.close(theirs)
    with process:
        assert process.stderr is not None
        assert "MCP server" in process.stderr.readline()
        assert "claude mcp add pdb -- mcp-pdb" in "".join(process.stderr.readline() for _ in range(2))
        os.close(ours)
        process.stderr.read()
        assert process.wait(10) in (0, 129)


def test_a_breakpoint_follows_its_line_and_says_so_or_says_that_it_is_gone(tmp_path: Path):
    file = tmp_path / "a.py"
    file.write_text("one\nnew\ntwo\nthree\n", encoding="utf-8")

    def bound(line: int, text: str, at: str = "") -> tuple[BreakpointSpec, Breakpoint]:
        at = at or f"a.py:{line}"
        found = Breakpoint(id=line, at=at, file=str(file), line=line, function="f", text=text)
        return BreakpointSpec(at=at, condition="x"), found

    specs, notes = reanchor(
        [bound(1, "one"), bound(2, "two"), bound(3, "gone"), bound(4, "f", at="module.f")]
    )
    assert [spec.at for spec in specs] == [f"{file}:1", f"{file}:3", "a.py:3", "module.f"]
    assert {spec.condition for spec in specs} == {"x"}
    assert notes == (
        "breakpoint a.py:2 moved to line 3: the file was edited",
        "breakpoint a.py:3: its line was edited; it is asked for by number again",
    )
