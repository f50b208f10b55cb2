"""What a turn's owner approved and Agentroom does itself, outside of the confinement.

Journaled before it begins, done once, told to the room and to the agent.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Protocol

from agentroom_machine.daemon import errand, push
from agentroom_machine.daemon.call import Call
from agentroom_machine.daemon.errand import Errand, ErrandResult
from agentroom_machine.daemon.guards import Guards
from agentroom_machine.daemon.journal import Journal
from agentroom_machine.daemon.push import PushPlan, PushResult

UNKNOWN = "It had begun and did not say how it ended. Whether it happened is not known; it is not tried again: "

type Plan = PushPlan | Errand


class Did(Protocol):
    """Shows in the timeline what came of a call that was done in the agent's place."""

    def __call__(self, call: Call, *, done: bool, output: str) -> None: ...


class Outside:
    def __init__(
        self,
        turn_id: int,
        *,
        journal: Journal,
        notice: Callable[[str], None],
        did: Did,
        guards: Guards,
        by_hook: bool,
        within: Sequence[Path],
    ) -> None:
        self._turn_id, self._journal, self._notice, self._did = turn_id, journal, notice, did
        self._guards, self._by_hook, self._within = guards, by_hook, within
        self._going: set[asyncio.Task[PushResult] | asyncio.Task[ErrandResult]] = set()

    async def plan(self, call: Call, *, releasable: bool) -> Plan | None:
        """What would be done in the agent's place; None for a call that it makes itself.

        ``releasable``: the command was understood whole, and would fail in its confinement.
        """
        if call.command is None:
            return None
        cwd = Path(call.cwd or call.workdir)
        pushes = await asyncio.to_thread(push.resolve, call.command, cwd, self._within)
        if pushes is not None or not (releasable and self._by_hook):
            return pushes
        return await asyncio.to_thread(errand.resolve, call.command, cwd, call.workdir)

    async def do(self, call: Call, plan: Plan) -> str | None:
        """Does it, whatever becomes of the turn meanwhile; gives what the agent hears instead of making its call.

        None: the agent makes its call all the same, and its own git hears from our helper what came of the push.
        """
        if isinstance(plan, Errand):
            done = await self._finished(asyncio.create_task(self._run(plan)))
            self._did(call, done=done.state == "done", output=done.output)
            return _ran(done)
        result = await self._finished(asyncio.create_task(self._push(call, plan)))
        if not self._by_hook:
            await asyncio.to_thread(self._guards.answer, plan, result)
            return None
        self._did(call, done=result.state == "done", output=result.output)
        return _pushed(result)

    async def _finished[Result: (PushResult, ErrandResult)](self, going: asyncio.Task[Result]) -> Result:
        self._going.add(going)
        return await asyncio.shield(going)

    async def settle(self) -> None:
        """Waits for what has begun: what is under way is never left unsaid."""
        await asyncio.gather(*self._going, return_exceptions=True)
        await asyncio.to_thread(self._guards.forget)

    async def _push(self, call: Call, plan: PushPlan) -> PushResult:
        key, shown = secrets.token_hex(8), plan.short()
        self._journal.begin_outside(key, self._turn_id, f"push of {shown}")
        result = await asyncio.to_thread(push.run, plan)
        words = {"done": "Pushed, as approved: ", "failed": "The approved push failed: ", "unknown": UNKNOWN}
        why = "" if result.state == "done" else " " + "; ".join(dict.fromkeys(filter(None, result.refs.values())))
        self._notice(f"{words[result.state]}{shown}{why}")
        self._journal.end_outside(key)
        if result.state == "done":
            await asyncio.to_thread(push.note, plan, call.workdir)
        return result

    async def _run(self, plan: Errand) -> ErrandResult:
        key, shown = secrets.token_hex(8), plan.short()
        self._journal.begin_outside(key, self._turn_id, shown)
        # Beside the guards: no session writes there.
        result = await asyncio.to_thread(errand.run, plan, within=self._guards.folder.parent)
        failed = f"The approved command ended with {result.code}: " if result.code is not None else "It did not begin: "
        words = {"done": "Done outside of the confinement, as approved: ", "failed": failed, "unknown": UNKNOWN}
        self._notice(f"{words[result.state]}{shown}")
        self._journal.end_outside(key)
        return result


def _pushed(result: PushResult) -> str:
    if result.state == "done":
        return (
            "The owner approved this push and Agentroom did it itself, outside of the sandbox; it arrived. "
            f"Do not push it again. Git said:\n{result.output.strip()}"
        )
    if result.state == "unknown":
        return f"{result.output} Do not push it again; tell the owner."
    return f"The owner approved this push, but it failed. Git said:\n{result.output.strip()}"


def _ran(result: ErrandResult) -> str:
    if result.state == "unknown":
        return f"{result.output} Do not run it again; tell the owner."
    if result.code is None:
        return f"The owner approved this command, but Agentroom did not run it. {result.output}"
    ended = "" if result.state == "done" else f" It ended with {result.code}."
    return (
        "The owner approved this command and Agentroom ran it itself, outside of the sandbox, once. "
        f"Do not run it again.{ended} It printed:\n{result.output.strip()}"
    )
