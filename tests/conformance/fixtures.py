"""What the protocol's conformance suite asks of a server beyond a debugger's own features.

The suite calls tools, resources and prompts by fixed names (``test_*``,
``test://*``). They live here, on an ``MCPServer`` of their own, and
``tests.conformance.overlay`` puts them onto the real server.
"""

import json
from collections.abc import Mapping
from typing import Annotated, Any, Literal

import anyio
from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp.server.mcpserver.prompts.base import Prompt, UserMessage
from mcp.shared.exceptions import MCPError
from mcp.types import (
    MISSING_REQUIRED_CLIENT_CAPABILITY,
    AudioContent,
    Completion,
    CreateMessageRequest,
    CreateMessageRequestParams,
    CreateMessageResult,
    ElicitRequest,
    ElicitRequestFormParams,
    ElicitResult,
    EmbeddedResource,
    ImageContent,
    InputRequest,
    InputRequiredResult,
    ListRootsRequest,
    ListRootsResult,
    SamplingMessage,
    TextContent,
    TextResourceContents,
)
from pydantic import BaseModel, Field

PIXEL_PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR42mNk+A8AAQUBAScY42YAAAAASUVORK5CYII="
SILENT_WAV = "UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAIA+AAACABAAZGF0YQAAAAA="

Ctx = Context[Any, Any]
Answer = str | InputRequiredResult

fixtures = MCPServer("fixtures")


def embedded(uri: str, text: str, mime_type: str = "text/plain") -> EmbeddedResource:
    resource = TextResourceContents(uri=uri, mime_type=mime_type, text=text)
    return EmbeddedResource(type="resource", resource=resource)


def image() -> ImageContent:
    return ImageContent(type="image", data=PIXEL_PNG, mime_type="image/png")


# Content of every kind


@fixtures.tool()
async def test_simple_text() -> str:
    """Answer with one text."""
    return "This is a simple text response for testing."


@fixtures.tool()
async def test_image_content() -> list[ImageContent]:
    """Answer with one image."""
    return [image()]


@fixtures.tool()
async def test_audio_content() -> list[AudioContent]:
    """Answer with one sound."""
    return [AudioContent(type="audio", data=SILENT_WAV, mime_type="audio/wav")]


@fixtures.tool()
async def test_embedded_resource() -> list[EmbeddedResource]:
    """Answer with one embedded resource."""
    return [embedded("test://embedded-resource", "This is an embedded resource content.")]


@fixtures.tool()
async def test_multiple_content_types() -> list[TextContent | ImageContent | EmbeddedResource]:
    """Answer with text, image and resource together."""
    return [
        TextContent(type="text", text="Multiple content types test:"),
        image(),
        embedded(
            "test://mixed-content-resource", json.dumps({"test": "data", "value": 123}), "application/json"
        ),
    ]


@fixtures.tool()
async def test_error_handling() -> str:
    """Fail on purpose."""
    raise ToolError("This tool intentionally returns an error for testing")


# Notifications while a call runs


@fixtures.tool()
async def test_tool_with_logging(ctx: Ctx) -> str:
    """Log three times while running."""
    for message in ("Tool execution started", "Tool processing data", "Tool execution completed"):
        await ctx.info(message)  # pyright: ignore[reportDeprecated]  # the suite covers the eras that had it
        await anyio.sleep(0.05)  # the suite asks for this pause
    return "logged"


@fixtures.tool()
async def test_logging_tool(ctx: Ctx) -> str:
    """Log once, which only reaches a client that asked for logs."""
    await ctx.info("one line")  # pyright: ignore[reportDeprecated]  # likewise
    return "logged"


@fixtures.tool()
async def test_tool_with_progress(ctx: Ctx) -> str:
    """Report progress three times."""
    for done in (0, 50, 100):
        await ctx.report_progress(done, 100, f"{done} of 100")
        await anyio.sleep(0.05)  # the suite asks for this pause
    return "done"


@fixtures.tool()
async def test_reconnection(ctx: Ctx) -> str:
    """Close the event stream in the middle of the call, so that the client has to come back for the rest."""
    await ctx.close_sse_stream()
    await anyio.sleep(0.2)  # the client reconnects meanwhile
    return "Reconnection test completed"


