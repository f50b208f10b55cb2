"""Stands between an agent and what it wants to do in one turn: each call is judged once, each question asked once."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Protocol

from agentroom_machine import wire
from agentroom_machine.daemon import showing
from agentroom_machine.daemon.call import Call
from agentroom_machine.daemon.gate import Gate, Harmless
from agentroom_machine.daemon.outside import Outside
from agentroom_machine.daemon.push import PushPlan
from agentroom_machine.daemon.redact import Redactor
from agentroom_machine.daemon.translate import line


class AskOwner(Protocol):
    def __call__(
        self, *, subject: wire.Subject, title: str, action: str, short: str, options: list[str], call: str
    ) -> Awaitable[wire.Verdict]: ...


@dataclass(frozen=True)
class Decision:
    allow: bool
    reason: str = ""
    """For the agent, when it is a no."""
    note: str = ""
    """What the owner wrote."""
    unasked: bool = False
    """Nobody was asked."""


@dataclass
class _Judged:
    call: Call
    task: asyncio.Task[Decision]

    def unasked(self) -> bool:
        """Whether it passed without a question, as what stays in its sandbox may."""
        return self.task.done() and not self.task.cancelled() and self.task.result().unasked


class Gatekeeper:
    def __init__(
        self,
        *,
        handle: str,
        gate: Gate,
        ask: AskOwner,
        redact: Redactor,
        key: Callable[[str], str],
        on_refused: Callable[[Call], None],
        before_asking: Callable[[], None],
        outside: Outside,
    ) -> None:
        self._handle, self._gate = handle, gate
        self._ask, self._redact, self._key = ask, redact, key
        self._on_refused, self._before_asking, self._outside = on_refused, before_asking, outside
        self._judged: dict[str, _Judged] = {}
        self.refusals = 0

    async def decide(self, call: Call) -> Decision:
        """The decision about a call. Hook and permission request about the same call share one."""
        known = self._judged.get(call.id) if call.id else None
        if known is None or not _same(known.call, call) or (call.escalates and known.unasked()):
            known = _Judged(call, asyncio.create_task(self._decide(call)))
            if call.id:
                self._judged[call.id] = known
        return await asyncio.shield(known.task)

    async def close(self) -> None:
        """Takes back what is still asked."""
        tasks = [known.task for known in self._judged.values() if not known.task.done()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _decide(self, call: Call) -> Decision:
        judgement = await asyncio.to_thread(self._gate.judge, call)
        if isinstance(judgement, Harmless):
            return Decision(True, unasked=True)
        plan = await self._outside.plan(call, releasable=judgement.releasable)
        how = plan.shown() if plan else self._gate.stays(call, judgement)
        whole = "\n\n".join(filter(None, [judgement.action, how])) if judgement.action is not None else None
        if whole is None or len(action := self._redact(whole)) > wire.MAX_TEXT:
            self._refuse(call)
            return Decision(False, "This call is too long to be shown to the owner whole. Do it in smaller steps.")
        wish = showing.push(plan) if isinstance(plan, PushPlan) else judgement.title
        self._before_asking()
        verdict = await self._ask(
            subject="push" if isinstance(plan, PushPlan) else judgement.subject,
            title=line(self._redact(f"{self._handle} wants to {wish}")),
            action=action,
            short=line(self._redact(judgement.short)),
            options=[],
            call=self._key(call.id) if call.id else "",
        )
        if verdict.verdict == "once":
            instead = await self._outside.do(call, plan) if plan else None
            return Decision(True) if instead is None else Decision(False, instead)
        self._refuse(call)
        note = verdict.answer.strip()
        return Decision(False, f"The owner declined: {note or 'no reason given'}; go on without it.", note)

    def _refuse(self, call: Call) -> None:
        self.refusals += 1
        self._on_refused(call)


def _same(known: Call, call: Call) -> bool:
    """Whether two accounts of one call can be about the same thing: a decision is bound to its content."""
    if known.command is not None and call.command is not None:
        return known.command == call.command
    if known.raw not in (None, {}) and call.raw not in (None, {}) and known.name and known.name == call.name:
        return bool(known.raw == call.raw)
    return True
