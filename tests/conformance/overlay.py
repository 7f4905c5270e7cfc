"""Put the conformance suite's fixtures onto a real server, beside what it already serves."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel.server import Server
from mcp.server.request_state import RequestStateBoundary, RequestStateSecurity
from mcp.server.streamable_http import EventCallback, EventMessage, EventStore
from mcp.types import (
    EmptyResult,
    JSONRPCMessage,
    SetLevelRequestParams,
    SubscribeRequestParams,
    UnsubscribeRequestParams,
)

from tests.conformance.fixtures import JSON_SCHEMA_2020_12, fixtures

Handler = Callable[[ServerRequestContext[Any], Any], Awaitable[Any]]

LISTS = {
    "tools/list": "tools",
    "prompts/list": "prompts",
    "resources/list": "resources",
    "resources/templates/list": "resource_templates",
}
BY_NAME = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}
FIXTURE_PREFIXES = ("test_", "test://", "json_schema_2020_12_tool")


def lay_over(server: Server[Any]) -> None:
    """Serve the fixtures too: lists are joined, calls go by name, what the server lacks is added."""
    donor = fixtures._lowlevel_server
    fixtures._tool_manager._tools["json_schema_2020_12_tool"].parameters = JSON_SCHEMA_2020_12
    for method, entry in donor._request_handlers.items():
        own = server.get_request_handler(method)
        if own is None or method == "subscriptions/listen":
            server.add_request_handler(method, entry.params_type, entry.handler)
        elif method in LISTS:
            server.add_request_handler(
                method, entry.params_type, joined(own.handler, entry.handler, LISTS[method])
            )
        elif method in BY_NAME:
            server.add_request_handler(
                method, entry.params_type, routed(own.handler, entry.handler, BY_NAME[method])
            )
    for method, params_type in (
        ("logging/setLevel", SetLevelRequestParams),
        ("resources/subscribe", SubscribeRequestParams),
        ("resources/unsubscribe", UnsubscribeRequestParams),
    ):
        server.add_request_handler(method, params_type, acknowledge)
    server.get_tool_input_schema = schema_of_either(donor, server.get_tool_input_schema)
    server.middleware.append(
        RequestStateBoundary(RequestStateSecurity.ephemeral(), default_audience=server.name)
    )


SchemaLookup = Callable[[str], Mapping[str, Any] | None]


def schema_of_either(donor: Server[Any], look_up_own: SchemaLookup | None) -> SchemaLookup:
    def look_up(name: str) -> Mapping[str, Any] | None:
        if donor.get_tool_input_schema and (found := donor.get_tool_input_schema(name)):
            return found
        return look_up_own(name) if look_up_own else None

    return look_up


async def acknowledge(ctx: ServerRequestContext[Any], params: object) -> EmptyResult:
    return EmptyResult()


def joined(own: Handler, added: Handler, field: str) -> Handler:
    async def both(ctx: ServerRequestContext[Any], params: Any) -> Any:
        result = await own(ctx, params)
        extra = await added(ctx, params)
        return result.model_copy(update={field: [*getattr(result, field), *getattr(extra, field)]})

    return both


def routed(own: Handler, added: Handler, key: str) -> Handler:
    async def either(ctx: ServerRequestContext[Any], params: Any) -> Any:
        is_fixture = str(getattr(params, key)).startswith(FIXTURE_PREFIXES)
        return await (added if is_fixture else own)(ctx, params)

    return either


class EventsInMemory(EventStore):
    """Keeps every event, so that a client which lost its stream can come back for the rest."""

    def __init__(self) -> None:
        self._events: list[tuple[str, JSONRPCMessage | None]] = []

    async def store_event(self, stream_id: str, message: JSONRPCMessage | None) -> str:
        self._events.append((stream_id, message))
        return str(len(self._events))

    async def replay_events_after(self, last_event_id: str, send_callback: EventCallback) -> str | None:
        last = int(last_event_id)
        if not 0 < last <= len(self._events):
            return None
        stream_id = self._events[last - 1][0]
        for number, (of_stream, message) in enumerate(self._events[last:], last + 1):
            if of_stream == stream_id and message is not None:
                await send_callback(EventMessage(message, str(number)))
        return stream_id
