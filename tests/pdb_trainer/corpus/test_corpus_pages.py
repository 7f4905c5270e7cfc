"""What the documentation says of corpora and of the probe is so."""

import argparse
import doctest
import re
import shlex
from pathlib import Path

import pytest
import tomllib
from pdb_trainer.command_lines import corpus, probe
from pdb_trainer.config_reading import tree_of
from pdb_trainer.corpus.gates import Gate
from pdb_trainer.corpus.gathering import REASONS
from pdb_trainer.corpus.settings import CollectConfig, CorpusSettings

HOW_TO = Path(__file__).parents[3] / "docs" / "how-to"
BUILD = (HOW_TO / "build-a-corpus.md").read_text("utf-8")
PROBE = HOW_TO / "probe-a-recipe.md"


@pytest.mark.parametrize("arguments", re.findall(r"^pdb-trainer corpus (.*)$", BUILD, re.MULTILINE))
def test_the_commands_of_the_page_on_corpora_are_taken(arguments: str):
    parser = argparse.ArgumentParser()
    corpus.add_arguments(parser)
    assert callable(parser.parse_args(shlex.split(arguments)).run)


def test_the_command_of_the_page_on_probing_is_taken():
    parser = argparse.ArgumentParser()
    probe.add_arguments(parser)
    (arguments,) = re.findall(r"^pdb-trainer probe (.*)$", PROBE.read_text("utf-8"), re.MULTILINE)
    assert parser.parse_args(shlex.split(arguments)).tries == 4


def test_the_settings_of_the_page_are_taken_and_those_of_building_are_the_defaults():
    collecting, building = re.findall(r"```toml\n(.*?)```", BUILD, re.DOTALL)
    assert tree_of(CollectConfig, tomllib.loads(collecting)).repetitions == 8
    assert tree_of(CorpusSettings, tomllib.loads(building)) == CorpusSettings()


def test_every_gate_and_every_reason_but_the_plain_ones_is_explained():
    plain = {"no valid end", "not solved"}
    assert [why for why in (*Gate, *REASONS) if why not in BUILD and why not in plain] == []


def test_the_example_of_the_page_on_probing_holds():
    results = doctest.testfile(str(PROBE), module_relative=False)
    assert (results.attempted, results.failed) == (5, 0)
