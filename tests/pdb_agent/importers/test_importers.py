"""Importers, on small folders of the same shapes as the data sets."""

import argparse
import io
import json
import subprocess
from pathlib import Path
from textwrap import dedent

import anyio
import pytest
import tomllib
from pdb_agent.errors import ImportFormatError
from pdb_agent.importers import commands, git_pair, human_eval_fix, mini_nightmare, quixbugs
from pdb_agent.importers.provenance import rules_not_applicable
from pdb_agent.importers.trial import Bench
from pdb_agent.patches import apply_patch
from pdb_agent.task_files import load_all, load_task, read_task_table
from pdb_agent.validation import validating
from pdb_agent.validation.depth import QUICK

pytestmark = [pytest.mark.anyio, pytest.mark.slow]
LICENCE = "A licence\n\nPermission is hereby granted, free of charge, to everybody.\n"


@pytest.fixture
def anyio_backend():
    return "asyncio"


def lay(folder: Path, files: dict[str, str]) -> Path:
    for path, text in files.items():
        target = folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(dedent(text).lstrip("\n"), "utf-8")
    return folder


def text_of(task, path):
    return task.workspace[path].decode()


DOUBLE_TEST = """
    import pytest
    from load_testdata import load_json_testcases

    if pytest.use_correct:
        from correct_python_programs.double import double
    else:
        from python_programs.double import double


    testdata = load_json_testcases(double.__name__)


    @pytest.mark.parametrize("input_data,expected", testdata)
    def test_double(input_data, expected):
        if input_data == [9, 9]:
            pytest.skip("slow")
        assert double(*input_data) == expected
    """
CHAIN_TEST = """
    import pytest
    from node import Node

    if pytest.use_correct:
        from correct_python_programs.chain import chain
    else:
        from python_programs.chain import chain

    end = Node(2)


    def test1():
        assert chain(end) == 1


    def test2():
        assert chain(Node(1, end)) == 2
    """


@pytest.fixture
def quixbugs_folder(tmp_path):
    node = "class Node:\n    def __init__(self, value, successor=None):\n        self.successor = successor\n"
    loop = "    while node:\n        count += 1\n        node = node.successor\n    return count\n"
    chain = "def chain(node):\n    count = {}\n" + loop
    return lay(
        tmp_path / "source",
        {
            "LICENSE": LICENCE,
            "python_programs/node.py": node,
            "python_programs/double.py": "def double(number, more):\n    return number * more\n",
            "correct_python_programs/double.py": "def double(number, more):\n    return number + more\n",
            "python_testcases/test_double.py": DOUBLE_TEST,
            "json_testcases/double.json": "[[1, 2], 3]\n[[2, 2], 4]\n[[9, 9], 18]\n[[3, 4], 7]\n\n",
            "python_programs/chain.py": chain.format(1),
            "correct_python_programs/chain.py": chain.format(0),
            "python_testcases/test_chain.py": CHAIN_TEST,
            "python_programs/bitcount.py": "def bitcount(n):\n    while n:\n        n = n\n    return 0\n",
            "correct_python_programs/bitcount.py": "def bitcount(n):\n    return bin(n).count('1')\n",
            "python_testcases/test_bitcount.py": DOUBLE_TEST.replace("double", "bitcount"),
            "json_testcases/bitcount.json": "[[1], 1]\n[[0], 0]\n",
            "python_programs/orphan.py": "def orphan():\n    return 1\n",
            "python_testcases/test_orphan.py": "def test1():\n    pass\n",
            "python_programs/crooked.py": "x = 1\n",
            "correct_python_programs/crooked.py": "x = 2\n",
            "python_testcases/test_crooked.py": "def test1(:\n",
        },
    )


async def test_quixbugs_programs_become_tasks_of_a_test_a_line(quixbugs_folder, tmp_path):
    report = await quixbugs.import_tasks(quixbugs_folder, tmp_path / "out", Bench())
    task = load_task(tmp_path / "out" / "quixbugs_double")

    assert [task.id for task in report.tasks] == ["quixbugs_bitcount", "quixbugs_chain", "quixbugs_double"]
    assert "assert double(1, 2) == 3" in text_of(task, "tests/test_double.py")
    assert "double(3, 4) == 7" in task.hidden["test_double.py"].decode()
    assert task.fail_to_pass == ("tests/test_double.py::test_case_1",)
    assert task.pass_to_pass == ("tests/test_double.py::test_case_2",)
    assert task.editable == ("python_programs/double.py",)
    assert b"number + more" in apply_patch(task.solution, task.workspace)["python_programs/double.py"]


