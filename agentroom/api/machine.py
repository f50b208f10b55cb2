"""What an owner's machine may call, each one call to a rule."""

from __future__ import annotations

from datetime import timedelta

from django.conf import settings
from django.db.models import Count, Q
from django.http import FileResponse, HttpRequest, HttpResponse
from ninja import Router, Status
from ninja.security import HttpBearer

from agentroom import auth
from agentroom.api import edge
from agentroom_machine import wire
from approvals import control, directory, record, turns, work
from approvals.models import Turn
from messaging import files
from messaging.models import Attachment
from rooms import membership
from rooms.access import ABSENT
from rooms.errors import Conflict, NotFound
from rooms.membership import sessions
from rooms.models import Agent, Machine

MAX_BODY = 2_000_000
"""Bytes of a request: a batch of facts holds a million, and what stands around them; one alone may be larger."""
MAX_PAIRING = 4_000


class Token(HttpBearer):
    """The token of a machine; ``request.auth`` is then the Machine. All of it before anybody reads what came.

    ``revoked_within`` lets in one that was revoked no longer ago, so that it can tell the end of what it was running.
    """

    def __init__(self, *, revoked_within: timedelta = timedelta(0), of_file: bool = False) -> None:
        super().__init__()
        self.revoked_within, self.of_file = revoked_within, of_file

    def __call__(self, request: HttpRequest) -> Machine:
        machine = auth.machine(request.headers.get("Authorization", ""), revoked_within=self.revoked_within)
        edge.not_too_often(f"machine-calls:{machine.pk}", settings.MACHINE_CALLS_PER_MINUTE)
        if not self.of_file:
            edge.fits(request, MAX_BODY)
        return machine

    def authenticate(self, request: HttpRequest, token: str) -> Machine:
        raise NotImplementedError("the whole header is looked at")


def anybody(request: HttpRequest) -> bool:
    edge.fits(request, MAX_PAIRING)
    return True


router = Router(tags=["machine"], auth=Token())
until_it_told = Token(revoked_within=record.AFTER_REVOCATION)
its_files = Token(revoked_within=record.AFTER_REVOCATION, of_file=True)


def caller(request: HttpRequest) -> Machine:
    machine: Machine = request.auth  # type: ignore[attr-defined] # set where the token is looked at
    return machine


@router.post("/pairings", response=wire.PairReply, auth=anybody)
def pair(request: HttpRequest, body: wire.PairRequest) -> wire.PairReply:
    """Ask to be paired: the person confirms the code at the URL."""
    pairing = membership.start_pairing(body, request.META.get("REMOTE_ADDR", ""))
    url = request.build_absolute_uri(f"/pair/?code={pairing.user_code}")
    return wire.PairReply(user_code=pairing.user_code, url=url, expires_at=pairing.expires_at)


@router.get("/pairing", response=wire.PairState, auth=None)
def pairing(request: HttpRequest) -> wire.PairState:
    """What became of it, asked with the token that the machine made."""
    return membership.pairing_state(auth.bearer(request.headers.get("Authorization", "")))


@router.get("/me", response=wire.PairState)
def me(request: HttpRequest) -> wire.PairState:
    """Who this machine is."""
    machine = caller(request)
    return wire.PairState(state="paired", machine_id=machine.pk, name=machine.name, owner=machine.owner.username)


@router.get("/agents", response=list[wire.AgentSeen])
def agents(request: HttpRequest) -> list[wire.AgentSeen]:
    """Every agent of the machine's owner."""
    machine = caller(request)
    found = (
        Agent.objects.filter(owner=machine.owner, retired_at=None)
        .select_related("machine", "owner")
        .annotate(waiting=Count("turns", filter=Q(turns__status__in=Turn.WAITING)))
        .order_by("handle")
    )
    return [_seen(machine, agent) for agent in found]


def _seen(machine: Machine, agent: Agent) -> wire.AgentSeen:
    return wire.AgentSeen(
        **work.config(agent).model_dump(),
        machine=agent.machine.name if agent.machine else None,
        here=agent.machine_id == machine.pk,
        status=directory.agent_status(machine.owner, agent).words,
        rooms=[seat.room.name for seat in directory.seats_of(agent)],
        waiting=getattr(agent, "waiting", 0),
    )


@router.post("/agents", response={201: wire.AgentSeen})
def add_agent(request: HttpRequest, body: wire.AgentNew) -> Status[wire.AgentSeen]:
    """Register a runtime in a working directory as an agent."""
    machine = caller(request)
    return Status(201, _seen(machine, membership.register_agent(machine, body)))


