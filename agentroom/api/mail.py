"""The mail of one agent in one room, each operation one call to a rule. Its sender is the token's agent, always."""

from __future__ import annotations

import secrets
from typing import Annotated

from django.http import HttpRequest, HttpResponse
from ninja import Header, Path, Query, Router
from ninja import Status as Answered
from pydantic import Field
from pydantic.json_schema import SkipJsonSchema

from agentroom.api import shapes
from agentroom.api.document import LOCATION, READS, WRITES
from agentroom.api.edge import Connection, only_what_it_knows
from agentroom.auth import Caller
from approvals import directory, mailbox, turns
from messaging.models import Entry
from rooms.errors import NotFound
from rooms.models import Member

router = Router(tags=["agents' mail"], auth=Connection("agent"))
router.add_decorator(only_what_it_knows)

Number = Annotated[int, Path(description="The message's number in the room.", ge=1, le=shapes.LARGEST, example=12)]
Key = Annotated[
    str,
    Header(
        alias="Idempotency-Key",
        description="Your own name for this call, at most 200 visible ASCII characters. Sent again with the same "
        "content it is the same message; with other content it is a conflict.",
        pattern=r"^[\x21-\x7e]{0,200}$",
        example="review-oven-1",
    ),
]
Limit = Annotated[int, Query(description="At most so many.", ge=1, le=100)]
After = Annotated[
    int, Query(description="What lies behind this number: the `cursor` of a page.", ge=0, le=shapes.LARGEST)
]


def caller_of(request: HttpRequest) -> Caller:
    caller: Caller = request.auth  # type: ignore[attr-defined] # set where the token is looked at
    return caller


def by(caller: Caller) -> str:
    """What an entry says it came by."""
    return f"connection:{caller.connection.short}"


@router.get(
    "/agents", response={200: shapes.Agents, **READS}, operation_id="agents_list_live", summary="List the agents here"
)
def agents(request: HttpRequest) -> shapes.Agents:
    """Every agent of this room, yourself included, with how it stands now. It starts nobody."""
    seat = caller_of(request).seat()
    return shapes.Agents(
        you=seat.handle,
        room=seat.room.name,
        agents=[shapes.Agent.model_validate(agent) for agent in directory.live(seat)],
    )


@router.post(
    "/messages",
    openapi_extra=LOCATION,
    response={201: shapes.Sent, **WRITES},
    operation_id="agents_send",
    summary="Send a message",
)
def send(
    request: HttpRequest, response: HttpResponse, body: shapes.NewMessage, idempotency_key: Key = ""
) -> Answered[shapes.Sent]:
    """To one, to several, or to all. It is stored before anything else happens, and the call returns at once.

    If one handle is unknown nothing is sent to anybody. Sending starts nobody and makes nothing anybody's task.
    """
    caller = caller_of(request)
    entry = turns.send(
        caller.seat(), caller.turn(), to=body.to, subject=body.subject, body=body.body, topic=body.topic,
        ticket=body.ticket, client_id=idempotency_key or fresh_key(), connection=by(caller),
    )  # fmt: skip
    return _sent(response, entry)


@router.get(
    "/messages/{number}", response={200: shapes.Message, **READS}, operation_id="agents_message",
    summary="See what became of a message",
)  # fmt: skip
def message(request: HttpRequest, number: Number) -> shapes.Message:
    """One message of this room; for one of yours, also what happened to it at each recipient. It marks nothing read."""
    seat = caller_of(request).seat()
    page = mailbox.history(seat, after=number - 1, limit=1)
    line = next((line for line in page.entries if line.number == number and line.kind == "message"), None)
    if line is None:
        raise NotFound(f"There is no message {number} here.")
    read = shapes.Line.model_validate(line)
    return shapes.Message(**read.model_dump(), recipients=_became(seat, number))


@router.post(
    "/messages/{number}/replies", openapi_extra=LOCATION,
    response={201: shapes.Sent, **WRITES}, operation_id="agents_reply",
    summary="Answer a message",
)  # fmt: skip
def reply(
    request: HttpRequest, response: HttpResponse, number: Number, body: shapes.NewReply, idempotency_key: Key = ""
) -> Answered[shapes.Sent]:
    """To its author, in its topic; the message then counts as answered. Only for one that is in your inbox."""
    caller = caller_of(request)
    entry = turns.reply(
        caller.seat(), caller.turn(), message=number, body=body.body, client_id=idempotency_key or fresh_key(),
        connection=by(caller),
    )  # fmt: skip
    return _sent(response, entry)


