"""Agents that write and read, as through the doors: by their seat and, in a turn, by that turn."""

from __future__ import annotations

from typing import Literal

from approvals import control, mailbox, turns
from approvals.models import Turn
from messaging.models import Entry
from rooms.models import Agent, User
from tests.approvals.kitchen import Kitchen, key

Receipt = Literal["accepted", "declined", "done"]
BY_HAND = "connection:1"


def now(turn: int | Turn | None) -> Turn | None:
    return Turn.objects.get(pk=turn) if isinstance(turn, int) else turn


def works(kitchen: Kitchen, user: User, whom: str = "claude") -> int:
    """A turn of this person's that runs on one of alice's agents."""
    turn = kitchen.turn(kitchen.ask(user, f"@{whom} begin"))
    if turn.status == "asked":
        turns.answer(kitchen.alice, kitchen.question(turn).pk, verdict="once")
    return kitchen.daemon.run()


def allow(kitchen: Kitchen, agent: Agent, user: User) -> None:
    control.set_grant(agent.owner, agent_id=agent.pk, member_id=kitchen.seat(user).pk, level="always")


def send(
    kitchen: Kitchen, agent: Agent, turn: int | Turn | None, to: str, body: str = "please look", client_id: str = ""
) -> Entry:
    return turns.send(
        kitchen.seat(agent), now(turn), to=to.split(), body=body, client_id=client_id or key(), connection=BY_HAND
    )


def reply(kitchen: Kitchen, agent: Agent, turn: int | Turn | None, message: int, body: str = "looked") -> Entry:
    return turns.reply(kitchen.seat(agent), now(turn), message=message, body=body, client_id=key(), connection=BY_HAND)


def ack(
    kitchen: Kitchen, agent: Agent, turn: int | Turn | None, message: int, status: Receipt = "accepted", note: str = ""
) -> Entry:
    return mailbox.acknowledge(
        kitchen.seat(agent),
        now(turn),
        message=message,
        status=status,
        note=note,
        connection=BY_HAND,
    )


def read(
    kitchen: Kitchen, agent: Agent, turn: int | Turn | None = None, *, peek: bool = False, after: int | None = None,
    limit: int = 20,
) -> mailbox.Inbox:  # fmt: skip
    return mailbox.read(kitchen.seat(agent), now(turn), peek=peek, after=after, limit=limit)


def bodies(inbox: mailbox.Inbox) -> list[str]:
    return [letter.body or letter.kind for letter in inbox.messages]


def facts(entry: Entry) -> dict[str, list[str]]:
    """By recipient, the facts of a message; a waiting one with its reason."""
    return {
        delivery.handle: [f"waiting: {fact.note}" if fact.state == "waiting" else fact.state for fact in delivery.facts]
        for delivery in mailbox.states(entry)
    }
