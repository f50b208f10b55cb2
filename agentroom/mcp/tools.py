"""The tools of an agent's connection: each finds the caller's seat, calls one rule, and says what came of it."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from datetime import datetime
from typing import Annotated, Any, Literal, TypeVar

from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp_types import ToolAnnotations
from pydantic import Field

from agentroom import auth
from agentroom.mcp import identity, results, words
from approvals import directory, mailbox, turns
from approvals.models import Turn
from messaging.models import Entry
from rooms.errors import Invalid, RuleError
from rooms.models import Member

T = TypeVar("T")

READS = ToolAnnotations(read_only_hint=True, destructive_hint=False, idempotent_hint=True, open_world_hint=False)
ADDS = ToolAnnotations(read_only_hint=False, destructive_hint=False, idempotent_hint=False, open_world_hint=False)
SETS = ToolAnnotations(read_only_hint=False, destructive_hint=False, idempotent_hint=True, open_world_hint=False)
"""For what the same call again doesn't change."""

Key = Annotated[
    str,
    Field(
        description="Your own name for this call, so that repeating it stores nothing twice. At most 200 characters."
    ),
]
Number = Annotated[int, Field(description="The letter's number, from agents_read_inbox.", ge=1)]
Ticket = Annotated[str, Field(description="What it is about in a tracker, such as #123 or a URL.")]
Limit = Annotated[int, Field(description="At most so many.", ge=1, le=100)]


async def act(job: Callable[[auth.Caller, Member, Turn | None], T]) -> T:
    """What ``job`` returns for the caller's seat and turn; what a rule refuses becomes words that say what to do."""

    def for_caller(caller: auth.Caller) -> T:
        return job(caller, caller.seat(), caller.turn())

    try:
        return await identity.act(for_caller)
    except RuleError as error:
        raise ToolError(said(error)) from None


def said(error: RuleError) -> str:
    """The one place where a tool turns what a rule refused into words."""
    told = error.detail or "It does not exist, or it is not yours to see."
    if isinstance(error, Invalid) and error.field:
        told = f"{error.field}: {told}"
    # What the rules call so is the tools' argument.
    return told.replace("client_id", "idempotency_key")


def by(caller: auth.Caller) -> str:
    """What an entry says it came by."""
    return f"connection:{caller.connection.short}"


def key(given: str) -> str:
    """What the call is known by; Invalid for one that can't be seen."""
    if given and not given.strip():
        raise Invalid("Give the call a key, or none.", field="client_id")
    return given or secrets.token_urlsafe(16)


def sent(entry: Entry) -> results.Sent:
    return results.Sent(
        number=entry.seq,
        topic=entry.topic,
        at=entry.created_at,
        recipients=[results.Delivery.model_validate(delivery) for delivery in mailbox.states(entry)],
    )


def add(server: MCPServer[Any]) -> None:
    _add_letters(server)
    _add_receipts(server)
    _add_room(server)


def _add_letters(server: MCPServer[Any]) -> None:
    @server.tool(title="Send a letter", description=words.SEND, annotations=ADDS)
    async def agents_send(
        to: Annotated[
            list[str] | Literal["all"], Field(description='Handles from agents_list_live or of people, or "all".')
        ],
        subject: Annotated[str, Field(description="One line, at most 200 characters.")],
        body: Annotated[str, Field(description="The text, in Markdown, at most 50,000 characters.")],
        topic: Annotated[
            str, Field(description="Keeps a matter together: a-z, 0-9 and . _ / -, at most 100 characters.")
        ] = "general",
        ticket: Ticket = "",
        idempotency_key: Key = "",
    ) -> results.Sent:
        return await act(
            lambda caller, seat, turn: sent(
                turns.send(
                    seat, turn, to=to, subject=subject, body=body, topic=topic, ticket=ticket,
                    client_id=key(idempotency_key), connection=by(caller),
                )
            )
        )  # fmt: skip

    @server.tool(title="Answer a letter", description=words.REPLY, annotations=ADDS)
    async def agents_reply(
        message: Number,
        body: Annotated[str, Field(description="The text, in Markdown, at most 50,000 characters.")],
        idempotency_key: Key = "",
    ) -> results.Sent:
        return await act(
            lambda caller, seat, turn: sent(
                turns.reply(
                    seat, turn, message=message, body=body, client_id=key(idempotency_key), connection=by(caller)
                )
            )
        )

    # Reading marks as read and can be done again: it takes nothing away.
    @server.tool(title="Read your inbox", description=words.READ_INBOX, annotations=SETS)
    async def agents_read_inbox(
        peek: Annotated[bool, Field(description="Only look: mark nothing as read.")] = False,
        limit: Limit = 20,
        after: Annotated[int | None, Field(description="Give what lies behind this number, read or not.", ge=0)] = None,
    ) -> results.Inbox:
        return await act(
            lambda caller, seat, turn: results.Inbox.model_validate(
                mailbox.read(
                    seat, turn, peek=peek, limit=limit, after=after, by_machine=caller.connection.machine_id is not None
                )
            )
        )


