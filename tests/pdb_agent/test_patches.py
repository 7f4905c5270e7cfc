import subprocess
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pdb_agent.errors import TaskError
from pdb_agent.patches import (
    added_lines,
    apply_patch,
    changed_line_count,
    changed_paths,
    parse_patch,
    reverse_patch,
)
from pdb_agent.task import Patch

FILES = {"a/one.py": b"first\nsecond\nthird\nfourth\n", "two.py": b"alone"}
CHANGE = """\
diff --git a/a/one.py b/a/one.py
index 1111111..2222222 100644
--- a/a/one.py
+++ b/a/one.py
@@ -1,3 +1,4 @@ a heading
 first
-second
+2nd
+and a half
 third
--- a/two.py
+++ b/two.py
@@ -1 +1 @@
-alone
\\ No newline at end of file
+together
"""


def patch(text: str) -> Patch:
    return Patch(name="example", text=text)


def test_a_change_applies_and_reverses():
    changed = apply_patch(patch(CHANGE), FILES)
    assert changed == {"a/one.py": b"first\n2nd\nand a half\nthird\nfourth\n", "two.py": b"together\n"}
    assert reverse_patch(patch(CHANGE), changed) == FILES


def test_a_change_is_described_by_its_paths_and_lines():
    assert changed_paths(patch(CHANGE)) == ("a/one.py", "two.py")
    assert changed_line_count(patch(CHANGE)) == 5
    assert added_lines(patch(CHANGE)) == ("2nd", "and a half", "together")


def test_files_can_be_made_and_deleted():
    text = "--- /dev/null\n+++ b/new.py\n@@ -0,0 +1,2 @@\n+x\n+y\n"
    text += "--- a/two.py\n+++ /dev/null\n@@ -1 +0,0 @@\n-alone\n\\ No newline at end of file\n"
    changed = apply_patch(patch(text), FILES)
    assert changed == {"a/one.py": FILES["a/one.py"], "new.py": b"x\ny\n"}
    assert reverse_patch(patch(text), changed) == FILES


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        ("-second", "-Second", "hunk @@ -1,3 +1,4 @@ a heading of a/one.py does not fit"),
        ("@@ -1,3 +1,4 @@", "@@ -2,3 +2,4 @@", "does not fit: make the patch again from the file as it is"),
        ("a/a/one.py\n+", "a/a/none.py\n+", "changes a/none.py, which is not there"),
        ("@@ -1 +1 @@", "@@ -1 +1,2 @@", "line 17: a hunk that ends before its announced count of lines"),
        ("-1,3", "-1,2", "more lines than @@ -1,2 +1,4 @@ a heading announces"),
        ("+++ b/two.py", "+++ two.py", "line 12: not a line `+++ b/<path>`"),
    ],
)
def test_what_does_not_fit_exactly_is_refused(old, new, sentence):
    assert old in CHANGE
    with pytest.raises(TaskError) as caught:
        apply_patch(patch(CHANGE.replace(old, new, 1)), FILES)
    assert sentence in str(caught.value)


def test_a_new_file_that_is_there_already_is_refused():
    with pytest.raises(TaskError, match=r"makes two\.py, which is there already"):
        apply_patch(patch("--- /dev/null\n+++ b/two.py\n@@ -0,0 +1 @@\n+x\n"), FILES)


@pytest.mark.parametrize("text", ["", "\n", "diff --git a/x b/x\n"])
def test_a_patch_without_a_change_is_refused(text):
    with pytest.raises(TaskError, match="changes nothing"):
        parse_patch(patch(text))


LINES = st.lists(st.sampled_from(["a", "b", "c", "", " d", "-e", "+f", "\r", "@@"]), max_size=12)


@pytest.mark.slow
@settings(deadline=None)
@given(LINES, LINES, st.booleans(), st.booleans())
def test_what_git_says_of_two_files_leads_from_one_to_the_other_and_back(
    tmp_path_factory, old, new, old_ends, new_ends
):
    folder: Path = tmp_path_factory.mktemp("diff")
    before = ("\n".join(old) + "\n" * old_ends).encode()
    after = ("\n".join(new) + "\n" * new_ends).encode()
    (folder / "a").mkdir()
    (folder / "b").mkdir()
    (folder / "a" / "file").write_bytes(before)
    (folder / "b" / "file").write_bytes(after)
    text = subprocess.run(
        ["git", "diff", "--no-index", "--no-prefix", "--text", "a/file", "b/file"],
        cwd=folder, capture_output=True, check=False,
    ).stdout.decode()  # fmt: skip
    if not text:
        assert before == after
        return
    assert apply_patch(patch(text), {"file": before}) == {"file": after}
    assert reverse_patch(patch(text), {"file": after}) == {"file": before}
