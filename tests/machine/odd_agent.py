"""An ACP agent with bad manners, one for each word of the prompt's last line."""

from __future__ import annotations

import asyncio
import os
import secrets
import sys
from pathlib import Path
from typing import Any, cast

import acp
from acp import schema
from acp.interfaces import Client

WORKER = "import pathlib, sys, time; pathlib.Path('worker').write_text(sys.argv[1]); time.sleep(30)"
NAMES = os.environ.get("ODD_MODES", "free,ask").split(",")
MODES = schema.SessionModeState(
    current_mode_id="free", available_modes=[schema.SessionMode(id=name, name=name) for name in NAMES]
)


class OddAgent:
    def on_connect(self, conn: Client) -> None:
        self.client = conn

    async def initialize(self, protocol_version: int, **more: Any) -> schema.InitializeResponse:
        print("odd agent starts, token=ghp_" + "a1B2" * 9, file=sys.stderr)
        if os.environ.get("ODD_LOGIN"):
            raise acp.RequestError.auth_required()
        return schema.InitializeResponse(protocol_version=acp.PROTOCOL_VERSION)

    async def new_session(self, cwd: str, **more: Any) -> schema.NewSessionResponse:
        return schema.NewSessionResponse(session_id="odd", modes=MODES)

    async def set_session_mode(self, session_id: str, mode_id: str, **more: Any) -> schema.SetSessionModeResponse:
        return schema.SetSessionModeResponse()

    async def prompt(self, session_id: str, prompt: list[Any], **more: Any) -> schema.PromptResponse:
        word = prompt[0].text.splitlines()[-1].removeprefix("> ")
        await self._say(f"doing {word}")
        if word in {"leave a child", "die with a child"}:
            await leave_a_child()
        if word in {"die", "die with a child"}:
            os._exit(3)
        if word == "leave a child":
            await asyncio.sleep(60)
        if word == "change mode":
            update = schema.CurrentModeUpdate(session_update="current_mode_update", current_mode_id="free")
            await self.client.session_update(session_id="odd", update=update)
            await asyncio.sleep(60)
        if word == "refuse":
            return schema.PromptResponse(stop_reason="refusal")
        if word == "break":
            raise acp.RequestError.internal_error({"details": "the model is away"})
        return schema.PromptResponse(stop_reason="end_turn")

    async def cancel(self, session_id: str, **more: Any) -> None:
        """Goes on regardless."""

    async def _say(self, text: str) -> None:
        await self.client.session_update(session_id="odd", update=acp.update_agent_message_text(text))


async def leave_a_child() -> None:
    """Starts a process in a session of its own, and waits until it has written by which word to find it."""
    await asyncio.create_subprocess_exec(sys.executable, "-c", WORKER, secrets.token_hex(8), start_new_session=True)
    while not (Path("worker").exists() and Path("worker").read_text()):
        await asyncio.sleep(0.01)


if __name__ == "__main__":
    asyncio.run(acp.run_agent(cast(acp.Agent, OddAgent()), use_unstable_protocol=True))
