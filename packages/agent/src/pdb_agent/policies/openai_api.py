"""OpenAI Responses, kept nowhere but here: nothing is stored, so reasoning travels encrypted.

Output items go back exactly as they came, in their order, with their reasoning.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

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
from pdb_agent.policies.call_parsing import read_call, replayable_arguments
from pdb_agent.policies.faults import Endpoint, request_timeout, sdk_faults, status_fault, unreadable
from pdb_agent.policies.openai_models import ENCRYPTED_REASONING, gpt_settings, gpt_traits
from pdb_agent.policies.wire import as_json, count, object_at, text_at
from pdb_agent.policy import Sampling

if TYPE_CHECKING:
    from httpx2 import AsyncClient

_INCOMPLETE = {"max_output_tokens": Stop.MAX_TOKENS, "content_filter": Stop.REFUSAL}
_STATUS_OF_ERROR = {"rate_limit_exceeded": 429, "invalid_prompt": 400, "context_length_exceeded": 400}


class _Response(BaseModel):
    id: str | None = None
    model: str | None = None
    status: str | None = None
    output: list[dict[str, Any]]
    usage: dict[str, Any] | None = None
    incomplete_details: dict[str, Any] | None = None
    error: dict[str, Any] | None = None


class OpenAIResponses:
    """The dialect; see ``retrying.Dialect``."""

    def __init__(
        self,
        endpoint: Endpoint,
        extra_body: Mapping[str, Any] | None = None,
        http_client: "AsyncClient | None" = None,
    ) -> None:
        import openai

        self._sdk = openai
        self._endpoint = endpoint
        self._extra_body = dict(extra_body or {})
        self.name = f"openai/{endpoint.model}"
        self._client = openai.AsyncOpenAI(
            api_key=endpoint.key,
            base_url=endpoint.base_url,
            timeout=request_timeout(openai, endpoint),
            max_retries=0,
            http_client=http_client,
        )

    async def ask(
        self, system: str, messages: Sequence[Message], tools: Sequence[ToolSpec], sampling: Sampling
    ) -> Reply:
        """The reply to one request. Raises RequestFault."""
        model = self._endpoint.model
        sent = {**gpt_settings(model, sampling), **self._extra_body}
        request: dict[str, Any] = {
            "input": responses_input(messages, self.name),
            "store": False,
            "truncation": "disabled",  # what does not fit is an error, never silently dropped
        }
        if gpt_traits(model).reasons:
            request["include"] = [ENCRYPTED_REASONING]
        if system:
            request["instructions"] = system
        if tools:
            request["tools"] = [_tool(tool) for tool in tools]
        create: Any = self._client.responses.with_raw_response.create
        with sdk_faults(self._sdk, self._endpoint):
            # As extra_body, which goes out as it is: the SDK walks its arguments along their types,
            # a quarter of a second for a conversation of fifty turns.
            raw = await create(model=model, input=[], extra_body={**request, **sent})
        return self._reply(raw.http_response.content, raw.headers.get("x-request-id") or "", sent)

    def _reply(self, content: bytes, request_id: str, sent: Mapping[str, Any]) -> Reply:
        body = self._body(content)
        stop, cut = _stop(body)
        usage = body.usage or {}
        return Reply(
            message=AssistantMessage(
                text="".join(_texts(body.output, "message", "content")),
                reasoning="\n".join(_texts(body.output, "reasoning", "summary")),
                calls=tuple(
                    _call(item, cut=cut and item is body.output[-1])
                    for item in body.output
                    if item.get("type") == "function_call"
                ),
                native=tuple(body.output),
                native_of=self.name,
            ),
            stop=stop,
            usage=responses_usage(usage),
            model=body.model or self._endpoint.model,
            request_id=request_id or body.id or "",
            raw_usage=usage,
            sent=sent,
        )

    def _body(self, content: bytes) -> _Response:
        try:
            body = _Response.model_validate_json(content)
        except ValidationError:
            raise unreadable(self._endpoint, "an answer that is not a response, or is cut off") from None
        if body.error or body.status in ("failed", "cancelled"):
            error = body.error or {"message": f"the response was {body.status}"}
            status = _STATUS_OF_ERROR.get(text_at(error, "code"), 500)
            raise status_fault(self._endpoint, status, {"error": error})
        return body

    async def aclose(self) -> None:
        """Close connections; idempotent."""
        await self._client.close()


def responses_input(messages: Sequence[Message], name: str) -> list[dict[str, Any]]:
    """A conversation as input items; one ``function_call_output`` for every result."""
    items: list[dict[str, Any]] = []
    for message in messages:
        match message:
            case UserMessage():
                items.append({"role": "user", "content": message.text})
            case ToolMessage():
                items.extend(
                    {"type": "function_call_output", "call_id": result.call_id, "output": result.text}
                    for result in message.results
                )
            case AssistantMessage():
                items.extend(_assistant(message, name))
    return items


def responses_usage(usage: Mapping[str, Any]) -> Usage:
    """Usage in classes that do not overlap; OpenAI's input includes what was cached."""
    details = object_at(usage, "input_tokens_details")
    cache_read, cache_write = count(details, "cached_tokens"), count(details, "cache_write_tokens")
    return Usage(
        input=max(0, count(usage, "input_tokens") - cache_read - cache_write),
        cache_read=cache_read,
        cache_write=cache_write,
        output=count(usage, "output_tokens"),
        reasoning=count(object_at(usage, "output_tokens_details"), "reasoning_tokens"),
    )


