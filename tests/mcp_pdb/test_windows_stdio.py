"""Standard input and output through the SDK's threads, as on Windows: the same conversation as elsewhere."""

import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from tests.mcp_pdb.conftest import processes_in
from tests.mcp_pdb.test_stdio import MODERN, NOISY, RawClient, start_program

SERVE = """
import sys, anyio
from mcp_pdb.options import ServerOptions
from mcp_pdb.server import create_server
from mcp_pdb.windows_stdio import serve_stdio

sys.exit(anyio.run(serve_stdio, create_server(ServerOptions(toolset="all", python=sys.executable))))
"""


@contextmanager
def serving(folder: Path, server: str = SERVE) -> Generator[RawClient]:
    process = subprocess.Popen(
        [sys.executable, "-c", server],
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


def test_a_client_that_closes_its_end_ends_the_server_and_its_programs(tmp_path: Path):
    with serving(tmp_path) as client:
        client.shake_hands()
        start_program(client, tmp_path)
        assert client.process.stdin is not None
        client.process.stdin.close()
        assert client.process.wait(10) == 0
        assert processes_in(tmp_path) == []


def test_a_client_may_discover_first_and_then_fall_back_to_the_handshake(tmp_path: Path):
    with serving(tmp_path) as client:
        discovered = client.ask("server/discover", {"_meta": MODERN})
        assert discovered["result"]["supportedVersions"] == ["2026-07-28"]
        assert client.shake_hands()["result"]["protocolVersion"] == "2025-11-25"
        start_program(client, tmp_path)
        assert client.shake_hands()["result"]["protocolVersion"] == "2025-11-25"
        assert "program.py:1" in client.call("where_am_i")


def test_nothing_the_program_prints_or_reads_touches_the_protocol(tmp_path: Path):
    with serving(tmp_path) as client:
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
