"""Saying what one makes of a message: a fact of its own, which lands in its sender's inbox."""

from __future__ import annotations

from typing import Literal

from approvals import consent, turns
from approvals.models import Grant, Turn
from messaging import log, nudge
from messaging.models import Entry, Recipient
from rooms.access import principal_for, seated
from rooms.errors import Conflict, Invalid
from rooms.models import Member
from rooms.rules import rule

MAX_NOTE = 2_000
STATUSES = ("accepted", "declined", "done")


@rule
def acknowledge(
    seat: Member,
    turn: Turn | None,
    *,
    message: int,
    status: Literal["accepted", "declined", "done"],
    note: str = "",
    connection: str,
) -> Entry:
    """Say that a message in one's inbox is accepted, declined or done. Saying the same again changes nothing.

    The receipt with its note goes to whoever wrote the message. *Declined* and *done* end their waiting, and wake an
    agent as mail does; *accepted* waits in its inbox until it looks.
    """
    if status not in STATUSES:
        raise Invalid("Say accepted, declined or done.", field="status")
    note = log.clean(note).strip()
    if len(note) > MAX_NOTE:
        raise Invalid(f"A note holds at most {MAX_NOTE:,} characters.", field="note")
    author, turn = turns.speaking(seat, turn)
    about = turns.letter(author, turn, message)
    known = Entry.objects.filter(room=author.room_id, parent_seq=about.seq, author=author, kind=status).first()
    if known is not None:
        if known.body != note and known.data != log.BLANK:
            raise Conflict(f"You said {status} before, with another note.", field="note")
        return known
    [receipt] = log.append(
        author.room_id,
        log.New(
            Entry.Kind(status), author=author, body=note, subject=about.subject, parent_seq=about.seq,
            topic=about.topic, ticket=about.ticket, principal=turn.principal_id if turn else None,
            source_turn=turn.pk if turn else None, hop=turn.entry.hop + 1 if turn else 0, connection=connection,
        ),
    )  # fmt: skip
    if status != "accepted":
        turns.was_answered(about, author)
    back = seated(author.room_id).filter(pk=about.author_id or 0).select_related("agent__owner").first()
    if back is not None:
        _tell(receipt, about, back, turn, wakes=status != "accepted")
    return receipt


def _tell(receipt: Entry, about: Entry, back: Member, turn: Turn | None, *, wakes: bool) -> None:
    person = principal_for(turn.principal_id, receipt.room_id) if turn is not None else None
    level = consent.level(back.agent, person) if back.agent is not None else Grant.Level.ASK
    Recipient.objects.create(
        entry=receipt,
        member=back,
        seq=receipt.seq,
        principal=receipt.principal,
        open_to=None if level == Grant.Level.DENY else receipt.principal,
    )
    nudge.inbox(back.pk)
    # Nobody is asked about a receipt: where it may not begin a turn by itself, it goes along with the next one.
    if wakes and back.is_agent and level == Grant.Level.ALWAYS:
        turns.request(receipt, back, turn, on=about)
