"""The smallest client that can drive a real agent over ACP: it allows once whatever is asked."""

from __future__ import annotations

import asyncio
import os
import signal
from asyncio.subprocess import DEVNULL, PIPE
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

import acp
from acp import schema
from acp.client.connection import ClientSideConnection

from tests.real_agents.homes import PROGRAMS

LARGEST_LINE = 64 * 1024 * 1024


@dataclass
class Heard:
    """What the agent sent during one prompt."""

    text: str = ""
    titles: list[str] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)
    questions: list[str] = field(default_factory=list)
    diffs: list[tuple[str, str | None, str]] = field(default_factory=list)
    """Path, old text, new text."""


@dataclass
class Listener:
    heard: Heard = field(default_factory=Heard)

    def on_connect(self, conn: object) -> None:
        """Nothing to remember: it never speaks first."""

    async def session_update(self, session_id: str, update: object, **more: Any) -> None:
        match update:
            case schema.AgentMessageChunk(content=schema.TextContentBlock(text=text)):
                self.heard.text += text
            case schema.ToolCallStart(title=title):
                self.heard.titles.append(title)
        for content in getattr(update, "content", None) or []:
            if isinstance(content, schema.FileEditToolCallContent):
                self.heard.diffs.append((content.path, content.old_text, content.new_text))

    async def request_permission(
        self, session_id: str, tool_call: schema.ToolCallUpdate, options: list[schema.PermissionOption], **more: Any
    ) -> schema.RequestPermissionResponse:
        self.heard.asked.append(tool_call.title or tool_call.tool_call_id)
        once = next(option for option in options if option.kind == "allow_once")
        allowed = schema.AllowedOutcome(outcome="selected", option_id=once.option_id)
        return schema.RequestPermissionResponse(outcome=allowed)

    async def create_elicitation(
        self, message: str, mode: schema.ElicitationFormSessionMode, **more: Any
    ) -> schema.AcceptElicitationResponse:
        """Takes the last option of each list."""
        self.heard.questions.append(message)
        fields = mode.requested_schema.properties or {}
        choices = {name: getattr(field, "one_of", None) for name, field in fields.items()}
        content = {name: options[-1].const for name, options in choices.items() if options}
        return schema.AcceptElicitationResponse(action="accept", content=content)


@dataclass
class Agent:
    connection: ClientSideConnection
    listener: Listener
    process: asyncio.subprocess.Process
    mode: str
    folder: Path

    async def begin(self) -> str:
        session = (await self.connection.new_session(cwd=str(self.folder), mcp_servers=[])).session_id
        await self.connection.set_session_mode(session_id=session, mode_id=self.mode)
        return session

    async def resume(self, session: str) -> None:
        await self.connection.resume_session(session_id=session, cwd=str(self.folder), mcp_servers=[])
        await self.connection.set_session_mode(session_id=session, mode_id=self.mode)

    async def ask(self, session: str, words: str) -> Heard:
        self.listener.heard = Heard()
        reply = await self.connection.prompt(session_id=session, prompt=[acp.text_block(words)])
        assert reply.stop_reason == "end_turn", reply
        return self.listener.heard


@asynccontextmanager
async def agent(program: str, *, mode: str, env: Mapping[str, str], folder: Path) -> AsyncIterator[Agent]:
    """A process of the real agent, which ends with the block, its whole group too."""
    process = await asyncio.create_subprocess_exec(
        PROGRAMS / program,
        stdin=PIPE,
        stdout=PIPE,
        stderr=DEVNULL,
        env=env,
        cwd=folder,
        start_new_session=True,
        limit=LARGEST_LINE,
    )
    listener = Listener()
    connection = acp.connect_to_agent(
        cast(acp.Client, listener), process.stdin, process.stdout, use_unstable_protocol=True
    )
    try:
        await connection.initialize(
            protocol_version=acp.PROTOCOL_VERSION,
            client_capabilities=schema.ClientCapabilities(
                elicitation=schema.ElicitationCapabilities(form=schema.ElicitationFormCapabilities())
            ),
        )
        yield Agent(connection, listener, process, mode, folder)
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        await process.wait()
        await connection.close()
