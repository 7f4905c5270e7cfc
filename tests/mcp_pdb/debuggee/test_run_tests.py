"""Tests run under pytest and unittest: what is told, what is stopped at, what is switched off."""

import venv

import pytest

from tests.mcp_pdb.debuggee.conftest import Project

SUITE = """
    import unittest

    import pytest


    @pytest.fixture
    def resource():
        yield "open"


    @pytest.fixture
    def breaks_setup():
        raise LookupError("no setup")


    @pytest.fixture
    def breaks_teardown():
        yield
        raise LookupError("no teardown")


    def test_passes(capsys, resource):
        print("captured")
        assert capsys.readouterr().out == "captured\\n"


    def test_fails():
        total = 3
        assert total == 4


    @pytest.mark.parametrize("value", [1, 2], ids=["one", "two"])
    def test_values(value):
        assert value == 1


    @pytest.mark.skip(reason="not now")
    def test_skipped():
        raise AssertionError


    @pytest.mark.xfail
    def test_expected():
        raise AssertionError("as expected")


    def test_setup(breaks_setup):
        pass


    def test_teardown(breaks_teardown):
        pass


    class TestGroup:
        def test_method(self):
            assert self.helper() == 1

        def helper(self):
            return 2


    class OldStyle(unittest.TestCase):
        def test_old(self):
            self.assertEqual([1], [2])
"""

UNITTESTS = """
    import unittest


    class Sums(unittest.TestCase):
        def setUp(self):
            self.values = [1, 2]

        def tearDown(self):
            self.values = None

        def test_right(self):
            self.assertEqual(sum(self.values), 3)

        def test_wrong(self):
            self.assertEqual(sum(self.values), 4)

        def test_raises(self):
            raise LookupError(self.values[0])

        @unittest.skip("not now")
        def test_skipped(self):
            pass

        @unittest.expectedFailure
        def test_expected(self):
            self.fail()

        def test_parts(self):
            for value in self.values:
                with self.subTest(value=value):
                    self.assertEqual(value, 1)
"""


def test_every_outcome_of_pytest_is_told(any_project):
    any_project.write("tests/test_suite.py", SUITE)
    run = any_project.run("pytest", "tests/test_suite.py")
    assert run.code == 1
    told = {(note["id"].split("::")[-1], note["outcome"], note["when"]) for note in run.notes("test_result")}
    assert told == {
        ("test_passes", "passed", "call"),
        ("test_fails", "failed", "call"),
        ("test_values[one]", "passed", "call"),
        ("test_values[two]", "failed", "call"),
        ("test_skipped", "skipped", "setup"),
        ("test_expected", "xfailed", "call"),
        ("test_setup", "error", "setup"),
        ("test_teardown", "passed", "call"),
        ("test_teardown", "error", "teardown"),
        ("test_method", "failed", "call"),
        ("test_old", "failed", "call"),
    }
    (summary,) = run.notes("summary")
    assert summary == {"passed": 3, "failed": 4, "skipped": 1, "xfailed": 1, "error": 2}


def test_pytest_stops_at_real_failures_in_user_code_only(any_project):
    any_project.write("tests/test_suite.py", SUITE)
    run = any_project.run("pytest", "tests/test_suite.py")
    stops = [(event["where"], event["type"], event["frames"][0]) for event in run.named("failure")]
    base = "tests/test_suite.py::"
    assert stops == [
        (f"call of {base}test_fails", "AssertionError", ["test_suite.py", "test_fails", 29]),
        (f"call of {base}test_values[two]", "AssertionError", ["test_suite.py", "test_values", 34]),
        (f"setup of {base}test_setup", "LookupError", ["test_suite.py", "breaks_setup", 13]),
        (f"teardown of {base}test_teardown", "LookupError", ["test_suite.py", "breaks_teardown", 19]),
        (f"call of {base}TestGroup::test_method", "AssertionError", ["test_suite.py", "test_method", 57]),
        (f"call of {base}OldStyle::test_old", "AssertionError", ["test_suite.py", "test_old", 65]),
    ]


