"""What the documentation says of rows and of looking at them is so."""

import argparse
import doctest
import re
import shlex
from pathlib import Path

import pytest
from pdb_trainer.command_lines import inspect

DOCS = Path(__file__).parents[2] / "docs"
COMMANDS = re.findall(
    r"^pdb-trainer inspect (.*)$", (DOCS / "how-to" / "inspect-a-run.md").read_text("utf-8"), re.MULTILINE
)


def test_the_examples_of_the_page_on_rows_hold():
    page = DOCS / "explanation" / "how-a-training-row-is-made.md"
    results = doctest.testfile(str(page), module_relative=False)
    assert results.attempted > 8
    assert results.failed == 0


@pytest.mark.parametrize("arguments", COMMANDS)
def test_the_commands_of_the_page_on_inspecting_are_taken(arguments: str):
    parser = argparse.ArgumentParser()
    inspect.add_arguments(parser)
    assert parser.parse_args(shlex.split(arguments)).folder == Path("runs/gym")
