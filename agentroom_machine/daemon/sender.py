"""Brings the journal to the server: in order, in batches, each file before the fact that names it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from agentroom_machine import wire
from agentroom_machine.client import Client
from agentroom_machine.daemon.journal import Journal
from agentroom_machine.daemon.retry import Backoff
from agentroom_machine.errors import Offline, Rejected

_FINAL = {"revoked", "superseded", "second_daemon", "journal_gap"}
"""Refusals of the machine itself, not of what it reports."""


class Sender:
    """``on_settled`` is called when the server knows of a question or an end: it may have something to say then."""

    def __init__(
        self,
        journal: Journal,
        client: Client,
        *,
        on_settled: Callable[[], None],
        on_offline: Callable[[Offline | None], None],
        on_refused: Callable[[int, str], None],
    ) -> None:
        self._journal, self._client = journal, client
        self._on_settled, self._on_offline, self._on_refused = on_settled, on_offline, on_refused
        self._more = asyncio.Event()
        self._empty = asyncio.Event()
        # At first, so that a journal older than what the server holds is noticed before more of it is taken for stored.
        self._one_by_one = True
        self._sent = journal.last_n()
        """The highest number that can have been sent under this journal."""

    def wake(self) -> None:
        """There is something new in the journal."""
        self._empty.clear()
        self._more.set()

    async def run(self) -> None:
        """Sends for ever; raises Rejected when the server no longer takes anything from this machine."""
        backoff = Backoff()
        while True:
            self._more.clear()
            batch = self._journal.pending(1 if self._one_by_one else wire.MAX_FACTS)
            if not batch:
                self._empty.set()
                await self._more.wait()
                continue
            try:
                await self._send(batch)
            except Offline as offline:
                self._on_offline(offline)
                await backoff.pause()
            else:
                backoff.reset()

    async def flushed(self) -> None:
        """Returns when the server has acknowledged everything."""
        while self._journal.count_pending():
            self._empty.clear()
            self._more.set()
            await self._empty.wait()

    async def _send(self, batch: list[wire.Numbered]) -> None:
        if any([await self._upload(numbered) for numbered in batch]):
            return  # the journal holds something else now
        try:
            receipt = await self._client.report(wire.Report(journal_id=self._journal.journal_id, facts=batch))
        except Rejected as refusal:
            if refusal.status == 401 or refusal.code in _FINAL:
                raise
            self._step_over(batch, refusal)
            return
        self._on_offline(None)
        self._sent = max(self._sent, batch[-1].n)
        if receipt.acked > self._sent:
            words = "The server holds reports that this journal has never made."
            raise Rejected(409, "journal_gap", "The journal is an older copy.", words)
        for n, why in receipt.refused.items():
            self._on_refused(n, why)
        self._journal.ack(receipt.acked)
        self._one_by_one = self._one_by_one and receipt.acked < batch[-1].n
        if any(isinstance(numbered.fact, wire.EndFact | wire.QuestionFact) for numbered in batch):
            self._on_settled()

    def _step_over(self, batch: list[wire.Numbered], refusal: Rejected) -> None:
        """A fact that the server can't take must not hold up all that come after it."""
        if len(batch) > 1:
            self._one_by_one = True
            return
        (numbered,) = batch
        if isinstance(numbered.fact, wire.NoticeFact):
            raise refusal
        self._on_refused(numbered.n, str(refusal))
        if isinstance(numbered.fact, wire.EndFact):
            self._journal.replace(numbered.n, wire.EndFact(state="failed", reason="The end could not be reported."))
            if numbered.fact.reason == "The end could not be reported.":
                raise refusal
            return
        self._journal.replace(numbered.n, wire.NoticeFact(text="Something that happened here could not be shown."))

    async def _upload(self, numbered: wire.Numbered) -> bool:
        """Brings up the file that a fact names; True when the fact had to be replaced."""
        fact = numbered.fact
        if not isinstance(fact, wire.ArtifactFact):
            return False
        file = self._journal.file(fact.sha256)
        try:
            if not await self._client.has_file(fact.sha256):
                await self._client.put_file(fact.sha256, file)
        except Rejected as refusal:
            if refusal.status == 401 or refusal.code in _FINAL:
                raise
            why = str(refusal)
        except OSError:
            why = "its copy is gone"
        else:
            return False
        self._journal.replace(numbered.n, wire.NoticeFact(text=f"{fact.name} could not be sent: {why}"[:1900]))
        return True
