"""What a run learned from, as pages for a terminal (rich)."""

import math
from collections.abc import Iterator, Sequence
from itertools import groupby

from pdb_agent.viewer.visible_text import visible
from rich.console import Group, RenderableType
from rich.rule import Rule
from rich.table import Table
from rich.text import Text

from pdb_trainer.inspecting import Batch, RowView, TokenView
from pdb_trainer.rollout import Rollout

CONTEXT_STYLE = "dim"
_LEVELS = ((0.9, "green"), (0.5, "yellow"), (0.1, "dark_orange"), (0.0, "bold red"))
"""Least probability, and the style of tokens that had at least this."""


def batch_page(batch: Batch) -> RenderableType:
    """The groups of a step: each episode with its reward by term and its advantage."""
    parts: list[RenderableType] = [Text(_batch_line(batch), style="bold")]
    if batch.bad_lines:
        lines = ", ".join(str(one.line) for one in batch.bad_lines)
        parts.append(Text(f"Lines that cannot be read, left out: {lines}.", style="red"))
    for name, members in batch.groups.items():
        parts += [Text(), _group_table(name, members, batch)]
    return Group(*parts)


def row_page(view: RowView) -> RenderableType:
    """A row token by token: context dim, sampled tokens coloured by probability, replies between rules."""
    parts: list[RenderableType] = [*_heads(view), _legend()]
    for response, tokens in groupby(view.tokens, key=lambda one: one.response):
        run = list(tokens)
        if response >= 0:
            parts.append(Rule(_response_line(view, run), align="left", style="cyan"))
        else:
            parts.append(Rule(f"context · {len(run)} tokens", align="left", style=CONTEXT_STYLE))
        parts.append(_text_of(run))
    return Group(*parts)


def style_of(token: TokenView) -> str:
    """How a token looks."""
    if not token.trained:
        return CONTEXT_STYLE
    probability = math.exp(min(0.0, token.logprob))
    return next(style for least, style in _LEVELS if probability >= least)


def _batch_line(batch: Batch) -> str:
    merged, breaks = batch.chains, {name: count for name, count in batch.chains.breaks.items() if count}
    broken = ", ".join(f"{count} {name.value}" for name, count in breaks.items()) or "none"
    return (
        f"{batch.name}: {len(batch.rollouts)} episodes in {len(batch.groups)} groups, "
        f"{batch.weighed.uniform_groups} of them uniform; {len(merged.rows)} rows, {merged.tokens} tokens, "
        f"{merged.merge_compression_ratio:.1f} times fewer than a row per reply; breaks: {broken}"
    )


def _group_table(name: str, members: Sequence[Rollout], batch: Batch) -> Table:
    terms = [
        term
        for term in dict.fromkeys(term for one in members for term in one.rewards)
        if any(one.rewards.get(term) for one in members)
    ]
    table = Table(
        title=Text(visible(f"{name} · {members[0].task}")), title_justify="left", header_style="bold"
    )
    for title in ("episode", "end"):
        table.add_column(title, overflow="fold")
    for title in ("turns", "tokens", *(term.replace("_", " ") for term in terms), "reward", "advantage"):
        table.add_column(title, justify="right")
    for one in members:
        advantage = batch.weighed.advantages.get(one.episode)
        table.add_row(
            Text(visible(one.episode)),
            Text("solved" if one.solved else one.exit_reason, style="green" if one.solved else "red"),
            str(len(one.turns)),
            str(one.sampled_tokens),
            *(_signed(one.rewards.get(term, 0.0)) for term in terms),
            _signed(one.reward),
            "-" if advantage is None else _signed(advantage),
        )
    return table


def _heads(view: RowView) -> Iterator[Text]:
    one = view.rollout
    end = "solved" if one.solved else f"not solved, {one.exit_reason}"
    yield Text(visible(f"{one.episode} · {one.task} · group {one.group} · seed {one.seed}"), style="bold")
    sampled = sum(token.trained for token in view.tokens)
    yield Text(
        f"{end}; {len(one.turns)} turns; row {view.row} of {view.rows}: {len(view.tokens)} tokens, "
        f"{sampled} sampled"
    )
    terms = " ".join(f"{name} {_signed(value)}" for name, value in one.rewards.items() if value)
    advantage = "none" if view.advantage is None else _signed(view.advantage)
    yield Text(f"reward {_signed(one.reward)} = {terms or '0'}; advantage {advantage}")


def _legend() -> Text:
    text = Text("probability: ")
    for least, style in _LEVELS:
        text.append(f"≥ {least:g}", style=style).append("  ")
    return text.append("context, not learned", style=CONTEXT_STYLE)


def _response_line(view: RowView, tokens: Sequence[TokenView]) -> str:
    first = tokens[0]
    turn = view.turns[first.response]
    mean = sum(one.logprob for one in tokens) / len(tokens)
    return (
        f"turn {turn + 1} · response {first.response} · v{first.version} · {len(tokens)} tokens · "
        f"mean logprob {mean:.3f} · weight {first.weight:+.3g} · {view.rollout.turns[turn].finish}"
    )


def _text_of(tokens: Sequence[TokenView]) -> Text:
    text = Text()
    for style, alike in groupby(tokens, key=style_of):
        text.append(visible("".join(one.text for one in alike)), style=style)
    return text


def _signed(value: float) -> str:
    return f"{value:+.3f}" if value else "0"
