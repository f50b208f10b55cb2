"""The server's side of the machine API in memory, with the faults that a network and a restart bring."""

from __future__ import annotations

import asyncio
import hashlib
import json
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

import httpx

from agentroom_machine import wire

TOKEN = "arm_test"
OPEN = {"/api/machine/pairings", "/healthz"}


@dataclass
class FakeServer:
    agents: list[wire.AgentConfig] = field(default_factory=list)
    waiting: list[wire.Offer] = field(default_factory=list)
    offered: dict[int, wire.Offer] = field(default_factory=dict)
    running: set[int] = field(default_factory=set)
    facts: list[wire.Numbered] = field(default_factory=list)
    sent: list[list[int]] = field(default_factory=list)
    """The numbers of each report that came, resent ones too."""
    files: dict[str, bytes] = field(default_factory=dict)
    started: list[int] = field(default_factory=list)
    syncs: list[wire.SyncRequest] = field(default_factory=list)
    verdicts: dict[str, wire.Verdict] = field(default_factory=dict)
    stop: set[int] = field(default_factory=set)
    withdrawn: set[int] = field(default_factory=set)
    undo: set[int] = field(default_factory=set)
    attached: dict[str, bytes] = field(default_factory=dict)
    fault: Callable[[httpx.Request], httpx.Response | None] | None = None
    """Answers in the server's place, or raises; None lets the request through."""
    after: Callable[[httpx.Request], None] | None = None
    """Runs when the server has done its part but its answer is not yet out: raise, and the answer is lost."""
    clock_off: timedelta = timedelta()
    max_running: int = 2
    epoch: int = 0
    decide: Callable[[wire.QuestionFact], wire.Verdict | None] | None = None
    paired_with: wire.PairRequest | None = None
    pairing: list[str] = field(default_factory=lambda: ["paired"])
    """What the pairing's state is, at each look; the last one stays."""
    stops: list[wire.StopRequest] = field(default_factory=list)
    edits: list[tuple[str, str, dict[str, Any]]] = field(default_factory=list)
    changed: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def acked(self) -> int:
        return self.facts[-1].n if self.facts else 0

    def transport(self) -> httpx.MockTransport:
        return httpx.MockTransport(self._handle)

    def ask(self, offer: wire.Offer) -> None:
        self.waiting.append(offer)
        self.changed.set()

    def press_stop(self, turn_id: int) -> None:
        self.stop.add(turn_id)
        self.changed.set()

    def withdraw(self, turn_id: int) -> None:
        self.withdrawn.add(turn_id)
        self.changed.set()

    def answer(self, verdict: wire.Verdict) -> None:
        self.verdicts[verdict.key] = verdict
        self.changed.set()

    def of(self, turn_id: int, *kinds: str) -> list[Any]:
        """The facts of a turn."""
        return [f.fact for f in self.facts if f.turn_id == turn_id and (not kinds or f.fact.kind in kinds)]

    def end(self, turn_id: int) -> wire.EndFact | None:
        ends = self.of(turn_id, "end")
        assert len(ends) <= 1
        return ends[0] if ends else None

    def questions(self, turn_id: int) -> list[wire.QuestionFact]:
        gone = {fact.key for fact in self.of(turn_id, "question_gone")}
        return [fact for fact in self.of(turn_id, "question") if fact.key not in gone]

    def text(self, turn_id: int) -> str:
        return "".join(fact.text for fact in self.of(turn_id, "text"))

    # --- the doors

    async def _handle(self, request: httpx.Request) -> httpx.Response:
        if self.fault and (answer := self.fault(request)):
            return answer
        if request.url.path == "/api/machine/pairing":
            return self._pairing(request)
        if request.url.path not in OPEN and request.headers.get("Authorization") != f"Bearer {TOKEN}":
            return problem(401, "revoked")
        body = await request.aread()
        reply = await self._route(request, body)
        if self.after:
            self.after(request)
        return reply

    async def _route(self, request: httpx.Request, body: bytes) -> httpx.Response:
        path = request.url.path
        if path == "/api/machine/sync":
            return await self._sync(wire.SyncRequest.model_validate_json(body))
        if match := re.fullmatch(r"/api/machine/turns/(\d+)/start", path):
            return self._start(int(match[1]), wire.StartRequest.model_validate_json(body))
        if path == "/api/machine/facts":
            return self._report(wire.Report.model_validate_json(body))
        if path == "/api/machine/pairings":
            self.paired_with = wire.PairRequest.model_validate_json(body)
            return model(wire.PairReply(user_code="ABCD-EFGH", url="http://kitchen.test/pair", expires_at=_now()))
        if path == "/api/machine/stop":
            self.stops.append(wire.StopRequest.model_validate_json(body))
            return model(wire.StopReply(cancelled=2, stopping=1))
        if path == "/api/machine/me":
            return model(wire.PairState(state="paired", machine_id=1, name="laptop", owner="alice"))
        if path == "/api/machine/agents" and request.method == "POST":
            return model(self._add(wire.AgentNew.model_validate_json(body)))
        if match := re.fullmatch(r"/api/machine/agents/([a-z0-9_-]+)", path):
            self.edits.append((request.method, match[1], json.loads(body) if body else {}))
            found = next((agent for agent in self.agents if agent.handle == match[1]), None)
            return problem(404, "not_found") if found is None else model(found)
        if path == "/api/machine/agents":
            seen = [wire.AgentSeen(**agent.model_dump(), here=True).model_dump(mode="json") for agent in self.agents]
            return httpx.Response(200, json=seen)
        if match := re.fullmatch(r"/api/machine/files/([0-9a-f]{64})", path):
            if request.method == "HEAD":
                return httpx.Response(200 if match[1] in self.files else 404)
            assert hashlib.sha256(body).hexdigest() == match[1]
            self.files[match[1]] = body
            return httpx.Response(204)
        if match := re.fullmatch(r"/api/machine/turns/\d+/files/([0-9a-f]{64})", path):
            return httpx.Response(200, content=self.attached[match[1]])
        if path == "/healthz":
            date = format_datetime(_now() + self.clock_off, usegmt=True)
            return httpx.Response(200, headers={"Date": date})
        return problem(404, "not_found")

    def _pairing(self, request: httpx.Request) -> httpx.Response:
        token = request.headers["Authorization"].removeprefix("Bearer ")
        if self.paired_with is None or hashlib.sha256(token.encode()).hexdigest() != self.paired_with.token_hash:
            return problem(404, "not_found")
        state = self.pairing.pop(0) if len(self.pairing) > 1 else self.pairing[0]
        return model(
            wire.PairState.model_validate({"state": state, "machine_id": 1, "name": "laptop", "owner": "alice"})
        )

    def _add(self, new: wire.AgentNew) -> wire.AgentConfig:
        given = new.model_dump() | {"id": len(self.agents) + 1, "display_name": new.display_name or new.handle}
        self.agents.append(wire.AgentConfig.model_validate(given))
        return self.agents[-1]

    async def _sync(self, request: wire.SyncRequest) -> httpx.Response:
        self.syncs.append(request)
        if request.epoch is None:
            self.epoch += 1
            return model(self._reply([], request))
        if request.epoch != self.epoch:
            return problem(409, "superseded")
        deadline = asyncio.get_running_loop().time() + request.wait
        while True:
            self.changed.clear()
            reply = self._reply(self._offers(request), request)
            if reply.offers or reply.withdrawn or reply.stop or reply.verdicts or reply.undo:
                return model(reply)
            try:
                async with asyncio.timeout_at(deadline):
                    await self.changed.wait()
            except TimeoutError:
                return model(reply)

    def _offers(self, request: wire.SyncRequest) -> list[wire.Offer]:
        held = {*request.offers, *request.running}
        again = [offer for turn_id, offer in self.offered.items() if turn_id not in held]
        busy = {offer.agent_id for offer in self.offered.values()}
        for offer in list(self.waiting):
            slots = min(request.slots, self.max_running - len(self.offered))
            if offer.agent_id in request.ready and offer.agent_id not in busy and slots > 0:
                self.waiting.remove(offer)
                self.offered[offer.turn_id] = offer
                busy.add(offer.agent_id)
                again.append(offer)
        return again

    def _reply(self, offers: list[wire.Offer], request: wire.SyncRequest) -> wire.SyncReply:
        held = {*request.offers, *request.running}
        return wire.SyncReply(
            epoch=self.epoch,
            server_time=datetime.now(UTC) + self.clock_off,
            agents=self.agents,
            offers=offers,
            withdrawn=sorted(held & self.withdrawn),
            stop=sorted(held & self.stop & self.running),
            undo=sorted(self.undo - {fact.turn_id for fact in self.facts if fact.fact.kind == "undone"}),
            verdicts=[self.verdicts[key] for key in request.questions if key in self.verdicts],
            max_running=self.max_running,
        )

    def _start(self, turn_id: int, request: wire.StartRequest) -> httpx.Response:
        offer = self.offered.get(turn_id)
        if offer is None or offer.claim_id != request.claim_id or turn_id in self.withdrawn:
            return problem(409, "conflict")
        self.started.append(turn_id)
        self.running.add(turn_id)
        return model(wire.StartReply(started_at=datetime.now(UTC)))

    def _report(self, report: wire.Report) -> httpx.Response:
        self.sent.append([numbered.n for numbered in report.facts])
        for numbered in report.facts:
            if numbered.n <= self.acked:
                continue
            if numbered.n != self.acked + 1:
                return problem(409, "journal_gap")
            if isinstance(numbered.fact, wire.ArtifactFact):
                assert numbered.fact.sha256 in self.files
            self.facts.append(numbered)
            if isinstance(numbered.fact, wire.EndFact):
                self.running.discard(numbered.turn_id)
                self.offered.pop(numbered.turn_id, None)
            if isinstance(numbered.fact, wire.QuestionFact) and self.decide:
                verdict = self.decide(numbered.fact)
                if verdict:
                    self.verdicts[numbered.fact.key] = verdict
            self.changed.set()
        return model(wire.Receipt(acked=self.acked))


def _now() -> datetime:
    return datetime.now(UTC)


def model(value: wire.Wire) -> httpx.Response:
    return httpx.Response(200, content=value.model_dump_json())


def problem(status: int, code: str) -> httpx.Response:
    body = wire.Problem(title="No.", status=status, code=code).model_dump()
    return httpx.Response(status, content=json.dumps(body))


def allow(question: wire.QuestionFact) -> wire.Verdict:
    return wire.Verdict(key=question.key, verdict="once", decided_by="alice")