@fixtures.tool()
async def test_trigger_tool_change(ctx: Ctx) -> str:
    """Announce that the list of tools changed."""
    fixtures.add_tool(test_simple_text, name="test_passing_tool")
    fixtures.remove_tool("test_passing_tool")
    await ctx.notify_tools_changed()
    return "changed"


@fixtures.tool()
async def test_trigger_prompt_change(ctx: Ctx) -> str:
    """Announce that the list of prompts changed."""
    fixtures.add_prompt(Prompt.from_function(test_simple_prompt, name="test_passing_prompt"))
    fixtures.remove_prompt("test_passing_prompt")
    await ctx.notify_prompts_changed()
    return "changed"


# Asking the client back, in the eras with a back channel


@fixtures.tool()
async def test_sampling(prompt: str, ctx: Ctx) -> str:
    """Ask the client's model."""
    question = SamplingMessage(role="user", content=TextContent(type="text", text=prompt))
    answer = await ctx.session.create_message(  # pyright: ignore[reportDeprecated]  # likewise
        messages=[question], max_tokens=100, related_request_id=ctx.request_id
    )
    return f"LLM response: {answer.content.text if answer.content.type == 'text' else ''}"


async def elicited(ctx: Ctx, message: str, schema: type[BaseModel]) -> str:
    answer = await ctx.elicit(message=message, schema=schema)
    content = answer.data.model_dump_json() if answer.action == "accept" else "{}"
    return f"action={answer.action}, content={content}"


class OneAnswer(BaseModel):
    response: str = Field(description="User's response")


@fixtures.tool()
async def test_elicitation(message: str, ctx: Ctx) -> str:
    """Ask the user one question."""
    return "User response: " + await elicited(ctx, message, OneAnswer)


class Defaults(BaseModel):
    name: str = "John Doe"
    age: int = 30
    score: float = 95.5
    status: Annotated[str, Field(json_schema_extra={"enum": ["active", "inactive", "pending"]})] = "active"
    verified: bool = True


@fixtures.tool()
async def test_elicitation_sep1034_defaults(ctx: Ctx) -> str:
    """Ask with a default for every primitive type."""
    return "Elicitation completed: " + await elicited(ctx, "Please review", Defaults)


def options(*names: str) -> list[Any]:
    return [{"const": name, "title": name.title()} for name in names]


class Enums(BaseModel):
    untitledSingle: Annotated[str, Field(json_schema_extra={"enum": ["one", "two"]})]  # noqa: N815  # the suite's name
    titledSingle: Annotated[str, Field(json_schema_extra={"oneOf": options("one", "two")})]  # noqa: N815  # likewise
    legacyEnum: Annotated[  # noqa: N815  # likewise
        str, Field(json_schema_extra={"enum": ["one", "two"], "enumNames": ["One", "Two"]})
    ]
    untitledMulti: Annotated[  # noqa: N815  # likewise
        list[str], Field(json_schema_extra={"items": {"type": "string", "enum": ["one", "two"]}})
    ]
    titledMulti: Annotated[list[str], Field(json_schema_extra={"items": {"anyOf": options("one", "two")}})]  # noqa: N815  # likewise


@fixtures.tool()
async def test_elicitation_sep1330_enums(ctx: Ctx) -> str:
    """Ask with every kind of enumeration."""
    return "Elicitation completed: " + await elicited(ctx, "Please choose", Enums)


# Asking the client by answering "input required", in the era without a back channel


def ask(message: str, **properties: Literal["string", "boolean"]) -> ElicitRequest:
    schema: dict[str, Any] = {
        "type": "object",
        "properties": {name: {"type": kind} for name, kind in properties.items()},
        "required": list(properties),
    }
    return ElicitRequest(params=ElicitRequestFormParams(message=message, requested_schema=schema))


def sample(question: str) -> CreateMessageRequest:
    message = SamplingMessage(role="user", content=TextContent(type="text", text=question))
    return CreateMessageRequest(params=CreateMessageRequestParams(messages=[message], max_tokens=100))


