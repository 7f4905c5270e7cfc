"""A chat client whose model knows the solution: what a trainer would hand in."""

import json
from types import SimpleNamespace
from typing import Any

from pdb_agent.messages import AssistantMessage, ToolSpec
from pdb_agent.policies.oracle import OraclePolicy
from pdb_agent.policy import Sampling
from pdb_agent.task import Task


class OracleClient:
    """Has ``chat.completions.create`` and keeps what it was asked."""

    def __init__(self, task: Task, *, gives_up: bool = False) -> None:
        self._oracle = OraclePolicy(task)
        self._gives_up = gives_up
        self.requests: list[dict[str, Any]] = []
        self.chat = SimpleNamespace(completions=SimpleNamespace(create=self._create))

    async def _create(self, **request: Any) -> dict[str, Any]:
        self.requests.append(request)
        turns = sum(message["role"] == "assistant" for message in request["messages"])
        tools = [
            ToolSpec(name=tool["function"]["name"], description="", schema={}) for tool in request["tools"]
        ]
        said = [AssistantMessage(text="")] * turns
        reply = await self._oracle.respond("", said, tools, Sampling())
        [call] = reply.message.calls
        function = {"name": call.name, "arguments": call.raw}
        if self._gives_up:
            function = {"name": "done", "arguments": json.dumps({"summary": "no idea"})}
        message = {
            "role": "assistant",
            "content": reply.message.text,
            "tool_calls": [{"id": call.id, "type": "function", "function": function}],
        }
        return {
            "id": "1",
            "model": request["model"],
            "choices": [{"message": message, "finish_reason": "tool_calls"}],
            "usage": {"prompt_tokens": 10, "completion_tokens": 5},
        }