def test_assertions_are_rewritten_as_without_a_debugger(any_project):
    any_project.write("test_suite.py", SUITE)
    run = any_project.run("pytest", "test_suite.py::test_fails")
    assert run.named("failure")[0]["message"].startswith("assert 3 == 4")


@pytest.mark.parametrize(
    ("target", "args", "selected"),
    [
        ("test_suite.py::test_values[two]", [], ["test_values[two]"]),
        ("test_suite.py::TestGroup::test_method", [], ["TestGroup::test_method"]),
        ("test_suite.py::TestGroup", [], ["TestGroup::test_method"]),
        ("test_suite.py::OldStyle::test_old", [], ["OldStyle::test_old"]),
        ("test_suite.py::test_fails\ntest_suite.py::test_passes", [], ["test_fails", "test_passes"]),
        ("test_suite.py", ["-k", "values and one"], ["test_values[one]"]),
        ("", ["-k", "test_method"], ["TestGroup::test_method"]),
    ],
)
def test_the_tests_asked_for_are_selected_and_the_first_is_the_entry(project, target, args, selected):
    project.write("test_suite.py", SUITE)
    run = project.run("pytest", target, *args)
    (collected,) = run.notes("collected")
    assert collected == {"selected": [f"test_suite.py::{name}" for name in selected], "count": len(selected)}
    (entry,) = run.named("entry")
    assert entry["function"] == selected[0].split("::")[-1].split("[")[0]


def test_the_entry_is_the_authors_function_below_its_decorators(project):
    project.write(
        "test_decorated.py",
        """
        import functools
        from unittest import mock


        def noisy(function):
            @functools.wraps(function)
            def wrapper(*args, **kwargs):
                return function(*args, **kwargs)

            return wrapper


        @noisy
        @mock.patch("os.getcwd")
        def test_patched(getcwd):
            getcwd.return_value = "x"
        """,
    )
    (entry,) = project.run("pytest", "test_decorated.py").named("entry")
    assert (entry["function"], entry["file"]) == ("test_patched", "test_decorated.py")


def test_a_hypothesis_test_is_entered_in_its_own_body(plugin_project):
    plugin_project.write(
        "test_law.py",
        """
        from hypothesis import given, settings, strategies


        @settings(max_examples=2, database=None)
        @given(strategies.integers())
        def test_law(number):
            assert number == number
        """,
    )
    (entry,) = plugin_project.run("pytest", "test_law.py").named("entry")
    assert (entry["function"], entry["file"], entry["line"]) == ("test_law", "test_law.py", 4)


@pytest.mark.parametrize(
    ("asked", "nearest"),
    [
        ("test_suite.py::test_fail", "test_suite.py::test_fails"),
        ("test_suite.py::test_values[three]", "test_suite.py::test_values[two]"),
        ("test_suite.py::TestGroup::test_methods", "test_suite.py::TestGroup::test_method"),
        ("test_suite.py::test_method", "test_suite.py::TestGroup::test_method"),
        ("test_suit.py::test_fails", "test_suite.py::test_fails"),
        ("tests/test_suite.py::test_fails", "test_suite.py::test_fails"),
    ],
)
def test_a_test_that_does_not_exist_is_answered_with_the_nearest_names(project, asked, nearest):
    project.write("test_suite.py", SUITE)
    run = project.run("pytest", asked)
    (missing,) = run.notes("not_found")
    assert missing["asked"] == asked
    assert missing["nearest"][0] == nearest
    assert len(missing["nearest"]) <= 5
    assert run.named("failure") == []
    assert run.code == 4


