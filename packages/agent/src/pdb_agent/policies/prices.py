"""What a reply cost, from a dated table; unknown is None, and only what runs here is free."""

import re
import tomllib
from collections.abc import Mapping, Sequence
from datetime import date
from decimal import Decimal
from functools import cache
from importlib.resources import files
from typing import Any, cast

from pydantic import BaseModel, ConfigDict

from pdb_agent.messages import Usage
from pdb_agent.policies.retrying import DISCARDED_USAGE
from pdb_agent.policies.wire import count, object_at

FREE_PROVIDERS = frozenset({"vllm", "scripted", "replay", "oracle"})
"""What answers on this machine; tokens cost nothing there."""
_ROUTER = "openrouter"
_A_MILLION = 1_000_000
_DATE = re.compile(r"-(\d{8}|\d{4}-\d{2}-\d{2}|latest)$")


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Prices(_Strict):
    """Dollars per million tokens of each class; None where the provider names none."""

    input: Decimal
    output: Decimal
    cache_read: Decimal | None = None
    cache_write: Decimal | None = None
    cache_write_long: Decimal | None = None


class LongContextPrices(Prices):
    """What all tokens of a request cost once its input is longer than this."""

    above_tokens: int


class ModelPrices(Prices):
    """What one model costs."""

    aliases: tuple[str, ...] = ()
    long_context: LongContextPrices | None = None


class PriceTable(_Strict):
    """Prices by ``provider/model``, with their date and where they are from."""

    as_of: date
    source: str
    models: Mapping[str, ModelPrices]

    def of(self, model: str) -> ModelPrices | None:
        """The prices of a model, whose name may end in a date; None if it is not in the table."""
        for name in (model, _DATE.sub("", model)):
            if name in self.models:
                return self.models[name]
            for prices in self.models.values():
                if name in prices.aliases:
                    return prices
        return None


@cache
def price_table() -> PriceTable:
    """The table that comes with this package."""
    text = files("pdb_agent.policies").joinpath("prices.toml").read_text(encoding="utf-8")
    return PriceTable.model_validate(tomllib.loads(text, parse_float=Decimal))


def cost(
    model: str, usage: Usage, raw_usage: Mapping[str, Any], table: PriceTable | None = None
) -> Decimal | None:
    """Dollars for one reply of ``provider/model``, with what it discarded; None if that is not known.

    It has to be one reply and not a sum: what a long context costs depends on each request.
    """
    total = _cost_of_request(model, usage, raw_usage, table or price_table())
    discarded: Sequence[Mapping[str, Any]] = raw_usage.get(DISCARDED_USAGE) or ()
    for request in discarded:
        more = cost(model, Usage(**request["usage"]), request["raw_usage"], table)
        if total is None or more is None:
            return None
        total += more
    return total


def reported_cost(raw_usage: Mapping[str, Any]) -> Decimal | None:
    """Dollars that the provider itself says it charged; None if it says nothing."""
    charged = _decimal(raw_usage.get("cost"))
    if charged is None or raw_usage.get("is_byok") is not True:
        return charged
    # With a key of one's own, the router charges its fee and the provider the rest.
    upstream = _decimal(object_at(raw_usage, "cost_details").get("upstream_inference_cost"))
    return None if upstream is None else charged + upstream


def _cost_of_request(
    model: str, usage: Usage, raw_usage: Mapping[str, Any], table: PriceTable
) -> Decimal | None:
    provider = model.partition("/")[0]
    if provider in FREE_PROVIDERS:
        return Decimal(0)
    if provider == _ROUTER:
        return reported_cost(raw_usage)
    prices = table.of(model)
    if prices is None or not _is_standard(raw_usage):
        return None
    long_context = prices.long_context
    if long_context is not None and usage.context - usage.output > long_context.above_tokens:
        return _sum(long_context, usage, raw_usage)
    return _sum(prices, usage, raw_usage)


def _sum(prices: Prices, usage: Usage, raw_usage: Mapping[str, Any]) -> Decimal | None:
    long_writes = min(usage.cache_write, _long_cache_writes(raw_usage))
    classes = (
        (usage.input, prices.input),
        (usage.output, prices.output),
        (usage.cache_read, prices.cache_read),
        (usage.cache_write - long_writes, prices.cache_write),
        (long_writes, prices.cache_write_long),
    )
    if any(price is None for tokens, price in classes if tokens):
        return None
    return sum((tokens * (price or Decimal(0)) for tokens, price in classes), Decimal(0)) / _A_MILLION


def _long_cache_writes(raw_usage: Mapping[str, Any]) -> int:
    """Tokens written to a cache of the longer lifetime, as either provider reports them."""
    anthropic = count(object_at(raw_usage, "cache_creation"), "ephemeral_1h_input_tokens")
    openai = object_at(object_at(raw_usage, "input_tokens_details"), "cache_write_tokens_details")
    return anthropic or count(openai, "ttl_12h_tokens")


def _is_standard(raw_usage: Mapping[str, Any]) -> bool:
    """Whether the request was served at the tier that the table has the prices of."""
    return raw_usage.get("service_tier") in (None, "standard") and raw_usage.get("speed") in (
        None,
        "standard",
    )


def _decimal(value: object) -> Decimal | None:
    return Decimal(str(cast("float", value))) if isinstance(value, int | float) else None
