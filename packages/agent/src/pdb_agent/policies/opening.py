"""A policy by its name, such as ``anthropic/claude-opus-5-5`` or ``vllm/Qwen3-Coder``."""

import importlib.util
import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pdb_agent.policies.faults import Endpoint
from pdb_agent.policies.retrying import Dialect, RetryingPolicy, RetryRules
from pdb_agent.policy import PolicyRequestError


@dataclass(frozen=True, slots=True, kw_only=True)
class Provider:
    """What opening a provider's model takes."""

    title: str
    sdk: str
    """The package that speaks to it, and the extra that installs it."""
    key_variable: str
    needs_key: bool = True
    base_url: str | None = None
    needs_base_url: bool = False


PROVIDERS: Mapping[str, Provider] = {
    "anthropic": Provider(title="Anthropic", sdk="anthropic", key_variable="ANTHROPIC_API_KEY"),
    "openai": Provider(title="OpenAI", sdk="openai", key_variable="OPENAI_API_KEY"),
    "openrouter": Provider(
        title="OpenRouter",
        sdk="openai",
        key_variable="OPENROUTER_API_KEY",
        base_url="https://openrouter.ai/api/v1",
    ),
    "vllm": Provider(
        title="The vLLM server",
        sdk="openai",
        key_variable="VLLM_API_KEY",
        needs_key=False,
        base_url="http://127.0.0.1:8000/v1",
    ),
    "compatible": Provider(
        title="The server",
        sdk="openai",
        key_variable="COMPATIBLE_API_KEY",
        needs_key=False,
        needs_base_url=True,
    ),
}
"""By the first part of a policy's name."""


def open_policy(
    name: str,
    *,
    base_url: str | None = None,
    key_variable: str | None = None,
    extra_body: Mapping[str, Any] | None = None,
    timeout_seconds: float = 600.0,
    retry: RetryRules | None = None,
    environment: Mapping[str, str] | None = None,
) -> RetryingPolicy:
    """Open the policy called ``provider/model``; close it with ``async with`` or ``aclose``.

    ``key_variable`` names the environment variable that holds the key, where
    that is not the provider's own. ``extra_body`` is added to every request.

    Raises PolicyRequestError where the name, the key or the provider's SDK is missing.
    """
    provider_name, _, model = name.partition("/")
    provider = PROVIDERS.get(provider_name)
    if provider is None or not model:
        known = ", ".join(f"{known}/…" for known in PROVIDERS)
        raise PolicyRequestError(f"No policy is called {name!r}: write one of {known} and a model's name.")
    if provider.needs_base_url and not base_url:
        raise PolicyRequestError(f"{name!r} needs the server's address: give its base URL, ending in /v1.")
    endpoint = Endpoint(
        title=provider.title,
        model=model,
        key=_key(name, provider, key_variable, os.environ if environment is None else environment),
        key_variable=key_variable or provider.key_variable,
        base_url=base_url or provider.base_url,
        timeout_seconds=timeout_seconds,
    )
    if importlib.util.find_spec(provider.sdk) is None:
        raise PolicyRequestError(
            f"{name!r} needs the package {provider.sdk!r}: pip install 'pdb-agent[{provider.sdk}]'."
        )
    return RetryingPolicy(_dialect(provider_name, endpoint, extra_body or {}), retry)


def _key(name: str, provider: Provider, key_variable: str | None, environment: Mapping[str, str]) -> str:
    variable = key_variable or provider.key_variable
    key = environment.get(variable, "").strip()
    if not key and (provider.needs_key or key_variable is not None):
        raise PolicyRequestError(f"{name!r} needs a key: set the environment variable {variable}.")
    return key


def _dialect(provider_name: str, endpoint: Endpoint, extra_body: Mapping[str, Any]) -> Dialect:
    # Each import brings its SDK only when it is asked for.
    match provider_name:
        case "anthropic":
            from pdb_agent.policies.anthropic_api import AnthropicMessages

            return AnthropicMessages(endpoint, extra_body)
        case "openai":
            from pdb_agent.policies.openai_api import OpenAIResponses

            return OpenAIResponses(endpoint, extra_body)
        case _:
            from pdb_agent.policies.openai_compatible import ChatCompletions, ChatSettings

            flavour = "openrouter" if provider_name == "openrouter" else "compatible"
            flavour = "vllm" if provider_name == "vllm" else flavour
            return ChatCompletions(endpoint, ChatSettings(flavour=flavour, extra_body=extra_body))
