"""A model that follows a script, served like OpenAI's chat completions on loopback.

A script is a generator: it yields the calls the model makes and is sent the
text of each call's result; what it returns is the model's closing message.
"""

import json
import threading
from collections.abc import Generator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One tool call of the model."""

    name: str
    arguments: dict[str, Any] = field(default_factory=dict[str, Any])


Script = Generator[Call, str, str]


class ScriptedModel:
    """Serves one script; ``results`` are the texts that came back, ``requests`` the bodies received."""

    def __init__(self, script: Script) -> None:
        self.requests: list[dict[str, Any]] = []
        self.results: list[tuple[Call, str]] = []
        self.failure: BaseException | None = None
        self._script = script
        self._pending: Call | None = None
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._thread = threading.Thread(target=self._server.serve_forever, name="scripted model")

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}/v1"

    def __enter__(self) -> "ScriptedModel":
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def offered_tools(self, request: int) -> list[str]:
        return [tool["function"]["name"] for tool in self.requests[request].get("tools", [])]

    def _answer(self, body: dict[str, Any]) -> dict[str, Any]:
        """The model's next message."""
        self.requests.append(body)
        try:
            if self._pending is None:
                call = next(self._script)
            else:
                result = text_of(body["messages"][-1]["content"])
                self.results.append((self._pending, result))
                call = self._script.send(result)
        except StopIteration as end:
            return {"role": "assistant", "content": end.value}
        except AssertionError as failure:
            self.failure = failure
            return {"role": "assistant", "content": f"The script failed: {failure}"}
        self._pending = call
        function = {"name": call.name, "arguments": json.dumps(call.arguments)}
        identity = f"call_{len(self.requests)}"
        return {
            "role": "assistant",
            "tool_calls": [{"index": 0, "id": identity, "type": "function", "function": function}],
        }

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        model = self

        class Completions(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                events = as_events(model._answer(body))
                self.send_response(200)
                self.send_header("Content-Type", "text/event-stream")
                self.send_header("Content-Length", str(len(events)))
                self.end_headers()
                self.wfile.write(events)

            def log_message(self, format: str, *args: object) -> None:
                """Keep the test's output clean."""

        return Completions


def as_events(message: dict[str, Any]) -> bytes:
    """A message as a stream of completion chunks."""
    finish = "tool_calls" if "tool_calls" in message else "stop"
    choices: list[dict[str, Any]] = [
        {"index": 0, "delta": message, "finish_reason": None},
        {"index": 0, "delta": {}, "finish_reason": finish},
    ]
    chunk = {"id": "scripted", "object": "chat.completion.chunk", "created": 0, "model": "scripted"}
    lines = [json.dumps(chunk | {"choices": [choice]}) for choice in choices]
    return "".join(f"data: {line}\n\n" for line in [*lines, "[DONE]"]).encode()


def text_of(content: str | list[dict[str, Any]]) -> str:
    """The text of a message's content, in either of its shapes."""
    if isinstance(content, str):
        return content
    return "\n".join(part.get("text", "") for part in content)