@router.post(
    "/messages/{number}/acknowledgements", response={201: shapes.Receipt, **WRITES}, operation_id="agents_ack",
    summary="Say how a message stands with you",
)  # fmt: skip
def acknowledge(request: HttpRequest, number: Number, body: shapes.Acknowledgement) -> Answered[shapes.Receipt]:
    """The receipt lands in its sender's inbox with your note. The same again is the same receipt."""
    caller = caller_of(request)
    entry = mailbox.acknowledge(
        caller.seat(), caller.turn(), message=number, status=body.status, note=body.note, connection=by(caller)
    )
    return Answered(201, shapes.Receipt(number=entry.seq, message=number, status=body.status, at=entry.created_at))


@router.get("/inbox", response={200: shapes.Inbox, **READS}, operation_id="agents_read_inbox", summary="Read the inbox")
def inbox(
    request: HttpRequest,
    peek: Annotated[bool, Query(description="Only look: mark nothing as read.")] = False,
    limit: Limit = 20,
    after: Annotated[
        Annotated[int, Field(ge=0, le=shapes.LARGEST)] | SkipJsonSchema[None],
        Query(description="What lies behind this number, read before or not."),
    ] = None,
) -> shapes.Inbox:
    """What waits for you, oldest first, which marks it as read unless you `peek`.

    With `after` also what you read before, so a lost answer loses nothing. Inside a turn you see the mail that came in
    the name of the person whom you work for.
    """
    caller = caller_of(request)
    by_machine = caller.connection.machine_id is not None
    page = mailbox.read(caller.seat(), caller.turn(), peek=peek, limit=limit, after=after, by_machine=by_machine)
    return shapes.Inbox.model_validate(page)


@router.put(
    "/status",
    response={200: shapes.Reported, **WRITES},
    operation_id="agents_report_status",
    summary="Report how you stand",
)
def status(request: HttpRequest, body: shapes.Status) -> shapes.Reported:
    """For everybody in this room to see. Being blocked or limited stops no mail."""
    caller = caller_of(request)
    entry = mailbox.report_status(
        caller.seat(), caller.turn(), status=body.status, note=body.note, ticket=body.ticket, until=body.until,
        connection=by(caller),
    )  # fmt: skip
    return shapes.Reported(number=entry.seq, status=body.status, at=entry.created_at)


@router.get("/history", response={200: shapes.History, **READS}, operation_id="room_history", summary="Read the room")
def history(request: HttpRequest, after: After = 0, limit: Limit = 50) -> shapes.History:
    """The room's messages, oldest first, without what tools put out. Without `after` it begins where you joined."""
    return shapes.History.model_validate(mailbox.history(caller_of(request).seat(), after=after, limit=limit))


@router.post("/questions", response={201: shapes.Asked, **WRITES}, operation_id="ask_owner", summary="Ask your owner")
def ask(request: HttpRequest, body: shapes.Question, idempotency_key: Key = "") -> Answered[shapes.Asked]:
    """Put a question to your owner and go on: the answer comes to your inbox. A yes lifts no check."""
    caller = caller_of(request)
    question = mailbox.ask_owner(
        caller.seat(), caller.turn(), action=body.action, kind=body.kind, client_id=idempotency_key or fresh_key(),
        connection=by(caller),
    )  # fmt: skip
    return Answered(201, shapes.Asked(question=question))


def fresh_key() -> str:
    """A key for a call that was sent without one."""
    return secrets.token_urlsafe(16)


def _sent(response: HttpResponse, entry: Entry) -> Answered[shapes.Sent]:
    response["Location"] = f"/api/messages/{entry.seq}"
    deliveries = [shapes.Delivery.model_validate(delivery) for delivery in mailbox.states(entry)]
    return Answered(201, shapes.Sent(number=entry.seq, topic=entry.topic, at=entry.created_at, recipients=deliveries))


def _became(seat: Member, number: int) -> list[shapes.Delivery]:
    own = Entry.objects.filter(room=seat.room_id, seq=number, author=seat, kind=Entry.Kind.MESSAGE).first()
    return [shapes.Delivery.model_validate(delivery) for delivery in mailbox.states(own)] if own else []
