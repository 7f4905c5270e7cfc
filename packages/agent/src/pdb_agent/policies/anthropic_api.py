"""Anthropic Messages.

Replies are kept as the bytes that came, not as the SDK's objects: thinking
blocks are signed and bound to what stands before them, so they go back exactly
as they are, in their order, and nothing before them ever changes.
"""

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, ValidationError

from pdb_agent.messages import (
    AssistantMessage,
    Call,
    CallStatus,
    Message,
    Reply,
    Stop,
    ToolMessage,
    ToolResult,
    ToolSpec,
    Usage,
    UserMessage,
)
from pdb_agent.policies.anthropic_models import claude_settings
from pdb_agent.policies.call_parsing import INVALID_JSON, read_call, replayable_arguments
from pdb_agent.policies.faults import Endpoint, request_timeout, sdk_faults, unreadable
from pdb_agent.policies.wire import as_json, count, object_at, text_at
from pdb_agent.policy import Sampling

if TYPE_CHECKING:
    from httpx2 import AsyncClient

_STOPS = {
    "end_turn": Stop.END,
    "stop_sequence": Stop.END,
    "tool_use": Stop.CALLS,
    "max_tokens": Stop.MAX_TOKENS,
    "model_context_window_exceeded": Stop.CONTEXT,
    "refusal": Stop.REFUSAL,
    "pause_turn": Stop.PAUSE,
}
_CUT_STOPS = frozenset({Stop.MAX_TOKENS, Stop.CONTEXT, Stop.REFUSAL})
_NO_TEXT = "(no output)"
_NOT_IN_AN_ID = re.compile(r"[^a-zA-Z0-9_-]")


class _Message(BaseModel):
    id: str | None = None
    model: str | None = None
    content: list[dict[str, Any]]
    stop_reason: str | None = None
    usage: dict[str, Any] = {}


class AnthropicMessages:
    """The dialect; see ``retrying.Dialect``."""

    def __init__(
        self,
        endpoint: Endpoint,
        extra_body: Mapping[str, Any] | None = None,
        http_client: "AsyncClient | None" = None,
    ) -> None:
        import anthropic

        self._sdk = anthropic
        self._endpoint = endpoint
        self._extra_body = dict(extra_body or {})
        self.name = f"anthropic/{endpoint.model}"
        self._client = anthropic.AsyncAnthropic(
            api_key=endpoint.key,
            base_url=endpoint.base_url,
            timeout=request_timeout(anthropic, endpoint),
            max_retries=0,
            http_client=http_client,
        )

    async def ask(
        self, system: str, messages: Sequence[Message], tools: Sequence[ToolSpec], sampling: Sampling
    ) -> Reply:
        """The reply to one request. Raises RequestFault."""
        model = self._endpoint.model
        sent = {**claude_settings(model, sampling), **self._extra_body}
        request: dict[str, Any] = {
            # Marks the last block of every request, so the next one reads all of this from the cache.
            "cache_control": {"type": "ephemeral"},
            "messages": anthropic_messages(messages, self.name),
            **sent,
        }
        if system:
            request["system"] = system
        if tools:
            request["tools"] = [_tool(tool) for tool in tools]
        create: Any = self._client.messages.with_raw_response.create
        with sdk_faults(self._sdk, self._endpoint):
            # As extra_body, which goes out as it is: the SDK has no argument for a temperature,
            # and it walks what it is given along its types, which takes ten times as long.
            raw = await create(model=model, max_tokens=sent["max_tokens"], messages=[], extra_body=request)
        return self._reply(raw.http_response.content, raw.headers.get("request-id") or "", sent)

    def _reply(self, content: bytes, request_id: str, sent: Mapping[str, Any]) -> Reply:
        try:
            body = _Message.model_validate_json(content)
        except ValidationError:
            raise unreadable(self._endpoint, "an answer that is not a message, or is cut off") from None
        calls = [block for block in body.content if block.get("type") == "tool_use"]
        stop = _STOPS.get(body.stop_reason or "", Stop.CALLS if calls else Stop.END)
        cut = body.content[-1] if body.content and stop in _CUT_STOPS else None
        return Reply(
            message=AssistantMessage(
                text="".join(text_at(block, "text") for block in body.content if block.get("type") == "text"),
                reasoning="\n".join(filter(None, (text_at(block, "thinking") for block in body.content))),
                calls=tuple(_call(block, cut=block is cut) for block in calls),
                native=tuple(body.content),
                native_of=self.name,
            ),
            stop=stop,
            usage=anthropic_usage(body.usage),
            model=body.model or self._endpoint.model,
            request_id=request_id or body.id or "",
            raw_usage=body.usage,
            sent=sent,
        )

    async def aclose(self) -> None:
        """Close connections; idempotent."""
        await self._client.close()


