"""The MCP server: lists the tools, calls one, and turns every failure into a sentence.

Built on the SDK's low-level server, so that arguments are checked in our own
words, answers carry text only, and nothing is advertised that is not there.
State lives in the lifespan's session store, never in a connection.
"""

import logging
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import anyio
import mcp_types as types
from mcp.server.caching import CacheHint
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel.server import Server
from mcp.shared.exceptions import MCPError

from mcp_pdb.arguments import check, nearest, object_schema
from mcp_pdb.budget import clip
from mcp_pdb.calls import Answer, Call
from mcp_pdb.catalog import ToolSpec, tools_of
from mcp_pdb.engines import BackendFactory, create_backend
from mcp_pdb.errors import DebuggerError
from mcp_pdb.extended_tools import EXTENDED_HANDLERS
from mcp_pdb.guidance import INSTRUCTIONS, PROMPT_DESCRIPTION, PROMPT_NAME, debug_failing_test
from mcp_pdb.launcher import Launcher
from mcp_pdb.launchers import default_launcher
from mcp_pdb.options import ServerOptions
from mcp_pdb.records import Breakpoint, Exited, Stopped
from mcp_pdb.resources import list_outputs, list_templates, read_output
from mcp_pdb.session import Progress, Session
from mcp_pdb.session_store import CLOSE_SECONDS, SessionStore, open_store
from mcp_pdb.tools import DEFAULT_HANDLERS

PROCESS_OWNER = "process"
"""Owns the sessions of transports that have one client: stdio and in-memory."""
OWNER_KEY = "mcp_pdb.owner"
"""Where the HTTP transport leaves the owner in a request's scope."""
META_KEY = "mcp-pdb"
LIST_TTL_MS = 3_600_000

Handler = Callable[[Call], Awaitable[Answer]]
Context = ServerRequestContext[SessionStore, Any]

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Toolbox:
    """The tools a server offers, and the one boundary where failures become text."""

    options: ServerOptions

    def specs(self) -> tuple[ToolSpec, ...]:
        """The tools in the order they are listed."""
        return tools_of(self.options.toolset)

    async def call(
        self, store: SessionStore, owner: str, name: str, given: Mapping[str, object], progress: Progress
    ) -> Answer:
        """Call one tool; never raises for anything a caller or a debuggee did."""
        try:
            answer = await self._called(store, owner, name, given, progress)
        except DebuggerError as error:
            answer = Answer(text=str(error), is_error=True)
        except Exception:
            logger.exception("%s failed unexpectedly", name)
            answer = Answer(
                text=f"{name} failed inside the debugger itself; the server's log has the details. "
                "stop_debugger and start_debugger begin afresh.",
                is_error=True,
            )
        return self._finished(store, owner, answer)

    async def _called(
        self, store: SessionStore, owner: str, name: str, given: Mapping[str, object], progress: Progress
    ) -> Answer:
        spec = next((spec for spec in self.specs() if spec.name == name), None)
        if spec is None:
            names = [spec.name for spec in self.specs()]
            raise DebuggerError(f"there is no tool {name[:60]!r}{nearest(name, names, 'the tools are')}")
        handler: Handler = (DEFAULT_HANDLERS | EXTENDED_HANDLERS)[name]
        arguments = check(name, spec.all_parameters, given)
        call = Call(
            tool=name, owner=owner, arguments=arguments, progress=progress, store=store, options=self.options
        )
        return await handler(call)

    def _finished(self, store: SessionStore, owner: str, answer: Answer) -> Answer:
        text = answer.text
        if answer.session is not None and len(store.of_owner(owner)) > 1 and answer.session.id not in text:
            text = f"[{answer.session.id}] {text}"
        limit = self.options.budgets.stop if answer.is_error else self.options.budgets.hard_cap
        text = clip(text, limit, "ask for a smaller part")
        return Answer(text=text, session=answer.session, is_error=answer.is_error)