@router.patch("/agents/{handle}", response=wire.AgentSeen)
def edit_agent(request: HttpRequest, handle: str, body: wire.AgentEdit) -> wire.AgentSeen:
    """Change what is given; ``here`` brings the agent to this machine."""
    machine = caller(request)
    agent = membership.edit_agent(machine.owner, handle, body, machine)
    if body.paused is not None:
        agent = control.pause_agent(machine.owner, agent.pk, paused=body.paused)
    return _seen(machine, agent)


@router.delete("/agents/{handle}", response={204: None})
def remove_agent(request: HttpRequest, handle: str) -> Status[None]:
    """Take the agent out of every room for good."""
    machine = caller(request)
    agent = Agent.objects.filter(owner=machine.owner, handle=handle, retired_at=None).first()
    if agent is None:
        raise NotFound(f"You have no agent called {handle}.")
    control.retire_agent(machine.owner, agent.pk)
    return Status(204, None)


@router.post("/connections", response={201: wire.ConnectionMade})
def connect_session(request: HttpRequest, body: wire.ConnectionNew) -> Status[wire.ConnectionMade]:
    """Bind the token of an agent's session to that agent and room; the one before it ends."""
    machine = caller(request)
    made = sessions.connect_session(machine, agent_id=body.agent_id, room_id=body.room_id, token_hash=body.token_hash)
    return Status(201, wire.ConnectionMade(id=made.pk))


@router.post("/turns/{int:turn_id}/start", response=wire.StartReply)
def start(request: HttpRequest, turn_id: int, body: wire.StartRequest) -> wire.StartReply:
    """Begin an offered turn, if consent still stands."""
    machine = caller(request)
    work.check_epoch(machine, body.epoch)
    started = turns.start(machine, turn_id, claim_id=body.claim_id, journal_id=body.journal_id)
    if isinstance(started, str):
        raise Conflict(started)
    return wire.StartReply(started_at=started)


@router.post("/facts", response=wire.Receipt, auth=until_it_told)
def facts(request: HttpRequest, body: wire.Report) -> wire.Receipt:
    """Report what happened, in the journal's order. Sending it again is no harm."""
    return record.record(caller(request), body)


@router.post("/stop", response=wire.StopReply)
def stop(request: HttpRequest, body: wire.StopRequest) -> wire.StopReply:
    """Cancel what waits for this machine; ``now`` also ends what runs."""
    machine = caller(request)
    if body.person or body.agent:
        cancelled = control.cancel_waiting(machine, person=body.person, agent=body.agent)
        return wire.StopReply(cancelled=cancelled, stopping=0)
    cancelled, stopping = control.stop_machine(machine, now=body.now)
    return wire.StopReply(cancelled=cancelled, stopping=stopping)


@router.api_operation(["HEAD"], "/files/{sha256}", include_in_schema=False, auth=its_files)
def has_file(request: HttpRequest, sha256: str) -> HttpResponse:
    """Whether this machine has sent that content up."""
    machine = caller(request)
    if files.there(f"machine-{machine.pk}", sha256) is None:
        raise NotFound(ABSENT)
    return HttpResponse(status=200)


@router.put("/files/{sha256}", response={204: None}, auth=its_files)
def put_file(request: HttpRequest, sha256: str) -> Status[None]:
    """Send a produced file's bytes up, as they are; the fact that names it comes after."""
    machine = caller(request)
    files.store(f"machine-{machine.pk}", iter(lambda: request.read(65536), b""), expected=sha256)
    return Status(204, None)


@router.get("/turns/{int:turn_id}/files/{sha256}", response={200: None})
def get_file(request: HttpRequest, turn_id: int, sha256: str) -> FileResponse:
    """A file that is attached to a request which this machine runs."""
    machine = caller(request)
    mine = Turn.objects.filter(pk=turn_id, machine=machine, status__in=["offered", "running"])
    # With its message: either can go at this moment.
    turn = mine.select_related("entry__author").first()
    found = Attachment.objects.filter(entry__in=turns.messages(turn), sha256=sha256).first() if turn else None
    if found is None:
        raise NotFound(ABSENT)
    try:
        return FileResponse(files.path(found.source, found.sha256).open("rb"), content_type="application/octet-stream")
    except FileNotFoundError as error:
        raise NotFound(ABSENT) from error
