"""A run's groups and rows, as people and programs see them."""

import argparse
import io
import json
import math
from collections.abc import Iterator
from contextlib import redirect_stdout
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pdb_trainer.command_lines import inspect
from pdb_trainer.errors import RolloutError
from pdb_trainer.inspecting import (
    TokenView,
    decoder_of,
    look_at_batch,
    look_at_row,
    pieces,
)
from pdb_trainer.inspection_pages import batch_page, row_page, style_of
from pdb_trainer.rollout import Rollout
from pdb_trainer.rollout_store import LINES, RolloutStore
from rich.console import Console, RenderableType
from tokenizers import Tokenizer, decoders, models, pre_tokenizers

from tests.pdb_trainer.strategies import Exchange, recorded, rollout_of_turns

STOP = "<|im_end|>"
GREETING = "Grüße [red]"
HOSTILE = "\x1b[31m\u202e"


def byte_tokenizer() -> Tokenizer:
    """A token per byte, and one that ends replies."""
    letters = sorted(pre_tokenizers.ByteLevel.alphabet())
    tokenizer = Tokenizer(models.BPE(vocab={letter: i for i, letter in enumerate(letters)}, merges=[]))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.add_special_tokens([STOP])
    return tokenizer


TOKENIZER = byte_tokenizer()


def ids(text: str) -> tuple[int, ...]:
    return tuple(TOKENIZER.encode(text, add_special_tokens=False).ids)


def episode(name: str, reward: float, *, solved: bool, reply: str = GREETING) -> Rollout:
    first = Exchange(prompt=ids("Repair it."), sampled=ids(reply + STOP), version="policy-v3")
    prompt = first.prompt + first.sampled + ids(f"\n2 failed{HOSTILE}")
    second = Exchange(prompt=prompt, sampled=ids("done"), version="policy-v3")
    one = rollout_of_turns(recorded([first, second]), episode=name, reward=reward, solved=solved)
    return replace(one, rewards={"outcome": reward - 0.25, "localisation": 0.25, "floor": 0.0})


@pytest.fixture
def run(tmp_path: Path) -> Path:
    TOKENIZER.save(str(tmp_path / "tokenizer.json"))
    for step, shift in ((1, 0.0), (2, 1.0), (10, 2.0)):
        store = RolloutStore(tmp_path / "rollouts" / f"step-{step}")
        for number, reward in enumerate((-1.5, -0.5, 1.0, 1.0)):
            store.append(episode(f"s{step}e{number}", reward + shift, solved=reward > 0))
    return tmp_path


def shown(page: RenderableType, *, colours: bool = False) -> str:
    stream = io.StringIO()
    system = "truecolor" if colours else None
    Console(file=stream, width=200, force_terminal=colours, color_system=system).print(page)
    return stream.getvalue()


def command(*arguments: str) -> str:
    parser = argparse.ArgumentParser()
    inspect.add_arguments(parser)
    stream = io.StringIO()
    with redirect_stdout(stream):
        known = parser.parse_args(arguments)
        assert known.run(known) == 0
    return stream.getvalue()


def test_the_newest_step_s_groups_are_listed_with_terms_and_advantages(run: Path):
    page = shown(batch_page(look_at_batch(run)))
    assert "step-10: 4 episodes in 1 groups, 0 of them uniform; 4 rows" in page
    (line,) = [line for line in page.splitlines() if "s10e0" in line]
    cells = [cell.strip() for cell in line.strip("│┃").split("│")]
    assert cells == ["s10e0", "done", "2", "18", "+0.250", "+0.250", "+0.500", "-1.500"]
    assert "floor" not in page


@pytest.mark.parametrize("step", ["2", "step-2", "02"])
def test_another_step_is_found_by_its_number_or_name(run: Path, step: str):
    assert look_at_batch(run, step).name == "step-2"


def test_a_step_that_is_not_there_is_answered_with_those_that_are(run: Path):
    with pytest.raises(
        RolloutError, match="no rollouts of step 3: the first and the last are step-1, step-10"
    ):
        look_at_batch(run, "3")
    with pytest.raises(RolloutError, match="no rollouts of step last"):
        look_at_batch(run, "last")


def test_a_row_shows_its_text_its_replies_and_their_weight(run: Path):
    page = shown(row_page(look_at_row(run, episode="s2e0")))
    assert "s2e0 · cart · group g0 · seed 7" in page
    assert "reward -0.500 = outcome -0.750 localisation +0.250; advantage -1.500" in page
    assert "context · 10 tokens" in page
    assert f"{GREETING}{STOP}" in page
    assert "turn 1 · response 0 · v3 · 14 tokens · mean logprob -0.565 · weight -0.0134 · length" in page
    assert "turn 2 · response 1 · v3 · 4 tokens" in page


def test_what_a_terminal_would_act_on_is_shown_as_a_sign(run: Path):
    page = shown(row_page(look_at_row(run, episode="s1e0")))
    assert "\x1b" not in page
    assert "⟨U+202E⟩" in page


