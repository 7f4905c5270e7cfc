"""For each rule a task that breaks it, and no other unless a test says so."""

from dataclasses import replace

import pytest
from pdb_agent.scaffold import write_skeleton
from pdb_agent.task_files import load_task
from pdb_agent.validation.depth import AT_ONCE, QUICK, Depth
from pdb_agent.validation.rules import RULES
from pdb_agent.validation.validating import TaskReport

TESTS = "workspace/tests/test_orders.py"
HIDDEN = "hidden/test_templates.py"
TEMPLATES = "workspace/shelf/templates.py"
LAST_ASSERTION = '    assert second.items == ["cup", "cloth"]\n'
WITNESS_ALONE = replace(AT_ONCE, engines=("pdb",))
GRADES_ALONE = replace(AT_ONCE, grades=True)

pytestmark = [pytest.mark.anyio, pytest.mark.slow]


def the_only_complaint(report: TaskReport, rule: str) -> str:
    assert [complaint.rule for complaint in report.complaints] == [rule], report.complaints
    return report.complaints[0].text


async def test_the_sample_passes_every_rule(sample, check):
    report = await check(sample, QUICK)
    assert report.complaints == ()
    assert report.is_valid


def test_every_rule_has_a_sentence():
    assert {f"V{number}" for number in range(1, 17)} < RULES.keys()
    assert all(sentence.endswith(".") for sentence in RULES.values())


async def test_v1_refuses_a_failure_that_is_no_assertion(sample, check):
    sample.edit(
        TESTS,
        LAST_ASSERTION,
        '    if second.items != ["cup", "cloth"]:\n        raise KeyError(second.items)\n',
    )
    text = the_only_complaint(await check(sample), "V1")
    assert "fails by KeyError rather than by an assertion" in text


async def test_v1_takes_an_error_that_is_declared(sample, check):
    sample.edit(
        TESTS,
        LAST_ASSERTION,
        '    if second.items != ["cup", "cloth"]:\n        raise KeyError(second.items)\n',
    )
    sample.edit("task.toml", 'licence = "MIT"\n', 'licence = "MIT"\ndeclared_errors = ["KeyError"]\n')
    assert (await check(sample)).is_valid


async def test_v1_refuses_a_failing_test_that_does_not_fail(sample, check):
    sample.edit("task.toml", "pass_to_pass = [", "pass_to_pass = []\n# [")
    sample.edit(
        "task.toml",
        "fail_to_pass = [",
        'fail_to_pass = ["tests/test_orders.py::test_an_order_lists_its_items", ',
    )
    text = the_only_complaint(await check(sample), "V1")
    assert text.startswith("tests/test_orders.py::test_an_order_lists_its_items is in fail_to_pass")


async def test_v1_refuses_a_visible_test_that_is_in_no_list(sample, check):
    sample.append(TESTS, '\n\ndef test_a_name():\n    assert Template("a", []).name == "a"\n')
    text = the_only_complaint(await check(sample), "V1")
    assert (
        text
        == "tests/test_orders.py::test_a_name is in neither fail_to_pass nor pass_to_pass: add it to one."
    )


async def test_v2_refuses_a_test_that_is_skipped(sample, check):
    sample.append(HIDDEN, '\n\ndef test_more():\n    pytest.skip("some other day")\n')
    sample.edit(HIDDEN, "from shelf.orders", "import pytest\nfrom shelf.orders")
    text = the_only_complaint(await check(sample), "V2")
    assert text.startswith("With the solution hidden/test_templates.py::test_more is skipped")


async def test_v3_refuses_a_hidden_test_that_repeats_a_visible_one(sample, check):
    sample.append(
        HIDDEN,
        "\n\ndef test_again():\n"
        '    order = order_from(Template("tea", ["cup", "pot"]), "Ada")\n'
        '    assert order.items == ["cup", "pot"]\n',
    )
    text = the_only_complaint(await check(sample), "V3")
    assert text.startswith("Hidden test test_templates.py::test_again has the body of the visible")


async def test_v3_takes_the_body_of_a_visible_test_with_other_parameters(sample, check):
    body = "(count):\n    assert Template('tea', ['cup'] * count).starting_items() == ['cup'] * count\n"
    for path, name, count in ((TESTS, "test_few", 2), (HIDDEN, "test_many", 70)):
        sample.edit(path, "from shelf.orders", "import pytest\nfrom shelf.orders")
        sample.append(path, f"\n\n@pytest.mark.parametrize('count', [{count}])\ndef {name}{body}")
    sample.edit("task.toml", "pass_to_pass = [", 'pass_to_pass = ["tests/test_orders.py::test_few[2]", ')
    assert (await check(sample)).complaints == ()


