"""What counts as the person's own code."""

import json
import linecache
import os
from pathlib import Path

import numpy
import pytest
from mcp_pdb.debuggee import user_code


def test_files_of_a_project_are_user_code(tmp_path):
    assert user_code.is_user_code(str(tmp_path / "program.py"))
    assert user_code.is_user_code(str(Path(__file__)))


@pytest.mark.parametrize(
    "filename",
    [
        json.__file__,
        os.__file__,
        numpy.__file__,
        pytest.__file__,
        user_code.__file__,
        "/usr/lib/python3/dist-packages/yaml/__init__.py",
        "<frozen importlib._bootstrap>",
        "<string>",
        "<attrs generated init x.Y>",
        "",
    ],
)
def test_code_of_others_is_not(filename):
    assert not user_code.is_user_code(filename)


def test_code_given_as_text_is_user_code_once_its_source_is_known(monkeypatch):
    assert not user_code.is_user_code("<given>")
    monkeypatch.setitem(linecache.cache, "<given>", (1, None, ["x"], "<given>"))
    assert user_code.is_user_code("<given>")


def test_a_file_has_one_name_however_it_is_spelt(tmp_path):
    real = tmp_path / "real.py"
    real.write_text("", encoding="utf-8")
    (tmp_path / "link.py").symlink_to(real)
    spelt = [real, tmp_path / "link.py", tmp_path / "x" / ".." / "real.py", os.path.relpath(real)]
    assert {user_code.canonical(name) for name in map(str, spelt)} == {str(real.resolve())}
    assert user_code.canonical("<code>") == "<code>"


def test_a_relative_name_stays_the_same_when_the_program_changes_directory(tmp_path, monkeypatch):
    before = user_code.canonical("some_program.py")
    monkeypatch.chdir(tmp_path)
    user_code._canonical_names.clear()
    assert user_code.canonical("some_program.py") == before
