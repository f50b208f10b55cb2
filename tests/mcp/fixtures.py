"""What the conformance suite wants to find on a server: its tools, resources and prompts, on our own mount."""

from __future__ import annotations

import base64
import json
import warnings
from typing import Annotated, Any

import anyio
from mcp.server.context import ServerRequestContext
from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp.server.mcpserver.prompts.base import Message, UserMessage
from mcp.shared.exceptions import MCPError
from mcp_types import (
    MISSING_REQUIRED_CLIENT_CAPABILITY,
    AudioContent,
    CallToolResult,
    ClientCapabilities,
    Completion,
    CreateMessageRequest,
    CreateMessageRequestParams,
    ElicitRequest,
    ElicitRequestFormParams,
    ElicitResult,
    EmbeddedResource,
    EmptyResult,
    ImageContent,
    InputRequiredResult,
    ListRootsRequest,
    MissingRequiredClientCapabilityErrorData,
    SamplingCapability,
    SamplingMessage,
    SetLevelRequestParams,
    SubscribeRequestParams,
    TextContent,
    TextResourceContents,
    UnsubscribeRequestParams,
)
from pydantic import Field

from agentroom.mcp import server
from tests.doors.scene import png

PICTURE = base64.b64encode(png()).decode()
SILENCE = base64.b64encode(
    b"RIFF" + (36).to_bytes(4, "little") + b"WAVEfmt " + (16).to_bytes(4, "little")
    + b"\x01\x00\x01\x00\x40\x1f\x00\x00\x40\x1f\x00\x00\x01\x00\x08\x00data" + (0).to_bytes(4, "little")
).decode()  # fmt: skip
Answer = CallToolResult | InputRequiredResult


def text(words: str) -> TextContent:
    return TextContent(type="text", text=words)


def said(words: str) -> CallToolResult:
    return CallToolResult(content=[text(words)])


def picture() -> ImageContent:
    return ImageContent(type="image", data=PICTURE, mime_type="image/png")


def embedded(uri: str, words: str, kind: str = "text/plain") -> EmbeddedResource:
    return EmbeddedResource(type="resource", resource=TextResourceContents(uri=uri, mime_type=kind, text=words))


def form(message: str, field: str, kind: str = "string") -> ElicitRequest:
    schema = {"type": "object", "properties": {field: {"type": kind}}, "required": [field]}
    return ElicitRequest(params=ElicitRequestFormParams(message=message, requested_schema=schema))


def sampling(words: str, most: int) -> CreateMessageRequest:
    message = SamplingMessage(role="user", content=text(words))
    return CreateMessageRequest(params=CreateMessageRequestParams(messages=[message], max_tokens=most))


def filled(ctx: Context[Any, Any], key: str, field: str) -> str | None:
    """What the person put into this field of the form, once there is a sound answer."""
    answer = (ctx.input_responses or {}).get(key)
    value = answer.content.get(field) if isinstance(answer, ElicitResult) and answer.content else None
    return None if value is None else str(value)


def answered(ctx: Context[Any, Any], *keys: str) -> bool:
    return all(key in (ctx.input_responses or {}) for key in keys)


def build() -> MCPServer[Any]:
    made = server.make("For the conformance suite alone.")
    add_plain_tools(made)
    add_asking_tools(made)
    add_resources(made)
    add_prompts(made)
    add_older_methods(made)
    return made


