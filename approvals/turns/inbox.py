"""What of an agent's inbox a turn may see, and what it has been told of."""

from __future__ import annotations

from collections.abc import Sequence

from django.db.models import F, Q, QuerySet
from django.utils import timezone

from approvals.models import Mail, Turn
from messaging import log, nudge
from messaging.models import Entry, Recipient
from rooms.models import Member

MOST_NOTICES = 20
"""Letters that one offer names; the inbox has the others."""


def inbox(seat: Member, turn: Turn | None) -> QuerySet[Recipient]:
    """An agent's mail as its turn, or whoever runs it by hand, may see it.

    Inside a turn only what came in the name of that turn's principal, and what the agent's owner let in. Where nobody
    stands behind the turn, only what it is about.
    """
    mail = Recipient.objects.filter(member=seat)
    if turn is None:
        return mail
    if turn.principal_id is None:
        return mail.filter(principal=None, entry__in=about(turn))
    return mail.filter(open_to=turn.principal_id)


def unread(seat: Member, turn: Turn | None) -> QuerySet[Recipient]:
    """What waits, oldest first. Joining empties it, so it holds nothing from before."""
    mail = inbox(seat, turn)
    if turn is not None and turn.principal_id is not None:
        return mail.filter(waits_open__gt=0).order_by("waits_open")
    return mail.filter(waits__gt=0).order_by("waits")


def again(seat: Member, turn: Turn | None, after: int) -> QuerySet[Recipient]:
    """What came after a number and since the agent joined, read or not, oldest first."""
    return inbox(seat, turn).filter(seq__gt=max(after, seat.read_seq)).order_by("seq")


def about(turn: Turn) -> list[int]:
    """Ids of the entries that a turn answers."""
    return [turn.entry_id, *Mail.objects.filter(turn=turn).values_list("entry", flat=True)]


def let_in(turn: Turn, entries: Sequence[int] | None = None) -> None:
    """A mail turn may run: its letters, or these of them, may be read in any turn of the same person."""
    if turn.cause == "mail":
        _turn_letters(turn, entries).update(open_to=F("principal"))


def keep_out(turn: Turn) -> None:
    """A mail turn may not run (yet, or any more): what is unread of its letters is read in no turn."""
    if turn.cause == "mail":
        _turn_letters(turn, None).update(open_to=None)


def _turn_letters(turn: Turn, entries: Sequence[int] | None) -> QuerySet[Recipient]:
    letters = Recipient.objects.filter(
        entry__in=about(turn) if entries is None else entries, entry__kind=Entry.Kind.MESSAGE,
        member__agent=turn.agent_id, read_at=None,
    )  # fmt: skip
    for seat in set(letters.values_list("member", flat=True)):
        nudge.inbox(seat)
    return letters


def handed_over(turn: Turn) -> None:
    """A person's words came whole with the turn, or never will: they no longer wait in the inbox."""
    if turn.cause == "message":
        Recipient.objects.filter(entry=turn.entry_id, member__agent=turn.agent_id, read_at=None).update(
            read_at=timezone.now()
        )


def moot(turn: Turn) -> bool:
    """Whether this is mail that its agent has read already."""
    if turn.cause != "mail":
        return False
    letters = Recipient.objects.filter(entry__in=about(turn), member__agent=turn.agent_id)
    return letters.exists() and not letters.filter(read_at=None).exists()


def name_in_offer(turn: Turn) -> list[Recipient]:
    """The unread letters that go along with this offer, as notices; remembered until it starts."""
    seat = Member.objects.filter(room=turn.room_id, agent=turn.agent_id).first()
    if seat is None:
        return []
    first = Q(entry__in=about(turn))
    mail = unread(seat, turn)
    rows = list(mail.filter(first)[:MOST_NOTICES])
    rows += list(mail.exclude(first)[: MOST_NOTICES - len(rows)])
    rows.sort(key=lambda row: row.seq)
    Recipient.objects.filter(member=seat, notice_turn=turn.pk).exclude(pk__in=[row.pk for row in rows]).update(
        notice_turn=None
    )
    Recipient.objects.filter(pk__in=[row.pk for row in rows]).update(notice_turn=turn.pk)
    return rows


def delivered(turn: Turn, seat: Member) -> None:
    """The turn that carried these notices has started: say so of each letter, once."""
    rows = list(Recipient.objects.filter(member=seat, notice_turn=turn.pk, noticed_at=None).select_related("entry"))
    _say_delivered(turn, seat, [row.entry for row in rows])
    Recipient.objects.filter(pk__in=[row.pk for row in rows]).update(noticed_at=timezone.now())


def _say_delivered(turn: Turn, seat: Member, letters: Sequence[Entry]) -> None:
    log.append(
        turn.room_id,
        *(
            log.New(
                Entry.Kind.DELIVERED, author=seat, parent_seq=letter.seq, principal=turn.principal_id,
                source_turn=turn.pk,
            )
            for letter in letters
            if letter.kind == Entry.Kind.MESSAGE
        ),
    )  # fmt: skip
