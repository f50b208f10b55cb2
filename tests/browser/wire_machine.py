"""A machine that says over the wire what a test tells it to: a scripted agent without a daemon."""

from __future__ import annotations

import hashlib

import httpx

from agentroom_machine import wire
from rooms import tokens
from tests.live import Person
from tests.live.waiting import until


class WireMachine:
    """Paired by its owner, with one agent; ``tell`` sends facts of the turn that runs."""

    def __init__(self, url: str, owner: Person, handle: str) -> None:
        token, other = tokens.new(tokens.MACHINE), tokens.new(tokens.CONNECTION)
        self.client = httpx.Client(
            base_url=url, headers={"Authorization": f"Bearer {token}"}, timeout=30, trust_env=False
        )
        asked = wire.PairRequest(
            name=f"{handle}-laptop", token_hash=tokens.digest(token), connection_hash=tokens.digest(other)
        )
        reply = wire.PairReply.model_validate(self._post("pairings", asked))
        owner.press(f"/pair/?code={reply.user_code}", f"Connect {handle}-laptop")
        self.agent = wire.AgentSeen.model_validate(
            self._post("agents", wire.AgentNew(handle=handle, runtime="demo", workdir="/tmp"))
        )
        self.epoch: int | None = None
        self.n = 0
        self.turn = 0
        self.epoch = self.sync().epoch

    def _post(self, path: str, body: wire.Wire) -> object:
        answer = self.client.post(
            f"/api/machine/{path}", content=body.model_dump_json(), headers={"Content-Type": "application/json"}
        )
        assert answer.is_success, answer.text
        return answer.json() if answer.content else None

    def sync(self) -> wire.SyncReply:
        request = wire.SyncRequest(
            instance="one", journal_id="journal", epoch=self.epoch, ready=[self.agent.id], slots=0 if self.turn else 1,
            running=[self.turn] if self.turn else [], wait=0,
        )  # fmt: skip
        return wire.SyncReply.model_validate(self._post("sync", request))

    def run(self) -> int:
        """Take and start the next turn, once there is one."""
        offer = until(lambda: self.sync().offers, what="an offer")[0]
        start = wire.StartRequest(claim_id=offer.claim_id, journal_id="journal", epoch=self.epoch or 0)
        self._post(f"turns/{offer.turn_id}/start", start)
        self.turn = offer.turn_id
        return offer.turn_id

    def tell(self, *facts: wire.Fact) -> None:
        numbered = [wire.Numbered(n=self.n + at, turn_id=self.turn, fact=fact) for at, fact in enumerate(facts, 1)]
        self.n += len(facts)
        receipt = wire.Receipt.model_validate(self._post("facts", wire.Report(journal_id="journal", facts=numbered)))
        assert receipt.refused == {}

    def produce(self, name: str, content: bytes, content_type: str) -> None:
        sha256 = hashlib.sha256(content).hexdigest()
        answer = self.client.put(f"/api/machine/files/{sha256}", content=content)
        assert answer.is_success, answer.text
        self.tell(wire.ArtifactFact(sha256=sha256, name=name, content_type=content_type, size=len(content)))

    def end(self, state: wire.TurnEnd = "done", reason: str = "") -> None:
        self.tell(wire.EndFact(state=state, reason=reason))
        self.turn = 0

    def forget(self) -> None:
        """What ran was ended by somebody else."""
        self.turn = 0

    def close(self) -> None:
        self.client.close()