def anthropic_messages(messages: Sequence[Message], name: str) -> list[dict[str, Any]]:
    """A conversation as Anthropic's messages, where user and assistant alternate.

    All results of one reply stand in one user message, before any text, as the API wants them.
    """
    turns: list[dict[str, Any]] = []
    for message in messages:
        match message:
            case UserMessage():
                _add(turns, "user", [{"type": "text", "text": message.text}])
            case ToolMessage():
                _add(turns, "user", [_result(result) for result in message.results])
            case AssistantMessage():
                _add(turns, "assistant", _assistant(message, name))
    return turns


def anthropic_usage(usage: Mapping[str, Any]) -> Usage:
    """Usage in our classes; Anthropic's input does not include what was cached."""
    return Usage(
        input=count(usage, "input_tokens"),
        cache_read=count(usage, "cache_read_input_tokens"),
        cache_write=count(usage, "cache_creation_input_tokens"),
        output=count(usage, "output_tokens"),
        reasoning=count(object_at(usage, "output_tokens_details"), "thinking_tokens"),
    )


def _add(turns: list[dict[str, Any]], role: str, blocks: list[dict[str, Any]]) -> None:
    if not blocks:  # an empty reply has nothing to send, and empty messages are refused
        return
    if turns and turns[-1]["role"] == role:
        merged = [*turns[-1]["content"], *blocks]
        turns[-1]["content"] = sorted(merged, key=_after_results) if role == "user" else merged
    else:
        turns.append({"role": role, "content": blocks})


def _after_results(block: Mapping[str, Any]) -> bool:
    return block["type"] != "tool_result"


def _assistant(message: AssistantMessage, name: str) -> list[dict[str, Any]]:
    if message.native_of == name:
        return [_acceptable(block) for block in message.native]
    blocks: list[dict[str, Any]] = [{"type": "text", "text": message.text}] if message.text.strip() else []
    blocks.extend(
        {
            "type": "tool_use",
            "id": _NOT_IN_AN_ID.sub("_", call.id),
            "name": call.name,
            "input": dict(replayable_arguments(call)),
        }
        for call in message.calls
    )
    return blocks


def _acceptable(block: Mapping[str, Any]) -> dict[str, Any]:
    """A block as it came; only a call whose input is no object is wrapped, or it would be refused."""
    if block.get("type") == "tool_use" and not isinstance(block.get("input"), Mapping):
        return {**block, "input": {INVALID_JSON: as_json(block.get("input"))}}
    return dict(block)


def _result(result: ToolResult) -> dict[str, Any]:
    block = {
        "type": "tool_result",
        "tool_use_id": _NOT_IN_AN_ID.sub("_", result.call_id),
        "content": result.text or _NO_TEXT,
    }
    return block if result.status is CallStatus.OK else {**block, "is_error": True}


def _call(block: Mapping[str, Any], *, cut: bool) -> Call:
    value = block.get("input")
    raw = value if isinstance(value, str) else as_json(value)
    return read_call(text_at(block, "id"), text_at(block, "name"), raw, cut=cut)


def _tool(tool: ToolSpec) -> dict[str, Any]:
    return {"name": tool.name, "description": tool.description, "input_schema": dict(tool.schema)}
