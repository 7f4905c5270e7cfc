"""A policy over somebody else's chat client: whatever has ``chat.completions.create``, of any SDK version.

Trainers hand their environments such a client. It is spoken to with plain messages, so that this module
needs no SDK itself; what the client raises, it raises.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from pdb_agent.exports.conversation import function_tool
from pdb_agent.messages import AssistantMessage, Call, Message, Reply, Stop, ToolSpec
from pdb_agent.policies.call_parsing import calls_in_text, read_call
from pdb_agent.policies.openai_compatible import chat_messages, disjoint_usage
from pdb_agent.policies.wire import as_json, object_at, text_at
from pdb_agent.policy import PolicyUnavailableError, Sampling

_STOPS = {"length": Stop.MAX_TOKENS, "content_filter": Stop.REFUSAL}


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatClientPolicy:
    """Asks ``client`` for ``model``'s replies (meets ``Policy``). ``request`` is added to every request."""

    client: Any
    model: str
    request: Mapping[str, Any]

    @property
    def name(self) -> str:
        """``client/model``."""
        return f"client/{self.model}"

    async def respond(
        self, system: str, messages: Sequence[Message], tools: Sequence[ToolSpec], sampling: Sampling
    ) -> Reply:
        """The next reply. Raises PolicyUnavailableError for an empty answer, and what the client raises."""
        sent = {**_sampling(sampling), **self.request}
        declared = {"tools": [function_tool(tool) for tool in tools]} if tools else {}
        completion = await self.client.chat.completions.create(
            model=self.model, messages=chat_messages(system, messages, self.name), **declared, **sent
        )
        return _reply(_plain(completion), tools, f"call_{len(messages)}", self)

    async def aclose(self) -> None:
        """The client is its owner's to close."""


def _reply(
    completion: Mapping[str, Any], tools: Sequence[ToolSpec], stem: str, policy: ChatClientPolicy
) -> Reply:
    choices: Sequence[Mapping[str, Any]] = completion.get("choices") or ()
    if not choices:
        raise PolicyUnavailableError(f"{policy.name} answered without a choice: ask its server why.")
    message, reason = object_at(choices[0], "message"), text_at(choices[0], "finish_reason")
    text, cut = text_at(message, "content"), reason == "length"
    calls = _calls(message, stem, cut=cut)
    found = calls_in_text(text, tools, stem, cut=cut) if tools and not calls else None
    if found is not None:
        calls, text = found.calls, found.text
    usage = object_at(completion, "usage")
    return Reply(
        message=AssistantMessage(
            text=text,
            reasoning=text_at(message, "reasoning_content") or text_at(message, "reasoning"),
            calls=calls,
            native=(message,),
            native_of=policy.name,
        ),
        stop=_STOPS.get(reason, Stop.CALLS if calls else Stop.END),
        usage=disjoint_usage(usage),
        model=text_at(completion, "model") or policy.model,
        request_id=text_at(completion, "id"),
        parser_fallback=found is not None,
        raw_usage=usage,
    )


def _calls(message: Mapping[str, Any], stem: str, *, cut: bool) -> tuple[Call, ...]:
    entries: Sequence[Mapping[str, Any]] = message.get("tool_calls") or ()
    calls: list[Call] = []
    for index, entry in enumerate(entries):
        function = object_at(entry, "function")
        arguments = function.get("arguments")
        raw = arguments if isinstance(arguments, str) else as_json(arguments or {})
        is_last = index == len(entries) - 1
        call_id = text_at(entry, "id") or f"{stem}_{index}"
        calls.append(read_call(call_id, text_at(function, "name"), raw, cut=cut and is_last))
    return tuple(calls)


def _sampling(sampling: Sampling) -> dict[str, Any]:
    wanted = {
        "max_tokens": sampling.max_output_tokens,
        "temperature": sampling.temperature,
        "top_p": sampling.top_p,
        "seed": sampling.seed,
    }
    return {name: value for name, value in wanted.items() if value is not None}


def _plain(completion: Any) -> Mapping[str, Any]:
    """A completion as JSON values: SDKs answer with models that dump themselves."""
    if isinstance(completion, Mapping):
        return cast("Mapping[str, Any]", completion)
    return cast("Mapping[str, Any]", completion.model_dump(mode="json"))