def accepted(responses: Mapping[str, Any], key: str) -> dict[str, Any] | None:
    """The content of an accepted elicitation, or None while it is missing."""
    answer = responses.get(key)
    return dict(answer.content or {}) if isinstance(answer, ElicitResult) and answer.content else None


def required(state: str | None = None, **requests: InputRequest) -> InputRequiredResult:
    return InputRequiredResult(input_requests=requests, request_state=state)


@fixtures.tool()
async def test_input_required_result_elicitation(ctx: Ctx) -> Answer:
    """Ask the user's name."""
    answer = accepted(ctx.input_responses or {}, "user_name")
    return (
        f"Hello, {answer.get('name')}!"
        if answer
        else required(user_name=ask("What is your name?", name="string"))
    )


@fixtures.tool()
async def test_streaming_elicitation(ctx: Ctx) -> Answer:
    """Ask the user's name, where nothing else may be on the stream."""
    return await test_input_required_result_elicitation(ctx)


@fixtures.tool()
async def test_input_required_result_sampling(ctx: Ctx) -> Answer:
    """Ask the client's model."""
    answer = (ctx.input_responses or {}).get("capital_question")
    if isinstance(answer, CreateMessageResult) and answer.content.type == "text":
        return f"Model said: {answer.content.text}"
    return required(capital_question=sample("What is the capital of France?"))


@fixtures.tool()
async def test_input_required_result_list_roots(ctx: Ctx) -> Answer:
    """Ask the client's roots."""
    answer = (ctx.input_responses or {}).get("client_roots")
    if isinstance(answer, ListRootsResult):
        return f"Client exposed {len(answer.roots)} root(s)."
    return required(client_roots=ListRootsRequest())


@fixtures.tool()
async def test_input_required_result_request_state(ctx: Ctx) -> Answer:
    """Hand out a state and expect it back."""
    if accepted(ctx.input_responses or {}, "confirm") is not None and ctx.request_state == "nonce":
        return "state-ok: confirmation received"
    return required("nonce", confirm=ask("Please confirm", ok="boolean"))


@fixtures.tool()
async def test_input_required_result_multiple_inputs(ctx: Ctx) -> Answer:
    """Ask for three things at once."""
    wanted: dict[str, InputRequest] = {
        "user_name": ask("What is your name?", name="string"),
        "greeting": sample("Generate a greeting"),
        "client_roots": ListRootsRequest(),
    }
    if wanted.keys() <= (ctx.input_responses or {}).keys():
        return "All inputs received."
    return required("multiple", **wanted)


@fixtures.tool()
async def test_input_required_result_multi_round(ctx: Ctx) -> Answer:
    """Ask twice, the second time knowing the first answer."""
    state: dict[str, Any] = json.loads(ctx.request_state or "{}")
    responses = ctx.input_responses or {}
    if state.get("round") == 2 and (colour := accepted(responses, "step2")):
        return f"{state['name']} likes {colour.get('color')}."
    if state.get("round") == 1 and (name := accepted(responses, "step1")):
        step2 = ask("Step 2: What is your favorite color?", color="string")
        return required(json.dumps({"round": 2, "name": name.get("name")}), step2=step2)
    return required(json.dumps({"round": 1}), step1=ask("Step 1: What is your name?", name="string"))


@fixtures.tool()
async def test_input_required_result_tampered_state(ctx: Ctx) -> Answer:
    """Hand out a state that must not come back changed."""
    if ctx.request_state is not None:
        return f"state-ok: {ctx.request_state}"
    return required("round-1", confirm=ask("Please confirm", ok="boolean"))


@fixtures.tool()
async def test_input_required_result_capabilities(ctx: Ctx) -> InputRequiredResult:
    """Ask only for what the client said it can do."""
    can = ctx.client_capabilities
    wanted: dict[str, InputRequest] = {}
    if can is not None and can.sampling is not None:
        wanted["sample"] = sample("Say hello")
    if can is not None and can.elicitation is not None:
        wanted["ask"] = ask("What is your name?", name="string")
    return required("gated", **wanted)


