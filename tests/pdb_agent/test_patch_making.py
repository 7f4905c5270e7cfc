"""Patches that are made are patches that apply."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pdb_agent.errors import TaskError
from pdb_agent.patch_making import make_patch
from pdb_agent.patches import apply_patch, reverse_patch

_lines = st.sampled_from(["", "one", "two", "  three", "-- four", "++ five", "\\ six", "seven\r", "acht ß"])
_texts = st.builds(
    lambda lines, end: ("\n".join(lines) + end).encode(),
    st.lists(_lines, min_size=1, max_size=12),
    st.sampled_from(["", "\n"]),
).filter(bool)
_files = st.dictionaries(st.sampled_from(["a.py", "b/c.py", "d e.txt"]), _texts, max_size=3)


@given(_files, _files)
def test_a_patch_makes_the_one_state_of_the_other_and_back(before, after):
    patch = make_patch("change", before, after)

    if before == after:
        assert patch.text == ""
    else:
        assert apply_patch(patch, before) == dict(sorted(after.items()))
        assert reverse_patch(patch, after) == dict(sorted(before.items()))


def test_a_change_of_bytes_that_are_no_text_is_refused():
    with pytest.raises(TaskError, match=r"a\.bin is not UTF-8 text"):
        make_patch("change", {"a.bin": b"\xff"}, {"a.bin": b"x"})


def test_an_empty_file_that_comes_is_refused():
    with pytest.raises(TaskError, match=r"a\.py is empty"):
        make_patch("change", {}, {"a.py": b""})