async def test_nothing_of_the_corrected_quixbugs_programs_is_in_a_workspace(quixbugs_folder, tmp_path):
    await quixbugs.import_tasks(quixbugs_folder, tmp_path / "out", Bench())
    tasks = load_all(tmp_path / "out")

    assert len(tasks) == 3
    for task in tasks:
        assert not any("correct" in path for path in task.workspace)
        assert b"use_correct" not in b"".join(task.workspace.values())


async def test_a_quixbugs_case_that_is_skipped_as_slow_is_left_out(quixbugs_folder, tmp_path):
    await quixbugs.import_tasks(quixbugs_folder, tmp_path / "out", Bench())
    task = load_task(tmp_path / "out" / "quixbugs_double")

    assert b"double(9, 9)" not in b"".join([*task.workspace.values(), *task.hidden.values()])


async def test_a_program_that_hangs_has_a_short_limit_and_says_so(quixbugs_folder, tmp_path):
    report = await quixbugs.import_tasks(quixbugs_folder, tmp_path / "out", Bench())
    task = load_task(tmp_path / "out" / "quixbugs_bitcount")

    assert task.limits.test_seconds == 3.0
    assert "V6" in report.tasks[0].rules_not_applicable
    assert "1 of its tests do not end before the solution" in report.tasks[0].notes[0]


async def test_what_cannot_be_read_is_skipped_with_file_and_line(quixbugs_folder, tmp_path):
    report = await quixbugs.import_tasks(quixbugs_folder, tmp_path / "out", Bench())

    assert {skipped.origin: skipped.reason for skipped in report.skipped} == {
        "python_programs/crooked.py": "python_testcases/test_crooked.py, line 1 is not Python: leave it out",
        "python_programs/orphan.py": "correct_python_programs/orphan.py is missing",
    }


async def test_where_tasks_come_from_is_recorded(quixbugs_folder, tmp_path):
    report = await quixbugs.import_tasks(quixbugs_folder, tmp_path / "out", Bench())
    record = tomllib.loads((tmp_path / "out" / "import.toml").read_text("utf-8"))

    assert record["kind"] == "quixbugs"
    assert record["licence_file"] == "LICENSE"
    assert len(record["licence_sha256"]) == 64
    assert (tmp_path / "out" / "LICENSE.quixbugs").read_text("utf-8") == LICENCE
    assert [task["id"] for task in record["task"]] == [task.id for task in report.tasks]
    assert record["task"][0]["content_hash"] == load_task(tmp_path / "out" / "quixbugs_bitcount").content_hash
    assert len(record["skipped"]) == 2
    assert rules_not_applicable(tmp_path / "out" / "quixbugs_chain") == {"V4", "V8", "V11", "V12", "V16"}
    assert rules_not_applicable(tmp_path / "quixbugs_chain") == set()


def record_of(**changes):
    record = {
        "task_id": "Python/7",
        "prompt": 'def twice(number):\n    """Twice the number."""\n',
        "canonical_solution": "    return half(number) * 4\n\n\ndef half(number):\n    return number / 2\n",
        "buggy_solution": "    return half(number) * 3\n\n\ndef half(number):\n    return number / 2\n",
        "test": "\n\ndef check(candidate):\n    assert candidate(0) == 0\n"
        "    assert candidate(1) == 2, 'one'\n"
        "    assert True, 'says nothing'\n    for number in range(3):\n"
        "        assert candidate(number) == 4 * half(number)\n\ncheck(twice)",
        "entry_point": "twice",
        "bug_type": "value misuse",
        "failure_symptoms": "incorrect output",
    }
    return json.dumps(record | changes)


async def test_a_humanevalfix_record_becomes_a_task_with_a_test_for_each_assertion(tmp_path):
    source = tmp_path / "pack.jsonl"
    source.write_text(record_of() + "\n", "utf-8")
    report = await human_eval_fix.import_tasks(source, tmp_path / "out", Bench())
    task = load_task(tmp_path / "out" / "humanevalfix_python_7")

    assert report.skipped == ()
    assert task.fail_to_pass == ("tests/test_twice.py::test_case_2",)
    assert "def test_the_rest" in task.hidden["test_twice.py"].decode()
    assert text_of(task, "tests/test_twice.py").startswith("from twice import half, twice\n")
    assert "assert twice(1) == 2, 'one'" in text_of(task, "tests/test_twice.py")