def _add_receipts(server: MCPServer[Any]) -> None:
    @server.tool(title="Say how a letter stands with you", description=words.ACK, annotations=SETS)
    async def agents_ack(
        message: Number,
        status: Annotated[Literal["accepted", "declined", "done"], Field(description="What you make of it.")],
        note: Annotated[str, Field(description="For its sender, at most 2,000 characters.")] = "",
    ) -> results.Receipt:
        return await act(
            lambda caller, seat, turn: _receipt(
                mailbox.acknowledge(seat, turn, message=message, status=status, note=note, connection=by(caller)),
                message,
            )
        )

    @server.tool(title="Report how you stand", description=words.REPORT_STATUS, annotations=SETS)
    async def agents_report_status(
        status: Annotated[
            Literal["working", "blocked", "usage_limited", "available"], Field(description="How you stand.")
        ],
        note: Annotated[str, Field(description="What you work on, or what you wait for; at most 500 characters.")] = "",
        ticket: Ticket = "",
        until: Annotated[
            datetime | None, Field(description="When you expect to be back, with its offset from UTC.")
        ] = None,
    ) -> results.Reported:
        return await act(
            lambda caller, seat, turn: _reported(
                mailbox.report_status(
                    seat, turn, status=status, note=note, ticket=ticket, until=until, connection=by(caller)
                ),
                status,
            )
        )

    @server.tool(title="Ask your owner", description=words.ASK_OWNER, annotations=ADDS)
    async def ask_owner(
        action: Annotated[str, Field(description="Exactly what you would do, whole.")],
        kind: Annotated[
            Literal["push", "delete", "spend", "credentials", "other"], Field(description="What kind of action it is.")
        ],
        idempotency_key: Key = "",
    ) -> results.Asked:
        return await act(
            lambda caller, seat, turn: results.Asked(
                question=mailbox.ask_owner(
                    seat, turn, action=action, kind=kind, client_id=key(idempotency_key), connection=by(caller)
                )
            )
        )


def _add_room(server: MCPServer[Any]) -> None:
    @server.tool(title="List the agents here", description=words.LIST_LIVE, annotations=READS)
    async def agents_list_live() -> results.Agents:
        return await act(
            lambda caller, seat, turn: results.Agents(
                you=seat.handle,
                room=seat.room.name,
                agents=[results.Agent.model_validate(agent) for agent in directory.live(seat)],
            )
        )

    @server.tool(title="Read the room", description=words.HISTORY, annotations=READS)
    async def room_history(
        after: Annotated[int, Field(description="The cursor of the last page; 0 begins where you joined.", ge=0)] = 0,
        limit: Limit = 50,
    ) -> results.History:
        return await act(lambda caller, seat, turn: _history(seat, after, limit))


def _receipt(entry: Entry, message: int) -> results.Receipt:
    return results.Receipt(number=entry.seq, message=message, status=entry.kind, at=entry.created_at)


def _reported(entry: Entry, status: str) -> results.Reported:
    return results.Reported(number=entry.seq, status=status, at=entry.created_at)


def _history(seat: Member, after: int, limit: int) -> results.History:
    page = mailbox.history(seat, after=after, limit=limit)
    read = results.History.model_validate(page)
    own = Entry.objects.filter(
        room=seat.room_id, author=seat, kind=Entry.Kind.MESSAGE, seq__in=[line.number for line in read.entries]
    )
    became = {
        entry.seq: [results.Delivery.model_validate(delivery) for delivery in mailbox.states(entry)] for entry in own
    }
    for line in read.entries:
        line.recipients = became.get(line.number, [])
    return read
