"""Replies drawn by a vLLM server, tokens in and tokens out (``POST /inference/v1/generate``)."""

import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any, Literal
from uuid import uuid4

import anyio

from pdb_trainer.errors import SamplerError, SamplerUnavailableError, ServerModelError
from pdb_trainer.policy_versions import BASE, PolicyVersions
from pdb_trainer.sampler import Sampled, SampleRequest
from pdb_trainer.vllm_http import HttpRules, VllmHttp, Wire, parsed

_NO_LOGPROB = -9999.0
"""What vLLM says in place of a logarithm that is not finite, or that it does not have."""


class _Entry(Wire):
    token_id: int
    logprob: float


class _Logprobs(Wire):
    content: tuple[_Entry, ...]


class _Span(Wire):
    version: str


class _Choice(Wire):
    token_ids: tuple[int, ...]
    logprobs: _Logprobs
    finish_reason: str
    weight_versions: tuple[_Span, ...] | None = None


class _PromptDetails(Wire):
    cached_tokens: int | None = None


class _Usage(Wire):
    prompt_tokens: int
    prompt_tokens_details: _PromptDetails | None = None


class _Generated(Wire):
    request_id: str
    model: str
    choices: tuple[_Choice, ...]
    usage: _Usage


@asynccontextmanager
async def open_vllm_sampler(
    base_url: str,
    *,
    model: str = BASE,
    versions: PolicyVersions | None = None,
    rules: HttpRules | None = None,
    start_command: str | None = None,
) -> AsyncGenerator["VllmSampler"]:
    """A sampler of the server at ``base_url`` (with or without /v1), which serves the base as ``model``.

    Raises SamplerUnavailableError when no server is there, ServerModelError when it serves another model.
    """
    http = VllmHttp(base_url, rules=rules, start_command=start_command)
    try:
        served = await http.models()
        if model not in served.names:
            raise ServerModelError(
                f"The server at {http.root} serves {', '.join(served.names)}, not {model}: give the name of "
                f"its model, or start one with --served-model-name {model}."
            )
        yield VllmSampler(http, model=model, context_tokens=served.context_tokens, versions=versions)
    finally:
        with anyio.CancelScope(shield=True):
            await http.aclose()


