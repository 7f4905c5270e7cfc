"""Chat completions, the one dialect that vLLM, OpenRouter and local servers share.

Written against the documented fields only, and lenient about everything else:
these servers agree on the shape and on little more.
"""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal, cast

from pydantic import BaseModel, ValidationError

from pdb_agent.messages import (
    AssistantMessage,
    Call,
    Message,
    Reply,
    Stop,
    ToolMessage,
    ToolSpec,
    Usage,
    UserMessage,
)
from pdb_agent.policies.call_parsing import calls_in_text, read_call, replayable_arguments
from pdb_agent.policies.faults import (
    Endpoint,
    RequestFault,
    request_timeout,
    sdk_faults,
    status_fault,
    unreadable,
)
from pdb_agent.policies.wire import as_json, count, object_at
from pdb_agent.policy import Sampling

if TYPE_CHECKING:
    from httpx2 import AsyncClient

_STOPS = {"length": Stop.MAX_TOKENS, "content_filter": Stop.REFUSAL}
_FAILED = frozenset({"error", "abort"})
_REASONING_KEYS = ("reasoning", "reasoning_content")
_NO_KEY = "none"
"""Sent where a server wants no key; the SDK wants one."""
Flavour = Literal["vllm", "openrouter", "compatible"]


class _Choice(BaseModel):
    message: dict[str, Any]
    finish_reason: str | None = None
    error: object = None


class _Completion(BaseModel):
    id: str | None = None
    model: str | None = None
    choices: list[_Choice] = []
    usage: dict[str, Any] | None = None
    error: object = None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Said:
    """A message as the server sent it, read."""

    text: str
    reasoning: str
    calls: tuple[Call, ...] = ()
    fallback: bool = False
    refused: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatSettings:
    """How to speak to one server."""

    flavour: Flavour = "compatible"
    extra_body: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """Added to every request, over what is there: ``top_k``, ``chat_template_kwargs``, ``provider`` …"""


class ChatCompletions:
    """The dialect; see ``retrying.Dialect``."""

    def __init__(
        self,
        endpoint: Endpoint,
        settings: ChatSettings | None = None,
        http_client: "AsyncClient | None" = None,
    ) -> None:
        import openai

        self._sdk = openai
        self._endpoint = endpoint
        self._settings = settings or ChatSettings()
        self.name = f"{self._settings.flavour}/{endpoint.model}"
        key = endpoint.key or _NO_KEY
        self._client = openai.AsyncOpenAI(
            api_key=key,
            base_url=endpoint.base_url,
            timeout=request_timeout(openai, endpoint),
            max_retries=0,
            http_client=http_client,
            default_headers=_headers(openai, key),
        )
        # What the SDK found in OPENAI_… variables is meant for OpenAI, not for whoever this server is.
        self._client.organization = self._client.project = None

    async def ask(
        self, system: str, messages: Sequence[Message], tools: Sequence[ToolSpec], sampling: Sampling
    ) -> Reply:
        """The reply to one request. Raises RequestFault."""
        sent = {**_sampling_fields(sampling, self._settings.flavour), **self._settings.extra_body}
        request: dict[str, Any] = {"messages": chat_messages(system, messages, self.name)}
        if tools:
            request["tools"] = [_tool(tool) for tool in tools]
        create: Any = self._client.chat.completions.with_raw_response.create
        with sdk_faults(self._sdk, self._endpoint):
            # As extra_body, which goes out as it is: the SDK walks its arguments along their types,
            # a tenth of a second for a conversation of fifty turns.
            raw = await create(model=self._endpoint.model, messages=[], extra_body={**request, **sent})
        # Ids must be unique in a conversation, and the same when it is recorded and played again.
        reply = self._reply(raw.http_response.content, tools, f"call_{len(messages)}", sent)
        return replace(reply, request_id=raw.headers.get("x-request-id") or reply.request_id)

    def _reply(self, content: bytes, tools: Sequence[ToolSpec], stem: str, sent: Mapping[str, Any]) -> Reply:
        body, choice = self._choice(content)
        cut = choice.finish_reason == "length"
        said = _read_message(choice.message, tools, stem, cut=cut)
        stop = _STOPS.get(choice.finish_reason or "", Stop.CALLS if said.calls else Stop.END)
        usage = body.usage or {}
        return Reply(
            message=AssistantMessage(
                text=said.text,
                reasoning=said.reasoning,
                calls=said.calls,
                native=(choice.message,),
                native_of=self.name,
            ),
            stop=Stop.REFUSAL if said.refused else stop,
            usage=disjoint_usage(usage),
            model=body.model or self._endpoint.model,
            request_id=body.id or "",
            parser_fallback=said.fallback,
            raw_usage=usage,
            sent=sent,
        )

    def _choice(self, content: bytes) -> tuple[_Completion, _Choice]:
        try:
            body = _Completion.model_validate_json(content)
        except ValidationError:
            raise unreadable(
                self._endpoint, "an answer that is not a chat completion, or is cut off"
            ) from None
        if body.error:
            raise self._error_inside(body.error)
        if not body.choices:
            raise unreadable(self._endpoint, "a chat completion without a choice")
        choice = body.choices[0]
        if choice.error or choice.finish_reason in _FAILED:
            raise self._error_inside(
                choice.error or {"message": f"the reply ended by {choice.finish_reason}"}
            )
        return body, choice

    def _error_inside(self, error: object) -> RequestFault:
        """A router answers 200 before it knows, and puts the real status into the body."""
        code = object_at({"error": error}, "error").get("code")
        status = code if isinstance(code, int) and 400 <= code < 600 else 502
        return status_fault(self._endpoint, status, {"error": error})

    async def aclose(self) -> None:
        """Close connections; idempotent."""
        await self._client.close()


