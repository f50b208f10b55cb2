"""The cast in their kitchen, made by the rules that the product itself uses, and a machine that speaks the wire."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field
from datetime import datetime

from django.utils import timezone

from agentroom_machine import wire
from approvals import record, turns, work
from approvals.models import Approval, Turn
from messaging.models import Entry
from rooms import membership, tokens
from rooms.models import Agent, Machine, Member, Room, User

_number = itertools.count(1)


def key() -> str:
    """A client_id that nobody used before."""
    return f"click-{next(_number)}"


def person(handle: str) -> User:
    return membership.make_person(handle)


def join(room: Room, user: User, role: str = "member") -> Member:
    _, token = membership.invite(room.owner, room.pk, role=role, days=7, max_uses=1)
    return membership.accept_invite(user, token)


def machine_of(owner: User, name: str) -> Machine:
    token, other = tokens.new(tokens.MACHINE), tokens.new(tokens.CONNECTION)
    request = wire.PairRequest(name=name, token_hash=tokens.digest(token), connection_hash=tokens.digest(other))
    pairing = membership.start_pairing(request, "127.0.0.1")
    return membership.confirm_pairing(owner, pairing.user_code)


def agent_of(machine: Machine, handle: str) -> Agent:
    return membership.register_agent(machine, wire.AgentNew(handle=handle, runtime="demo", workdir="/tmp/kitchen"))


@dataclass
class Daemon:
    """A machine's program, without the program: what it holds is in its lists."""

    machine: Machine
    journal_id: str = "journal-1"
    instance: str = "start-1"
    epoch: int | None = None
    offers: list[int] = field(default_factory=list)
    running: list[int] = field(default_factory=list)
    questions: list[str] = field(default_factory=list)
    asleep: list[int] = field(default_factory=list)
    live: list[wire.Kept] | None = None
    confined: dict[int, str] = field(default_factory=dict)
    slots: int = 2
    n: int = 0

    def request(self) -> wire.SyncRequest:
        ready = list(Agent.objects.filter(machine=self.machine).values_list("pk", flat=True))
        return wire.SyncRequest(
            instance=self.instance,
            journal_id=self.journal_id,
            epoch=self.epoch,
            offers=self.offers,
            running=self.running,
            questions=self.questions,
            ready=ready,
            slots=self.slots,
            asleep=self.asleep,
            live=self.live,
            confined=self.confined,
        )

    def hello(self) -> Daemon:
        self.machine = work.hello(self.machine, self.request())
        self.epoch, self.n = self.machine.epoch, self.machine.journal_acked
        work.seen(self.machine.pk, self.request())
        return self

    def sync(self, since: datetime | None = None) -> wire.SyncReply:
        self.machine.refresh_from_db()
        work.check_epoch(self.machine, self.epoch, self.instance)
        work.seen(self.machine.pk, self.request())
        reply, _ = work.sync(self.machine, self.request(), since=since or timezone.now())
        return reply

    def take(self) -> list[wire.Offer]:
        """Sync, and hold what is offered."""
        offers = self.sync().offers
        self.offers += [offer.turn_id for offer in offers]
        return offers

    def start(self, offer: wire.Offer) -> datetime | str:
        started = turns.start(self.machine, offer.turn_id, claim_id=offer.claim_id, journal_id=self.journal_id)
        self.offers = [held for held in self.offers if held != offer.turn_id]
        if not isinstance(started, str):
            self.running.append(offer.turn_id)
        return started

    def run(self) -> int:
        """Take and start the next turn."""
        offer = self.take()[0]
        assert isinstance(self.start(offer), datetime)
        return offer.turn_id

    def tell(self, turn_id: int, *facts: wire.Fact) -> wire.Receipt:
        numbered = [wire.Numbered(n=self.n + i, turn_id=turn_id, fact=fact) for i, fact in enumerate(facts, 1)]
        self.n += len(facts)
        return record.record(self.machine, wire.Report(journal_id=self.journal_id, facts=numbered))

    def end(self, turn_id: int, state: wire.TurnEnd = "done", reason: str = "") -> None:
        self.tell(turn_id, wire.EndFact(state=state, reason=reason))
        self.running.remove(turn_id)


@dataclass
class Kitchen:
    alice: User
    bob: User
    vera: User
    charlie: User
    dana: User
    room: Room
    claude: Agent
    codex: Agent
    gemini: Agent
    daemon: Daemon
    danas: Daemon

    def seat(self, of: User | Agent, room: Room | None = None) -> Member:
        who = {"user": of} if isinstance(of, User) else {"agent": of}
        return Member.objects.get(room=room or self.room, **who)

    def ask(self, user: User, body: str, room: Room | None = None) -> Entry:
        return turns.ask(user, (room or self.room).pk, body=body, client_id=key())

    def turn(self, entry: Entry) -> Turn:
        return Turn.objects.get(entry=entry)

    def question(self, turn: Turn | int, subject: str = "start") -> Approval:
        return Approval.objects.get(turn=turn, subject=subject)

    def kinds(self, turn: Turn | int) -> list[str]:
        """What the room shows of a turn: each entry's kind, and its state where it has one."""
        turn_id = turn if isinstance(turn, int) else turn.pk
        entries = Entry.objects.filter(room=self.room, source_turn=turn_id).order_by("seq")
        return [f"{entry.kind} {entry.data.get('state', '')}".strip() for entry in entries]


def make_kitchen() -> Kitchen:
    """alice owns the kitchen, claude and codex; bob writes, vera reads, dana brought gemini; charlie is outside."""
    alice, bob, vera, charlie, dana = (person(name) for name in ("alice", "bob", "vera", "charlie", "dana"))
    room = membership.create_room(alice, name="kitchen")
    laptop, desk = machine_of(alice, "alice-laptop"), machine_of(dana, "dana-desk")
    claude, codex, gemini = agent_of(laptop, "claude"), agent_of(laptop, "codex"), agent_of(desk, "gemini")
    join(room, bob)
    join(room, vera, "viewer")
    join(room, dana)
    for owner, agent in ((alice, claude), (alice, codex), (dana, gemini)):
        membership.add_agent(owner, room.pk, agent.pk)
    return Kitchen(
        alice=alice,
        bob=bob,
        vera=vera,
        charlie=charlie,
        dana=dana,
        room=room,
        claude=claude,
        codex=codex,
        gemini=gemini,
        daemon=Daemon(laptop).hello(),
        danas=Daemon(desk).hello(),
    )