class VllmSampler:
    """A Sampler (see ``pdb_trainer.sampler``) over HTTP, one for any number of requests at once.

    Log-probabilities are those of the distribution that was sampled from if the server runs with
    ``--logprobs-mode processed_logprobs``; of a greedy reply (temperature 0) they are those at temperature 1.
    A seed makes a reply repeatable as far as the server's arithmetic is, which in bfloat16 depends on what
    else it computes at the time.
    """

    def __init__(
        self, http: VllmHttp, *, model: str, context_tokens: int, versions: PolicyVersions | None = None
    ) -> None:
        self.versions = versions or PolicyVersions()
        self._http = http
        self._model = model
        self._context_tokens = context_tokens

    @property
    def version(self) -> str:
        """Name of the weights that the next request is drawn with."""
        return self.versions.current

    @property
    def context_tokens(self) -> int:
        """Prompt and reply together may have so many tokens."""
        return self._context_tokens

    async def sample(self, request: SampleRequest) -> Sampled:
        """Draw one reply, all of it by one version.

        A request that fails on the way is sent again, with the same id, seed and version; what may have come
        of it before is thrown away whole. Raises SamplerError.
        """
        self._check(request)
        request_id = uuid4().hex
        began = time.monotonic()
        with self.versions.use() as version:
            model = self._model if version == BASE else version
            body = await self._http.post(
                "/inference/v1/generate",
                {
                    "request_id": request_id,
                    "model": model,
                    "token_ids": request.prompt,
                    "sampling_params": _sampling(request),
                },
            )
        reply = parsed(_Generated, body, self._http.root)
        if reply.model != model or not reply.request_id.endswith(request_id):
            raise SamplerError(
                f"The server at {self._http.root} answered for {reply.model} ({reply.request_id}) what was "
                f"asked of {model} ({request_id}): something between here and it mixes requests up."
            )
        choice = self._choice(reply, request)
        details = reply.usage.prompt_tokens_details
        return Sampled(
            token_ids=choice.token_ids,
            logprobs=tuple(entry.logprob for entry in choice.logprobs.content),
            finish=_finish(choice),
            version=version,
            request_id=request_id,
            cached_tokens=(details.cached_tokens or 0) if details else 0,
            seconds=time.monotonic() - began,
        )

    async def aclose(self) -> None:
        """Let go of connections; idempotent."""
        await self._http.aclose()

    def _check(self, request: SampleRequest) -> None:
        """Refuse what the server would cut short without a word."""
        if not request.prompt or request.max_tokens < 1:
            raise SamplerError("A reply needs a prompt of at least one token, and room for at least one.")
        wanted = len(request.prompt) + request.max_tokens
        if wanted > self._context_tokens:
            raise SamplerError(
                f"A prompt of {len(request.prompt)} tokens and a reply of up to {request.max_tokens} do not "
                f"go into the {self._context_tokens} that the server takes: ask for fewer, or start it with "
                "a larger --max-model-len."
            )

    def _choice(self, reply: _Generated, request: SampleRequest) -> _Choice:
        """The one reply, if it is whole. Raises SamplerError."""
        root = self._http.root
        if len(reply.choices) != 1:
            raise SamplerError(f"The server at {root} gave {len(reply.choices)} replies, not one.")
        (choice,) = reply.choices
        if choice.finish_reason not in {"stop", "length"}:
            raise SamplerUnavailableError(
                f"The server at {root} ended a reply before it was whole ({choice.finish_reason})."
            )
        entries = choice.logprobs.content
        fault = _fault(choice, request)
        if reply.usage.prompt_tokens != len(request.prompt):
            fault = f"a prompt of {reply.usage.prompt_tokens} tokens, where {len(request.prompt)} were sent"
        if fault is not None:
            raise SamplerError(f"The server at {root} broke its contract: {fault}.")
        if any(entry.logprob <= _NO_LOGPROB for entry in entries):
            raise SamplerError(
                f"The server at {root} drew a token whose log-probability is not finite: the weights of "
                f"{reply.model} hold values that are not finite, or too large for its precision."
            )
        return choice


def _sampling(request: SampleRequest) -> dict[str, Any]:
    """As the server takes it: the whole distribution, and nothing ends a reply but the stop tokens."""
    return {
        "max_tokens": request.max_tokens,
        "temperature": request.temperature,
        "seed": request.seed,
        "top_p": 1.0,
        "top_k": 0,
        "min_p": 0.0,
        "stop_token_ids": sorted(request.stop_ids),
        "ignore_eos": True,
        "logprobs": 0,
        "detokenize": False,
    }


def _fault(choice: _Choice, request: SampleRequest) -> str | None:
    """What is wrong with a reply that says it is whole, or None."""
    token_ids, entries = choice.token_ids, choice.logprobs.content
    if not 1 <= len(token_ids) <= request.max_tokens:
        return f"{len(token_ids)} tokens, where 1 to {request.max_tokens} were asked for"
    if len(entries) != len(token_ids):
        return f"{len(entries)} log-probabilities for {len(token_ids)} tokens"
    if any(entry.token_id != token for entry, token in zip(entries, token_ids, strict=True)):
        return "log-probabilities of other tokens than it drew"
    if any(token in request.stop_ids for token in token_ids[:-1]):
        return "tokens after a stop token"
    if (token_ids[-1] in request.stop_ids) != (choice.finish_reason == "stop"):
        return f"the end {choice.finish_reason!r} after token {token_ids[-1]}"
    if len({span.version for span in choice.weight_versions or ()}) > 1:
        return "base weights that were replaced while it drew a reply"
    return None


def _finish(choice: _Choice) -> Literal["stop", "length"]:
    return "stop" if choice.finish_reason == "stop" else "length"
