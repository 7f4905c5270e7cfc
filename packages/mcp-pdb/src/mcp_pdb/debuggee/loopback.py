"""The debuggee's way to a server that cannot hand a socket down: one loopback connection."""

from __future__ import annotations

import os
import socket

_CONNECT_SECONDS = 10.0


def connect(address):
    """A socket to ``HOST:PORT:VARIABLE`` that has said the secret, which leaves the environment."""
    host, port, variable = address.split(":")
    secret = os.environ.pop(variable)
    sock = socket.create_connection((host, int(port)), _CONNECT_SECONDS)
    sock.settimeout(None)
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    sock.sendall(secret.encode("ascii"))
    return sock
