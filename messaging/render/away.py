"""What a room may know of a machine that does not answer while one of its turns runs."""

from __future__ import annotations

from approvals.models import Approval, Turn
from messaging.models import Entry
from messaging.render.card import Away, Card, Facts, Question


def of(turn: Turn) -> Away | None:
    """None while nothing runs, or the machine is there."""
    machine = turn.machine
    if turn.status != Turn.Status.RUNNING or (machine is not None and machine.connected):
        return None
    since = machine.last_seen_at if machine is not None else None
    answered = Approval.objects.filter(turn=turn, verdict__in=["once", "no", "lapsed"]).exclude(subject="start")
    if since is not None:
        answered = answered.filter(decided_at__gt=since)
    return Away(
        machine=machine.name if machine is not None else "Its machine",
        since=since,
        stop_waits=turn.stop_asked_at is not None,
        answer_waits=answered.exists(),
    )


def glance(turn: Turn, facts: Facts) -> Card:
    """As much of a running turn's card as says how it stands, without reading what it did."""
    card = Card(turn.room_id, turn.pk, facts, started_at=turn.started_at)
    card.state = "stopping" if turn.stop_asked_at else "running"
    began = (
        Entry.objects.filter(room_id=turn.room_id, parent_seq=turn.entry.seq, kind=Entry.Kind.TURN)
        .filter(data__turn=turn.pk, data__state="running")
        .order_by("seq")
        .last()
    )
    card.confined = began.data.get("confined") if began is not None else None
    for asked in Approval.objects.filter(turn=turn, verdict="").exclude(subject="start"):
        card.questions[asked.pk] = Question(asked.pk, asked.subject, "", "asked", "", "", 0, asked.created_at, 0)
    return card