def test_the_mask_and_the_probability_show_in_the_style(run: Path):
    def style(probability: float, *, trained: bool = True) -> str:
        logprob = math.log(probability) if trained else 0.0
        return style_of(
            TokenView(id=1, text="x", trained=trained, logprob=logprob, version=1, response=0, weight=0.1)
        )

    styles = [style(0.95), style(0.6), style(0.2), style(0.01), style(1.0, trained=False)]
    assert styles == ["green", "yellow", "dark_orange", "bold red", "dim"]
    page = shown(row_page(look_at_row(run, episode="s1e0")), colours=True)
    assert "\x1b[2mRepair it." in page


def test_rows_are_counted_in_an_episode_or_in_the_step(run: Path):
    assert look_at_row(run, row=2).rollout.episode == "s10e2"
    assert look_at_row(run, step="1", row=3).rollout.episode == "s1e3"
    with pytest.raises(RolloutError, match="There is no row 1: there are 1, counted from 0"):
        look_at_row(run, episode="s1e0", row=1)
    with pytest.raises(RolloutError, match="There is no row -1"):
        look_at_row(run, row=-1)
    with pytest.raises(RolloutError, match="has no episode nobody"):
        look_at_row(run, episode="nobody")


def test_an_episode_with_a_break_has_two_rows(tmp_path: Path):
    broken = [Exchange(prompt=(1, 2), sampled=(3,)), Exchange(prompt=(1, 9), sampled=(4, 5))]
    RolloutStore(tmp_path).append(rollout_of_turns(recorded(broken)))
    view = look_at_row(tmp_path, episode="e0", row=1)
    assert (view.row, view.rows) == (1, 2)
    assert [one.text for one in view.tokens] == ["⟨1⟩", "⟨9⟩", "⟨4⟩", "⟨5⟩"]
    assert [one.response for one in view.tokens] == [-1, -1, 1, 1]
    assert "1 context_rewritten" in shown(batch_page(look_at_batch(tmp_path)))


def test_programs_get_every_token_with_all_that_is_known(run: Path):
    told = json.loads(command(str(run), "--episode", "s1e3", "--json"))
    assert (told["episode"], told["row"], told["rows"], told["advantage"]) == ("s1e3", 0, 1, 1.0)
    assert "".join(one["text"] for one in told["tokens"][:10]) == "Repair it."
    assert told["tokens"][9] == {"id": ids(".")[0], "text": ".", "trained": False}
    learned = told["tokens"][10]
    assert learned["logprob"] == -0.5
    assert (learned["version"], learned["response"], learned["turn"]) == (3, 6, 0)
    assert learned["weight"] == pytest.approx(1.0 / (14 * 8))


def test_programs_get_the_groups(run: Path):
    told = json.loads(command(str(run), "--step", "1", "--json"))
    (group,) = told["groups"]
    assert [one["advantage"] for one in group["episodes"]] == [-1.5, -0.5, 1.0, 1.0]
    assert told["breaks"] == {"history_cut": 0, "reply_rewritten": 0, "context_rewritten": 0}
    assert told["merge_compression_ratio"] > 1


def test_the_command_prints_pages(run: Path):
    assert "step-10: 4 episodes" in command(str(run))
    assert "turn 2 · response 1" in command(str(run), "--row", "0", "--step", "1")


def test_infrastructure_and_bad_lines_are_shown_and_compared_with_nothing(run: Path):
    store = RolloutStore(run / "rollouts" / "step-10")
    store.append(replace(episode("lost", 0.0, solved=False), infra_error=True, exit_reason="sandbox"))
    with (run / "rollouts" / "step-10" / LINES).open("a", encoding="utf-8") as lines:
        lines.write("{\n")
    page = shown(batch_page(look_at_batch(run)))
    assert "Lines that cannot be read, left out: 6." in page
    (line,) = [line for line in page.splitlines() if "lost" in line]
    assert line.rstrip(" │┃").endswith("-")
    assert look_at_row(run, episode="s10e0").advantage == -1.5


def test_a_folder_without_rollouts_says_what_to_give(tmp_path: Path):
    with pytest.raises(RolloutError, match="holds no rollouts"):
        look_at_batch(tmp_path)


def texts() -> Iterator[str]:
    yield from ("", "a", "Grüße", "€", "🙂🙂", "a🙂b", f"x{STOP}y")


@pytest.mark.parametrize("text", list(texts()))
def test_pieces_make_the_whole_text_and_split_no_character(text: str):
    found = pieces(ids(text), lambda some: TOKENIZER.decode(list(some), skip_special_tokens=False))
    assert len(found) == len(ids(text))
    assert "".join(found) == text
    assert all("\ufffd" not in piece for piece in found)


@given(st.lists(st.integers(0, 256), max_size=12))
def test_every_token_has_a_piece_whatever_was_sampled(token_ids: list[int]):
    found = pieces(token_ids, lambda some: TOKENIZER.decode(list(some), skip_special_tokens=False))
    assert len(found) == len(token_ids)
    assert not token_ids or "".join(found)


def test_without_a_tokenizer_there_is_no_decoder(tmp_path: Path):
    assert decoder_of(tmp_path) is None
