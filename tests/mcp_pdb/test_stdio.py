"""The server as clients start it: a process that speaks over its standard pipes."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import anyio
import psutil
import pytest
from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters

from tests.mcp_pdb.conftest import processes_in

MODERN = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
    "io.modelcontextprotocol/clientCapabilities": {},
}
HANDSHAKE = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
SERVER = [sys.executable, "-m", "mcp_pdb", "serve", "--python", sys.executable]
NOISY = 'import sys\nprint("to stdout")\nprint("to stderr", file=sys.stderr)\nprint(sys.stdin.readline())\n'
PATIENT = "import time\ntime.sleep(600)\n"


class RawClient:
    """A client that writes lines by hand."""

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        self.process = process
        self._numbers: Iterator[int] = iter(range(1, 1_000))

    def tell(self, method: str, params: dict[str, Any] | None = None, **more: object) -> None:
        assert self.process.stdin is not None
        message = {"jsonrpc": "2.0", "method": method, "params": params or {}, **more}
        self.process.stdin.write(json.dumps(message) + "\n")
        self.process.stdin.flush()

    def ask(self, method: str, params: dict[str, Any] | None = None) -> dict[str, Any]:
        number = next(self._numbers)
        self.tell(method, params, id=number)
        return self.answer(number)

    def answer(self, number: int) -> dict[str, Any]:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            message = json.loads(line)
            if message.get("id") == number:
                return message
        raise AssertionError(f"the server ended before it answered {number}")

    def shake_hands(self) -> dict[str, Any]:
        answer = self.ask("initialize", HANDSHAKE)
        self.tell("notifications/initialized")
        return answer

    def call(self, tool: str, **arguments: object) -> str:
        answer = self.ask("tools/call", {"name": tool, "arguments": arguments})
        return answer["result"]["content"][0]["text"]


@contextmanager
def serving(folder: Path, *arguments: str) -> Generator[RawClient]:
    process = subprocess.Popen(
        [*SERVER, *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        cwd=folder,
    )
    with process:
        try:
            yield RawClient(process)
        finally:
            process.kill()


def start_program(client: RawClient, folder: Path, source: str = PATIENT) -> psutil.Process:
    (folder / "program.py").write_text(source, encoding="utf-8")
    assert "stopped at the start" in client.call("start_debugger", target="program.py")
    (pid,) = set(processes_in(folder)) - {client.process.pid}
    return psutil.Process(pid)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGKILL])
def test_no_signal_to_the_server_leaves_a_program_behind(tmp_path: Path, number: signal.Signals):
    with serving(tmp_path) as client:
        client.shake_hands()
        program = start_program(client, tmp_path)
        client.process.send_signal(number)
        status = client.process.wait(10)
        assert status == (-number if number == signal.SIGKILL else 128 + number)
        psutil.wait_procs([program], timeout=5)
        assert processes_in(tmp_path) == []


def test_a_client_that_closes_its_end_ends_the_server_and_its_programs(tmp_path: Path):
    with serving(tmp_path) as client:
        client.shake_hands()
        start_program(client, tmp_path)
        assert client.process.stdin is not None
        client.process.stdin.close()
        assert client.process.wait(10) == 0
        assert processes_in(tmp_path) == []


def test_a_client_that_leaves_while_a_command_waits_ends_it_too(tmp_path: Path):
    with serving(tmp_path) as client:
        client.shake_hands()
        start_program(client, tmp_path)
        client.tell("tools/call", {"name": "continue_execution", "arguments": {}}, id="last")
        assert client.process.stdin is not None
        client.process.stdin.close()
        assert client.process.wait(10) == 0
        assert processes_in(tmp_path) == []


def test_a_parent_that_dies_with_our_pipes_held_open_ends_the_server(tmp_path: Path):
    reading, writing = os.pipe()
    parent = subprocess.Popen(
        [sys.executable, "-c", f"import subprocess, time; subprocess.Popen({SERVER!r}); time.sleep(600)"],
        stdin=reading,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        cwd=tmp_path,
    )
    os.close(reading)
    try:
        assert parent.stdout is not None
        client = RawClient(parent)  # type: ignore[arg-type]
        message = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": HANDSHAKE}
        os.write(writing, json.dumps(message).encode() + b"\n")
        assert client.answer(1)["result"]["serverInfo"]["name"] == "mcp-pdb"
        (server,) = psutil.Process(parent.pid).children()
        parent.kill()
        parent.wait(5)
        gone, alive = psutil.wait_procs([server], timeout=5)
        assert alive == []
        assert gone == [server]
    finally:
        parent.kill()
        os.close(writing)
        if parent.stdout is not None:
            parent.stdout.close()


def test_a_client_may_discover_first_and_then_fall_back_to_the_handshake(tmp_path: Path):
    with serving(tmp_path) as client:
        discovered = client.ask("server/discover", {"_meta": MODERN})
        assert discovered["result"]["supportedVersions"] == ["2026-07-28"]
        text = client.ask("tools/call", {"name": "where_am_i", "arguments": {}, "_meta": MODERN})
        assert text["result"]["isError"] is True
        assert client.shake_hands()["result"]["protocolVersion"] == "2025-11-25"
        start_program(client, tmp_path)
        assert client.shake_hands()["result"]["protocolVersion"] == "2025-11-25"
        assert "program.py:1" in client.call("where_am_i")


def test_nothing_the_program_prints_or_reads_touches_the_protocol(tmp_path: Path):
    with serving(tmp_path, "--tools", "all") as client:
        client.shake_hands()
        start_program(client, tmp_path, NOISY)
        text = client.call("continue_execution", timeout_seconds=0.5)
        assert "| to stdout" in text
        assert "| to stderr" in text
        client.call("send_input", text="for the program\n")
        assert "| for the program" in client.call("continue_execution")


def test_lines_that_are_no_messages_do_not_end_the_conversation(tmp_path: Path):
    with serving(tmp_path) as client:
        client.shake_hands()
        assert client.process.stdin is not None
        client.process.stdin.write('garbage\n\n{"jsonrpc": "2.0"}\n[1, 2]\n\x00\n')
        assert client.ask("ping")["result"] == {}


def test_a_cancelled_call_leaves_the_session_in_step(tmp_path: Path):
    with serving(tmp_path) as client:
        client.shake_hands()
        start_program(client, tmp_path, "import time\ntime.sleep(1)\nfinished = True\n")
        client.call("add_breakpoint", at="program.py:3")
        client.tell("tools/call", {"name": "continue_execution", "arguments": {}}, id="slow")
        client.tell("notifications/cancelled", {"requestId": "slow"})
        assert "breakpoint 1: program.py:3" in client.call("continue_execution")


def test_answers_redirected_to_a_file_arrive_there(tmp_path: Path):
    asked = tmp_path / "asked.jsonl"
    answered = tmp_path / "answered.jsonl"
    message = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": HANDSHAKE}
    asked.write_text(json.dumps(message) + "\n", encoding="utf-8")
    with asked.open() as reading, answered.open("w") as writing:
        assert subprocess.run(SERVER, stdin=reading, stdout=writing, timeout=20, check=False).returncode == 0
    assert json.loads(answered.read_text(encoding="utf-8"))["result"]["serverInfo"]["name"] == "mcp-pdb"


@pytest.mark.anyio
@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_the_sdks_own_client_debugs_over_stdio_in_both_eras(tmp_path: Path, mode: str):
    (tmp_path / "program.py").write_text("one = 1\ntwo = one + 1\n", encoding="utf-8")
    parameters = StdioServerParameters(command=SERVER[0], args=SERVER[1:], cwd=tmp_path)
    with anyio.fail_after(30):
        async with Client(parameters, mode=mode) as client:
            for tool, arguments in (
                ("start_debugger", {"target": "program.py"}),
                ("step_over", {}),
                ("examine_locals", {}),
            ):
                result = await client.call_tool(tool, arguments)
                assert not result.is_error
            assert "one = 1" in result.content[0].text  # type: ignore[union-attr]
        assert processes_in(tmp_path) == []
