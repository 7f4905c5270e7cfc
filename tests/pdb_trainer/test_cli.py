"""The command ``pdb-trainer``, run as a person runs it."""

import subprocess
import sys
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
HEAVY = ("torch", "transformers", "numpy", "pydantic", "mcp", "rich", "anyio")


def pdb_trainer(*arguments: str, cwd: Path = ROOT) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "pdb_trainer.cli", *arguments],
        capture_output=True,
        text=True,
        cwd=cwd,
        timeout=100,
        check=False,
    )


def test_help_names_the_commands_and_loads_nothing_heavy() -> None:
    program = (
        "import sys\nfrom pdb_trainer import cli\ntry:\n cli.main(['--help'])\nexcept SystemExit: pass\n"
        f"print(sorted(set({HEAVY}) & set(sys.modules)))"
    )
    began = time.process_time()
    finished = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert time.process_time() - began < 1
    for name in ("sft", "grpo", "corpus", "inspect", "probe", "export", "models", "dry-run"):
        assert f"\n    {name} " in finished.stdout
    assert finished.stdout.endswith("[]\n")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("grpo", "--set", "model.path=m"), "A run needs a folder: give --out."),
        (("sft", "--set", "model.path=m", "--dry-run"), "The setting corpus is missing"),
        (("grpo", "--set", "modle.path=m"), "There is no setting modle: the nearest is model."),
        (("dry-run", "nowhere.toml"), "nowhere.toml cannot be read"),
        (("export", "peft", "nowhere", "--out", "x"), "nowhere has neither"),
    ],
)
def test_what_was_asked_wrongly_is_one_sentence_and_status_two(
    arguments: tuple[str, ...], sentence: str, tmp_path: Path
) -> None:
    finished = pdb_trainer(*arguments, cwd=tmp_path)
    assert finished.returncode == 2
    assert finished.stderr.startswith("pdb-trainer: ")
    assert sentence in finished.stderr
    assert finished.stderr.count("\n") == 1


@pytest.mark.slow
def test_a_dry_run_runs_nothing_and_its_status_says_whether_something_is_missing(tmp_path: Path) -> None:
    recipe = ROOT / "packages" / "trainer" / "recipes" / "smoke.toml"
    by_command = pdb_trainer("dry-run", str(recipe), cwd=tmp_path)
    by_option = pdb_trainer("grpo", "--config", str(recipe), "--dry-run", "--out", "run", cwd=tmp_path)
    assert by_command.returncode == by_option.returncode == 1
    assert by_command.stdout == by_option.stdout
    assert "missing the base model: there is no folder out/tiny" in by_command.stdout
    assert list(tmp_path.iterdir()) == []
