"""What goes wrong with one request to a provider, and whether asking again is worth it.

Both official SDKs raise errors of the same names and shapes, so one reading
serves them. No sentence made here holds a key: a provider's own words are cut
to length and cleaned of it first.
"""

import re
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, cast

import anyio

from pdb_agent.policy import ContextOverflowError, PolicyError, PolicyRequestError, PolicyUnavailableError

_LONGEST_QUOTE_CHARS = 500
_OVERFLOW_WORDS = re.compile(
    r"context[_ ](length|size|window|limit)|maximum context|prompt is too long|input (is )?too long"
    r"|exceeds? the maximum (input|number of (input )?tokens)|longer than the maximum model length"
    r"|reduce the length of the (input|messages|prompt)|max_model_len",
    re.IGNORECASE,
)
_SHORT_OF_CREDIT = re.compile(r"insufficient_quota|credit balance|billing", re.IGNORECASE)
_LOOKS_LIKE_A_KEY = re.compile(r"\b(sk|key|pk)-[\w*.\-]{6,}|\bBearer\s+\S+", re.IGNORECASE)
_CONNECT_SECONDS = 30.0
_NEVER_BETTER_LATER = frozenset({501, 505})


class FaultKind(StrEnum):
    """What asking again can bring."""

    TRANSIENT = "transient"
    """The same request may succeed later."""
    REQUEST = "request"
    """The same request fails every time."""
    OVERFLOW = "overflow"
    """The conversation does not fit into the model."""


class RequestFault(Exception):  # noqa: N818 - a step on the way to a PolicyError, never seen outside policies
    """One request failed; ``sentence`` says how, without any key."""

    def __init__(self, sentence: str, kind: FaultKind, *, retry_after: str | None = None) -> None:
        super().__init__(sentence)
        self.sentence = sentence
        self.kind = kind
        self.retry_after = retry_after
        """The header as sent: seconds or a date."""

    def as_policy_error(self) -> PolicyError:
        """The error that a policy's user sees for a fault that is not retried."""
        match self.kind:
            case FaultKind.OVERFLOW:
                return ContextOverflowError(self.sentence)
            case FaultKind.REQUEST:
                return PolicyRequestError(self.sentence)
            case FaultKind.TRANSIENT:
                return PolicyUnavailableError(self.sentence)


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """Where requests go and with what key; its text never shows the key."""

    title: str
    """As named in errors, such as ``Anthropic``."""
    model: str
    key: str = field(repr=False)
    key_variable: str
    base_url: str | None = None
    """None: the SDK's own default and its variables."""
    timeout_seconds: float = 600.0

    def quoted(self, text: str) -> str:
        """A provider's words, cleaned of keys and cut to a length that fits into an error."""
        clean = text.replace(self.key, "…") if self.key else text
        clean = " ".join(_LOOKS_LIKE_A_KEY.sub("…", clean).split()).rstrip(".")
        return clean if len(clean) <= _LONGEST_QUOTE_CHARS else clean[: _LONGEST_QUOTE_CHARS - 1] + "…"


def request_timeout(sdk: Any, endpoint: Endpoint) -> Any:
    """The SDK's timeouts for one request: an address that nobody answers at is found out sooner."""
    seconds = endpoint.timeout_seconds
    return sdk.Timeout(seconds, connect=min(seconds, _CONNECT_SECONDS))


