"""The daemon: asks the server what to do, runs it, and ends in good order."""

from __future__ import annotations

import asyncio
import contextlib
import secrets
import sqlite3
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Protocol

from agentroom_machine import wire
from agentroom_machine.client import Client
from agentroom_machine.confine.confinement import Confinement
from agentroom_machine.daemon import processes, workspace
from agentroom_machine.daemon.journal import Journal
from agentroom_machine.daemon.lock import SecondDaemon
from agentroom_machine.daemon.outside import UNKNOWN
from agentroom_machine.daemon.owner import Owner
from agentroom_machine.daemon.redact import Redactor
from agentroom_machine.daemon.restore import NoSnapshot, Snapshots
from agentroom_machine.daemon.retry import Backoff, until_online
from agentroom_machine.daemon.sender import Sender
from agentroom_machine.daemon.session import MOST_LIVE, Sessions
from agentroom_machine.daemon.turn import TurnRun
from agentroom_machine.daemon.undoable import undoable, undone
from agentroom_machine.errors import Offline, Rejected, Trouble
from agentroom_machine.profile import Profile
from agentroom_machine.runtimes.launch import Surroundings, launch

LOST = "the machine's program ended while this ran; what it did last is not known"
_FLUSH_FOR = 5.0
_LOOK_AGAIN = 30.0
_WRONG_CLOCK = 120


class Say(Protocol):
    """Hears what happens, for whoever sits at the machine."""

    def __call__(self, event: str, text: str, **facts: object) -> None: ...


class Ended(Trouble):
    """The server wants nothing more from this daemon."""


