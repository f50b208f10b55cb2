"""The live sessions: one runtime for each agent and room, let go when idle, found again by their ids."""

from __future__ import annotations

import asyncio
import json
import time
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

from agentroom_machine import tokens, wire
from agentroom_machine.client import Client
from agentroom_machine.confine import secrets
from agentroom_machine.confine.box import INSIDE
from agentroom_machine.confine.confinement import Confined, Confinement
from agentroom_machine.daemon import guards
from agentroom_machine.daemon.guards import Guards
from agentroom_machine.daemon.journal import Journal, SessionRecord
from agentroom_machine.daemon.mail_door import MailDoor
from agentroom_machine.daemon.retry import until_online
from agentroom_machine.daemon.runtime import Opened, Runtime
from agentroom_machine.danger.policy import Policy
from agentroom_machine.profile import write_private
from agentroom_machine.runtimes.launch import Launch, Surroundings, launch, shown_name
from agentroom_machine.runtimes.tool_servers import only_named

IDLE = 300.0
"""Seconds after which an unused session is let go."""
IDLE_FOR_AN_ANSWER = 86_400.0
"""The same for one whose agent waits for an answer to mail that it sent."""
MOST_LIVE = 3


@dataclass
class Session:
    agent: wire.AgentConfig
    memory: int
    runtime: Runtime
    cwd: Path
    guards: Guards
    used_at: float = field(default_factory=time.monotonic)
    busy: bool = True
    opened: Opened | None = None
    notices: list[str] = field(default_factory=list)
    """What the room should know about this session, said with its next turn."""
    confined: Confined | None = None
    unconfined: str = ""
    """Why it runs without confinement."""
    mail: MailDoor | None = None
    """Its way to its inbox."""

    def part_confined(self) -> Literal["nothing", "commands", "everything"]:
        """What of this session runs confined."""
        if self.confined is None:
            return "nothing"
        return "everything" if self.confined.box else "commands"

    def fits(self, agent: wire.AgentConfig, memory: int, cwd: Path) -> bool:
        same = (self.agent.runtime, self.agent.model, self.memory, self.cwd) == (
            agent.runtime,
            agent.model,
            memory,
            cwd,
        )
        return same and self.runtime.alive