def _assistant(message: AssistantMessage, name: str) -> list[dict[str, Any]]:
    if message.native_of == name:
        return [dict(item) for item in _without_orphans(message.native)]
    items: list[dict[str, Any]] = []
    if message.text.strip():
        items.append({"role": "assistant", "content": message.text})
    items.extend(
        {
            "type": "function_call",
            "call_id": call.id,
            "name": call.name,
            "arguments": as_json(replayable_arguments(call)),
        }
        for call in message.calls
    )
    return items


def _without_orphans(items: Sequence[Mapping[str, Any]]) -> Sequence[Mapping[str, Any]]:
    """Items less the reasoning at their end: the API refuses reasoning that nothing follows."""
    kept = len(items)
    while kept and items[kept - 1].get("type") == "reasoning":
        kept -= 1
    return items[:kept]


def _stop(body: _Response) -> tuple[Stop, bool]:
    """Why the reply ended, and whether its last item may be unfinished."""
    if body.status == "incomplete":
        reason = text_at(body.incomplete_details or {}, "reason")
        return _INCOMPLETE.get(reason, Stop.MAX_TOKENS), True
    if any(item.get("type") == "function_call" for item in body.output):
        return Stop.CALLS, False
    refused = any(part.get("type") == "refusal" for item in body.output for part in _parts(item, "content"))
    return (Stop.REFUSAL if refused else Stop.END), False


def _parts(item: Mapping[str, Any], key: str) -> Sequence[Mapping[str, Any]]:
    parts = item.get(key)
    return cast("list[Mapping[str, Any]]", parts) if isinstance(parts, list) else []


def _texts(items: Sequence[Mapping[str, Any]], kind: str, key: str) -> list[str]:
    """Texts, and the words of refusals, in the parts of all items of a kind."""
    parts = [part for item in items if item.get("type") == kind for part in _parts(item, key)]
    return [text_at(part, "text") or text_at(part, "refusal") for part in parts]


def _call(item: Mapping[str, Any], *, cut: bool) -> Call:
    cut = cut or item.get("status") == "incomplete"
    return read_call(text_at(item, "call_id"), text_at(item, "name"), text_at(item, "arguments"), cut=cut)


def _tool(tool: ToolSpec) -> dict[str, Any]:
    return {
        "type": "function",
        "name": tool.name,
        "description": tool.description,
        "parameters": dict(tool.schema),
        "strict": False,  # schemas of MCP tools seldom fit what strict allows
    }
