"""A program under debug must not be able to tell, and must end as Python would end it."""

import pytest

FACTS = """
    import json, os, sys

    main = sys.modules["__main__"]
    facts = {
        "argv": sys.argv,
        "path": sys.path,
        "file": globals().get("__file__"),
        "name": __name__,
        "package": __package__,
        "spec": getattr(__spec__, "name", None),
        "loader": type(__loader__).__name__,
        "cached": bool(globals().get("__cached__")),
        "is_main": main.__dict__ is globals(),
        "names": sorted(globals()),
        "doc": __doc__,
        "modules": sorted(name for name in sys.modules if "mcp_pdb" in name or "debug" in name),
    }
    facts["modules"] = [name for name in facts["modules"] if not name.startswith("_mcp_pdb_debuggee")]
    print(json.dumps(facts, indent=1))
"""

TALL = """
    import sys

    class Broken(Exception):
        pass

    def inner(n):
        if n:
            return inner(n - 1)
        raise Broken("deep é")

    def outer():
        try:
            inner(5)
        except Broken as error:
            raise ValueError(
                "outer"
            ) from error

    print("before")
    sys.stdout.flush()
    outer()
"""


def test_a_script_sees_the_surroundings_python_gives_it(any_project):
    script = any_project.write("folder/facts.py", FACTS)
    run = any_project.run("script", script, "--flag", "two words")
    assert run.stdout == any_project.plain(script, "--flag", "two words").stdout
    assert (run.code, run.stderr) == (0, "")
    assert [event["event"] for event in run.events] == ["begin", "entry"]
    assert run.events[1]["function"] == "<module>"


@pytest.mark.parametrize("module", ["package", "package.part"])
def test_a_module_sees_the_surroundings_python_gives_it(any_project, module):
    any_project.write("package/__init__.py", "")
    any_project.write("package/__main__.py", FACTS)
    any_project.write("package/part.py", FACTS)
    run = any_project.run("module", module, "argument")
    assert run.stdout == any_project.plain("-m", module, "argument").stdout
    assert (run.code, run.stderr) == (0, "")


def test_a_code_string_runs_as_main_with_its_arguments(any_project):
    run = any_project.run("code", "import sys\nprint(sys.argv, repr(sys.path[0]), __name__)", "a")
    assert run.stdout == "['-c', 'a'] '' __main__\n"
    assert run.named("entry")[0]["file"] == "<code>"


def test_an_uncaught_exception_is_printed_as_python_prints_it(any_project):
    script = any_project.write("tall.py", TALL)
    run = any_project.run("script", script)
    plain = any_project.plain(script)
    assert run.stderr == plain.stderr
    assert (run.code, run.stdout) == (1, plain.stdout)
    (failure,) = run.named("failure")
    assert failure["type"] == "ValueError"
    assert failure["frames"] == [["tall.py", "<module>", 21], ["tall.py", "outer", 15]]


def test_nothing_is_stopped_at_when_failures_are_to_be_passed_over(project):
    script = project.write("tall.py", TALL)
    run = project.run("script", script, on_failure="continue")
    assert run.named("failure") == []
    assert run.code == 1


def test_a_syntax_error_is_reported_with_its_place_and_printed_as_python_prints_it(any_project):
    script = any_project.write("broken.py", "x = 1\ndef f(:\n    pass\n")
    run = any_project.run("script", script)
    assert run.stderr == any_project.plain(script).stderr
    assert run.code == 1
    (place,) = run.notes("syntax_error")
    assert (place["file"], place["line"]) == (script, 2)
    assert place["message"].startswith("SyntaxError: invalid syntax")
    assert run.named("begin") == []


@pytest.mark.parametrize(
    "ending",
    [
        "",
        "sys.exit()",
        "sys.exit(7)",
        "sys.exit('a last word')",
        "sys.exit(True)",
        "sys.exit(-1)",
        "sys.exit(['a', 'list'])",
        "raise SystemExit(None)",
        "import os; os._exit(9)",
        "sys.excepthook = lambda *error: print('mine', error[0].__name__); 1 / 0",
        "sys.excepthook = lambda *error: sys.exit(5); 1 / 0",
        "sys.excepthook = 3; 1 / 0",
        "import atexit; atexit.register(print, 'bye'); sys.exit(3)",
    ],
)
def test_a_script_ends_as_under_python(project, ending):
    script = project.write("ending.py", f"import sys\n{ending}\n")
    run = project.run("script", script)
    plain = project.plain(script)
    assert (run.code, run.stdout, run.stderr) == (plain.returncode, plain.stdout, plain.stderr)


