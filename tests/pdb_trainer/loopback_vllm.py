"""A server that answers like vLLM 0.32 does, or not, on this machine's loopback; it computes nothing."""

import json
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

GENERATE = "/inference/v1/generate"
Json = dict[str, Any]
Answer = Callable[["Exchange"], object]
"""Answers one request, or does not."""


@dataclass(frozen=True, kw_only=True)
class Exchange:
    """One request, and the way to answer it."""

    path: str
    body: Json
    handler: BaseHTTPRequestHandler

    def say(self, status: int, body: Json | bytes) -> None:
        content = body if isinstance(body, bytes) else json.dumps(body).encode()
        self.handler.send_response(status)
        self.handler.send_header("content-type", "application/json")
        self.handler.send_header("content-length", str(len(content)))
        self.handler.end_headers()
        self.handler.wfile.write(content)

    def fail(self, status: int, message: str) -> None:
        self.say(status, {"error": {"message": message, "type": "Error", "param": None, "code": status}})

    def break_off(self) -> None:
        """End in the middle of an answer."""
        self.handler.send_response(200)
        self.handler.send_header("content-length", "1000")
        self.handler.end_headers()
        self.handler.wfile.write(b'{"request_id": "gener')
        self.handler.close_connection = True


@dataclass(kw_only=True)
class Loopback:
    """What the server was asked, and how it answers."""

    asked: list[Exchange] = field(default_factory=list[Exchange])
    answers: dict[str, list[Answer]] = field(default_factory=dict[str, list[Answer]])
    """By path, first come first; when they are used up, the last one stays."""
    models: list[str] = field(default_factory=lambda: ["base"])
    staged: dict[str, Json] = field(default_factory=dict[str, Json])
    busy: set[str] = field(default_factory=set[str])
    """Labels that the worker still uses."""
    context_tokens: int = 64
    url: str = ""

    def at(self, path: str, *answers: Answer) -> None:
        self.answers[path] = list(answers)

    def bodies(self, path: str) -> list[Json]:
        return [exchange.body for exchange in self.asked if exchange.path == path]

    def answer(self, exchange: Exchange) -> None:
        self.asked.append(exchange)
        waiting = self.answers.get(exchange.path)
        if waiting:
            (waiting.pop(0) if len(waiting) > 1 else waiting[0])(exchange)
        else:
            getattr(self, _OWN[exchange.path])(exchange)

    def generate(self, exchange: Exchange) -> None:
        if exchange.body["model"] not in self.models:
            exchange.fail(404, f"The model `{exchange.body['model']}` does not exist.")
        else:
            exchange.say(200, reply(exchange.body, [10, 11, 2], [-0.5, -1.5, -0.25], "stop"))

    def list_models(self, exchange: Exchange) -> None:
        lengths = [self.context_tokens, *[None] * (len(self.models) - 1)]
        cards = [
            {"id": name, "max_model_len": length} for name, length in zip(self.models, lengths, strict=True)
        ]
        exchange.say(200, {"object": "list", "data": cards})

    def load(self, exchange: Exchange) -> None:
        name = exchange.body["lora_name"]
        if name in self.models:
            exchange.fail(400, f"The lora adapter '{name}' has already been loaded.")
        else:
            self.models.append(name)
            exchange.say(200, b"Success")

    def unload(self, exchange: Exchange) -> None:
        self.models.remove(exchange.body["lora_name"])
        exchange.say(200, b"Success")

    def rpc(self, exchange: Exchange) -> None:
        method, arguments = exchange.body["method"], exchange.body.get("kwargs", {})
        match method:
            case "policy_stage" | "policy_stage_file":
                self.staged[arguments["name"]] = {"method": method, **arguments}
                result = arguments["name"]
            case "policy_forget" if arguments["name"] in self.busy:
                result = "busy"
            case "policy_forget":
                self.staged.pop(arguments["name"], None)
                result = "gone"
            case _:
                result = "\n".join(self.staged)
        exchange.say(200, {"results": [result]})


_OWN = {
    GENERATE: "generate",
    "/v1/models": "list_models",
    "/v1/load_lora_adapter": "load",
    "/v1/unload_lora_adapter": "unload",
    "/collective_rpc": "rpc",
}


def reply(body: Json, token_ids: list[int], logprobs: list[float], finish: str, **changes: Any) -> Json:
    """An answer of the real server, with other numbers."""
    entries = [
        {"token_id": token, "logprob": logprob, "rank": 1, "top_logprobs": []}
        for token, logprob in zip(token_ids, logprobs, strict=False)
    ]
    choice = {
        "index": 0,
        "finish_reason": finish,
        "stop_reason": None,
        "token_ids": token_ids,
        "weight_versions": [{"version": "default", "start": 0, "end": len(token_ids)}],
        "logprobs": {"content": entries},
    }
    return {
        "request_id": f"generate-tokens-{body['request_id']}",
        "model": body["model"],
        "created": 1,
        "usage": {
            "prompt_tokens": len(body["token_ids"]),
            "completion_tokens": len(token_ids),
            "prompt_tokens_details": {"cached_tokens": 16},
        },
        "output_mode": "tokens",
        "choices": [choice],
        **changes,
    }


class _Server(ThreadingHTTPServer):
    request_queue_size = 64  # of those who connect at once; one too many waits a second


@contextmanager
def loopback() -> Generator[Loopback]:
    """The server, in threads of its own."""
    state = Loopback()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True  # which waits 40 ms between head and body

        def do_GET(self) -> None:
            state.answer(Exchange(path=self.path, body={}, handler=self))

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["content-length"])))
            state.answer(Exchange(path=self.path, body=body, handler=self))

        def log_message(self, format: str, *arguments: Any) -> None:
            pass

    server = _Server(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    state.url = f"http://127.0.0.1:{server.server_address[1]}"
    try:
        yield state
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
