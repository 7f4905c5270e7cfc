"""What of a person's project is read, and by which Python it is run."""

import subprocess
import sys
from pathlib import Path

import pytest
from pdb_agent.project_python import project_python
from pdb_agent.project_reading import FILES_LIMIT, FixError, read_project
from pdb_agent.project_writing import apply_changes
from pdb_agent.sandboxes.interpreters import examine, task_interpreter


def write(root: Path, *paths: str, content: bytes = b"x = 1\n") -> None:
    for path in paths:
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_bytes(content)


def test_sources_are_read_without_what_is_made_anew(tmp_path: Path):
    write(tmp_path, "a.py", "pkg/build/b.py", "tests/data.bin", ".github/x.yml", "dist/__init__.py")
    write(tmp_path, ".git/config", "node_modules/a/b.js", "build/lib/a.py", "pkg/__pycache__/a.pyc")
    write(tmp_path, ".venv/bin/python", "old env/pyvenv.cfg", "old env/lib/a.py", "conda/conda-meta/x")
    project = read_project(tmp_path)
    assert sorted(project.files) == [
        ".github/x.yml",
        "a.py",
        "dist/__init__.py",
        "pkg/build/b.py",
        "tests/data.bin",
    ]
    assert project.files["a.py"] == b"x = 1\n"
    assert project.left_out == ()


def test_large_files_links_and_likely_secrets_are_left_out_and_named(tmp_path: Path):
    write(tmp_path, "a.py", ".env", "certs/server.pem")
    write(tmp_path, "large.bin", content=bytes((1 << 20) + 1))
    write(tmp_path, "whole.bin", content=bytes(1 << 20))
    (tmp_path / "link.py").symlink_to("a.py")
    project = read_project(tmp_path)
    assert sorted(project.files) == ["a.py", "whole.bin"]
    assert project.left_out == (
        ".env may hold a secret",
        "large.bin is larger than 1 MiB (1.0 MiB)",
        "link.py is a link",
        "certs/server.pem may hold a secret",
    )


def test_more_can_be_left_out(tmp_path: Path):
    write(tmp_path, "a.py", "data/b.csv", "docs/c.md", "pkg/data/d.csv")
    assert sorted(read_project(tmp_path, ("data/", "*.md")).files) == ["a.py", "pkg/data/d.csv"]


def test_too_many_files_are_refused_with_the_folder_that_holds_most(tmp_path: Path):
    write(tmp_path, "a.py", *(f"data/images/{number}.png" for number in range(FILES_LIMIT)))
    with pytest.raises(FixError, match=rf"has {FILES_LIMIT + 1} files .*--leave-out 'data/images'"):
        read_project(tmp_path)
    assert list(read_project(tmp_path, ("data/images",)).files) == ["a.py"]


def test_too_much_is_refused_likewise(tmp_path: Path):
    write(tmp_path, *(f"data/{number}.bin" for number in range(33)), content=bytes(1 << 20))
    with pytest.raises(FixError, match=r"of 33 MiB, more than .* --leave-out 'data'"):
        read_project(tmp_path)


def test_a_folder_without_files_or_that_is_none_is_refused(tmp_path: Path):
    with pytest.raises(FixError, match="holds no file to work on"):
        read_project(tmp_path)
    with pytest.raises(FixError, match="is no folder"):
        read_project(tmp_path / "none")


def test_the_projects_own_environment_is_found_before_the_active_one(tmp_path: Path):
    other = task_interpreter()
    active = {"VIRTUAL_ENV": str(other.parents[1])}
    assert project_python(tmp_path, None, active).interpreter.path == other
    (tmp_path / "venv").symlink_to(other.parents[1])
    assert project_python(tmp_path, None, active).interpreter.path == tmp_path / "venv/bin/python"
    assert project_python(tmp_path, other, {}).interpreter.path == other


def test_without_any_environment_a_python_is_asked_for(tmp_path: Path):
    with pytest.raises(FixError, match=r"has no \.venv or venv, and none is active: .*--python"):
        project_python(tmp_path, None, {})
    with pytest.raises(FixError, match=r"There is no .*/nowhere: give the project's python"):
        project_python(tmp_path, tmp_path / "nowhere", {})
    write(tmp_path, "broken", content=b"")
    with pytest.raises(FixError, match=r"broken does not run .* give another Python with --python"):
        project_python(tmp_path, tmp_path / "broken", {})


def test_a_python_without_pytest_is_refused(tmp_path: Path):
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", tmp_path / ".venv"], check=True)
    with pytest.raises(FixError, match="has no pytest: install it there"):
        project_python(tmp_path, None, {})
    assert not examine(tmp_path / ".venv/bin/python").has_pytest


def test_a_file_goes_in_whole_and_leaves_no_draft(tmp_path: Path):
    write(tmp_path, "a.py")
    (tmp_path / "a.py").chmod(0o640)
    project = read_project(tmp_path)
    assert apply_changes(project, {"new/b.py": b"b\n", "a.py": b"a\n"}) == ("a.py", "new/b.py")
    assert (tmp_path / "a.py").read_bytes() == b"a\n"
    assert (tmp_path / "a.py").stat().st_mode & 0o777 == 0o640
    assert (tmp_path / "new/b.py").read_bytes() == b"b\n"
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["a.py", "b.py", "new"]


def test_a_file_that_went_meanwhile_stops_everything(tmp_path: Path):
    write(tmp_path, "a.py", "b.py")
    project = read_project(tmp_path)
    (tmp_path / "b.py").unlink()
    with pytest.raises(FixError, match=r"b\.py changed since the project was read, so nothing was written"):
        apply_changes(project, {"a.py": b"a\n"})
    assert (tmp_path / "a.py").read_bytes() == b"x = 1\n"
