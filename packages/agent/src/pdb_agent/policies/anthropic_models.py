"""What each family of Claude models takes of sampling and thinking.

Newer models refuse a temperature, and some refuse to be told not to think; a
model that is not listed is taken for the newest.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from pdb_agent.policy import Sampling

_SMALLEST_BUDGET_TOKENS = 1024
_BUDGET_SHARES = {"low": 0.25, "medium": 0.5, "high": 0.75, "max": 0.9}
"""Of the output tokens, for models whose thinking has a budget rather than an effort."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaudeTraits:
    """What a family of models accepts."""

    takes_sampling: bool = False
    """``temperature`` or ``top_p``, one of them, while the model does not think."""
    thinking: Literal["budget", "adaptive"] = "adaptive"
    takes_effort: bool = True
    without_thinking: Literal["omit", "disabled", "between_tools", "lowest_effort"] = "lowest_effort"
    """How to ask for none; all but those of ``omit`` think unless told otherwise."""


_BUDGET = ClaudeTraits(takes_sampling=True, thinking="budget", takes_effort=False, without_thinking="omit")
_OPTS_IN = ClaudeTraits(without_thinking="omit")
_FAMILIES: Mapping[str, ClaudeTraits] = {
    "claude-3": _BUDGET,
    "claude-opus-4": _BUDGET,
    "claude-opus-4-5": ClaudeTraits(takes_sampling=True, thinking="budget", without_thinking="omit"),
    "claude-opus-4-6": ClaudeTraits(takes_sampling=True, without_thinking="omit"),
    "claude-opus-4-7": _OPTS_IN,
    "claude-opus-4-8": _OPTS_IN,
    "claude-sonnet-4": _BUDGET,
    "claude-sonnet-4-6": ClaudeTraits(takes_sampling=True, without_thinking="omit"),
    "claude-haiku-4": _BUDGET,
    "claude-opus-5": ClaudeTraits(without_thinking="disabled"),
    "claude-opus-5-5": ClaudeTraits(),
    "claude-sonnet-5": ClaudeTraits(without_thinking="disabled"),
    "claude-sonnet-5-5": ClaudeTraits(without_thinking="between_tools"),
    "claude-haiku-5-5": ClaudeTraits(without_thinking="disabled"),
    "claude-fable": ClaudeTraits(),
    "claude-mythos": ClaudeTraits(),
}
"""By the start of the model's name; the longest that fits wins. As documented in November 2026."""


def claude_traits(model: str) -> ClaudeTraits:
    """The traits of a model by its name."""
    fitting = [start for start in _FAMILIES if model.startswith(start)]
    return _FAMILIES[max(fitting, key=len)] if fitting else ClaudeTraits()


def claude_settings(model: str, sampling: Sampling) -> dict[str, Any]:
    """Request fields for what was asked for, less what the model does not take."""
    traits = claude_traits(model)
    fields: dict[str, Any] = {"max_tokens": sampling.max_output_tokens, **_thinking(traits, sampling)}
    thinks = fields.get("thinking", {}).get("type") in ("adaptive", "enabled")
    if traits.takes_sampling and not thinks:
        if sampling.temperature is not None:
            fields["temperature"] = sampling.temperature
        elif sampling.top_p is not None:
            fields["top_p"] = sampling.top_p
    return fields


def _thinking(traits: ClaudeTraits, sampling: Sampling) -> dict[str, Any]:
    effort = sampling.effort
    if effort is None and traits.without_thinking == "omit":
        return {}
    if effort == "none":
        return _no_thinking(traits)
    if traits.thinking == "budget" and effort is not None:
        return _budget(traits, effort, sampling.max_output_tokens)
    # Summaries, because a viewer cannot show what is omitted; the blocks replay either way.
    fields: dict[str, Any] = {"thinking": {"type": "adaptive", "display": "summarized"}}
    return fields if effort is None else {**fields, "output_config": {"effort": effort}}


def _no_thinking(traits: ClaudeTraits) -> dict[str, Any]:
    match traits.without_thinking:
        case "omit":
            return {}
        case "lowest_effort":
            return {"output_config": {"effort": "low"}}
        case kind:
            return {"thinking": {"type": kind}}


def _budget(traits: ClaudeTraits, effort: str, max_output_tokens: int) -> dict[str, Any]:
    fields: dict[str, Any] = {}
    if traits.takes_effort:
        fields["output_config"] = {"effort": "high" if effort == "max" else effort}
    budget_tokens = max(_SMALLEST_BUDGET_TOKENS, int(max_output_tokens * _BUDGET_SHARES[effort]))
    if budget_tokens < max_output_tokens:  # with less room than the smallest budget there is no thinking
        fields["thinking"] = {"type": "enabled", "budget_tokens": budget_tokens}
    return fields