@fixtures.tool()
async def test_missing_capability(ctx: Ctx) -> str:
    """Need the client's sampling capability."""
    can = ctx.client_capabilities
    if can is not None and can.sampling is not None:
        return "The client can sample."
    needed: dict[str, Any] = {"requiredCapabilities": {"sampling": {}}}
    raise MCPError(
        MISSING_REQUIRED_CLIENT_CAPABILITY, "This tool needs the client's sampling capability", needed
    )


# Schemas


@fixtures.tool()
async def test_x_mcp_header(
    region: Annotated[
        str, Field(description="A region", json_schema_extra={"x-mcp-header": "Region"})
    ] = "none",
) -> str:
    """Take an argument that is mirrored in a header."""
    return f"region={region}"


JSON_SCHEMA_2020_12: dict[str, Any] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "$defs": {
        "address": {
            "$anchor": "addressDef",
            "type": "object",
            "properties": {"street": {"type": "string"}, "city": {"type": "string"}},
        }
    },
    "properties": {
        "name": {"type": "string"},
        "address": {"$ref": "#/$defs/address"},
        "contactMethod": {"type": "string", "enum": ["phone", "email"]},
        "phone": {"type": "string"},
        "email": {"type": "string"},
    },
    "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
    "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
    "then": {"required": ["phone"]},
    "else": {"required": ["email"]},
    "additionalProperties": False,
}
"""The keywords the suite looks for; their shape is the suite's."""


@fixtures.tool()
async def json_schema_2020_12_tool() -> str:
    """Carry a schema with every keyword of JSON Schema 2020-12."""
    return "ok"


# Resources, prompts, completion


@fixtures.resource("test://static-text", mime_type="text/plain")
async def static_text() -> str:
    """A text."""
    return "This is the content of the static text resource."


@fixtures.resource("test://static-binary", mime_type="image/png")
async def static_binary() -> bytes:
    """A binary."""
    return b"\x89PNG\r\n\x1a\n"


@fixtures.resource("test://template/{id}/data", mime_type="application/json")
async def template_data(id: str) -> str:
    """A resource with a parameter."""
    return json.dumps({"id": id, "templateTest": True, "data": f"Data for ID: {id}"})


@fixtures.resource("test://watched-resource", mime_type="text/plain")
async def watched() -> str:
    """A resource to subscribe to."""
    return "Watched resource content"


def says(content: TextContent | ImageContent | EmbeddedResource | str) -> UserMessage:
    return UserMessage(
        content=TextContent(type="text", text=content) if isinstance(content, str) else content
    )


@fixtures.prompt()
async def test_simple_prompt() -> list[UserMessage]:
    """A prompt without arguments."""
    return [says("This is a simple prompt for testing.")]


@fixtures.prompt()
async def test_prompt_with_arguments(arg1: str, arg2: str) -> list[UserMessage]:
    """A prompt with two arguments."""
    return [says(f"Prompt with arguments: arg1='{arg1}', arg2='{arg2}'")]


@fixtures.prompt()
async def test_prompt_with_embedded_resource(resourceUri: str) -> list[UserMessage]:  # noqa: N803  # the suite's name
    """A prompt that holds a resource."""
    return [says(embedded(resourceUri, "Embedded resource content for testing.")), says("Please process it.")]


@fixtures.prompt()
async def test_prompt_with_image() -> list[UserMessage]:
    """A prompt that holds an image."""
    return [says(image()), says("Please analyze the image above.")]


@fixtures.prompt()
async def test_input_required_result_prompt(ctx: Ctx) -> list[UserMessage] | InputRequiredResult:
    """A prompt that asks the user first."""
    if answer := accepted(ctx.input_responses or {}, "user_context"):
        return [says(f"Use the following context: {answer.get('context')}")]
    return required(user_context=ask("What context should the prompt use?", context="string"))


@fixtures.completion()
async def complete(ref: object, argument: object, context: object) -> Completion:
    """No suggestions."""
    return Completion(values=[], total=0, has_more=False)
