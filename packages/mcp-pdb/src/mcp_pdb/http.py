"""Streamable HTTP: loopback by default, a bearer token elsewhere, sessions bound to the token.

Responses stream as server-sent events and connections keep their state, since
cancellation and progress need both. Host and Origin are checked on every
address, so that no web page can reach the debugger through a browser.
"""

import hashlib
import hmac
import ipaddress
import secrets
import socket
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import uvicorn
from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.auth.provider import AccessToken
from mcp.server.lowlevel.server import Server
from mcp.server.transport_security import TransportSecuritySettings
from starlette.datastructures import Headers
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from mcp_pdb.options import HttpOptions, ServerOptions
from mcp_pdb.server import OWNER_KEY, create_server

PATH = "/mcp"
SHUTDOWN_SECONDS = 2
LOCAL_OWNER = "local"
"""Owns the sessions of a loopback server without tokens."""


class HttpError(Exception):
    """The HTTP transport cannot start as asked; the text says what to change."""


def serve_http(options: ServerOptions, http: HttpOptions) -> int:
    """Serve until a signal comes; the exit status."""
    http = _with_token(http)
    server = create_server(replace(options, idle_seconds=http.idle_seconds))
    listener = _listen(http)
    port = listener.getsockname()[1]
    host = f"[{http.host}]" if ":" in http.host else http.host
    sys.stderr.write(f"mcp-pdb: serving http://{host}:{port}{PATH}\n")
    config = uvicorn.Config(
        create_app(server, http),
        log_level="warning",
        access_log=False,
        timeout_graceful_shutdown=SHUTDOWN_SECONDS,
        lifespan="on",
    )
    uvicorn.Server(config).run(sockets=[listener])
    return 0


def create_app(server: Server[Any], http: HttpOptions) -> ASGIApp:
    """The guarded ASGI application."""
    unguarded = TransportSecuritySettings(enable_dns_rebinding_protection=False)
    app = server.streamable_http_app(streamable_http_path=PATH, host=http.host, transport_security=unguarded)
    return Guard(app, http)


class Guard:
    """Lets a request through only from an allowed host, an allowed origin and a known token.

    What passes carries its owner in ``scope[OWNER_KEY]`` and, for the SDK's own
    binding of connections, an authenticated user.
    """

    def __init__(self, app: ASGIApp, http: HttpOptions) -> None:
        self._app = app
        self._names = frozenset(name.lower() for name in (*http.allowed_hosts, http.host, "localhost"))
        self._is_loopback = is_loopback(http.host)
        self._tokens = tuple((_digest(token), _owner_of(token)) for token in http.tokens)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one ASGI connection."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        refusal = self._refusal(headers)
        owner = self._owner(headers.get("authorization", ""))
        if refusal is not None:
            status, message = refusal
            await JSONResponse({"error": message}, status)(scope, receive, send)
        elif owner is None:
            message = "a valid bearer token is needed: Authorization: Bearer <token>"
            challenge = {"WWW-Authenticate": 'Bearer error="invalid_token"'}
            await JSONResponse({"error": message}, 401, challenge)(scope, receive, send)
        else:
            token = AccessToken(token="", client_id=owner, scopes=[])
            passed = {**scope, OWNER_KEY: owner, "user": AuthenticatedUser(token)}
            await self._app(passed, receive, send)

    def _refusal(self, headers: Headers) -> tuple[int, str] | None:
        host = headers.get("host", "")
        if not self._is_allowed(f"//{host}"):
            return 421, f"Host {host[:100]!r} is not served here; --allow-host NAME allows a name"
        origin = headers.get("origin")
        if origin is not None and not self._is_allowed(origin):
            return 403, f"Origin {origin[:100]!r} is not allowed; --allow-host NAME allows a name"
        return None

    def _is_allowed(self, url: str) -> bool:
        """A literal address cannot be rebound by DNS; a name must be known."""
        try:
            name = urlsplit(url).hostname
        except ValueError:
            return False
        if not name:
            return False
        if name in self._names:
            return True
        try:
            address = ipaddress.ip_address(name)
        except ValueError:
            return False
        return address.is_loopback or not self._is_loopback

    def _owner(self, authorization: str) -> str | None:
        """The owner that the token stands for; compares all tokens in constant time."""
        if not self._tokens:
            return LOCAL_OWNER
        scheme, _, token = authorization.partition(" ")
        offered = _digest(token.strip() if scheme.lower() == "bearer" else "")
        found = None
        for digest, owner in self._tokens:
            if hmac.compare_digest(digest, offered):
                found = owner
        return found


def is_loopback(host: str) -> bool:
    """True when only this machine can reach ``host``."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def parse_address(text: str) -> tuple[str, int]:
    """``HOST:PORT``, ``[IPV6]:PORT`` or ``PORT``. Raises HttpError."""
    host, _, port = text.rpartition(":")
    if not port.isdecimal() or int(port) > 65_535:
        raise HttpError(f"--http takes HOST:PORT, such as 127.0.0.1:8765, not {text!r}")
    return host.strip("[]") or HttpOptions().host, int(port)


def read_tokens(file: Path | None, variable: str | None) -> tuple[str, ...]:
    """Tokens from the file and the environment variable. Raises HttpError."""
    tokens = [variable.strip()] if variable and variable.strip() else []
    if file is not None:
        try:
            lines = file.read_text(encoding="utf-8").splitlines()
        except OSError as error:
            raise HttpError(f"--token-file {file} cannot be read: {error.strerror}") from None
        tokens.extend(line.strip() for line in lines if line.strip() and not line.startswith("#"))
        if not tokens:
            raise HttpError(f"--token-file {file} holds no token: put one on each line")
    if short := [token for token in tokens if len(token) < 16]:
        raise HttpError(f"a token must have at least 16 characters; one has {len(short[0])}")
    return tuple(dict.fromkeys(tokens))


def _with_token(http: HttpOptions) -> HttpOptions:
    if http.tokens or is_loopback(http.host):
        return http
    token = secrets.token_urlsafe(32)
    sys.stderr.write(
        f"mcp-pdb: {http.host} is reachable from elsewhere; bearer token for this run: {token}\n"
    )
    return replace(http, tokens=(token,))


def _listen(http: HttpOptions) -> socket.socket:
    family = socket.AF_INET6 if ":" in http.host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    try:
        if sys.platform == "win32":  # where SO_REUSEADDR lets anybody take a port that is in use
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_EXCLUSIVEADDRUSE, 1)
        else:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((http.host, http.port))
        listener.listen(128)
    except OSError as error:
        listener.close()
        raise HttpError(
            f"cannot listen on {http.host}:{http.port}: {error.strerror}; choose another"
        ) from None
    return listener


def _digest(token: str) -> bytes:
    return hashlib.sha256(token.encode()).digest()


def _owner_of(token: str) -> str:
    return f"token-{hashlib.sha256(b'mcp-pdb owner ' + token.encode()).hexdigest()[:24]}"