def test_missing_tests_and_broken_files_are_told_on_every_interpreter(any_project):
    any_project.write("test_suite.py", SUITE)
    any_project.write("test_broken.py", "import os\nimport absent_module\n")
    run = any_project.run("pytest", "test_suite.py::test_fail")
    assert run.notes("not_found")[0]["nearest"][0] == "test_suite.py::test_fails"
    run = any_project.run("pytest", "test_broken.py::test_a")
    assert [error["line"] for error in run.notes("collect_error")] == [2]
    assert run.notes("not_found") == []
    any_project.write("test_sums.py", UNITTESTS)
    run = any_project.run("unittest", "test_sums.Sums.test_wrongly")
    assert run.notes("not_found")[0]["nearest"][0] == "test_sums.Sums.test_wrong"
    run = any_project.run("unittest", "test_broken")
    assert [error["line"] for error in run.notes("collect_error")] == [2]


def test_a_keyword_that_selects_nothing_is_answered_with_what_there_is(project):
    project.write("test_suite.py", SUITE)
    run = project.run("pytest", "test_suite.py", "-k", "absent")
    (missing,) = run.notes("not_found")
    assert missing["asked"] == "test_suite.py -k absent"
    assert "test_suite.py::test_passes" in missing["nearest"]
    assert run.code == 5


def test_a_file_that_holds_no_test_is_said_to_hold_none(project):
    project.write("test_empty.py", "x = 1\n")
    run = project.run("pytest", "test_empty.py")
    assert run.notes("not_found") == [{"what": "test", "asked": "test_empty.py", "nearest": []}]


@pytest.mark.parametrize(
    ("source", "line", "message"),
    [
        ("x = 1\n\ndef test_a(:\n    pass\n", 3, "SyntaxError: invalid syntax"),
        ("import os\nimport absent_module\n", 2, "ModuleNotFoundError: No module named 'absent_module'"),
        ("value = 0\n\ntotal = 1 / value\n", 3, "ZeroDivisionError: division by zero"),
        ("import helper_module\n", 2, "ImportError: not today"),
    ],
)
def test_a_collection_error_has_its_file_and_line(project, source, line, message):
    project.write("helper_module.py", "import os\nraise ImportError('not today')\n")
    project.write("test_broken.py", source)
    run = project.run("pytest", "test_broken.py::test_a")
    (error,) = run.notes("collect_error")
    file = "helper_module.py" if "helper_module" in source else "test_broken.py"
    assert error["file"] == str(project.folder / file)
    assert error["line"] == line
    assert error["message"].startswith(message)
    assert run.notes("not_found") == []
    assert run.named("failure") == []


def test_a_broken_conftest_is_a_collection_error(any_project):
    any_project.write("conftest.py", "import os\n1 / 0\n")
    any_project.write("test_a.py", "def test_a():\n    pass\n")
    (error,) = any_project.run("pytest", "test_a.py").notes("collect_error")
    assert (error["file"], error["line"]) == (str(any_project.folder / "conftest.py"), 2)
    assert error["message"] == "ZeroDivisionError: division by zero"


def test_an_option_that_pytest_does_not_know_is_a_usage_error(project):
    project.write("test_a.py", "def test_a():\n    pass\n")
    run = project.run("pytest", "test_a.py", "--absent-option")
    assert run.notes("usage_error") == [{"message": "unrecognized arguments: --absent-option"}]
    assert run.notes("not_found") == []
    assert run.code == 4


