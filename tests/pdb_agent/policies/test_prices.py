from datetime import date
from decimal import Decimal
from typing import Any

import pytest
from pdb_agent.messages import Usage
from pdb_agent.policies.prices import PriceTable, cost, price_table, reported_cost

TABLE = PriceTable.model_validate(
    {
        "as_of": date(2026, 1, 1),
        "source": "made up",
        "models": {
            "anthropic/a": {
                "input": 3,
                "output": 15,
                "cache_read": "0.3",
                "cache_write": "3.75",
                "cache_write_long": 6,
                "aliases": ["anthropic/a-0"],
                "long_context": {"above_tokens": 200_000, "input": 6, "output": 30, "cache_read": "0.6"},
            },
            "openai/plain": {"input": 1, "output": 2},
        },
    }
)


def test_each_class_has_its_own_price_and_reasoning_is_part_of_the_output():
    usage = Usage(input=1000, cache_read=10_000, cache_write=2000, output=500, reasoning=400)
    # 1000*3 + 10000*0.3 + 2000*3.75 + 500*15 = 3000 + 3000 + 7500 + 7500
    assert cost("anthropic/a", usage, {}, TABLE) == Decimal("0.021")


def test_long_lived_cache_writes_are_told_apart_by_the_raw_usage():
    usage = Usage(cache_write=2000)
    raw = {"cache_creation": {"ephemeral_5m_input_tokens": 500, "ephemeral_1h_input_tokens": 1500}}
    # 500*3.75 + 1500*6 = 1875 + 9000
    assert cost("anthropic/a", usage, raw, TABLE) == Decimal("0.010875")


def test_a_long_context_changes_the_price_of_every_token():
    just_short = Usage(input=100_000, cache_read=100_000, output=1000)
    just_long = Usage(input=100_001, cache_read=100_000, output=1000)
    assert cost("anthropic/a", just_short, {}, TABLE) == Decimal("0.345")  # 300000 + 30000 + 15000
    assert cost("anthropic/a", just_long, {}, TABLE) == Decimal("0.690006")  # 600006 + 60000 + 30000


@pytest.mark.parametrize(
    ("model", "usage", "raw"),
    [
        ("anthropic/unheard-of", Usage(input=1), {}),
        ("anthropic/a-mini", Usage(input=1), {}),
        ("a", Usage(input=1), {}),
        ("compatible/a", Usage(input=1), {}),
        ("openrouter/a", Usage(input=1), {}),
        ("openai/plain", Usage(input=1, cache_read=1), {}),
        ("anthropic/a", Usage(cache_write=1, input=200_000), {}),
        ("anthropic/a", Usage(input=1), {"service_tier": "priority"}),
        ("anthropic/a", Usage(input=1), {"speed": "fast"}),
    ],
)
def test_what_is_not_known_is_never_zero(model: str, usage: Usage, raw: dict[str, Any]):
    assert cost(model, usage, raw, TABLE) is None


@pytest.mark.parametrize(
    "model",
    ["anthropic/a", "anthropic/a-20260101", "anthropic/a-2026-01-01", "anthropic/a-latest", "anthropic/a-0"],
)
def test_a_model_is_known_by_its_dated_names_and_aliases(model: str):
    assert cost(model, Usage(input=1_000_000), {"service_tier": "standard"}, TABLE) == 6


@pytest.mark.parametrize("model", ["vllm/anything", "scripted/turns", "oracle/x", "replay/x"])
def test_what_runs_here_costs_nothing(model: str):
    assert cost(model, Usage(input=10**9, output=10**9), {}) == 0


def test_a_router_is_believed_about_what_it_charged():
    assert cost("openrouter/x/y", Usage(input=1), {"cost": 0.00078}) == Decimal("0.00078")
    assert reported_cost(
        {"cost": 0.5, "cost_details": {"upstream_inference_cost": 0.5}, "is_byok": False}
    ) == Decimal("0.5")
    assert reported_cost(
        {"cost": 0.01, "cost_details": {"upstream_inference_cost": 0.2}, "is_byok": True}
    ) == Decimal("0.21")
    assert reported_cost({"cost": 0.01, "is_byok": True}) is None
    assert reported_cost({"prompt_tokens": 3}) is None


def test_replies_that_were_discarded_are_paid_for():
    discarded = {"discarded": [{"usage": {"input": 500_000}, "raw_usage": {}}]}
    assert cost("openai/plain", Usage(input=1_000_000), discarded, TABLE) == Decimal("1.5")
    unknown = {"discarded": [{"usage": {"cache_read": 1}, "raw_usage": {}}]}
    assert cost("openai/plain", Usage(input=1_000_000), unknown, TABLE) is None
    routed = {"cost": 0.5, "discarded": [{"usage": {}, "raw_usage": {"cost": 0.25}}]}
    assert cost("openrouter/x/y", Usage(), routed) == Decimal("0.75")


def test_the_table_is_dated_and_its_classes_are_in_order():
    table = price_table()
    assert table.as_of >= date(2026, 11, 29)
    assert table.source
    for name, prices in table.models.items():
        assert 0 < prices.input < prices.output, name
        assert prices.cache_read is None or prices.cache_read < prices.input, name
        assert prices.cache_write is None or prices.cache_write > prices.input, name
        assert prices.cache_write_long is None or prices.cache_write_long > (prices.cache_write or 0), name
        assert prices.long_context is None or prices.long_context.input > prices.input, name


def test_a_known_price_is_read_exactly():
    usage = Usage(input=1_000_000, cache_read=1_000_000, output=1_000_000)
    assert cost("anthropic/claude-opus-5", usage, {}) == Decimal("30.5")
    assert cost("openai/gpt-5.1-2025-11-13", usage, {}) == Decimal("11.375")
