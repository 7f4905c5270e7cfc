"""A tiny MCP client over stdio: what it adds to a call is one write and one read.

It is no SDK on purpose: peers need different SDK generations, and a client
that costs milliseconds would hide the servers. Lines on the server's standard
output that are not JSON-RPC are counted, not fatal, since some peers print
banners there.
"""

import json
import os
import selectors
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

PROTOCOL_VERSION = "2025-06-18"
Json = dict[str, Any]


class ClientError(Exception):
    """The server died, stayed silent past the deadline, or answered with an error."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One finished ``tools/call``: what the model would have read, and what it cost."""

    tool: str
    text: str
    seconds: float
    failed: bool

    @property
    def characters(self) -> int:
        """Size of the answer as the model pays for it."""
        return len(self.text)


class RawClient:
    """One server process and the newline-delimited JSON-RPC with it.

    ``start`` must come first; ``close`` is idempotent and leaves no process of
    the server's own group behind.
    """

    def __init__(
        self, argv: Sequence[str], *, cwd: Path, environment: Mapping[str, str] | None = None
    ) -> None:
        self._argv = list(argv)
        self._cwd = cwd
        self._environment = {**os.environ, **(environment or {})}
        self._next_id = 0
        self._pending = b""
        self._arrived: dict[int, Json] = {}
        self._selector = selectors.DefaultSelector()
        self._process: subprocess.Popen[bytes] | None = None
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 closed with the client
        self.stray_lines = 0
        """Lines on stdout that were no JSON-RPC message."""
        self.start_seconds = 0.0
        """From spawn to the answer of ``initialize``."""

    @property
    def pid(self) -> int:
        """The server's process id."""
        return self._running().pid

    def start(self, timeout_seconds: float = 60) -> Json:
        """Spawn the server and shake hands; returns the result of ``initialize``."""
        begin = time.perf_counter()
        self._process = subprocess.Popen(
            self._argv,
            cwd=self._cwd,
            env=self._environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
        )
        assert self._process.stdout is not None
        os.set_blocking(self._process.stdout.fileno(), False)
        self._selector.register(self._process.stdout, selectors.EVENT_READ)
        client = {"name": "debugger-bench", "version": "1"}
        hello = {"protocolVersion": PROTOCOL_VERSION, "capabilities": {}, "clientInfo": client}
        result = self.request("initialize", hello, timeout_seconds)
        self.start_seconds = time.perf_counter() - begin
        self._write({"jsonrpc": "2.0", "method": "notifications/initialized"})
        return result

    def request(self, method: str, params: Json, timeout_seconds: float) -> Json:
        """Send one request and wait for its result. Raises ClientError."""
        return self.result_of(self.send(method, params), timeout_seconds)

    def send(self, method: str, params: Json) -> int:
        """Send one request without waiting; returns its id for ``result_of``."""
        self._next_id += 1
        self._write({"jsonrpc": "2.0", "id": self._next_id, "method": method, "params": params})
        return self._next_id

    def result_of(self, request_id: int, timeout_seconds: float) -> Json:
        """Wait for the result of an earlier ``send``. Raises ClientError."""
        deadline = time.monotonic() + timeout_seconds
        while request_id not in self._arrived:
            self._read_some(deadline)
        message = self._arrived.pop(request_id)
        if "error" in message:
            raise ClientError(f"{message['error'].get('message', message['error'])}")
        return message["result"]

    def call_tool(self, tool: str, arguments: Json, timeout_seconds: float = 60) -> Call:
        """Call a tool and keep the text a model would be given."""
        begin = time.perf_counter()
        result = self.request("tools/call", {"name": tool, "arguments": arguments}, timeout_seconds)
        seconds = time.perf_counter() - begin
        return Call(
            tool=tool, text=text_of(result), seconds=seconds, failed=bool(result.get("isError", False))
        )

    def stderr_tail(self, characters: int = 2000) -> str:
        """The end of what the server wrote to its standard error."""
        self._errors.seek(0)
        return self._errors.read().decode("utf-8", "replace")[-characters:]

    def close(self, grace_seconds: float = 5) -> None:
        """Close the server's input, wait, then kill it."""
        process, self._process = self._process, None
        if process is None:
            return
        assert process.stdin is not None
        assert process.stdout is not None
        self._selector.unregister(process.stdout)
        try:
            process.stdin.close()
        except BrokenPipeError:
            pass
        try:
            process.wait(grace_seconds)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        process.stdout.close()
        self._selector.close()
        self._errors.close()

    def kill(self) -> None:
        """SIGKILL the server alone, as a crash would."""
        process = self._running()
        process.kill()
        process.wait()

    def _running(self) -> "subprocess.Popen[bytes]":
        if self._process is None:
            raise ClientError("the server is not running; call start first")
        return self._process

    def _write(self, message: Json) -> None:
        stdin = self._running().stdin
        assert stdin is not None
        try:
            stdin.write(json.dumps(message).encode() + b"\n")
            stdin.flush()
        except BrokenPipeError as error:
            raise ClientError(f"the server closed its input: {self.stderr_tail(400)}") from error

    def _read_some(self, deadline: float) -> None:
        stdout = self._running().stdout
        assert stdout is not None
        if not self._selector.select(max(0.0, deadline - time.monotonic())):
            raise ClientError("no answer within the deadline")
        chunk = stdout.read(1 << 20)
        if not chunk:
            raise ClientError(f"the server ended: {self.stderr_tail(400)}")
        *lines, self._pending = (self._pending + chunk).split(b"\n")
        for line in lines:
            self._take(line)

    def _take(self, line: bytes) -> None:
        try:
            message = json.loads(line)
        except ValueError:
            self.stray_lines += bool(line.strip())
            return
        if not isinstance(message, dict):
            self.stray_lines += 1
        elif "method" in message and "id" in message:
            refusal = {"code": -32601, "message": "not supported by this client"}
            self._write({"jsonrpc": "2.0", "id": message["id"], "error": refusal})
        elif "id" in message and isinstance(message["id"], int):
            self._arrived[message["id"]] = message


def text_of(result: Json) -> str:
    """The text blocks of a tool result, as a model reads them."""
    blocks = result.get("content", [])
    return "\n".join(block.get("text", "") for block in blocks if block.get("type") == "text")
