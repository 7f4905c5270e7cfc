"""What each family of OpenAI models takes of sampling and reasoning.

Models that reason take no temperature while they do; which efforts there are
differs. A model that is not listed is taken to know them all.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pdb_agent.policy import Sampling

ENCRYPTED_REASONING = "reasoning.encrypted_content"
_EFFORTS = ("none", "minimal", "low", "medium", "high", "xhigh", "max")


@dataclass(frozen=True, slots=True, kw_only=True)
class GptTraits:
    """What a family of models accepts."""

    reasons: bool = True
    lowest_effort: str = "none"
    highest_effort: str = "max"


_ALWAYS_REASONS = GptTraits(lowest_effort="low")
_FIRST_REASONERS = GptTraits(lowest_effort="low", highest_effort="high")
_UP_TO_XHIGH = GptTraits(highest_effort="xhigh")
_FAMILIES: Mapping[str, GptTraits] = {
    "gpt-3.5": GptTraits(reasons=False),
    "gpt-4": GptTraits(reasons=False),
    "chatgpt-": GptTraits(reasons=False),
    "o1": _FIRST_REASONERS,
    "o3": _FIRST_REASONERS,
    "o4": _FIRST_REASONERS,
    "gpt-5": GptTraits(lowest_effort="minimal", highest_effort="high"),
    "gpt-5.1": GptTraits(highest_effort="high"),
    "gpt-5.2": _UP_TO_XHIGH,
    "gpt-5.3": _UP_TO_XHIGH,
    "gpt-5.4": _UP_TO_XHIGH,
    "gpt-5.5": _UP_TO_XHIGH,
    "gpt-5.6": GptTraits(),
    "gpt-6": GptTraits(),
    "gpt-6-astra": _ALWAYS_REASONS,
    "gpt-6.1-sol": _ALWAYS_REASONS,
    "gpt-6.2": _ALWAYS_REASONS,
}
"""By the start of the model's name; the longest that fits wins. As documented in November 2026."""


def gpt_traits(model: str) -> GptTraits:
    """The traits of a model by its name."""
    fitting = [start for start in _FAMILIES if model.startswith(start)]
    return _FAMILIES[max(fitting, key=len)] if fitting else GptTraits()


def gpt_settings(model: str, sampling: Sampling) -> dict[str, Any]:
    """Request fields for what was asked for, less what the model does not take."""
    traits = gpt_traits(model)
    fields: dict[str, Any] = {"max_output_tokens": sampling.max_output_tokens}
    effort = _effort(traits, sampling)
    if effort is not None:
        fields["reasoning"] = {"effort": effort}
    if not traits.reasons or effort == "none":
        wanted = {"temperature": sampling.temperature, "top_p": sampling.top_p}
        fields |= {key: value for key, value in wanted.items() if value is not None}
    return fields


def _effort(traits: GptTraits, sampling: Sampling) -> str | None:
    """The effort nearest to the one asked for, where the model reasons at all."""
    if not traits.reasons or sampling.effort is None:
        return None
    lowest, highest = _EFFORTS.index(traits.lowest_effort), _EFFORTS.index(traits.highest_effort)
    return _EFFORTS[min(highest, max(lowest, _EFFORTS.index(sampling.effort)))]
