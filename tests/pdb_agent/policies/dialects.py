"""The three dialects side by side, so that one test can hold for all."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from pdb_agent.messages import Attempt, CallStatus, ToolMessage, ToolResult, ToolSpec, UserMessage
from pdb_agent.policies.opening import open_policy
from pdb_agent.policies.retrying import RetryingPolicy, RetryRules
from pdb_agent.policy import Sampling

from tests.pdb_agent.policies.fake_servers import (
    Answer,
    FakeServer,
    anthropic_answer,
    as_body,
    chat_answer,
    chat_call,
    responses_answer,
)

KEY = "opaque-0123456789abcdef"
SAMPLING = Sampling(max_output_tokens=1000)
TOOLS = (
    ToolSpec(
        name="read_file",
        description="Read a file.",
        schema={"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]},
    ),
)
ASKED = (UserMessage(text="Find it."),)


@dataclass
class Surroundings:
    """Clock, sleep and chance without any waiting; what a run asked of them."""

    waits: list[float] = field(default_factory=list)
    told: list[tuple[str, Attempt]] = field(default_factory=list)

    async def sleep(self, seconds: float) -> None:
        self.waits.append(seconds)

    def rules(self, **changes: Any) -> RetryRules:
        settings: dict[str, Any] = {
            "tries": 4,
            "sleep": self.sleep,
            "chance": lambda: 0.5,
            "on_attempt": lambda name, attempt: self.told.append((name, attempt)),
        }
        return RetryRules(**(settings | changes))


@dataclass(frozen=True, kw_only=True)
class DialectCase:
    """How one provider says the same things."""

    policy: str
    path: str
    text: Callable[[str], Answer]
    calls: Callable[..., Answer]
    cut_call: Callable[[], Answer]
    malformed_call: Callable[[], Answer]
    refusal: Callable[[], Answer]
    nothing: Callable[[], Answer]
    overflow: Answer
    base_suffix: str = "/v1"
    key_variable: str = "OPENAI_API_KEY"

    def of(self, model: str) -> "DialectCase":
        """The same dialect for another model, or another policy where a provider is named."""
        provider = self.policy.partition("/")[0]
        return replace(self, policy=model if "/" in model else f"{provider}/{model}")

    def open(self, server: FakeServer, rules: RetryRules, **more: Any) -> RetryingPolicy:
        return open_policy(
            self.policy,
            base_url=server.address + self.base_suffix,
            key_variable="THE_KEY",
            environment={"THE_KEY": KEY},
            retry=rules,
            **more,
        )


def results(*call_ids: str, status: CallStatus = CallStatus.OK) -> ToolMessage:
    return ToolMessage(
        results=tuple(
            ToolResult(call_id=call_id, name="read_file", status=status, text=f"result of {call_id}")
            for call_id in call_ids
        )
    )


def tool_use(call_id: str, arguments: Any) -> dict[str, Any]:
    return {"type": "tool_use", "id": call_id, "name": "read_file", "input": arguments}


def function_call(call_id: str, arguments: str, status: str = "completed") -> dict[str, Any]:
    return {
        "type": "function_call",
        "id": f"fc_{call_id}",
        "call_id": call_id,
        "name": "read_file",
        "arguments": arguments,
        "status": status,
    }


def output_text(text: str) -> dict[str, Any]:
    part = {"type": "output_text", "text": text, "annotations": []}
    return {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": [part]}


def error(status: int, message: str, **more: Any) -> Answer:
    headers = more.pop("headers", {})
    return Answer(status=status, headers=headers, body=as_body({"error": {"message": message, **more}}))


ANTHROPIC = DialectCase(
    policy="anthropic/claude-haiku-4-5",
    path="/v1/messages",
    base_suffix="",
    text=lambda text: anthropic_answer({"type": "text", "text": text}),
    calls=lambda *ids: anthropic_answer(*(tool_use(each, {"path": each}) for each in ids), stop="tool_use"),
    cut_call=lambda: anthropic_answer(
        tool_use("whole", {"path": "a"}), tool_use("torn", {"path": "b"}), stop="max_tokens"
    ),
    malformed_call=lambda: anthropic_answer(tool_use("bad", '{"path": '), stop="tool_use"),
    refusal=lambda: anthropic_answer(stop="refusal", stop_details={"type": "refusal", "category": "cyber"}),
    nothing=lambda: anthropic_answer(),
    overflow=error(400, "prompt is too long: 208310 tokens > 200000 maximum", type="invalid_request_error"),
    key_variable="ANTHROPIC_API_KEY",
)
RESPONSES = DialectCase(
    policy="openai/gpt-5.6-sol",
    path="/v1/responses",
    text=lambda text: responses_answer(output_text(text)),
    calls=lambda *ids: responses_answer(*(function_call(each, f'{{"path":"{each}"}}') for each in ids)),
    cut_call=lambda: responses_answer(
        function_call("whole", '{"path":"a"}'),
        function_call("torn", '{"path":"b', "incomplete"),
        status="incomplete",
        incomplete_details={"reason": "max_output_tokens"},
    ),
    malformed_call=lambda: responses_answer(function_call("bad", '{"path": ')),
    refusal=lambda: responses_answer(
        {**output_text(""), "content": [{"type": "refusal", "refusal": "I will not."}]}
    ),
    nothing=lambda: responses_answer(),
    overflow=error(400, "Your input exceeds the context window.", code="context_length_exceeded"),
)
CHAT = DialectCase(
    policy="vllm/some-model",
    path="/v1/chat/completions",
    text=lambda text: chat_answer({"content": text}),
    calls=lambda *ids: chat_answer(
        {
            "content": None,
            "tool_calls": [chat_call(each, "read_file", f'{{"path":"{each}"}}') for each in ids],
        },
        "tool_calls",
    ),
    cut_call=lambda: chat_answer(
        {
            "content": None,
            "tool_calls": [
                chat_call("whole", "read_file", '{"path":"a"}'),
                chat_call("torn", "read_file", '{"path":"b'),
            ],
        },
        "length",
    ),
    malformed_call=lambda: chat_answer(
        {"content": None, "tool_calls": [chat_call("bad", "read_file", '{"path": ')]}, "tool_calls"
    ),
    refusal=lambda: chat_answer({"content": ""}, "content_filter"),
    nothing=lambda: chat_answer({"content": ""}),
    overflow=error(
        400,
        "This model's maximum context length is 4096 tokens. However, you requested 5000 tokens.",
        type="BadRequestError",
        code=400,
    ),
)
ALL = (ANTHROPIC, RESPONSES, CHAT)