class Daemon:
    def __init__(
        self,
        profile: Profile,
        client: Client,
        *,
        say: Say,
        redact: Redactor,
        environ: Mapping[str, str] | None = None,
        wait: float = wire.MAX_WAIT,
    ) -> None:
        self._client, self._say, self._redact, self._wait = client, say, redact, wait
        self._environ = environ
        self._journal = Journal(profile.journal_file)
        self._confinement = Confinement(profile, environ)
        self._sessions = Sessions(self._journal, profile.scratch, self._confinement, client)
        self._owner = Owner(self._write)
        self._worktrees = profile.worktrees
        self._snapshots = Snapshots(profile.folder / "snapshots")
        self._undoing: dict[int, asyncio.Task[None]] = {}
        self._confined: dict[int, str] = {}
        self._sender = Sender(
            self._journal,
            client,
            on_settled=self._nudge,
            on_offline=self._heard,
            on_refused=lambda n, why: say("refused", f"The server did not take report {n}: {why}"),
        )
        self._instance = secrets.token_hex(12)
        self._epoch: int | None = None
        self._agents: dict[int, wire.AgentConfig] = {}
        self._running: dict[int, TurnRun] = {}
        self._started: set[int] = set()
        self._tasks: dict[int, asyncio.Task[None]] = {}
        self._problems: dict[int, str] = {}
        self._most = MOST_LIVE
        self._draining = False
        self._broken: Exception | None = None
        """What makes going on impossible."""
        self._offline: bool | None = None
        """None until a first call was answered or failed."""
        self._changed = asyncio.Event()
        self._look = asyncio.Event()

    # --- from outside

    def drain(self) -> None:
        """Takes no more turns; ends when what runs has ended."""
        if not self._draining:
            self._draining = True
            running = len(self._running)
            self._say("draining", f"Finishing {running} running, then ending." if running else "Ending.")
        for turn_id, task in self._tasks.items():
            if turn_id not in self._started:
                task.cancel()
        self._changed.set()

    def stop_now(self) -> None:
        """Ends what runs, too."""
        self.drain()
        for turn in self._running.values():
            turn.end("stopped", "stopped on the machine")

    async def run(self) -> None:
        """Works until drained; raises Ended, SecondDaemon or Rejected when the server refuses the machine."""
        try:
            await self._recover()
            async with asyncio.TaskGroup() as group:
                helpers = [
                    group.create_task(self._sender.run()),
                    group.create_task(self._look_after_agents()),
                    group.create_task(self._let_go()),
                ]
                await self._work()
                for helper in helpers:
                    helper.cancel()
            await self._flush()
        except BaseExceptionGroup as group:
            raise self._refusal(group) from group
        finally:
            await self._close()

    # --- start and end

    async def _recover(self) -> None:
        """Settles what an earlier daemon left: what had begun is interrupted, what had not begins again."""
        processes.adopt_orphans()
        if self._journal.damaged:
            self._say("damaged", f"The journal was damaged; it is kept as {self._journal.damaged}, a new one begins.")
        left = await asyncio.to_thread(processes.sweep, self._journal.journal_id)
        if left:
            self._say("swept", f"Ended {left} processes that an earlier run left behind.")
        for key, turn_id, shown in self._journal.begun_outside():
            self._write(turn_id, wire.NoticeFact(text=f"{UNKNOWN}{self._redact(shown)}"[:2000]))
            self._journal.end_outside(key)
        for turn_id in self._journal.turn_ids("running"):
            with contextlib.suppress(NoSnapshot, OSError):
                if fact := undoable(await asyncio.to_thread(self._snapshots.settle, turn_id), self._redact):
                    self._write(turn_id, fact)
            self._write(turn_id, wire.EndFact(state="interrupted", reason=LOST))
            self._say("interrupted", f"Request {turn_id} was running when this program ended; it does not run again.")

    async def _flush(self) -> None:
        with contextlib.suppress(TimeoutError, Rejected, Offline):
            sending = asyncio.ensure_future(self._sender.run())
            flushed = asyncio.ensure_future(self._sender.flushed())
            try:
                async with asyncio.timeout(_FLUSH_FOR):
                    await asyncio.wait({sending, flushed}, return_when=asyncio.FIRST_COMPLETED)
            finally:
                sending.cancel()
                flushed.cancel()
                await asyncio.gather(sending, flushed, return_exceptions=True)
        if waiting := self._journal.count_pending():
            self._say("kept", f"{waiting} reports could not be sent yet; they go with the next start.")

    async def _close(self) -> None:
        tasks = [*self._tasks.values(), *self._undoing.values()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await self._sessions.close()
        self._journal.close()

    def _refusal(self, error: BaseException) -> BaseException:
        while isinstance(error, BaseExceptionGroup):
            error = error.exceptions[0]
        if isinstance(error, sqlite3.Error | OSError):
            return Trouble(f"The journal can't be written: {error}. Everything ended. Is the disk full?")
        if not isinstance(error, Rejected):
            return error
        if error.status == 401:
            ended = Ended(
                "This machine was revoked, or its token is unknown. Everything ended. Pair again: agentroom login URL"
            )
            ended.exit_code = 4
            return ended
        if error.code == "second_daemon":
            return SecondDaemon(f"Another daemon runs with this machine's identity. {error}")
        if error.code == "superseded":
            ended = Ended("Another daemon took this machine's identity over. Everything here ended.")
            ended.exit_code = 5
            return ended
        if error.code == "journal_gap":
            aside = self._journal.start_over()
            return Ended(
                "The server and this machine's journal differ in what was reported: one of them is an older copy. What "
                f"the journal held is in {aside}; run agentroom up again."
            )
        return error

    # --- the loop

    async def _work(self) -> None:
        backoff = Backoff()
        while not (self._draining and not self._running):
            if self._broken:
                raise self._broken
            self._changed.clear()
            try:
                reply = await self._sync()
            except Offline as offline:
                self._heard(offline)
                await backoff.pause()
                continue
            if reply is None:
                continue
            backoff.reset()
            self._heard(None)
            if not self._apply(reply):
                await self._pause()

    async def _sync(self) -> wire.SyncReply | None:
        """One round; None when something changed here meanwhile, so that the server must hear of it first."""
        asking = asyncio.ensure_future(self._client.sync(self._report()))
        changed = asyncio.ensure_future(self._changed.wait())
        try:
            await asyncio.wait({asking, changed}, return_when=asyncio.FIRST_COMPLETED)
            return await asking if asking.done() else None
        finally:
            # A reply that gets lost so costs one round: the next report says again what is here.
            asking.cancel()
            changed.cancel()
            await asyncio.gather(asking, changed, return_exceptions=True)

    def _report(self) -> wire.SyncRequest:
        busy = {turn.offer.agent_id for turn in self._running.values()}
        hello = self._epoch is None
        offered = set(self._journal.turn_ids("offered"))
        awake = self._sessions.awake()
        ready = [
            a.id for a in self._agents.values() if a.id not in busy and a.id not in self._problems and not a.paused
        ]
        return wire.SyncRequest(
            instance=self._instance,
            journal_id=self._journal.journal_id,
            epoch=self._epoch,
            offers=sorted(offered - self._started),
            running=sorted({*self._journal.turn_ids("running", "ended"), *(self._started & offered)}),
            questions=self._owner.keys(),
            ready=[] if self._draining else ready,
            slots=0 if self._draining else max(0, min(self._most, MOST_LIVE) - len(self._running)),
            live=self._sessions.live(),
            asleep=[agent_id for agent_id in self._agents if agent_id not in awake],
            problems={n: self._redact(words)[:2000] for n, words in self._problems.items() if n in self._agents},
            confined={n: self._redact(why)[:2000] for n, why in self._confined.items() if n in self._agents},
            wait=0 if hello else self._wait,
            draining=self._draining,
        )

    async def _pause(self) -> None:
        """The server told what we know and still work on: no need to hear it again at once."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(1):
                await self._changed.wait()

    def _apply(self, reply: wire.SyncReply) -> bool:
        """Does what the reply says; False when it asked for something, but for nothing new."""
        told = bool(reply.offers or reply.withdrawn or reply.stop or reply.verdicts or reply.undo)
        new = False
        if self._epoch is None:
            self._check_clock(reply.server_time)
        self._epoch = reply.epoch
        self._most = reply.max_running
        self._sessions.kept = frozenset((kept.agent_id, kept.room_id) for kept in reply.keep)
        agents = {agent.id: agent for agent in reply.agents}
        if agents != self._agents:
            self._agents = agents
            self._look.set()
            self._say("agents", f"{len(agents)} agents live here." if len(agents) != 1 else "1 agent lives here.")
        for turn_id in reply.withdrawn:
            new |= self._withdraw(turn_id)
        for turn_id in reply.stop:
            if turn := self._running.get(turn_id):
                new |= turn.end("stopped", "")
        for verdict in reply.verdicts:
            new |= self._owner.answer(verdict)
        for turn_id in reply.undo:
            if turn_id not in self._undoing:
                self._undoing[turn_id] = asyncio.create_task(self._undo(turn_id))
                new = True
        for offer in reply.offers:
            new |= self._journal.add_offer(offer)
        self._begin_offered()
        return new or not told

    def _check_clock(self, server_time: datetime) -> None:
        off = abs((datetime.now(UTC) - server_time).total_seconds())
        if off > _WRONG_CLOCK:
            hours = f"{off / 3600:.1f} hours" if off > 7200 else f"{off / 60:.0f} minutes"
            self._say(
                "clock",
                f"This machine's clock differs by {hours} from the server's. All works; times shown are the server's.",
            )

    def _withdraw(self, turn_id: int) -> bool:
        """Drops a turn; whether that is news."""
        if turn := self._running.get(turn_id):
            return turn.drop()
        self._journal.drop_turn(turn_id)
        return True

    # --- turns

    def _begin_offered(self) -> None:
        if self._draining:
            return  # the server takes back what it has offered, or the next start begins it
        for held in self._journal.turns():
            busy = {turn.offer.agent_id for turn in self._running.values()}
            if held.state != "offered" or held.offer.turn_id in self._running or held.offer.agent_id in busy:
                continue
            if len(self._running) >= min(self._most, MOST_LIVE):
                return
            self._begin(held.offer)

    def _begin(self, offer: wire.Offer) -> None:
        turn = TurnRun(
            offer,
            journal=self._journal,
            write=self._write,
            owner=self._owner,
            sessions=self._sessions,
            client=self._client,
            redact=self._redact,
            worktrees=self._worktrees,
            snapshots=self._snapshots,
        )
        self._running[offer.turn_id] = turn
        self._tasks[offer.turn_id] = asyncio.create_task(self._run(turn))

    async def _run(self, turn: TurnRun) -> None:
        offer = turn.offer
        try:
            if await self._may_start(offer):
                self._started.add(offer.turn_id)
                self._changed.set()
                self._say(
                    "started", f"{offer.agent.handle} works for {offer.principal} in {offer.room}.", turn=offer.turn_id
                )
                await turn.run()
                self._say("ended", f"{offer.agent.handle} has ended.", turn=offer.turn_id)
        except (OSError, sqlite3.Error) as error:
            self._broken = error
        finally:
            self._running.pop(offer.turn_id, None)
            self._started.discard(offer.turn_id)
            self._tasks.pop(offer.turn_id, None)
            self._nudge()

    async def _may_start(self, offer: wire.Offer) -> bool:
        """Asks the server once more; a turn that may not run any more is dropped."""
        assert self._epoch is not None
        request = wire.StartRequest(claim_id=offer.claim_id, journal_id=self._journal.journal_id, epoch=self._epoch)
        try:
            await until_online(lambda: self._client.start(offer.turn_id, request), self._heard)
        except Rejected as refusal:
            self._journal.drop_turn(offer.turn_id)
            self._say("dropped", f"Request {offer.turn_id} may not run any more: {refusal}")
            return False
        return True

    async def _undo(self, turn_id: int) -> None:
        """Puts a turn's changes back while nothing runs here, once for each start of this program."""
        while self._tasks:
            await asyncio.wait(self._tasks.values(), return_when=asyncio.FIRST_COMPLETED)
        try:
            outcome = await asyncio.to_thread(self._snapshots.undo, turn_id)
            fact = undone(outcome, self._redact)
        except (NoSnapshot, OSError):
            fact = wire.UndoneFact(gone=True)
        self._write(turn_id, fact)
        self._say("undone", f"Undid request {turn_id}." if not fact.gone else f"Request {turn_id} can't be undone.")

    # --- helpers of the loop

    def _write(self, turn_id: int, fact: wire.Fact, file: Path | None = None) -> None:
        self._journal.add(turn_id, fact, file=file)
        self._sender.wake()
        if isinstance(fact, wire.QuestionFact):
            self._say("asking", f"The owner is asked: {fact.title}", turn=turn_id)

    def _nudge(self) -> None:
        """What the server should know has changed; the next round says it."""
        if self._epoch is not None:
            self._begin_offered()
        self._changed.set()

    def _heard(self, offline: Offline | None) -> None:
        if offline and not self._offline:
            self._say("offline", f"Offline: what waits is kept. {offline}")
        elif not offline and self._offline:
            self._say("online", "Connected again.")
        elif not offline and self._offline is None:
            # Not by the epoch: a report of what an earlier run left may be answered before the first hello.
            self._say("online", "Connected.")
        self._offline = offline is not None

    async def _look_after_agents(self) -> None:
        """Keeps knowing which agents can't run, and why; in a thread, so that a slow disk delays nothing."""
        while True:
            self._look.clear()
            agents = list(self._agents.values())
            problems = await asyncio.to_thread(self._find_problems, agents)
            confined = await asyncio.to_thread(self._find_confined, agents)
            if confined != self._confined:
                self._confined = confined
                self._changed.set()
            if problems != self._problems:
                for agent_id, words in problems.items():
                    if self._problems.get(agent_id) != words:
                        self._say(
                            "problem",
                            f"{self._agents[agent_id].handle}: {words}" if agent_id in self._agents else words,
                        )
                self._problems = problems
                self._changed.set()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(_LOOK_AGAIN):
                    await self._look.wait()

    def _find_problems(self, agents: list[wire.AgentConfig]) -> dict[int, str]:
        problems = {}
        around = Surroundings(environ=self._environ) if self._environ is not None else Surroundings()
        for agent in agents:
            try:
                workspace.check(agent)
                launch(agent, around)
            except Trouble as trouble:
                problems[agent.id] = str(trouble)
        return problems

    def _find_confined(self, agents: list[wire.AgentConfig]) -> dict[int, str]:
        return {agent.id: self._confinement.why_not(agent) for agent in agents}

    async def _let_go(self) -> None:
        while True:
            await asyncio.sleep(5)
            if await self._sessions.let_go():
                self._changed.set()
