"""What the asker and the owner do with a request: take it back, change it, ask again."""

from __future__ import annotations

from approvals.models import Turn
from approvals.turns.asking import WEB, begin, spoke
from approvals.turns.running import whole
from approvals.turns.steps import end
from messaging import mail
from messaging.models import Entry
from rooms.access import ABSENT, lock_rooms, member_for, principal_for, seated, writer_for
from rooms.errors import Conflict, NotFound, Refused
from rooms.models import Member, User
from rooms.rules import rule

RETRIABLE = (Turn.Status.FAILED, Turn.Status.STOPPED, Turn.Status.INTERRUPTED)


@rule
def cancel(user: User, turn_id: int) -> Turn:
    """The asker or the agent's owner takes back a request that has not started."""
    turn = own_turn(user, turn_id)
    if not end(turn, Turn.Status.CANCELLED, by=user):
        raise Conflict(
            "It has started or ended meanwhile." if turn.status != "running" else "It runs already: stop it."
        )
    return turn


@rule
def change(user: User, turn_id: int, *, body: str, client_id: str) -> Entry:
    """Put other words in the place of a request that has not started. What was approved covers the old words alone."""
    turn = own_turn(user, turn_id)
    if turn.principal_id != user.pk or turn.entry.author is None or turn.entry.author.user_id != user.pk:
        raise Refused("Only who wrote a request can change it.")
    known = _known(turn, user, client_id)
    if known is not None:
        return known
    member = writer_for(user, turn.room_id)
    seat = _seat(turn)
    entry, _ = mail.store(
        member, body=body, to=[seat], client_id=client_id, connection=WEB, principal=user.pk,
        data={"changes": turn.entry.seq}, files=_files(turn.entry),
    )  # fmt: skip
    if not end(turn, Turn.Status.CANCELLED, by=user, note=f"Changed: see {entry.seq}."):
        raise Conflict("It has started meanwhile, and can't be changed any more.")
    spoke(entry)
    begin(entry, seat, member)
    return entry


@rule
def retry(user: User, turn_id: int, *, client_id: str) -> Entry:
    """Ask the same again after it failed, was stopped or interrupted: same principal, fresh consent."""
    turn = own_turn(user, turn_id)
    known = _known(turn, user, client_id)
    if known is not None:
        return known
    if turn.status not in RETRIABLE:
        raise Conflict("Only what failed, was stopped or was interrupted can be asked again.")
    if turn.cause == "mail":
        raise Refused("An agent wrote that. Write a message of your own.")
    seat = _seat(turn)
    principal = principal_for(turn.principal_id, turn.room_id)
    if principal is None:
        raise Refused("Whoever asked first may no longer ask here. Write a message of your own.")
    author = member_for(user, turn.room_id)
    entry, _ = mail.store(
        author, body=turn.entry.body, to=[seat], client_id=client_id, connection=WEB, principal=turn.principal_id,
        data={"again": turn.entry.seq}, files=_files(turn.entry),
    )  # fmt: skip
    spoke(entry)
    begin(entry, seat, principal, retry_of=turn)
    return entry


def own_turn(user: User, turn_id: int) -> Turn:
    """A turn that this person asked for or whose agent is theirs, its room locked; NotFound for everybody else."""
    turn = whole(turn_id)
    if turn is None:
        raise NotFound(ABSENT)
    lock_rooms([turn.room_id])
    turn = whole(turn_id)
    if turn is None or user.pk not in (turn.principal_id, turn.agent.owner_id):
        raise NotFound(ABSENT)
    if turn.agent.owner_id != user.pk:
        member_for(user, turn.room_id)
    return turn


def _known(turn: Turn, user: User, client_id: str) -> Entry | None:
    """The entry that this very click stored before, when its answer was lost."""
    return Entry.objects.filter(
        room=turn.room_id, author__user=user, connection=WEB, client_id=client_id, kind=Entry.Kind.MESSAGE
    ).first()


def _seat(turn: Turn) -> Member:
    seat = seated(turn.room_id).filter(agent=turn.agent_id).select_related("agent__owner").first()
    if seat is None or turn.agent.retired_at is not None:
        raise Refused("The agent has left the room.")
    return seat


def _files(entry: Entry) -> list[mail.File]:
    return [
        mail.File(file.source, file.sha256, file.name, file.content_type, file.size) for file in entry.attachments.all()
    ]


def place(turn: Turn) -> int:
    """The place in the queue, 1 for the next; counts this room's requests only."""
    return (
        Turn.objects.filter(
            room=turn.room_id, agent=turn.agent_id, status__in=[Turn.Status.QUEUED, Turn.Status.OFFERED], pk__lt=turn.pk
        ).count()
        + 1
    )