def chat_messages(system: str, messages: Sequence[Message], name: str) -> list[dict[str, Any]]:
    """A conversation as chat messages; one ``tool`` message for every result."""
    chat: list[dict[str, Any]] = [{"role": "system", "content": system}] if system else []
    for message in messages:
        match message:
            case UserMessage():
                chat.append({"role": "user", "content": message.text})
            case AssistantMessage():
                chat.append(_assistant(message, name))
            case ToolMessage():
                chat.extend(
                    {"role": "tool", "tool_call_id": result.call_id, "content": result.text}
                    for result in message.results
                )
    return chat


def disjoint_usage(usage: Mapping[str, Any]) -> Usage:
    """Usage in classes that do not overlap, out of one where the prompt includes what was cached."""
    prompt, details = count(usage, "prompt_tokens"), object_at(usage, "prompt_tokens_details")
    cache_read, cache_write = count(details, "cached_tokens"), count(details, "cache_write_tokens")
    return Usage(
        input=max(0, prompt - cache_read - cache_write),
        cache_read=cache_read,
        cache_write=cache_write,
        output=count(usage, "completion_tokens"),
        reasoning=count(object_at(usage, "completion_tokens_details"), "reasoning_tokens"),
    )


def _assistant(message: AssistantMessage, name: str) -> dict[str, Any]:
    chat: dict[str, Any] = {"role": "assistant", "content": message.text}
    if message.calls:
        chat["content"] = message.text or None
        chat["tool_calls"] = [
            {
                "id": call.id,
                "type": "function",
                "function": {"name": call.name, "arguments": _arguments_text(call)},
            }
            for call in message.calls
        ]
    if message.native_of == name:
        chat |= _reasoning_again(message.native[0] if message.native else {})
    return chat


def _arguments_text(call: Call) -> str:
    """The model's own text where it parses: some servers refuse a history in which one call does not."""
    return (
        call.raw if call.arguments is not None and call.raw.strip() else as_json(replayable_arguments(call))
    )