def test_what_would_break_debugging_is_switched_off_and_said(plugin_project):
    plugin_project.write(
        "pytest.ini",
        """
        [pytest]
        addopts = -n 2 --cov=. --cov-report=xml --cov-fail-under=100 --ff --pdb --timeout=9 --strict-config
        timeout = 7
        faulthandler_timeout = 3
        cache_dir = .kept_cache
        filterwarnings = error
        """,
    )
    plugin_project.write(
        "test_suite.py",
        """
        import os
        import sys
        import threading

        import pytest

        ALIVE = os.getpid()


        @pytest.mark.timeout(1)
        def test_surroundings():
            assert "coverage" not in str(sys.gettrace())
            assert threading.active_count() == 1
            assert "PYTEST_XDIST_WORKER" not in os.environ


        def test_fails():
            assert 1 == 2
        """,
    )
    run = plugin_project.run("pytest", "test_suite.py")
    assert run.outcomes == {"test_surroundings": "passed", "test_fails": "failed"}
    assert run.code == 1
    said = " ".join(sentence for note in run.notes("switched_off") for sentence in note)
    for part in ("xdist", "coverage", "pytest-timeout", "faulthandler_timeout", "--pdb", "--ff"):
        assert part in said
    assert all(note[0].endswith(".") for note in run.notes("switched_off"))
    left = {path.name for path in plugin_project.folder.iterdir()} - {"__pycache__"}
    assert left == {"pytest.ini", "test_suite.py"}


@pytest.mark.parametrize(
    "options", ["-n2", "--numprocesses=2", "--dist=load --tx=2*popen", "-d --tx 2*popen"]
)
def test_workers_are_switched_off_however_they_are_asked_for(plugin_project, options):
    plugin_project.write("pytest.ini", f"[pytest]\naddopts = {options}\n")
    source = "import os\n\n\ndef test_a():\n    assert 'PYTEST_XDIST_WORKER' not in os.environ\n"
    plugin_project.write("test_a.py", source)
    run = plugin_project.run("pytest", "test_a.py")
    assert run.outcomes == {"test_a": "passed"}
    assert "pytest-xdist's workers" in run.notes("switched_off")[0][0]


def test_nothing_is_said_to_be_off_that_was_not_on(any_project):
    any_project.write("test_a.py", "def test_a():\n    pass\n")
    run = any_project.run("pytest", "test_a.py")
    assert run.notes("switched_off") == []
    assert not (any_project.folder / ".pytest_cache").exists()


def test_what_a_test_prints_is_seen_at_once_and_not_captured(any_project):
    any_project.write("test_a.py", "def test_a():\n    print('seen from here')\n")
    assert "seen from here\n" in any_project.run("pytest", "test_a.py").stdout


def test_a_thread_that_dies_in_a_test_is_a_failure_there(any_project):
    any_project.write(
        "test_a.py",
        """
        import threading


        def test_a():
            thread = threading.Thread(target=lambda: 1 / 0)
            thread.start()
            thread.join()
        """,
    )
    run = any_project.run("pytest", "test_a.py")
    (failure,) = run.named("failure")
    assert failure["type"] == "ZeroDivisionError"
    assert failure["frames"][-1] == ["test_a.py", "<lambda>", 5]


def test_pytest_being_absent_is_said(project):
    project.write("test_a.py", "def test_a():\n    pass\n")
    environment = project.folder.parent / "bare"
    venv.create(environment, with_pip=False, symlinks=True)
    python = str(environment / "bin" / "python")
    run = Project(project.folder, python).run("pytest", "test_a.py")
    command = f"{python} -m pip install pytest"
    assert run.notes("missing") == [{"package": "pytest", "interpreter": python, "command": command}]
    assert run.code == 4
    assert run.stderr == ""


def test_every_outcome_of_unittest_is_told(any_project):
    any_project.write("test_sums.py", UNITTESTS)
    run = any_project.run("unittest", "test_sums")
    assert run.code == 1
    told = {(note["id"].split(".")[-1], note["outcome"]) for note in run.notes("test_result")}
    assert told == {
        ("test_right", "passed"),
        ("test_wrong", "failed"),
        ("test_raises", "error"),
        ("test_skipped", "skipped"),
        ("test_expected", "xfailed"),
        ("test_parts (value=2)", "failed"),
    }
    (summary,) = run.notes("summary")
    assert summary == {"passed": 1, "failed": 2, "error": 1, "skipped": 1, "xfailed": 1}


