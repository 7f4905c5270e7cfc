"""One run of a suite, in a real sandbox, with tests that do what tests ought not to do."""

import textwrap
from typing import Any

import pytest
from pdb_agent.sandboxes.interpreters import task_interpreter
from pdb_agent.task import TaskLimits
from pdb_agent.validation.places import open_place
from pdb_agent.validation.suite import SuiteRequest, SuiteRun, run_suite

pytestmark = [pytest.mark.anyio, pytest.mark.slow]


async def outcome_of(source: str, **request: Any) -> SuiteRun:
    files = {"tests/test_it.py": textwrap.dedent(source).encode()}
    async with open_place(task_interpreter()) as place:
        await place.lay(files)
        return await run_suite(place.suite, SuiteRequest(paths=("tests",), **request))


def kinds(run: SuiteRun) -> dict[str, str]:
    return {test.rpartition("::")[2]: outcome.kind for test, outcome in run.outcomes.items()}


async def test_each_kind_of_outcome_has_its_name():
    run = await outcome_of("""
        import pytest

        @pytest.fixture
        def torn():
            yield
            raise OSError("gone")

        def test_good(): pass
        def test_bad(): assert 1 == 2
        def test_other(): {}["key"]
        def test_silent():
            with pytest.raises(KeyError): pass
        def test_skipped(): pytest.skip("today")
        @pytest.mark.xfail
        def test_expected(): assert False
        def test_torn(torn): pass
        def test_without(missing): pass
    """)
    assert kinds(run) == {
        "test_good": "passed",
        "test_bad": "failed (AssertionError)",
        "test_other": "failed (KeyError)",
        "test_silent": "failed (Failed)",
        "test_skipped": "skipped (Skipped)",
        "test_expected": "xfail (AssertionError)",
        "test_torn": "error (OSError)",
        "test_without": "error (FixtureLookupError)",
    }
    assert not run.timed_out
    assert "assert 1 == 2" in run.outcomes["tests/test_it.py::test_bad"].message


async def test_a_module_that_cannot_be_collected_is_named():
    run = await outcome_of("import nothing_of_that_name")
    assert run.outcomes == {}
    assert "No module named 'nothing_of_that_name'" in run.uncollected["tests/test_it.py"]


async def test_the_order_can_be_turned_round():
    run = await outcome_of("def test_a(): pass\ndef test_b(): pass", reverse=True)
    assert list(kinds(run)) == ["test_b", "test_a"]


async def test_the_hash_seed_is_the_one_asked_for():
    source = "import os\ndef test_it(): assert os.environ['PYTHONHASHSEED'] == '77'"
    assert kinds(await outcome_of(source, hash_seed=77)) == {"test_it": "passed"}


async def test_a_test_that_hangs_is_named_and_ended():
    run = await outcome_of(
        """
        import threading

        def test_good(): pass
        def test_hanging(): threading.Event().wait()
        def test_later(): pass
        """,
        limits=TaskLimits(test_seconds=1.0),
    )
    assert kinds(run) == {"test_good": "passed", "test_hanging": "timed out"}
    assert run.timed_out


async def test_a_suite_is_ended_at_its_limit_however_short_its_tests_are():
    run = await outcome_of(
        """
        import pytest, time

        @pytest.mark.parametrize("number", range(1000))
        def test_short(number): time.sleep(0.02)
        """,
        limits=TaskLimits(suite_seconds=2.0),
    )
    assert run.timed_out
    assert 0 < len(run.outcomes) < 1000


async def test_a_test_that_ends_its_process_is_named():
    run = await outcome_of("import os\ndef test_a(): pass\ndef test_b(): os._exit(0)\ndef test_c(): pass")
    assert kinds(run) == {"test_a": "passed", "test_b": "the end of the run"}
    assert (run.timed_out, run.finished) == (False, False)


async def test_a_process_that_left_its_parents_is_seen_and_gone_afterwards():
    source = """
        import os, subprocess, sys

        def test_daemon():
            code = "import os, time; os.fork() and os._exit(0); os.setsid(); time.sleep(100)"
            subprocess.run([sys.executable, "-c", code], close_fds=True, stdout=subprocess.DEVNULL)
            assert True
    """
    async with open_place(task_interpreter()) as place:
        await place.lay({"tests/test_it.py": textwrap.dedent(source).encode()})
        run = await run_suite(place.suite, SuiteRequest(paths=("tests",)))
        assert run.left == ("1 processes",)
        await place.lay(
            {
                "tests/test_it.py": b"import pathlib\n"
                b"def test_it():\n"
                b"    lines = [p.read_bytes() for p in pathlib.Path('/proc').glob('[0-9]*/cmdline')]\n"
                b"    assert [line for line in lines if b'time.sleep' in line] == []\n"
            }
        )
        assert kinds(await run_suite(place.suite, SuiteRequest(paths=("tests",)))) == {"test_it": "passed"}


async def test_a_thread_that_ends_at_once_is_not_left():
    run = await outcome_of(
        "import threading\ndef test_it(): threading.Thread(target=len, args=((),)).start()"
    )
    assert run.left == ()


async def test_temporary_files_may_be_written_and_others_may_not():
    run = await outcome_of("""
        import os, tempfile
        from pathlib import Path

        def test_temporary(tmp_path):
            (tmp_path / "a").write_text("x")
            with tempfile.TemporaryFile() as file: file.write(b"x")
            with open(os.devnull, "w") as file: file.write("x")

        def test_elsewhere():
            Path("left.txt").write_text("x")
            try: open("/usr/x", "w")
            except OSError: pass
    """)
    assert kinds(run) == {"test_temporary": "passed", "test_elsewhere": "passed"}
    assert {path.rpartition("/")[2] for path in run.written} == {"left.txt", "x"}


async def test_an_event_loop_is_no_use_of_the_network():
    run = await outcome_of("import asyncio\ndef test_it(): assert asyncio.run(asyncio.sleep(0, 5)) == 5")
    assert (kinds(run), run.network) == ({"test_it": "passed"}, ())


async def test_a_suite_that_prints_without_end_does_not_block():
    run = await outcome_of(
        "import os\ndef test_it():\n    os.write(2, b'x' * 3_000_000)\n    os.write(1, b'y' * 300_000)"
    )
    assert kinds(run) == {"test_it": "passed"}


async def test_laying_a_version_removes_files_of_the_one_before():
    async with open_place(task_interpreter()) as place:
        await place.lay({"one.py": b"x = 1", "tests/test_it.py": b"def test_it(): assert False"})
        await place.lay(
            {"tests/test_it.py": b"import os\ndef test_it(): assert sorted(os.listdir()) == ['tests']"}
        )
        assert kinds(await run_suite(place.suite, SuiteRequest(paths=("tests",)))) == {"test_it": "passed"}
