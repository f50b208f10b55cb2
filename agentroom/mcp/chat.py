"""The tools of an account's connection: the chat of all programs that speak for one account."""

from __future__ import annotations

from collections.abc import Awaitable
from functools import partial
from typing import Annotated, Any, TypeVar

from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from pydantic import Field

from agentroom import account_chat, auth, waits
from agentroom.mcp import identity, results, words
from agentroom.mcp.tools import ADDS, READS, Key, key, said
from messaging import chat
from messaging.chat import Leave
from rooms.errors import RuleError

T = TypeVar("T")
After = Annotated[int, Field(description="The cursor of the last page; 0 begins with the oldest message.", ge=0)]
SkipTopics = Annotated[
    list[str], Field(description="Topics to leave out. They stay stored.", max_length=chat.MOST_LEFT_OUT)
]
SkipSessions = Annotated[
    list[str],
    Field(description="Session names to leave out, exactly as they call themselves.", max_length=chat.MOST_LEFT_OUT),
]


def add(server: MCPServer[Any]) -> None:
    @server.tool(title="Write in the chat", description=words.CHAT_SEND, annotations=ADDS)
    async def chat_send(
        body: Annotated[str, Field(description="The text, in Markdown, at most 50,000 characters.")],
        topic: Annotated[
            str,
            Field(
                description="Keeps a matter together: a-z, 0-9 and . _ / -, at most 100 characters; general if none."
            ),
        ] = "",
        reply_to: Annotated[
            int | None, Field(description="Number of the message that you answer.", ge=1, strict=True)
        ] = None,
        session: Annotated[str, Field(description="What you call yourself, at most 100 characters.")] = "",
        idempotency_key: Key = "",
    ) -> results.ChatMessage:
        def send(caller: auth.Caller) -> results.ChatMessage:
            message = account_chat.send(
                caller, body=body, topic=topic, reply_to=reply_to, session=session, client_id=key(idempotency_key)
            )
            return results.ChatMessage.model_validate(message)

        return await _act(identity.act(send))

    @server.tool(title="Read the chat", description=words.CHAT_READ, annotations=READS)
    async def chat_read(
        after: After = 0,
        limit: Annotated[int, Field(description="At most so many.", ge=1, le=chat.MOST)] = 50,
        skip_topics: SkipTopics = [],  # noqa: B006 - never changed
        skip_sessions: SkipSessions = [],  # noqa: B006
    ) -> results.ChatPage:
        def read(caller: auth.Caller) -> results.ChatPage:
            leave = Leave.of(skip_topics, skip_sessions)
            _, page = account_chat.read(caller, after=after, limit=limit, leave=leave)
            return results.ChatPage.model_validate(page)

        return await _act(identity.act(read))

    @server.tool(title="Wait for the chat", description=words.CHAT_WAIT, annotations=READS)
    async def chat_wait(
        after: Annotated[int, Field(description="The cursor of what you really read.", ge=0)],
        ctx: Context[Any, Any],
        timeout: Annotated[float, Field(description="Seconds to wait.", gt=0, le=waits.LONGEST)] = waits.LONGEST,
        skip_topics: SkipTopics = [],  # noqa: B006
        skip_sessions: SkipSessions = [],  # noqa: B006
    ) -> results.ChatWaited:
        async def wait() -> results.ChatWaited:
            waited = await waits.wait(
                identity.current(), after=after, timeout=timeout, leave=Leave.of(skip_topics, skip_sessions),
                progress=partial(_progress, ctx, timeout),
            )  # fmt: skip
            assert waited is not None, "nothing told it that somebody hung up"
            return results.ChatWaited(**results.ChatPage.model_validate(waited.page).model_dump(), reason=waited.reason)

        return await _act(wait())


async def _progress(ctx: Context[Any, Any], timeout: float, elapsed: float) -> None:
    await ctx.report_progress(elapsed, timeout, "Nothing new yet.")


async def _act(call: Awaitable[T]) -> T:
    try:
        return await call
    except RuleError as error:
        raise ToolError(said(error)) from None
    except auth.Unauthorised as error:
        raise ToolError(error.detail) from None
