"""The demo agent as a program: speaks ACP on its standard input and output."""

from __future__ import annotations

import asyncio
import os
import re
from pathlib import Path
from typing import Any, cast

import acp
from acp import schema
from acp.interfaces import Client

from agentroom_machine.demo_agent.hands import Hands
from agentroom_machine.demo_agent.memory import Memory
from agentroom_machine.demo_agent.tour import respond

_MODES = schema.SessionModeState(
    current_mode_id="ask",
    available_modes=[schema.SessionMode(id="ask", name="Ask", description="Asks before each change and command")],
)


class DemoAgent:
    def __init__(self) -> None:
        self._client: Client | None = None
        self._sessions: dict[str, Memory] = {}
        self._working: dict[str, tuple[asyncio.Task[Any], Hands]] = {}

    def on_connect(self, conn: Client) -> None:
        self._client = conn

    async def initialize(self, protocol_version: int, **more: Any) -> schema.InitializeResponse:
        return schema.InitializeResponse(
            protocol_version=acp.PROTOCOL_VERSION,
            agent_capabilities=schema.AgentCapabilities(
                load_session=True,
                session_capabilities=schema.SessionCapabilities(resume=schema.SessionResumeCapabilities()),
            ),
            agent_info=schema.Implementation(name="agentroom-demo", version="0.1.0"),
        )

    async def new_session(self, cwd: str, **more: Any) -> schema.NewSessionResponse:
        memory = Memory.begin(cwd)
        self._sessions[memory.session_id] = memory
        return schema.NewSessionResponse(session_id=memory.session_id, modes=_MODES)

    async def load_session(self, cwd: str, session_id: str, **more: Any) -> schema.LoadSessionResponse:
        self._find(session_id)
        return schema.LoadSessionResponse(modes=_MODES)

    async def resume_session(self, session_id: str, cwd: str, **more: Any) -> schema.ResumeSessionResponse:
        self._find(session_id)
        return schema.ResumeSessionResponse(modes=_MODES)

    async def set_session_mode(self, session_id: str, mode_id: str, **more: Any) -> schema.SetSessionModeResponse:
        if mode_id != "ask":
            raise acp.RequestError.invalid_params({"details": "the demo agent always asks"})
        return schema.SetSessionModeResponse()

    async def prompt(self, session_id: str, prompt: list[Any], **more: Any) -> schema.PromptResponse:
        memory = self._find(session_id)
        memory.prompts += 1
        memory.keep()
        text = "\n".join(block.text for block in prompt if isinstance(block, schema.TextContentBlock))
        pause = float(os.environ.get("AGENTROOM_DEMO_PAUSE") or 0.03)
        hands = Hands(cast(Client, self._client), session_id, Path(memory.cwd), pause)
        work = asyncio.ensure_future(respond(_request(text), hands, memory))
        self._working[session_id] = (work, hands)
        try:
            await work
        except asyncio.CancelledError:
            if not work.cancelled():
                raise
            return schema.PromptResponse(stop_reason="cancelled")
        finally:
            self._working.pop(session_id, None)
            hands.kill()
        hands.note("done")
        return schema.PromptResponse(stop_reason="end_turn")

    async def cancel(self, session_id: str, **more: Any) -> None:
        if working := self._working.get(session_id):
            task, hands = working
            hands.kill()
            task.cancel()

    def kill(self) -> None:
        for _, hands in self._working.values():
            hands.kill()

    def _find(self, session_id: str) -> Memory:
        memory = self._sessions.get(session_id) or Memory.find(session_id)
        if memory is None:
            raise acp.RequestError.resource_not_found(session_id)
        self._sessions[session_id] = memory
        return memory


def _request(text: str) -> str:
    """The words of the request itself: the quoted lines at the end of the prompt, or all of it."""
    quoted = re.search(r"(?:^> ?.*\n?)+\Z", text, re.MULTILINE)
    return "\n".join(line[2:] for line in quoted[0].splitlines()) if quoted else text


async def main() -> None:
    agent = DemoAgent()
    try:
        await acp.run_agent(cast(acp.Agent, agent), use_unstable_protocol=True)
    finally:
        agent.kill()


if __name__ == "__main__":
    asyncio.run(main())