async def test_v3_refuses_hidden_tests_that_pass_before_the_solution_and_so_does_v4(sample, check):
    sample.write(
        HIDDEN,
        'from shelf.templates import Template\n\n\ndef test_a():\n    assert Template("a", []).name == "a"\n',
    )
    report = await check(sample)
    assert {complaint.rule for complaint in report.complaints} == {"V3", "V4"}
    assert "Every hidden test passes before the solution" in report.complaints[0].text


async def test_v4_wants_two_decoys_of_a_harder_task(sample, check):
    sample.edit("task.toml", "distance = 1", "distance = 2\n#")
    sample.edit("task.toml", "difficulty = 2", "difficulty = 3\n#")
    assert the_only_complaint(await check(sample), "V4") == "Difficulty 3 needs 2 decoys, and there are 1."


async def test_v4_refuses_a_decoy_that_is_a_solution(sample, check):
    sample.write("decoys/copy_in_order.patch", (sample.folder / "solution" / "fix.patch").read_text())
    text = the_only_complaint(await check(sample), "V4")
    assert text.startswith("With decoy copy_in_order every hidden test passes")


async def test_v5_refuses_a_test_that_depends_on_the_order(sample, check):
    sample.append(
        HIDDEN,
        "\n\nNAMES = []\n\n\ndef test_first():\n    NAMES.append(1)\n    assert len(NAMES) == 1\n"
        "\n\ndef test_second():\n    assert NAMES == [1]\n",
    )
    report = await check(sample, Depth(repeats=2, pythons=(), engines=(), grades=False))
    assert {complaint.rule for complaint in report.complaints} == {"V5"}
    text = report.complaints[0].text
    assert text.startswith("hidden/test_templates.py::test_second is passed in buggy (Python 3.")
    assert "but failed (AssertionError) in buggy" in text
    assert "reverse order" in text


async def test_v6_refuses_a_thread_that_is_left(sample, check):
    sample.edit(HIDDEN, "from shelf.orders", "import threading\nfrom shelf.orders")
    sample.append(
        HIDDEN,
        "\n\ndef test_thread():\n"
        '    threading.Thread(target=threading.Event().wait, name="waiter", daemon=True).start()\n'
        '    assert Template("b", []).name == "b"\n',
    )
    report = await check(sample)
    assert {complaint.rule for complaint in report.complaints} == {"V6"}
    assert "The tests leave something running (buggy: thread waiter)" in report.complaints[0].text


async def test_v6_refuses_a_suite_that_takes_long(sample, check):
    sample.edit(HIDDEN, "from shelf.orders", "import threading\nfrom shelf.orders")
    sample.edit("task.toml", "test_seconds = 5", "test_seconds = 9")
    sample.append(
        HIDDEN,
        '\n\ndef test_wait():\n    threading.Event().wait(5.01)\n    assert Template("b", []).name == "b"\n',
    )
    text = the_only_complaint(await check(sample), "V6")
    assert "more than 5 s: make its waits shorter" in text


async def test_v6_refuses_a_suite_that_hangs_and_so_does_v2(sample, check):
    sample.edit(HIDDEN, "from shelf.orders", "import threading\nfrom shelf.orders")
    sample.edit("task.toml", "test_seconds = 5", "test_seconds = 1")
    sample.append(HIDDEN, "\n\ndef test_wait():\n    assert threading.Event().wait()\n")
    report = await check(sample)
    assert {complaint.rule for complaint in report.complaints} == {"V2", "V6"}
    assert any(
        complaint.text.startswith("The run hangs (fixed: hidden/test_templates.py::test_wait)")
        for complaint in report.complaints
    )


async def test_v6_refuses_a_test_that_ends_its_process_and_so_does_v2(sample, check):
    sample.edit(HIDDEN, "from shelf.orders", "import os\n\nfrom shelf.orders")
    sample.append(HIDDEN, "\n\ndef test_process():\n    assert os._exit(0) == 1\n")
    report = await check(sample)
    assert {complaint.rule for complaint in report.complaints} == {"V2", "V6"}
    assert "test_process is the end of the run" in report.complaints[0].text


async def test_v7_refuses_a_file_written_into_the_workspace(sample, check):
    sample.edit(HIDDEN, "from shelf.orders", "from pathlib import Path\n\nfrom shelf.orders")
    sample.append(HIDDEN, '\n\ndef test_notes():\n    assert Path("notes").write_text("abc") == 3\n')
    report = await check(sample)
    assert {complaint.rule for complaint in report.complaints} == {"V7"}
    assert report.complaints[0].text.startswith("A test writes outside the temporary folder (buggy: ")