def _reasoning_again(native: Mapping[str, Any]) -> dict[str, Any]:
    """What the server said of its reasoning, verbatim and under the name that it used.

    Details are signed, and hold whatever the plain text would say again.
    """
    if native.get("reasoning_details"):
        return {"reasoning_details": native["reasoning_details"]}
    key = next((key for key in _REASONING_KEYS if native.get(key)), None)
    return {key: native[key]} if key else {}


def _read_message(message: Mapping[str, Any], tools: Sequence[ToolSpec], stem: str, *, cut: bool) -> _Said:
    text = _text(message.get("content"))
    reasoning = next((str(message[key]) for key in _REASONING_KEYS if message.get(key)), "")
    if not reasoning and "</think>" in text:  # a server that was started without a parser for reasoning
        reasoning, _, text = text.partition("</think>")
        reasoning = reasoning.strip().removeprefix("<think>").strip()
    refusal = message.get("refusal")
    calls = _structured_calls(message, stem, cut=cut)
    if calls or not tools:
        return _Said(text=text, reasoning=reasoning, calls=calls, refused=bool(refusal))
    found = calls_in_text(text, tools, stem, cut=cut)
    if found is not None:
        return _Said(text=found.text, reasoning=reasoning, calls=found.calls, fallback=True)
    if not text.strip() and (found := calls_in_text(reasoning, tools, stem, cut=cut)) is not None:
        return _Said(text="", reasoning=reasoning, calls=found.calls, fallback=True)
    return _Said(text=text or str(refusal or ""), reasoning=reasoning, refused=bool(refusal))


def _structured_calls(message: Mapping[str, Any], stem: str, *, cut: bool) -> tuple[Call, ...]:
    entries: Sequence[Mapping[str, Any]] = message.get("tool_calls") or ()
    seen: set[str] = set()
    calls: list[Call] = []
    for index, entry in enumerate(entries):
        function = object_at(entry, "function")
        arguments = function.get("arguments")
        raw = arguments if isinstance(arguments, str) else as_json(arguments if arguments is not None else {})
        call_id = str(entry.get("id") or "")
        if not call_id or call_id in seen:
            call_id = f"{stem}_{index}"
        seen.add(call_id)
        # Only the last call can be the one that the token limit cut, and a parser may have closed it.
        cut_here = cut and index == len(entries) - 1
        calls.append(read_call(call_id, str(function.get("name") or ""), raw, cut=cut_here))
    return tuple(calls)


def _text(content: object) -> str:
    """Text of a content that is a string, parts or nothing."""
    if isinstance(content, str):
        return content
    parts = cast("list[Mapping[str, Any]]", content) if isinstance(content, list) else []
    return "".join(str(part.get("text") or "") for part in parts)


def _sampling_fields(sampling: Sampling, flavour: Flavour) -> dict[str, Any]:
    """Sampling as request fields."""
    wanted = {"temperature": sampling.temperature, "top_p": sampling.top_p, "seed": sampling.seed}
    fields: dict[str, Any] = {"max_tokens": sampling.max_output_tokens}
    fields |= {key: value for key, value in wanted.items() if value is not None}
    match flavour, sampling.effort:
        case _, None:
            pass
        case "openrouter", effort:  # its own field, whose top is called xhigh
            fields["reasoning"] = {"effort": "xhigh" if effort == "max" else effort}
        case _, effort:
            fields["reasoning_effort"] = effort
    return fields


def _tool(tool: ToolSpec) -> dict[str, Any]:
    function = {"name": tool.name, "description": tool.description, "parameters": dict(tool.schema)}
    return {"type": "function", "function": function}


def _headers(openai: Any, key: str) -> dict[str, Any]:
    """Our own key, and none of what OPENAI_CUSTOM_HEADERS would add: that is for OpenAI."""
    lines = os.environ.get("OPENAI_CUSTOM_HEADERS", "").splitlines()
    ambient = {line.partition(":")[0].strip(): openai.Omit() for line in lines if ":" in line}
    own = {name: value for name, value in ambient.items() if name.lower() != "authorization"}
    return {**own, "Authorization": f"Bearer {key}"}
