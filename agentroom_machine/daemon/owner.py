"""Questions that wait for the owner: asked through the journal, answered by the next sync."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Callable

from agentroom_machine import wire


class Owner:
    """Everything on this machine that waits for a verdict."""

    def __init__(self, write: Callable[[int, wire.Fact], None]) -> None:
        self._write = write
        self._waiting: dict[str, asyncio.Future[wire.Verdict]] = {}

    def keys(self) -> list[str]:
        return list(self._waiting)

    async def ask(
        self, turn_id: int, *, subject: wire.Subject, title: str, action: str, short: str, options: list[str], call: str
    ) -> wire.Verdict:
        """Waits until somebody who may has answered; a caller that gives up takes the question back."""
        key = f"{turn_id}.{secrets.token_hex(6)}"
        answer: asyncio.Future[wire.Verdict] = asyncio.get_running_loop().create_future()
        self._waiting[key] = answer
        question = wire.QuestionFact(
            key=key, subject=subject, title=title, action=action, short=short, options=options, call=call
        )
        try:
            self._write(turn_id, question)
            return await answer
        finally:
            del self._waiting[key]
            if not answer.done() or answer.cancelled():
                self._write(turn_id, wire.QuestionGoneFact(key=key))

    def answer(self, verdict: wire.Verdict) -> bool:
        """Brings a verdict to who waits for it; False when nobody does any more."""
        waiting = self._waiting.get(verdict.key)
        if waiting is None or waiting.done():
            return False
        waiting.set_result(verdict)
        return True
