"""Requests to a vLLM server: each failure is one of ours, with what to do about it."""

import random
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

import anyio
import httpx
from pydantic import BaseModel, ConfigDict, ValidationError

from pdb_trainer.errors import SamplerError, SamplerUnavailableError, ServerModelError

START = (
    "PYTHON -m vllm.entrypoints.openai.api_server --model FOLDER --served-model-name base --enable-scale-out "
    "--enable-lora --logprobs-mode processed_logprobs"
)
"""Roughly how to start a server by hand; ``policy_server.server_command`` says it exactly."""
_PASSING = frozenset({408, 425, 429, 502, 503, 504})
"""Answers that say nothing of the request: the server is busy, or one in front of it does not reach it."""
_Answer = TypeVar("_Answer", bound="Wire")


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpRules:
    """How patiently to ask; sleep and chance come from outside."""

    tries: int = 4
    """Requests for one answer, the first included."""
    connect_seconds: float = 10.0
    answer_seconds: float = 600.0
    """For one answer, from its request on. Not tried again: a reply that is long would be again, and a policy
    whose long replies are thrown away is not the policy any more."""
    first_wait_seconds: float = 0.5
    """Upper end of the first pause; it doubles each time."""
    sleep: Callable[[float], Awaitable[None]] = anyio.sleep
    chance: Callable[[], float] = random.random
    """Uniform in [0, 1)."""


class ServerFailedError(SamplerUnavailableError):
    """The server says that it failed at a request; ``said`` is what it says."""

    def __init__(self, sentence: str, said: str) -> None:
        super().__init__(sentence)
        self.said = said


class Wire(BaseModel):
    """Something that a server says; what is not named here is not read."""

    model_config = ConfigDict(frozen=True, extra="ignore")


class _Error(Wire):
    message: str


class _ErrorAnswer(Wire):
    error: _Error


class _Model(Wire):
    id: str
    max_model_len: int | None = None


class _Models(Wire):
    data: tuple[_Model, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ServedModels:
    """What a server serves."""

    names: tuple[str, ...]
    """The base model first, then adapters."""
    context_tokens: int
    """Prompt and reply together may have so many."""


class VllmHttp:
    """One server and one pool of connections, for many requests at once."""

    def __init__(
        self, base_url: str, *, rules: HttpRules | None = None, start_command: str | None = None
    ) -> None:
        self.root = base_url.rstrip("/").removesuffix("/v1")
        self._rules = rules or HttpRules()
        self._start_command = start_command or START
        limits = httpx.Limits(max_connections=None, max_keepalive_connections=64)
        timeout = httpx.Timeout(None, connect=self._rules.connect_seconds)
        self._client = httpx.AsyncClient(base_url=self.root, limits=limits, timeout=timeout, trust_env=False)

    async def models(self) -> ServedModels:
        """What is served now. Raises SamplerError."""
        answer = parsed(_Models, await self.get("/v1/models"), self.root)
        lengths = [model.max_model_len for model in answer.data if model.max_model_len is not None]
        if not lengths:
            raise SamplerError(f"The server at {self.root} does not say how long a conversation may be.")
        return ServedModels(names=tuple(model.id for model in answer.data), context_tokens=lengths[0])

    async def get(self, path: str) -> bytes:
        """The body of an answer. Raises SamplerError."""
        return await self._ask("GET", path, None)

    async def post(self, path: str, body: Mapping[str, Any]) -> bytes:
        """The same for a request with a body; after a failed try it is sent again as it is."""
        return await self._ask("POST", path, body)

    async def aclose(self) -> None:
        """Close the connections; idempotent."""
        await self._client.aclose()

    async def _ask(self, method: str, path: str, body: Mapping[str, Any] | None) -> bytes:
        """An answer is returned whole or not at all, so asking again never makes two of it."""
        rules = self._rules
        failure = ""
        for number in range(rules.tries):
            if number:
                await rules.sleep(rules.chance() * rules.first_wait_seconds * 2.0 ** (number - 1))
            try:
                answer = await self._answer(method, path, body)
            except _PassingError as fault:
                failure = fault.sentence
                continue
            if answer.status_code in _PASSING:
                failure = f"The vLLM server at {self.root} does not take {path} ({_said(answer)})."
                continue
            self._refuse(path, answer)
            return answer.content
        raise SamplerUnavailableError(f"{failure} Given up after {rules.tries} tries.")

    async def _answer(self, method: str, path: str, body: Mapping[str, Any] | None) -> httpx.Response:
        try:
            with anyio.fail_after(self._rules.answer_seconds):
                return await self._client.request(method, path, json=body)
        except TimeoutError:
            raise SamplerUnavailableError(
                f"The vLLM server at {self.root} did not answer {path} within "
                f"{self._rules.answer_seconds:g} s: give it longer (answer_seconds), ask for fewer tokens, "
                "or look into its log whether it still works."
            ) from None
        except (httpx.ConnectError, httpx.ConnectTimeout) as error:
            raise _PassingError(
                f"No vLLM server answers at {self.root} ({error}): start one with "
                f"`{self._start_command}`, or leave the address out to have one started."
            ) from None
        except httpx.TransportError as error:
            raise _PassingError(
                f"The vLLM server at {self.root} broke off {path} ({type(error).__name__}: {error}): look "
                f"into its log; it is started with `{self._start_command}`."
            ) from None

    def _refuse(self, path: str, answer: httpx.Response) -> None:
        """Raise for an answer that will be the same every time."""
        status = answer.status_code
        if status < 300:
            return
        said = _said(answer)
        if status >= 500:
            raise ServerFailedError(
                f"The vLLM server at {self.root} failed at {path} ({said}): look into its log.", said
            )
        if status in {403, 405} or (status == 404 and _words(answer) is None):
            raise ServerModelError(
                f"The vLLM server at {self.root} has no {path} ({said}): start it with "
                f"`{self._start_command}`."
            )
        if status == 404:
            raise ServerModelError(
                f"The vLLM server at {self.root} does not have what is asked of it ({said}): it is another "
                "one, or was started anew, so publish the weights again."
            )
        raise SamplerError(f"The vLLM server at {self.root} refuses {path} ({said}).")


class _PassingError(Exception):
    """May be gone the next time; no answer has come."""

    def __init__(self, sentence: str) -> None:
        super().__init__(sentence)
        self.sentence = sentence


def parsed(kind: type[_Answer], body: bytes, root: str) -> _Answer:
    """What an answer says. Raises SamplerError when it is of another shape."""
    try:
        return kind.model_validate_json(body)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"])
        shown = body[:200].decode("utf-8", errors="replace")
        raise SamplerError(
            f"The server at {root} does not answer like vLLM 0.32 ({place or 'body'}: {first['msg']}): "
            f"{shown}"
        ) from None


def _said(answer: httpx.Response) -> str:
    text = _words(answer) or answer.text.strip()[:500] or "without a word"
    return f"{answer.status_code}, {text.rstrip('.')}"


def _words(answer: httpx.Response) -> str | None:
    """What vLLM itself says of a failure; None where the answer is not its own."""
    try:
        return _ErrorAnswer.model_validate_json(answer.content).error.message
    except ValidationError:
        return None
