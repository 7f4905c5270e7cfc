"""A loopback HTTP server that answers as scripted, in the shapes that three providers document."""

import json
import socket
import struct
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Literal

import anyio
import anyio.abc


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What the server does with one request."""

    body: bytes = b""
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    fault: Literal["reset", "silence", "drip"] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    path: str
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> dict[str, Any]:
        return json.loads(self.body)


class FakeServer:
    """Gives its answers in order, the last one again and again; keeps every request."""

    def __init__(self, answers: Sequence[Answer]) -> None:
        self.requests: list[Request] = []
        self.address = ""
        self.first_request = anyio.Event()
        self._answers = tuple(answers)

    async def serve(self, stream: anyio.abc.SocketStream) -> None:
        async with stream:
            pending = b""
            while True:
                head, pending = await _until(stream, pending, b"\r\n\r\n")
                if head is None:
                    return
                first, *lines = head.decode().split("\r\n")
                headers = {
                    name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)
                }
                size = int(headers.get("content-length", "0"))
                while len(pending) < size:
                    pending += await stream.receive()
                request = Request(path=first.split(" ")[1], headers=headers, body=pending[:size])
                pending = pending[size:]
                self.requests.append(request)
                self.first_request.set()
                answer = self._answers[min(len(self.requests), len(self._answers)) - 1]
                if not await self._answer(stream, answer):
                    return

    async def _answer(self, stream: anyio.abc.SocketStream, answer: Answer) -> bool:
        if answer.fault == "silence":
            try:
                await stream.receive()
            except (anyio.EndOfStream, anyio.BrokenResourceError):
                pass
            return False
        headers = {
            "content-type": "application/json",
            "content-length": str(len(answer.body)),
            **answer.headers,
        }
        lines = [
            f"HTTP/1.1 {answer.status} Scripted",
            *(f"{name}: {value}" for name, value in headers.items()),
        ]
        head = "\r\n".join([*lines, "", ""]).encode()
        if answer.fault == "drip":
            return await _drip(stream, head + answer.body)
        if answer.fault == "reset":
            await stream.send(head + answer.body[: len(answer.body) // 2])
            raw = stream.extra(anyio.abc.SocketAttribute.raw_socket)
            raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            return False
        await stream.send(head + answer.body)
        return True


async def _drip(stream: anyio.abc.SocketStream, content: bytes) -> bool:
    """A byte now and then, always sooner than a timeout of one read."""
    try:
        for start in range(len(content)):
            await stream.send(content[start : start + 1])
            await anyio.sleep(0.05)
    except anyio.BrokenResourceError:
        return False
    return True


async def _until(stream: anyio.abc.SocketStream, pending: bytes, mark: bytes) -> tuple[bytes | None, bytes]:
    while mark not in pending:
        try:
            pending += await stream.receive()
        except (anyio.EndOfStream, anyio.BrokenResourceError):
            return None, b""
    head, _, rest = pending.partition(mark)
    return head, rest


@asynccontextmanager
async def fake_server(*answers: Answer) -> AsyncGenerator[FakeServer]:
    server = FakeServer(answers)
    failure: Exception | None = None
    listener = await anyio.create_tcp_listener(local_host="127.0.0.1")
    async with listener, anyio.create_task_group() as tasks:
        server.address = f"http://127.0.0.1:{listener.extra(anyio.abc.SocketAttribute.local_port)}"
        tasks.start_soon(listener.serve, server.serve)
        try:
            yield server
        except Exception as error:  # noqa: BLE001 - raised again below, where no group wraps it
            failure = error
        tasks.cancel_scope.cancel()
    if failure is not None:
        raise failure


def as_body(value: object) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()


def anthropic_answer(*blocks: Mapping[str, Any], stop: str = "end_turn", **more: Any) -> Answer:
    usage = {
        "input_tokens": 10,
        "cache_creation_input_tokens": 20,
        "cache_read_input_tokens": 300,
        "cache_creation": {"ephemeral_5m_input_tokens": 20, "ephemeral_1h_input_tokens": 0},
        "output_tokens": 40,
        "output_tokens_details": {"thinking_tokens": 15},
        "service_tier": "standard",
    }
    body = {
        "id": "msg_01",
        "type": "message",
        "role": "assistant",
        "model": "claude-served",
        "content": list(blocks),
        "stop_reason": stop,
        "stop_sequence": None,
        "usage": usage,
        **more,
    }
    return Answer(body=as_body(body), headers={"request-id": "req_01"})


def responses_answer(*items: Mapping[str, Any], status: str = "completed", **more: Any) -> Answer:
    usage = {
        "input_tokens": 330,
        "input_tokens_details": {"cached_tokens": 300, "cache_write_tokens": 20},
        "output_tokens": 40,
        "output_tokens_details": {"reasoning_tokens": 15},
        "total_tokens": 370,
    }
    body = {
        "id": "resp_01",
        "object": "response",
        "created_at": 1780000000,
        "status": status,
        "error": None,
        "incomplete_details": None,
        "model": "gpt-served",
        "output": list(items),
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
        "usage": usage,
        **more,
    }
    return Answer(body=as_body(body), headers={"x-request-id": "req_02"})


def chat_answer(message: Mapping[str, Any], finish: str = "stop", **more: Any) -> Answer:
    usage = {
        "prompt_tokens": 330,
        "completion_tokens": 40,
        "total_tokens": 370,
        "prompt_tokens_details": {"cached_tokens": 300, "cache_write_tokens": 20},
        "completion_tokens_details": {"reasoning_tokens": 15},
    }
    body = {
        "id": "chatcmpl-01",
        "object": "chat.completion",
        "created": 1780000000,
        "model": "served",
        "choices": [{"index": 0, "message": {"role": "assistant", **message}, "finish_reason": finish}],
        "usage": usage,
        **more,
    }
    return Answer(body=as_body(body))


def chat_call(call_id: str, name: str, arguments: str) -> dict[str, Any]:
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}