async def test_a_humanevalfix_record_that_hangs_has_a_short_limit(tmp_path):
    source = tmp_path / "pack.jsonl"
    endless = "    while number:\n        pass\n    return 0\n"
    solved = "    return 2 * number\n"
    test = "def check(twice):\n    assert twice(0) == 0\n    assert twice(1) == 2\ncheck(twice)"
    line = record_of(task_id="Python/156", buggy_solution=endless, canonical_solution=solved, test=test)
    source.write_text(line, "utf-8")
    await human_eval_fix.import_tasks(source, tmp_path / "out", Bench())

    assert load_task(tmp_path / "out" / "humanevalfix_python_156").limits.test_seconds == 3.0


async def test_each_line_that_is_no_record_is_told_and_the_others_are_kept(tmp_path):
    source = tmp_path / "pack.jsonl"
    lines = [
        "{broken",
        record_of(),
        record_of(entry_point="os.system"),
        record_of(task_id="Python/8", test="assert True"),
        record_of(
            task_id="Python/9",
            buggy_solution="    return half(number) * 4\n\n\ndef half(number):\n    return number / 2\n",
        ),
        record_of(task_id="Python/11", test=""),
    ]
    source.write_text("\n".join(lines), "utf-8")
    report = await human_eval_fix.import_tasks(source, tmp_path / "out", Bench())

    assert [task.id for task in report.tasks] == ["humanevalfix_python_7"]
    assert [skipped.origin.partition(",")[2].strip()[:6] for skipped in report.skipped] == [
        "line 1",
        "line 3",
        "line 4",
        "line 5",
        "line 6",
    ]
    assert report.skipped[3].reason == "no test fails before the solution"
    assert report.skipped[4].reason.endswith("lacks test")


@pytest.fixture
def nightmare_folder(tmp_path):
    tests = """
        import unittest

        from tally_code import Tally


        class TestTally(unittest.TestCase):
            def setUp(self):
                self.tally = Tally()

            def test_one(self):
                self.tally.add(1)
                self.assertEqual(self.tally.total, 1)

            def test_none(self):
                self.assertEqual(self.tally.total, 0)
                with self.assertRaises(ValueError):
                    self.tally.add(-1)


        if __name__ == "__main__":
            unittest.main()
        """
    program = """
        class Tally:
            def __init__(self):
                self.total = 0

            def add(self, number):
                if number < 0:
                    raise ValueError(number)
                self.total += 2 * number
        """
    reading = "def test_read():\n    assert open('lines.txt').read() == 'two'\n"
    return lay(
        tmp_path / "mini_nightmare",
        {
            "mini_nightmare.md": "Hint: the factor 2 in add.\n",
            "tally/test.py": tests,
            "tally/tally_code.py": program,
            "tally/.debugignore": "x\n",
            "tally/HINT.md": "the factor\n",
            "reading/test.py": reading,
            "reading/reading_code.py": "x = 1\n",
            "reading/lines.txt": "one\n",
            "modern/test.py": "import absent_module\n\n\ndef test_it():\n    assert False\n",
            "modern/modern_code.py": "x = 1\n",
            "own/test.py": "import unittest\n\n\nclass A(unittest.TestCase):\n    def a(self):\n        0\n",
            "own/own_code.py": "x = 1\n",
        },
    )


async def test_a_nightmare_is_graded_by_its_own_tests_and_says_which_rules_do_not_apply(
    nightmare_folder, tmp_path
):
    report = await mini_nightmare.import_tasks(nightmare_folder, tmp_path / "out", Bench())
    task = load_task(tmp_path / "out" / "mini_nightmare_tally")

    assert [task.id for task in report.tasks] == ["mini_nightmare_reading", "mini_nightmare_tally"]
    assert task.solution.text == ""
    assert task.fail_to_pass == ("tests/test_tally.py::test_one",)
    assert task.pass_to_pass == ("tests/test_tally.py::test_none",)
    assert task.hidden["test_tally.py"] == task.workspace["tests/test_tally.py"]
    assert "assert self.tally.total == 1" in text_of(task, "tests/test_tally.py")
    assert {"V2", "V3", "V9", "V14"} <= set(report.tasks[1].rules_not_applicable)
    assert "graded by its own tests" in report.tasks[1].notes[0]