def test_an_interrupt_is_no_failure_to_stop_at(project):
    run = project.run("script", project.write("interrupted.py", "raise KeyboardInterrupt\n"))
    assert run.code == 130
    assert run.named("failure") == []


def test_a_missing_script_is_refused_as_python_refuses_it(project):
    run = project.run("script", str(project.folder / "none.py"))
    plain = project.plain(str(project.folder / "none.py"))
    assert (run.code, run.stderr) == (plain.returncode, plain.stderr)


def test_a_missing_module_is_refused_as_python_refuses_it(project):
    run = project.run("module", "absent.module")
    plain = project.plain("-m", "absent.module")
    assert (run.code, run.stderr) == (plain.returncode, plain.stderr)
    assert run.notes("not_found") == [{"what": "module", "asked": "absent.module", "nearest": []}]


def test_an_error_in_the_package_of_a_module_is_a_failure_of_the_program(project):
    project.write("package/__init__.py", "value = 1\nraise ValueError(value)\n")
    project.write("package/part.py", "")
    run = project.run("module", "package.part")
    assert run.named("failure")[0]["frames"][-1] == ["__init__.py", "<module>", 2]
    assert "mcp_pdb" not in run.stderr
    assert run.stderr.endswith("ValueError: 1\n")


def test_classes_of_main_can_be_pickled_and_sent_to_spawned_children(any_project):
    script = any_project.write(
        "spawned.py",
        """
        import multiprocessing, os, pickle, sys

        class Point:
            def __init__(self, x):
                self.x = x

        def double(point):
            return Point(point.x * 2)

        if __name__ == "__main__":
            assert pickle.loads(pickle.dumps(Point(3))).x == 3
            context = multiprocessing.get_context("spawn")
            with context.Pool(1) as pool:
                print(pool.map(double, [Point(1), Point(21)])[1].x)
        """,
    )
    run = any_project.run("script", script)
    assert (run.code, run.stdout, run.stderr) == (0, "42\n", "")


def test_a_spawned_child_of_a_test_does_not_start_the_debugger(project):
    project.write(
        "test_spawn.py",
        """
        import multiprocessing

        def double(x):
            return x * 2

        def test_spawn():
            with multiprocessing.get_context("spawn").Pool(1) as pool:
                assert pool.map(double, [4]) == [8]
        """,
    )
    run = project.run("pytest", "test_spawn.py")
    assert run.outcomes == {"test_spawn": "passed"}
    assert len(run.named("begin")) == 1


def test_modules_of_the_project_that_are_named_like_the_librarys_are_found(any_project):
    names = ["queue", "difflib", "tokenize", "linecache", "threading", "json", "selectors"]
    for name in names:
        any_project.write(f"{name}.py", "mine = True\n")
    script = any_project.write("uses.py", f"import {', '.join(names)}\nprint({'.mine, '.join(names)}.mine)\n")
    run = any_project.run("script", script)
    assert run.stdout == " ".join(["True"] * len(names)) + "\n"
    assert run.code == 0


def test_a_module_named_like_one_of_the_library_does_not_break_pytest_itself(plugin_project):
    plugin_project.write("queue.py", "mine = True\n")
    plugin_project.write("test_mine.py", "def test_mine():\n    pass\n")
    assert plugin_project.run("pytest", "test_mine.py").outcomes == {"test_mine": "passed"}


def test_an_exception_that_ends_a_thread_is_a_failure_there_and_is_still_printed(any_project):
    script = any_project.write(
        "threaded.py",
        """
        import threading

        def work():
            1 / 0

        thread = threading.Thread(target=work, name="worker-7")
        thread.start()
        thread.join()
        print("went on")
        """,
    )
    run = any_project.run("script", script)
    plain = any_project.plain(script)
    assert (run.code, run.stdout, run.stderr) == (0, "went on\n", plain.stderr)
    (failure,) = run.named("failure")
    assert failure["where"] == "thread 'worker-7'"
    assert failure["frames"][-1] == ["threaded.py", "work", 4]


def test_what_the_program_prints_of_its_own_exception_holds_no_frame_of_ours(project):
    script = project.write(
        "prints.py",
        """
        import traceback

        try:
            1 / 0
        except ZeroDivisionError:
            traceback.print_exc()
        """,
    )
    assert project.run("script", script).stderr == project.plain(script).stderr
