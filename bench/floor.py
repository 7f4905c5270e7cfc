"""Drives the floor agent: the same verbs as a debugger, with nothing in between."""

import json
import os
import socket
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

from bench.peers.adapter import Place, Program

AGENT = Path(__file__).with_name("floor_agent.py")
Rules = Literal["settrace", "monitoring", "bdb"]


def best_rules(python_version: str) -> Rules:
    """The tracing technique the pdb engine uses on that version."""
    major, minor = (int(part) for part in python_version.split(".")[:2])
    return "monitoring" if (major, minor) >= (3, 12) else "settrace"


class Floor:
    """One program under the bare agent."""

    def __init__(self, program: Program, rules: Rules) -> None:
        self._program = program
        self._rules = rules
        self._channel, self._inherited = socket.socketpair()
        self._reader = self._channel.makefile("rb")

    def start(self, places: Sequence[Place]) -> float:
        """Spawn and run to the first of ``places``; the seconds that took."""
        program = self._program
        begin = time.perf_counter()
        self._process = subprocess.Popen(
            [
                str(program.interpreter),
                str(AGENT),
                str(self._inherited.fileno()),
                self._rules,
                program.kind,
                program.target,
                *program.arguments,
            ],
            cwd=program.project,
            env={**os.environ, "PWD": str(program.project)},
            pass_fds=[self._inherited.fileno()],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        self._inherited.close()
        self._send({"breakpoints": [[str(program.project / place.file), place.line] for place in places]})
        self._receive()
        return time.perf_counter() - begin

    def ask(self, command: str, code: str = "") -> tuple[Any, float]:
        """One command and the seconds its answer took."""
        begin = time.perf_counter()
        self._send({"do": command, "code": code})
        answer = self._receive()
        return answer, time.perf_counter() - begin

    def close(self) -> None:
        """Let the program run out and reap it."""
        self._reader.close()
        self._channel.close()
        try:
            self._process.wait(30)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def _send(self, message: dict[str, Any]) -> None:
        self._channel.sendall(json.dumps(message).encode() + b"\n")

    def _receive(self) -> Any:
        line = self._reader.readline()
        return json.loads(line) if line else {"ended": True}