def create_server(
    options: ServerOptions | None = None,
    *,
    launcher: Launcher | None = None,
    make_backend: BackendFactory = create_backend,
) -> Server[SessionStore]:
    """An MCP server for any transport; its sessions live as long as its lifespan."""
    options = options or ServerOptions()
    toolbox = Toolbox(options=options)
    listed = [_tool(spec) for spec in toolbox.specs()]
    schemas = {tool.name: tool.input_schema for tool in listed}

    @asynccontextmanager
    async def lifespan(_: Server[SessionStore]) -> AsyncGenerator[SessionStore]:
        async with _open_launcher(launcher) as opened, open_store(options, opened, make_backend) as store:
            yield store

    async def list_tools(_ctx: Context, _params: object) -> types.ListToolsResult:
        return types.ListToolsResult(tools=listed)

    async def call_tool(ctx: Context, params: types.CallToolRequestParams) -> types.CallToolResult:
        answer = await toolbox.call(
            ctx.lifespan_context,
            _owner(ctx),
            params.name,
            params.arguments or {},
            ctx.session.report_progress,
        )
        return types.CallToolResult(
            content=[types.TextContent(text=answer.text)],
            is_error=answer.is_error,
            _meta={META_KEY: machine_fields(answer.session)} if answer.session is not None else None,
        )

    async def list_resources(ctx: Context, _params: object) -> types.ListResourcesResult:
        return list_outputs(ctx.lifespan_context.of_owner(_owner(ctx)))

    async def read_resource(
        ctx: Context, params: types.ReadResourceRequestParams
    ) -> types.ReadResourceResult:
        return read_output(ctx.lifespan_context, _owner(ctx), params.uri, options.budgets.hard_cap)

    return Server[SessionStore](
        "mcp-pdb",
        version=_version(),
        title="Python debugger",
        instructions=INSTRUCTIONS,
        lifespan=lifespan,
        cache_hints={
            "tools/list": CacheHint(ttl_ms=LIST_TTL_MS, scope="public"),
            "prompts/list": CacheHint(ttl_ms=LIST_TTL_MS, scope="public"),
            "resources/templates/list": CacheHint(ttl_ms=LIST_TTL_MS, scope="public"),
        },
        get_tool_input_schema=schemas.get,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
        on_list_prompts=_list_prompts,
        on_get_prompt=_get_prompt,
        on_list_resources=list_resources,
        on_list_resource_templates=_list_resource_templates,
        on_read_resource=read_resource,
    )


def machine_fields(session: Session) -> dict[str, Any]:
    """What a program wants to know of a session, beside the text."""
    fields: dict[str, Any] = {"session_id": session.id, "state": session.state}
    bound = {found.id: found for _, found in session.run.breakpoints.values()}
    fields["breakpoints"] = [_breakpoint_fields(found) for found in bound.values()]
    match session.outcome:
        case Stopped() as stopped if session.state == "stopped":
            place = stopped.location
            fields["reason"] = stopped.reason
            fields["location"] = {"file": place.file, "line": place.line, "function": place.function}
            fields["breakpoint_ids"] = list(stopped.breakpoint_ids)
        case Exited() as exited:
            fields["exit_code"] = exited.code
            fields["signal"] = exited.signal
            fields["verdicts"] = [
                {
                    **_breakpoint_fields(verdict.breakpoint),
                    "hit_count": verdict.hit_count,
                    "explanation": verdict.explanation,
                }
                for verdict in exited.verdicts
            ]
        case _:
            pass
    return fields


def _breakpoint_fields(found: Breakpoint) -> dict[str, Any]:
    return {
        "id": found.id,
        "at": found.at,
        "file": found.file,
        "line": found.line,
        "is_moved": found.moved is not None,
    }


@asynccontextmanager
async def _open_launcher(given: Launcher | None) -> AsyncGenerator[Launcher]:
    if given is not None:
        yield given
        return
    launcher = default_launcher()
    try:
        yield launcher
    finally:
        with anyio.move_on_after(CLOSE_SECONDS, shield=True):
            await launcher.aclose()


def _owner(ctx: Context) -> str:
    scope: Mapping[str, Any] = getattr(ctx.request, "scope", {})
    return str(scope.get(OWNER_KEY, PROCESS_OWNER))


def _tool(spec: ToolSpec) -> types.Tool:
    return types.Tool(
        name=spec.name,
        description=spec.description,
        input_schema=object_schema(spec.all_parameters),
        annotations=types.ToolAnnotations(
            read_only_hint=spec.reads_only,
            destructive_hint=None if spec.reads_only else spec.destroys,
            idempotent_hint=True if spec.repeats_safely and not spec.reads_only else None,
            open_world_hint=False,
        ),
    )


async def _list_resource_templates(_ctx: Context, _params: object) -> types.ListResourceTemplatesResult:
    return list_templates()


async def _list_prompts(_ctx: Context, _params: object) -> types.ListPromptsResult:
    argument = types.PromptArgument(name="test", description="pytest node id or unittest id", required=True)
    prompt = types.Prompt(name=PROMPT_NAME, description=PROMPT_DESCRIPTION, arguments=[argument])
    return types.ListPromptsResult(prompts=[prompt])


async def _get_prompt(_ctx: Context, params: types.GetPromptRequestParams) -> types.GetPromptResult:
    test = (params.arguments or {}).get("test")
    if params.name != PROMPT_NAME:
        raise MCPError(
            types.INVALID_PARAMS, f"there is no prompt {params.name!r}; the only one is {PROMPT_NAME}"
        )
    if not test:
        raise MCPError(
            types.INVALID_PARAMS, f"{PROMPT_NAME} needs the argument test: the id of the failing test"
        )
    message = types.PromptMessage(role="user", content=types.TextContent(text=debug_failing_test(test)))
    return types.GetPromptResult(description=PROMPT_DESCRIPTION, messages=[message])


def _version() -> str:
    try:
        return version("mcp-pdb-server")
    except PackageNotFoundError:
        return "0"
