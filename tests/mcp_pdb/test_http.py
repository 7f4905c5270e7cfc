"""The server over HTTP: who gets in, whose sessions are whose, and what is left when a client goes."""

import http.client
import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

import anyio
import httpx2
import pytest
from mcp.client.client import Client
from mcp.client.streamable_http import streamable_http_client
from mcp_pdb.http import HttpError, is_loopback, parse_address, read_tokens

from tests.mcp_pdb.conftest import ASKING, Debugging, processes_in, until_gone
from tests.mcp_pdb.test_stdio import HANDSHAKE

pytestmark = pytest.mark.anyio

ALICE = "alice-token-of-32-characters-000"
BOB = "bob-token-of-32-characters-00000"
SERVE = [sys.executable, "-m", "mcp_pdb", "serve", "--python", sys.executable, "--tools", "all", "--http"]
ASK = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": HANDSHAKE}


class Served:
    """A server process that listens."""

    def __init__(self, process: "subprocess.Popen[str]", said: str) -> None:
        self.process = process
        self.said = said
        """Its standard error until it listened."""
        found = re.search(r"http://.*:(\d+)/mcp", said)
        assert found, said
        self.port = int(found[1])
        self.url = f"http://127.0.0.1:{self.port}/mcp"

    def post(self, **headers: str) -> tuple[int, dict[str, str], str]:
        """Status, headers and body of a raw initialize request."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=10)
        sent = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
        for name, value in headers.items():
            sent[name.replace("_", "-")] = value
        connection.request("POST", "/mcp", json.dumps(ASK), sent)
        answer = connection.getresponse()
        body = answer.read().decode()
        connection.close()
        return answer.status, {name.lower(): value for name, value in answer.getheaders()}, body


@contextmanager
def serving(
    folder: Path, *arguments: str, address: str = "127.0.0.1:0", token: str = ""
) -> Generator[Served]:
    environment = {**os.environ, "MCP_PDB_TOKEN": token}
    process = subprocess.Popen(
        [*SERVE, address, *arguments], stderr=subprocess.PIPE, text=True, cwd=folder, env=environment
    )
    with process:
        try:
            assert process.stderr is not None
            said = ""
            while "serving" not in said and process.poll() is None:
                said += process.stderr.readline()
            yield Served(process, said)
        finally:
            process.kill()


@asynccontextmanager
async def connected(
    served: Served, folder: Path, *, token: str | None = None, mode: str = "auto"
) -> AsyncGenerator[Debugging]:
    headers = {} if token is None else {"Authorization": f"Bearer {token}"}
    with anyio.fail_after(30):
        async with (
            httpx2.AsyncClient(headers=headers, timeout=30) as http_client,
            Client(streamable_http_client(served.url, http_client=http_client), mode=mode) as client,
        ):
            yield Debugging(client, folder)


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_a_client_debugs_over_http_in_both_eras_and_its_sessions_outlive_its_connection(
    tmp_path: Path, mode: str
):
    with serving(tmp_path) as served:
        async with connected(served, tmp_path, mode=mode) as debugging:
            await debugging.start(ASKING)
            text = await debugging.done("continue_execution", timeout_seconds=0.2)
            assert "still running" in text
            session_id = debugging.machine["session_id"]
        async with connected(served, tmp_path, mode=mode) as debugging:
            await debugging.done("send_input", text="yes\n", session_id=session_id)
            assert "got yes" in await debugging.done("continue_execution")


async def test_progress_reaches_an_http_client_while_a_command_waits(tmp_path: Path):
    told: list[str | None] = []

    async def hear(progress: float, total: float | None, message: str | None) -> None:
        told.append(message)

    with serving(tmp_path) as served:
        async with connected(served, tmp_path) as debugging:
            await debugging.start(ASKING)
            arguments = {"timeout_seconds": 1.7}
            await debugging.client.call_tool("continue_execution", arguments, progress_callback=hear)
    assert told[0] == "running for 2 s"


async def test_a_session_answers_only_to_the_token_that_opened_it(tmp_path: Path):
    tokens = tmp_path / "tokens"
    tokens.write_text(f"# who may\n{ALICE}\n{BOB}\n", encoding="utf-8")
    with serving(tmp_path, "--token-file", str(tokens)) as served:
        async with (
            connected(served, tmp_path, token=ALICE) as alice,
            connected(served, tmp_path, token=BOB) as bob,
        ):
            await alice.start(ASKING)
            session_id = alice.machine["session_id"]
            text = await bob.refused("where_am_i", session_id=session_id)
            assert text == f"no session '{session_id}'; none is open; start_debugger opens one"
            assert "no debugging session is open" in await bob.done("list_sessions")
            assert "no debugging session is open" in await bob.refused("stop_debugger")
            assert session_id in await alice.done("list_sessions")


def test_a_token_is_needed_once_one_is_set(tmp_path: Path):
    with serving(tmp_path, token=ALICE) as served:
        assert served.post()[0] == 401
        status, headers, body = served.post(Authorization=f"Bearer {BOB}")
        assert status == 401
        assert headers["www-authenticate"].startswith("Bearer ")
        assert "a valid bearer token is needed" in body
        assert ALICE not in served.said
        assert served.post(Authorization=f"Basic {ALICE}")[0] == 401
        assert served.post(Authorization=f"Bearer {ALICE}")[0] == 200


def test_off_loopback_a_token_is_made_and_said_once(tmp_path: Path):
    with serving(tmp_path, address="0.0.0.0:0") as served:
        found = re.search(r"bearer token for this run: (\S+)", served.said)
        assert found
        assert served.post()[0] == 401
        assert served.post(Authorization=f"Bearer {found[1]}")[0] == 200


@pytest.mark.parametrize("address", ["127.0.0.1:0", "0.0.0.0:0"])
def test_no_web_page_gets_through_by_host_or_origin(tmp_path: Path, address: str):
    with serving(tmp_path, "--allow-host", "debug.example", address=address, token=ALICE) as served:
        token = f"Bearer {ALICE}"
        assert served.post(Authorization=token, Host="evil.example")[0] == 421
        assert served.post(Authorization=token, Host="evil.example:80")[0] == 421
        assert served.post(Authorization=token, Host="127.0.0.1.evil.example")[0] == 421
        assert served.post(Authorization=token, Origin="http://evil.example")[0] == 403
        assert served.post(Authorization=token, Origin="null")[0] == 403
        assert served.post(Authorization=token, Origin="http://localhost:3000")[0] == 200
        assert served.post(Authorization=token, Host=f"localhost:{served.port}")[0] == 200
        assert served.post(Authorization=token, Host="debug.example")[0] == 200
        public = served.post(Authorization=token, Host="192.0.2.7")[0]
        assert public == (421 if address.startswith("127") else 200)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGKILL])
async def test_no_signal_to_an_http_server_leaves_a_program_behind(tmp_path: Path, number: signal.Signals):
    with serving(tmp_path) as served:
        async with connected(served, tmp_path, mode="legacy") as debugging:
            await debugging.start(ASKING)
            with anyio.move_on_after(0.2):
                await debugging.call("continue_execution")
        served.process.send_signal(number)
        served.process.wait(10)
        with anyio.fail_after(5):
            await until_gone(tmp_path)


async def test_sessions_of_a_client_that_left_without_a_word_expire(tmp_path: Path):
    with serving(tmp_path, "--idle-seconds", "0.5", "--no-standby") as served:
        async with connected(served, tmp_path) as debugging:
            await debugging.start(ASKING)
        with anyio.fail_after(10):
            while processes_in(tmp_path) != [served.process.pid]:  # noqa: ASYNC110 - another process's doing
                await anyio.sleep(0.02)


@pytest.mark.parametrize(
    ("address", "sentence"),
    [
        ("nonsense", "--http takes HOST:PORT"),
        ("127.0.0.1:99999", "--http takes HOST:PORT"),
        ("192.0.2.7:8765", "cannot listen on 192.0.2.7:8765"),
    ],
)
def test_an_address_that_cannot_be_served_is_said_in_one_sentence(address: str, sentence: str):
    finished = subprocess.run([*SERVE, address], capture_output=True, text=True, timeout=20, check=False)
    assert finished.returncode == 2
    (line,) = [line for line in finished.stderr.splitlines() if "bearer token" not in line]
    assert line.startswith("mcp-pdb: ")
    assert sentence in line


def test_addresses_and_loopback_are_told_apart():
    assert parse_address("[::1]:80") == ("::1", 80)
    assert parse_address("8000") == ("127.0.0.1", 8000)
    assert [
        is_loopback(host) for host in ("127.0.0.9", "::1", "localhost", "0.0.0.0", "::", "example.org")
    ] == [
        True,
        True,
        True,
        False,
        False,
        False,
    ]


def test_weak_and_missing_tokens_are_refused(tmp_path: Path):
    with pytest.raises(HttpError, match="at least 16 characters"):
        read_tokens(None, "short")
    with pytest.raises(HttpError, match="cannot be read"):
        read_tokens(tmp_path / "absent", None)
    (tmp_path / "empty").write_text("# nobody\n", encoding="utf-8")
    with pytest.raises(HttpError, match="holds no token"):
        read_tokens(tmp_path / "empty", None)
    assert read_tokens(None, None) == ()