async def test_hints_of_a_nightmare_are_not_copied_but_its_data_is(nightmare_folder, tmp_path):
    await mini_nightmare.import_tasks(nightmare_folder, tmp_path / "out", Bench())
    tally, reading = (load_task(tmp_path / "out" / f"mini_nightmare_{name}") for name in ("tally", "reading"))

    assert set(tally.workspace) == {"README.md", "pytest.ini", "tally_code.py", "tests/test_tally.py"}
    assert b"factor" not in b"".join(tally.workspace.values())
    assert reading.workspace["lines.txt"] == b"one\n"


async def test_a_nightmare_that_cannot_run_here_is_skipped_with_the_reason(nightmare_folder, tmp_path):
    report = await mini_nightmare.import_tasks(nightmare_folder, tmp_path / "out", Bench())
    reasons = {skipped.origin: skipped.reason for skipped in report.skipped}

    assert "absent_module" in reasons["modern"]
    assert reasons["own"] == "own/test.py, line 5: only setUp and test methods can be read"


def git(folder: Path, *arguments: str) -> str:
    identity = ["-c", "user.name=A", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false"]
    result = subprocess.run(
        ["git", *identity, "-C", folder, *arguments], check=True, capture_output=True, text=True
    )
    return result.stdout.strip()


@pytest.fixture
def repository(tmp_path):
    folder = lay(
        tmp_path / "Sums",
        {
            "LICENSE": LICENCE,
            "CHANGELOG.md": "what changed\n",
            ".github/workflow.yml": "x: 1\n",
            "src/sums/__init__.py": "",
            "src/sums/plain.py": "def add(one, two):\n    return one + two + 1\n",
            "src/sums/gone.py": "x = 1\n",
            "test/conftest.py": "import pytest\n\n\n@pytest.fixture\ndef ten():\n    return 10\n",
            "test/sample.txt": "sample\n",
            "test/plain_test.py": "from sums.plain import add\n\n\ndef test_it():\n    assert add(0, 0)\n",
        },
    )
    git(folder, "init", "-q")
    git(folder, "add", ".")
    git(folder, "commit", "-qm", "Add sums")
    lay(
        folder,
        {
            "src/sums/plain.py": "def add(one, two):\n    return one + two\n",
            "src/sums/more.py": "y = 2\n",
            "test/plain_test.py": """
                from sums.plain import add

                SIX = 6


                def test_small():
                    assert add(1, 2) == 3


                def test_larger():
                    assert add(4, 2) == SIX


                def test_text():
                    assert add.__name__ == "add"


                def test_fixture(ten):
                    assert add(ten, 1) == 11


                class TestMore:
                    def test_more(self):
                        assert add(1, 1) == 2
                """,
        },
    )
    (folder / "src/sums/gone.py").unlink()
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", "Add without one more")
    return folder


async def test_a_pair_of_commits_becomes_a_task(repository, tmp_path):
    report = await git_pair.import_tasks(repository, tmp_path / "out", Bench(), buggy="HEAD~1", fixed="HEAD")
    (imported,) = report.tasks
    task = load_task(tmp_path / "out" / imported.id)
    solved = apply_patch(task.solution, task.workspace)

    assert task.fail_to_pass == ("tests/test_plain.py::test_small",)
    assert task.pass_to_pass == ("tests/test_plain.py::test_text",)
    assert "test_larger" in task.hidden["test_plain.py"].decode()
    assert "test_larger" not in text_of(task, "tests/test_plain.py")
    assert text_of(task, "sums/plain.py").endswith("one + two + 1\n")
    assert solved["sums/plain.py"].endswith(b"one + two\n")
    assert solved["sums/more.py"] == b"y = 2\n"
    assert "sums/gone.py" not in solved
    assert task.workspace["tests/sample.txt"] == b"sample\n"


async def test_what_tells_of_changes_and_what_grading_does_not_run_is_left_out_of_a_pair(
    repository, tmp_path
):
    report = await git_pair.import_tasks(repository, tmp_path / "out", Bench(), buggy="HEAD~1", fixed="HEAD")
    task = load_task(tmp_path / "out" / report.tasks[0].id)

    assert not {"CHANGELOG.md", "tests/conftest.py", ".github/workflow.yml"} & set(task.workspace)
    assert report.tasks[0].notes == (
        "test/plain_test.py, line 22: tests in the class TestMore are left out",
        "tests/test_plain.py::test_fixture does not pass with the solution",
    )


async def test_the_commit_of_a_pair_is_recorded(repository, tmp_path):
    await git_pair.import_tasks(repository, tmp_path / "out", Bench(), buggy="HEAD~1", fixed="HEAD")
    record = tomllib.loads((tmp_path / "out" / "import.toml").read_text("utf-8"))

    assert record["commit"] == git(repository, "rev-parse", "HEAD")
    assert record["task"][0]["origin"].startswith("Sums ")


async def test_a_commit_that_is_not_there_is_refused(repository, tmp_path):
    with pytest.raises(ImportFormatError, match="give a repository and commits that it has"):
        await git_pair.import_tasks(repository, tmp_path / "out", Bench(), buggy="--help", fixed="HEAD")


async def test_an_exception_by_which_tests_fail_is_declared(tmp_path):
    source = tmp_path / "pack.jsonl"
    test = "def check(twice):\n    assert twice(0) == 0\n    assert twice(1) == 2\ncheck(twice)"
    source.write_text(
        record_of(
            buggy_solution="    return {0: 0}[number]\n",
            canonical_solution="    return 2 * number\n",
            test=test,
        ),
        "utf-8",
    )
    await human_eval_fix.import_tasks(source, tmp_path / "out", Bench())

    assert read_task_table(tmp_path / "out" / "humanevalfix_python_7").declared_errors == ["KeyError"]


async def test_a_destination_with_something_in_it_or_in_the_own_tasks_is_refused(quixbugs_folder, tmp_path):
    lay(tmp_path, {"full/file": "x\n", "checkout/packages/agent/x": "x\n", "checkout/tasks/x": "x\n"})

    with pytest.raises(ImportFormatError, match="holds something already"):
        await quixbugs.import_tasks(quixbugs_folder, tmp_path / "full", Bench())
    with pytest.raises(ImportFormatError, match="the repository's own tasks"):
        await quixbugs.import_tasks(quixbugs_folder, tmp_path / "checkout" / "tasks" / "new", Bench())


@pytest.mark.parametrize("kind", ["quixbugs", "humanevalfix", "mini-nightmare", "git"])
def test_the_command_says_what_a_source_lacks(kind, tmp_path):
    out = io.StringIO()
    arguments = argparse.Namespace(kind=kind, source=tmp_path, to=tmp_path / "out", buggy="a", fixed="b")

    assert commands.run(arguments, out) == 1
    assert "give" in out.getvalue()
    assert not (tmp_path / "out").exists()


def test_the_command_tells_what_was_written_and_what_was_skipped(nightmare_folder, tmp_path):
    out = io.StringIO()
    arguments = argparse.Namespace(kind="mini-nightmare", source=nightmare_folder, to=tmp_path / "out")

    assert commands.run(arguments, out) == 0
    assert "mini_nightmare_tally: rules that cannot apply: V2" in out.getvalue()
    assert "skipped own: own/test.py, line 5" in out.getvalue()
    assert "2 tasks written" in out.getvalue()


async def complaints_of(folder: Path) -> list[str]:
    bench = validating.Bench(limiter=anyio.CapacityLimiter(1), tell=lambda step: None)
    report = await validating.validate_folder(folder, [], bench, QUICK)
    return [f"{complaint.rule}: {complaint.text}" for complaint in report.complaints]


async def test_an_imported_task_is_validated_by_the_rules_that_can_apply_to_it(quixbugs_folder, tmp_path):
    report = await quixbugs.import_tasks(quixbugs_folder, tmp_path / "out", Bench())
    task = next(task for task in report.tasks if "V6" not in task.rules_not_applicable)
    assert await complaints_of(tmp_path / "out" / task.id) == []


async def test_an_imported_task_without_a_solution_is_validated_too(nightmare_folder, tmp_path):
    await mini_nightmare.import_tasks(nightmare_folder, tmp_path / "out", Bench())
    assert await complaints_of(tmp_path / "out" / "mini_nightmare_tally") == []