class Sessions:
    def __init__(self, journal: Journal, scratch: Path, confinement: Confinement, client: Client) -> None:
        self._journal, self._scratch, self._confinement, self._client = journal, scratch, confinement, client
        guards.clear(self._guards)
        self.kept: frozenset[tuple[int, int]] = frozenset()
        """Agents and rooms whose session waits for an answer to mail: not let go for being idle."""
        self._live: dict[tuple[int, int], Session] = {}

    @property
    def _guards(self) -> Path:
        return self._scratch / "guards"

    def awake(self) -> set[int]:
        """Agents with a live session."""
        return {agent_id for agent_id, _ in self._live}

    def live(self) -> list[wire.Kept]:
        return [wire.Kept(agent_id=agent_id, room_id=room_id) for agent_id, room_id in sorted(self._live)]

    def policy(self, agent: wire.AgentConfig) -> Policy:
        """What the owner wrote about this agent; raises Trouble when it can't be read. Blocks."""
        return self._confinement.policy(agent)

    async def open(self, offer: wire.Offer, cwd: Path) -> Session:
        """The session of this agent in this room, in use until ``release``; raises RuntimeFailed or NotReady."""
        key = (offer.agent_id, offer.room_id)
        session = self._live.get(key)
        if session and session.fits(offer.agent, offer.memory, cwd):
            session.busy = True  # before anything is waited for: nobody lets it go meanwhile
            try:
                if await self._as_confined(session):
                    session.agent = offer.agent
                    return session
            except BaseException:
                session.busy = False
                raise
        if session:
            await self.discard(session)
        await self._make_room()
        return await self._begin(offer, cwd)

    async def _begin(self, offer: wire.Offer, cwd: Path) -> Session:
        agent, around = offer.agent, Surroundings(scratch=self._scratch)
        how: Launch = launch(agent, around)
        alarms, mail = await asyncio.to_thread(Guards, self._guards), None
        try:
            mail = await self._mail_door(offer)
            return await self._begin_guarded(offer, cwd, how, alarms, mail)
        except BaseException:
            alarms.close()
            if mail:
                await mail.close()
            raise

    async def _mail_door(self, offer: wire.Offer) -> MailDoor | None:
        """A door with a token of its own for this agent in this room, of which the server only ever gets the hash."""
        if not offer.mcp_url:
            return None
        token = tokens.fresh()
        new = wire.ConnectionNew(agent_id=offer.agent_id, room_id=offer.room_id, token_hash=tokens.hashed(token))
        await until_online(lambda: self._client.connect(new), lambda offline: None)
        door = MailDoor(self._client, offer.mcp_url, token)
        try:
            await door.start()
        except BaseException:
            await door.close()
            raise
        return door

    async def _begin_guarded(
        self, offer: wire.Offer, cwd: Path, how: Launch, alarms: Guards, mail: MailDoor | None
    ) -> Session:
        agent, confined = offer.agent, None
        policy = await asyncio.to_thread(self.policy, agent)
        how = await asyncio.to_thread(only_named, how, mail is not None, policy, cwd)
        unconfined = await asyncio.to_thread(self._confinement.why_not, agent)
        if not unconfined:
            room, memory, within = offer.room_id, offer.memory, mail.folder if mail else None
            confined = await self._confinement.enter(
                how,
                agent,
                room_id=room,
                memory=memory,
                cwd=cwd,
                guards=alarms.folder,
                mail=within,
            )
            how = confined.launch
        else:
            how = await asyncio.to_thread(self._confinement.loose, how, agent, room_id=offer.room_id)
        shown = confined.guards if confined else alarms.folder
        how = replace(how, env=guards.environment(how.env, shown, how.runtime))
        tools = mail.tools(INSIDE / "mail" if confined and confined.box else None) if mail else None
        runtime = Runtime(how, cwd, self._journal.journal_id, tools)
        record = self._journal.session(offer.agent_id, offer.room_id)
        usable = record and (record.runtime, record.memory, record.cwd) == (agent.runtime, offer.memory, str(cwd))
        session = Session(agent, offer.memory, runtime, cwd, alarms, confined=confined, unconfined=unconfined)
        session.mail = mail
        self._live[offer.agent_id, offer.room_id] = session
        try:
            trusted = self._trusted() if how.codex_hook else {}
            before = dict(trusted)
            session.opened = await runtime.start(record if usable else None, agent.model, trusted)
            if trusted != before:
                self._keep_trusted(trusted)
        except BaseException:
            await self.discard(session)
            raise
        session.notices += runtime.warnings
        if unconfined:
            session.notices.append(f"This agent's commands run without confinement: {unconfined}.")
        elif confined and not confined.found.complete:
            session.notices.append("The working directory is too large to find every secret file in it.")
        if record and session.opened.how == "new":
            why = "its memory was reset or it moved" if not usable else f"{shown_name(agent.runtime)} could not find it"
            session.notices.append(f"A new session begins: the earlier one is not continued, because {why}.")
        kept = SessionRecord(agent.runtime, offer.memory, str(cwd), session.opened.session_id)
        self._journal.keep_session(offer.agent_id, offer.room_id, kept)
        return session

    async def _as_confined(self, session: Session) -> bool:
        """Whether a live session still has the confinement that it should: a new secret file means a new box."""
        unconfined = await asyncio.to_thread(self._confinement.why_not, session.agent)
        if session.confined is None or unconfined:
            return session.confined is None and unconfined == session.unconfined
        policy = await asyncio.to_thread(self.policy, session.agent)
        return session.confined.still_fits(await asyncio.to_thread(secrets.look, session.cwd, policy))

    async def _make_room(self) -> None:
        while len(self._live) >= MOST_LIVE:
            idle = [session for session in self._live.values() if not session.busy]
            if not idle:
                return  # never happens while at most MOST_LIVE turns run
            await self.discard(min(idle, key=self._worth))

    def _worth(self, session: Session) -> tuple[bool, float]:
        """The least of it goes first, when there are too many: one that waits for no answer, unused for longest."""
        waits = any(live is session and key in self.kept for key, live in self._live.items())
        return waits, session.used_at

    def release(self, session: Session) -> None:
        session.busy, session.used_at = False, time.monotonic()

    async def discard(self, session: Session) -> None:
        """Ends a session's process and all that it started; its id stays known."""
        for key, live in list(self._live.items()):
            if live is session:
                del self._live[key]
        await session.runtime.close()
        if session.confined:
            await session.confined.close()
        if session.mail:
            await session.mail.close()
        await asyncio.to_thread(session.guards.close)

    async def let_go(self) -> int:
        """Ends what was idle too long, or died; returns how many."""
        gone = 0
        for key, session in list(self._live.items()):
            # Looked at anew after each that was ended: a turn may have taken the next one meanwhile.
            if self._live.get(key) is session and self._unused(key, session):
                await self.discard(session)
                gone += 1
        return gone

    def _unused(self, key: tuple[int, int], session: Session) -> bool:
        idle = time.monotonic() - session.used_at > self._idle(key)
        return not session.busy and (idle or not session.runtime.alive)

    def _idle(self, key: tuple[int, int]) -> float:
        return IDLE_FOR_AN_ANSWER if key in self.kept else IDLE

    async def close(self) -> None:
        for session in list(self._live.values()):
            await self.discard(session)

    # --- what Codex needs to trust our hook

    @property
    def _trust_file(self) -> Path:
        return self._scratch / "codex-hook.json"

    def _trusted(self) -> dict[str, str]:
        try:
            kept = json.loads(self._trust_file.read_text(encoding="utf-8"))
            return {str(key): str(value) for key, value in kept.items()}
        except (OSError, ValueError, AttributeError):
            return {}

    def _keep_trusted(self, trusted: dict[str, str]) -> None:
        self._scratch.mkdir(parents=True, exist_ok=True, mode=0o700)
        write_private(self._trust_file, json.dumps(trusted))
