"""A turn's approved pushes: journaled before they begin, done once, told to the room and to the agent."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Callable, Sequence
from pathlib import Path

from agentroom_machine.daemon import push
from agentroom_machine.daemon.call import Call
from agentroom_machine.daemon.gatekeeper import Decision
from agentroom_machine.daemon.guards import Guards
from agentroom_machine.daemon.journal import Journal
from agentroom_machine.daemon.push import PushPlan, PushResult

UNKNOWN = "A push had begun and did not say how it ended. Whether it arrived is not known; it is not tried again: "


class Pushing:
    def __init__(
        self,
        turn_id: int,
        *,
        journal: Journal,
        notice: Callable[[str], None],
        did: Callable[[Call, PushResult], None],
        guards: Guards,
        by_hook: bool,
        within: Sequence[Path],
    ) -> None:
        self._turn_id, self._journal, self._notice, self._did = turn_id, journal, notice, did
        self._guards, self._by_hook, self._within = guards, by_hook, within
        self._going: set[asyncio.Task[PushResult]] = set()

    async def plan(self, call: Call) -> PushPlan | None:
        """What a lone push would push; None for any other call."""
        if call.command is None:
            return None
        return await asyncio.to_thread(push.resolve, call.command, Path(call.cwd or call.workdir), self._within)

    async def push(self, call: Call, plan: PushPlan) -> Decision:
        """Does it, whatever becomes of the turn meanwhile; the decision is what the agent hears."""
        going = asyncio.create_task(self._go(call, plan))
        self._going.add(going)
        result = await asyncio.shield(going)
        if not self._by_hook:
            # Its own git asks our helper, which says the same.
            await asyncio.to_thread(self._guards.answer, plan, result)
            return Decision(True)
        self._did(call, result)
        return Decision(False, _told(result))

    async def settle(self) -> None:
        """Waits for what has begun: a push that is under way is never left unsaid."""
        await asyncio.gather(*self._going, return_exceptions=True)
        await asyncio.to_thread(self._guards.forget)

    async def _go(self, call: Call, plan: PushPlan) -> PushResult:
        key, shown = secrets.token_hex(8), plan.short()
        self._journal.begin_push(key, self._turn_id, shown)
        result = await asyncio.to_thread(push.run, plan)
        words = {"done": "Pushed, as approved: ", "failed": "The approved push failed: ", "unknown": UNKNOWN}
        why = "" if result.state == "done" else " " + "; ".join(dict.fromkeys(filter(None, result.refs.values())))
        self._notice(f"{words[result.state]}{shown}{why}")
        self._journal.end_push(key)
        if result.state == "done":
            await asyncio.to_thread(push.note, plan, call.workdir)
        return result


def _told(result: PushResult) -> str:
    if result.state == "done":
        return (
            "The owner approved this push and Agentroom did it itself, outside of the sandbox; it arrived. "
            f"Do not push it again. Git said:\n{result.output.strip()}"
        )
    if result.state == "unknown":
        return f"{result.output} Do not push it again; tell the owner."
    return f"The owner approved this push, but it failed. Git said:\n{result.output.strip()}"