async def test_v7_refuses_a_connection(sample, check):
    sample.edit(HIDDEN, "from shelf.orders", "import socket\n\nfrom shelf.orders")
    sample.append(
        HIDDEN,
        "\n\ndef test_port():\n    with socket.socket() as one:\n"
        '        assert one.connect_ex(("127.0.0.1", 9)) > 0\n',
    )
    report = await check(sample)
    assert {complaint.rule for complaint in report.complaints} == {"V7"}
    assert "A test uses the network (buggy: socket.connect)" in report.complaints[0].text


async def test_v7_refuses_a_foreign_import_and_a_long_sleep(sample, check):
    sample.append(
        TEMPLATES,
        "\n\ndef _count():\n    import time\n\n    import psutil\n\n    time.sleep(1)\n    return psutil\n",
    )
    report = await check(sample)
    assert [complaint.rule for complaint in report.complaints] == ["V7", "V7"]
    assert "shelf/templates.py imports psutil" in report.complaints[0].text
    assert "sleeps for 1 s" in report.complaints[1].text


@pytest.mark.parametrize("word", ["should", "Bug", "is_race_free", "DeadLock deadLock fix"])
async def test_v8_refuses_words_that_tell(sample, check, word):
    sample.append("workspace/README.md", f"\nAn order {word} be short.\n")
    report = await check(sample)
    assert {complaint.rule for complaint in report.complaints} == {"V8"}
    assert report.complaints[0].text.startswith("README.md, line 5 holds the word")


async def test_v8_takes_words_that_only_contain_such_a_word(sample, check):
    sample.append("workspace/README.md", "\nA prefix, a fixture, a debugger, a brace and a shoulder.\n")
    assert (await check(sample)).is_valid


async def test_v8_refuses_a_comment_that_comes_with_the_solution(sample, check):
    sample.edit("solution/fix.patch", "list(self._items)", "list(self._items)  # its own")
    text = the_only_complaint(await check(sample), "V8")
    assert "changes a comment or docstring of shelf/templates.py ('# its own')" in text


async def test_v8_refuses_a_name_of_the_solution_that_the_readme_knows(sample, check):
    patch = (sample.folder / "solution" / "fix.patch").read_text()
    patch = patch.replace("-11,3 +11,3", "-11,3 +11,4").replace(
        "+        return list(self._items)",
        "+        duplicate = list(self._items)\n+        return duplicate",
    )
    sample.write("solution/fix.patch", patch)
    assert (await check(sample)).is_valid
    sample.append("workspace/README.md", "\nEach order is a duplicate of a template.\n")
    text = the_only_complaint(await check(sample), "V8")
    assert text.startswith("The solution brings the name 'duplicate', which README.md holds already")


async def test_v9_refuses_another_signature(sample, check):
    sample.write(
        "solution/fix.patch",
        "--- a/shelf/templates.py\n+++ b/shelf/templates.py\n@@ -11,3 +11,3 @@\n"
        "-    def starting_items(self) -> list[str]:\n"
        "+    def starting_items(self, own: bool = True) -> list[str]:\n"
        '         """The items of a new order."""\n'
        "-        return self._items\n"
        "+        return list(self._items)\n",
    )
    text = the_only_complaint(await check(sample), "V9")
    assert text.startswith(
        "The solution changes the signature of Template.starting_items in shelf/templates.py"
    )


async def test_v9_refuses_a_solution_outside_the_editable_files(sample, check):
    sample.edit("task.toml", 'editable = ["shelf/*.py"]', 'editable = ["shelf/orders.py"]')
    text = the_only_complaint(await check(sample), "V9")
    assert text.startswith("Patch fix changes shelf/templates.py, which editable does not match")


async def test_v9_refuses_editable_tests(sample, check):
    sample.edit("task.toml", 'editable = ["shelf/*.py"]', 'editable = ["shelf/*.py", "tests/*"]')
    text = the_only_complaint(await check(sample), "V9")
    assert text.startswith("editable matches the test file tests/test_orders.py")


async def test_v9_refuses_a_large_solution(sample, check):
    lines = "".join(f"+        number = {number}\n" for number in range(30))
    patch = (sample.folder / "solution" / "fix.patch").read_text()
    patch = patch.replace("-11,3 +11,3", "-11,3 +11,33").replace("+        return", f"{lines}+        return")
    sample.write("solution/fix.patch", patch)
    assert the_only_complaint(await check(sample), "V9").startswith(
        "The solution changes 32 lines, more than 30"
    )