def test_unittest_stops_at_failures_before_the_test_is_torn_down(any_project):
    any_project.write("test_sums.py", UNITTESTS)
    run = any_project.run("unittest", "test_sums")
    stops = {event["where"]: (event["type"], event["frames"][0][:2]) for event in run.named("failure")}
    prefix = "test_sums.Sums."
    assert stops == {
        prefix + "test_wrong": ("AssertionError", ["test_sums.py", "test_wrong"]),
        prefix + "test_raises": ("LookupError", ["test_sums.py", "test_raises"]),
        prefix + "test_parts (value=2)": ("AssertionError", ["test_sums.py", "test_parts"]),
    }
    assert {event["values"] for event in run.named("failure")} == {"[1, 2]"}


def test_a_failure_of_a_class_fixture_of_unittest_is_stopped_at(any_project):
    any_project.write(
        "test_class.py",
        """
        import unittest


        class Broken(unittest.TestCase):
            @classmethod
            def setUpClass(cls):
                raise LookupError("no class")

            def test_a(self):
                pass
        """,
    )
    run = any_project.run("unittest", "test_class")
    (failure,) = run.named("failure")
    assert failure["frames"] == [["test_class.py", "setUpClass", 7]]
    assert run.notes("summary") == [{"error": 1}]


@pytest.mark.parametrize(
    ("target", "args", "selected"),
    [
        ("test_sums.Sums.test_right", [], ["test_right"]),
        ("test_sums.Sums", ["-k", "wrong"], ["test_wrong"]),
        ("discover", ["-p", "*_sums.py", "-k", "wrong"], ["test_wrong"]),
        ("", ["-k", "right"], ["test_right"]),
        ("test_sums.py", ["-k", "right"], ["test_right"]),
        ("test_sums.py::Sums::test_right", [], ["test_right"]),
        ("test_sums.Sums.test_wrong\ntest_sums.Sums.test_right", ["-b"], ["test_wrong", "test_right"]),
    ],
)
def test_the_unittests_asked_for_are_selected_and_the_first_is_the_entry(project, target, args, selected):
    project.write("test_sums.py", UNITTESTS)
    run = project.run("unittest", target, *args)
    (collected,) = run.notes("collected")
    assert [name.split(".")[-1] for name in collected["selected"]] == selected
    (entry,) = run.named("entry")
    assert entry["function"] == selected[0]
    assert bool(run.notes("switched_off")) == ("-b" in args)


@pytest.mark.parametrize(
    ("asked", "nearest"),
    [
        ("test_sums.Sums.test_wrongly", "test_sums.Sums.test_wrong"),
        ("test_sums.Sum.test_wrong", "test_sums.Sums.test_wrong"),
        ("test_sum.Sums.test_wrong", "test_sums"),
        ("tests_sums", "test_sums"),
    ],
)
def test_a_unittest_that_does_not_exist_is_answered_with_the_nearest_names(project, asked, nearest):
    project.write("test_sums.py", UNITTESTS)
    run = project.run("unittest", asked)
    (missing,) = run.notes("not_found")
    assert missing["asked"] == asked
    assert nearest in missing["nearest"]
    assert run.named("failure") == []
    assert run.code == 1


@pytest.mark.parametrize(
    ("source", "line", "message"),
    [
        ("import os\nimport absent_module\n", 2, "ModuleNotFoundError: No module named 'absent_module'"),
        ("x = 1\nclass A(:\n    pass\n", 2, "SyntaxError: invalid syntax"),
        ("value = 0\n1 / value\n", 2, "ZeroDivisionError: division by zero"),
    ],
)
def test_a_unittest_module_that_cannot_be_imported_is_told_with_file_and_line(project, source, line, message):
    project.write("test_broken.py", source)
    run = project.run("unittest", "test_broken")
    (error,) = run.notes("collect_error")
    assert (error["file"], error["line"]) == (str(project.folder / "test_broken.py"), line)
    assert error["message"].startswith(message)
    assert run.notes("not_found") == []
    assert run.named("failure") == []
    assert "mcp_pdb" not in run.stderr
    assert run.code == 1