def add_plain_tools(made: MCPServer[Any]) -> None:
    @made.tool(structured_output=False)
    async def test_simple_text() -> TextContent:
        """Plain words."""
        return text("This is a simple text response for testing.")

    @made.tool(structured_output=False)
    async def test_image_content() -> ImageContent:
        """A picture."""
        return picture()

    @made.tool(structured_output=False)
    async def test_audio_content() -> AudioContent:
        """A sound."""
        return AudioContent(type="audio", data=SILENCE, mime_type="audio/wav")

    @made.tool(structured_output=False)
    async def test_embedded_resource() -> EmbeddedResource:
        """A resource inside the answer."""
        return embedded("test://embedded-resource", "This is an embedded resource content.")

    @made.tool(structured_output=False)
    async def test_multiple_content_types() -> list[TextContent | ImageContent | EmbeddedResource]:
        """Words, a picture and a resource."""
        data = embedded("test://mixed-content-resource", '{"test":"data","value":123}', "application/json")
        return [text("Multiple content types test:"), picture(), data]

    @made.tool(structured_output=False)
    async def test_error_handling() -> str:
        """Fails."""
        raise ToolError("This tool intentionally returns an error for testing")

    @made.tool(structured_output=False)
    async def test_tool_with_progress(ctx: Context[Any, Any]) -> TextContent:
        """Says how far it is."""
        for done in (0, 50, 100):
            await ctx.report_progress(done, 100)
            await anyio.sleep(0.05)
        return text("Done.")

    async def log(ctx: Context[Any, Any], *lines: str) -> TextContent:
        for line in lines:
            with warnings.catch_warnings(action="ignore"):  # deprecated, and yet served to who asks
                await ctx.log("info", line)
            await anyio.sleep(0.05)
        return text("Logged.")

    @made.tool(structured_output=False)
    async def test_tool_with_logging(ctx: Context[Any, Any]) -> TextContent:
        """Logs three lines."""
        return await log(ctx, "Tool execution started", "Tool processing data", "Tool execution completed")

    @made.tool(structured_output=False)
    async def test_logging_tool(ctx: Context[Any, Any]) -> TextContent:
        """Logs one line."""
        return await log(ctx, "One line")

    @made.tool(structured_output=False)
    async def test_x_mcp_header(
        region: Annotated[str, Field(json_schema_extra={"x-mcp-header": "Region"})],
    ) -> TextContent:
        """Takes an argument that is repeated in a header."""
        return text(region)


def add_asking_tools(made: MCPServer[Any]) -> None:
    """Tools that answer with a question and go on when they are called again with its answer."""

    @made.tool()
    async def test_missing_capability(ctx: Context[Any, Any]) -> Answer:
        """Wants a client that samples."""
        if not ctx.session.check_client_capability(ClientCapabilities(sampling=SamplingCapability())):
            lacking = MissingRequiredClientCapabilityErrorData(
                required_capabilities=ClientCapabilities(sampling=SamplingCapability())
            )
            raise MCPError(MISSING_REQUIRED_CLIENT_CAPABILITY, "It needs sampling.", lacking.model_dump(by_alias=True))
        return said("The client samples.")

    @made.tool()
    async def test_streaming_elicitation(ctx: Context[Any, Any]) -> Answer:
        """Says how far it is, then asks."""
        await ctx.report_progress(1, 2)
        return InputRequiredResult(input_requests={"name": form("What is your name?", "name")})

    @made.tool()
    async def test_input_required_result_elicitation(ctx: Context[Any, Any]) -> Answer:
        """Asks for a name."""
        name = filled(ctx, "user_name", "name")
        if name is None:
            return InputRequiredResult(input_requests={"user_name": form("What is your name?", "name")})
        return said(f"Hello, {name}!")

    @made.tool()
    async def test_input_required_result_sampling(ctx: Context[Any, Any]) -> Answer:
        """Asks the client's model."""
        if not answered(ctx, "capital_question"):
            question = sampling("What is the capital of France?", 100)
            return InputRequiredResult(input_requests={"capital_question": question})
        return said(str((ctx.input_responses or {})["capital_question"]))

    @made.tool()
    async def test_input_required_result_list_roots(ctx: Context[Any, Any]) -> Answer:
        """Asks for the client's roots."""
        if not answered(ctx, "client_roots"):
            return InputRequiredResult(input_requests={"client_roots": ListRootsRequest()})
        return said(str((ctx.input_responses or {})["client_roots"]))

    @made.tool()
    async def test_input_required_result_request_state(ctx: Context[Any, Any]) -> Answer:
        """Asks, and knows its own state again."""
        if not answered(ctx, "confirm"):
            question = form("Please confirm", "ok", "boolean")
            return InputRequiredResult(input_requests={"confirm": question}, request_state="asked")
        return said("state-ok" if ctx.request_state == "asked" else "state-lost")

    @made.tool()
    async def test_input_required_result_tampered_state(ctx: Context[Any, Any]) -> Answer:
        """Asks, with a state that nobody may change."""
        if not answered(ctx, "confirm"):
            question = form("Please confirm", "ok", "boolean")
            return InputRequiredResult(input_requests={"confirm": question}, request_state="sealed")
        return said("state-ok")

    @made.tool()
    async def test_input_required_result_multiple_inputs(ctx: Context[Any, Any]) -> Answer:
        """Asks three things at once."""
        if answered(ctx, "user_name", "greeting", "client_roots"):
            return said("All three answered.")
        questions = {
            "user_name": form("What is your name?", "name"),
            "greeting": sampling("Generate a greeting", 50),
            "client_roots": ListRootsRequest(),
        }
        return InputRequiredResult(input_requests=questions, request_state="three")

    @made.tool()
    async def test_input_required_result_multi_round(ctx: Context[Any, Any]) -> Answer:
        """Asks twice."""
        if answered(ctx, "step2"):
            return said(f"{ctx.request_state} likes {filled(ctx, 'step2', 'color')}.")
        if name := filled(ctx, "step1", "name"):
            question = form("Step 2: What is your favorite color?", "color")
            return InputRequiredResult(input_requests={"step2": question}, request_state=name)
        question = form("Step 1: What is your name?", "name")
        return InputRequiredResult(input_requests={"step1": question}, request_state="nobody")

    @made.tool()
    async def test_input_required_result_capabilities(ctx: Context[Any, Any]) -> Answer:
        """Asks only what the client can answer."""
        if ctx.session.check_client_capability(ClientCapabilities(sampling=SamplingCapability())):
            return InputRequiredResult(input_requests={"greeting": sampling("Generate a greeting", 50)})
        return InputRequiredResult(input_requests={"user_name": form("What is your name?", "name")})