async def test_v10_refuses_measures_that_are_out_of_date(sample, check):
    settings = sample.folder / "task.toml"
    settings.write_text(settings.read_text().replace("source_lines = 15", "source_lines = 14"))
    text = the_only_complaint(await check(sample, measures=False), "V10")
    assert text == "source_lines is 14 and has to be 15: run `pdb-agent tasks measure sample_task`."


async def test_v11_refuses_a_witness_that_shows_another_value(sample, check):
    sample.edit("witness.toml", 'buggy = "2"', 'buggy = "3"')
    text = the_only_complaint(await check(sample, WITNESS_ALONE), "V11")
    assert "len(self.items) is 2, not 3" in text


async def test_v11_wants_a_witness_unless_the_debugger_is_to_be_avoided(sample, check):
    (sample.folder / "witness.toml").unlink()
    text = the_only_complaint(await check(sample, WITNESS_ALONE), "V11")
    assert text.startswith("There is no witness.toml")
    sample.edit("task.toml", 'preference = "recommended"', 'preference = "avoid"')
    assert (await check(sample, WITNESS_ALONE)).is_valid


async def test_v11_wants_a_reason(sample, check):
    reason = load_task(sample.folder).preference_reason
    sample.edit("task.toml", reason, "because")
    assert the_only_complaint(await check(sample, WITNESS_ALONE), "V11").startswith(
        "preference_reason says nothing"
    )


async def test_v12_refuses_sources_that_another_split_has_too(sample, check):
    other = type(sample)(write_skeleton(sample.folder.parent, "other_task"))
    assert (await check(sample, others=(load_task(other.folder),))).is_valid
    other.edit("task.toml", 'split = "train"', 'split = "test"')
    text = the_only_complaint(await check(sample, others=(load_task(other.folder),)), "V12")
    assert text.startswith("Its sources overlap by 1.00 with those of other_task, which is in test")


async def test_v13_refuses_a_task_that_functions_without_bodies_solve(sample, check):
    sample.write(
        "workspace/shelf/templates.py", "def kept(name: str) -> str | None:\n    return name or None\n"
    )
    sample.write("workspace/shelf/orders.py", "")
    sample.write(
        "workspace/tests/test_orders.py",
        "from shelf.templates import kept\n"
        "\n\ndef test_an_order_lists_its_items():\n    assert kept('') is None\n"
        "\n\ndef test_orders_of_two_customers_stay_apart():\n    assert kept('a') is None\n",
    )
    sample.write(
        "hidden/test_templates.py",
        "from shelf.templates import kept\n\n\ndef test_b():\n    assert kept('bb') is None\n",
    )
    head = "--- a/shelf/templates.py\n+++ b/shelf/templates.py\n@@ -1,2 +1,2 @@\n"
    head += " def kept(name: str) -> str | None:\n"
    sample.write("solution/fix.patch", f"{head}-    return name or None\n+    return None\n")
    sample.write(
        "decoys/copy_in_order.patch", f"{head}-    return name or None\n+    return name[1:] or None\n"
    )
    text = the_only_complaint(await check(sample, GRADES_ALONE), "V13")
    assert text.startswith("The workspace is graded as solved when it is hollowed")


async def test_v13_refuses_tests_that_grading_cannot_use(sample, check):
    sample.append(HIDDEN, '\n\ndef test_nothing():\n    Template("chair", [])\n')
    assert "test_nothing" in the_only_complaint(await check(sample, GRADES_ALONE), "V13")


@pytest.mark.parametrize("path", ["solution/fix.patch", "decoys/copy_in_order.patch"])
async def test_v14_refuses_a_patch_that_fits_only_nearly(sample, check, path):
    sample.edit(path, "     def ", "      def ")
    complaint = the_only_complaint(await check(sample), "V14")
    assert "does not fit: make the patch again from the file as it is" in complaint


async def test_v15_refuses_a_failure_that_prints_much(sample, check):
    sample.edit(TESTS, LAST_ASSERTION, LAST_ASSERTION.rstrip() + ', "long " * 800\n')
    text = the_only_complaint(await check(sample), "V15")
    assert "more than the 4000 of one observation: compare smaller values" in text


async def test_v16_wants_a_licence(sample, check):
    sample.edit("task.toml", 'licence = "MIT"', 'licence = ""')
    assert the_only_complaint(await check(sample), "V16").startswith("licence is ''")


async def test_v16_refuses_signs_of_foreign_text(sample, check):
    sample.append("workspace/README.md", "\nCopyright 2019 by somebody.\n")
    assert the_only_complaint(await check(sample), "V16").startswith("README.md holds 'Copyright'")