@contextmanager
def sdk_faults(sdk: Any, endpoint: Endpoint) -> Generator[None]:
    """Bound a request in time, and turn what the SDK raises into RequestFault.

    ``sdk`` is a module, ``anthropic`` or ``openai``. Its own timeouts hold for
    each read, and a server that sends a byte now and then would never meet one.
    """
    try:
        with anyio.fail_after(endpoint.timeout_seconds):
            yield
    except sdk.APIStatusError as error:
        raise status_fault(endpoint, error.status_code, error.body, headers=error.response.headers) from None
    except (sdk.APITimeoutError, TimeoutError):
        sentence = f"{endpoint.title} did not answer within {endpoint.timeout_seconds:g} seconds."
        raise RequestFault(sentence, FaultKind.TRANSIENT) from None
    except sdk.APIConnectionError as error:
        cause = error.__cause__ or error
        detail = endpoint.quoted(f"{type(cause).__name__}: {cause}".rstrip(": "))
        sentence = f"The connection to {endpoint.title} failed ({detail})."
        raise RequestFault(sentence, FaultKind.TRANSIENT) from None
    except (sdk.APIError, UnicodeError) as error:
        sentence = f"{endpoint.title} gave no usable answer ({endpoint.quoted(str(error))})."
        raise RequestFault(sentence, FaultKind.TRANSIENT) from None


def status_fault(
    endpoint: Endpoint, status: int, body: object, *, headers: Mapping[str, str] | None = None
) -> RequestFault:
    """The fault that an HTTP status and the body beside it amount to."""
    message, code = _message_and_code(body)
    kind = _kind(status, f"{code} {message}")
    sentence = _sentence(endpoint, status, endpoint.quoted(message), kind)
    return RequestFault(sentence, kind, retry_after=_retry_after(headers or {}))


def unreadable(endpoint: Endpoint, what: str) -> RequestFault:
    """The fault of an answer with status 200 that cannot be used."""
    return RequestFault(f"{endpoint.title} sent {what}.", FaultKind.TRANSIENT)


def _retry_after(headers: Mapping[str, str]) -> str | None:
    milliseconds = headers.get("retry-after-ms")
    if milliseconds is not None:
        try:
            return str(float(milliseconds) / 1000)
        except ValueError:
            pass
    return headers.get("retry-after")


def _message_and_code(body: object) -> tuple[str, str]:
    """What the body says, in any of the shapes that providers use."""
    if not isinstance(body, Mapping):
        return str(body or ""), ""
    fields = cast("Mapping[str, Any]", body)
    inner = fields.get("error")
    if isinstance(inner, Mapping):
        return _message_and_code(cast("Mapping[str, Any]", inner))
    message = fields.get("message") or inner or fields.get("detail") or ""
    metadata = fields.get("metadata")
    if isinstance(metadata, Mapping):  # a router quotes whom it asked
        message = f"{message} {cast('Mapping[str, Any]', metadata).get('raw') or ''}"
    return str(message).strip(), f"{fields.get('code') or ''} {fields.get('type') or ''}"


def _kind(status: int, words: str) -> FaultKind:
    if status == 413 or (status < 500 and status != 429 and _OVERFLOW_WORDS.search(words)):
        return FaultKind.OVERFLOW
    if status == 429 and _SHORT_OF_CREDIT.search(words):
        return FaultKind.REQUEST
    if status in (408, 409, 425, 429) or (status >= 500 and status not in _NEVER_BETTER_LATER):
        return FaultKind.TRANSIENT
    return FaultKind.REQUEST


def _sentence(endpoint: Endpoint, status: int, message: str, kind: FaultKind) -> str:
    said = f": {message}" if message else ""
    if kind is FaultKind.OVERFLOW:
        return (
            f"The conversation does not fit into {endpoint.model} ({status}{said}). "
            "Lower the context limit or the output tokens per turn."
        )
    if kind is FaultKind.TRANSIENT:
        return f"{endpoint.title} answered {status}{said}."
    match status:
        case 401 | 403:
            way_on = f"Set {endpoint.key_variable} to a key that may use {endpoint.model}."
        case 402 | 429:
            way_on = "Add credit to the account, or use another key."
        case 404:
            way_on = f"Check the model's name ({endpoint.model}) and the base URL."
        case _:
            way_on = "Change what it names: asking again would be refused again."
    return f"{endpoint.title} refused the request ({status}{said}). {way_on}"
