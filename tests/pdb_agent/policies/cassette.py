"""Records what an SDK and a server say to each other, and plays it again without the server.

A request is known by method, path and body; the same request made again gets
the next of its recorded answers. Headers stay out of the file, and keys with them.
"""

import hashlib
import json
from collections import Counter
from pathlib import Path
from typing import Any

import httpx2

KEPT_HEADERS = ("content-type", "request-id", "x-request-id", "retry-after")


def _key(request: httpx2.Request, seen: Counter[str]) -> str:
    body = json.dumps(json.loads(request.content), sort_keys=True)
    key = hashlib.sha256(f"{request.method} {request.url.path} {body}".encode()).hexdigest()[:16]
    seen[key] += 1
    return f"{key}.{seen[key]}"


class Recorder(httpx2.AsyncBaseTransport):
    """Passes requests on, and keeps them with their answers."""

    def __init__(self) -> None:
        self._inner = httpx2.AsyncHTTPTransport()
        self._seen: Counter[str] = Counter()
        self._entries: list[dict[str, Any]] = []

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        answer = await self._inner.handle_async_request(request)
        text = (await answer.aread()).decode()
        headers = {name: answer.headers[name] for name in KEPT_HEADERS if name in answer.headers}
        entry = {
            "key": _key(request, self._seen),
            "path": request.url.path,
            "request": json.loads(request.content),
        }
        self._entries.append({**entry, "status": answer.status_code, "headers": headers, "answer": text})
        return httpx2.Response(answer.status_code, headers=headers, content=text.encode(), request=request)

    async def aclose(self) -> None:
        await self._inner.aclose()

    @property
    def text(self) -> str:
        return "".join(json.dumps(entry, ensure_ascii=False) + "\n" for entry in self._entries)


class Player(httpx2.AsyncBaseTransport):
    """Answers from a cassette; a request that is not on it fails the test."""

    def __init__(self, cassette: Path) -> None:
        entries = [json.loads(line) for line in cassette.read_text(encoding="utf-8").splitlines()]
        self._entries = {entry["key"]: entry for entry in entries}
        self._seen: Counter[str] = Counter()

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        entry = self._entries.pop(_key(request, self._seen), None)
        if entry is None:
            raise AssertionError(f"No such request is on the cassette: {request.content.decode()}")
        content = entry["answer"].encode()
        return httpx2.Response(entry["status"], headers=entry["headers"], content=content, request=request)

    @property
    def left_over(self) -> int:
        return len(self._entries)