def add_resources(made: MCPServer[Any]) -> None:
    @made.resource("test://static-text", mime_type="text/plain")
    async def words() -> str:
        """Words."""
        return "This is the content of the static text resource."

    @made.resource("test://static-binary", mime_type="image/png")
    async def image() -> bytes:
        """A picture."""
        return png()

    @made.resource("test://watched-resource", mime_type="text/plain")
    async def watched() -> str:
        """Something to subscribe to."""
        return "Watched."

    @made.resource("test://template/{id}/data", mime_type="application/json")
    async def data(id: str) -> str:
        """What belongs to an id."""
        return json.dumps({"id": id, "templateTest": True, "data": f"Data for ID: {id}"})


def add_prompts(made: MCPServer[Any]) -> None:
    @made.prompt()
    async def test_simple_prompt() -> str:
        """Plain words."""
        return "This is a simple prompt for testing."

    @made.prompt()
    async def test_prompt_with_arguments(arg1: str, arg2: str) -> str:
        """Words with two arguments in them."""
        return f"Prompt with arguments: arg1='{arg1}', arg2='{arg2}'"

    @made.prompt()
    async def test_prompt_with_embedded_resource(resourceUri: str) -> list[Message]:  # noqa: N803 - the suite's name
        """A resource, and what to do with it."""
        given = embedded(resourceUri, "Embedded resource content for testing.")
        return [UserMessage(given), UserMessage("Please process the embedded resource above.")]

    @made.prompt()
    async def test_prompt_with_image() -> list[Message]:
        """A picture, and what to do with it."""
        return [UserMessage(picture()), UserMessage("Please analyze the image above.")]

    @made.prompt()
    async def test_input_required_result_prompt(ctx: Context[Any, Any]) -> list[Message] | InputRequiredResult:
        """Asks before it says anything."""
        context = filled(ctx, "user_context", "context")
        if context is None:
            question = form("What context should the prompt use?", "context")
            return InputRequiredResult(input_requests={"user_context": question})
        return [UserMessage(f"In the context of {context}.")]

    @made.completion()  # type: ignore[no-untyped-call, untyped-decorator]
    async def complete(ref: object, argument: Any, context: object) -> Completion:
        return Completion(values=[word for word in ("paris", "park", "party") if word.startswith(argument.value)])


def add_older_methods(made: MCPServer[Any]) -> None:
    """What only revisions before 2026-07-28 have, and the product doesn't offer."""

    async def nothing(ctx: ServerRequestContext[Any, Any], params: Any) -> EmptyResult:
        return EmptyResult()

    inner = made._lowlevel_server
    inner.add_request_handler("logging/setLevel", SetLevelRequestParams, nothing)
    inner.add_request_handler("resources/subscribe", SubscribeRequestParams, nothing)
    inner.add_request_handler("resources/unsubscribe", UnsubscribeRequestParams, nothing)
