"""Taking a leaked secret out of a room for good: its words go, who took them out stays."""

from __future__ import annotations

from django.db.models import Q, QuerySet

from approvals import audit
from approvals.control.waiting import cancel_all
from approvals.models import Approval, Turn
from messaging import log
from messaging.models import Entry
from rooms.access import ABSENT, lock_rooms, member_for
from rooms.errors import Conflict, NotFound, Refused
from rooms.models import User
from rooms.rules import rule

CONTENT = (
    "message", "text", "plan", "tool_call", "file_change", "artifact", "notice", "accepted", "declined", "done",
)  # fmt: skip
"""Kinds whose words can go. What the others say is what was decided and done."""
TOGETHER = {"text": "part", "tool_call": "call", "file_change": "path"}
"""Entries of these kinds that share this belong together: a secret may stand in each, or across them."""
CALLED = {
    "message": "message", "text": "a text", "plan": "a plan", "tool_call": "a step", "file_change": "a file change",
    "artifact": "a file", "notice": "a notice", "accepted": "a receipt", "declined": "a receipt", "done": "a receipt",
}  # fmt: skip


def may_blank(user: User, entry: Entry) -> bool:
    """The room's owner, whoever wrote it, and the owner of the agent whose it is."""
    author = entry.author
    if entry.room.owner_id == user.pk or (author is not None and author.user_id == user.pk):
        return True
    if author is not None and author.agent is not None:
        return author.agent.owner_id == user.pk
    return entry.source_turn is not None and Turn.objects.filter(pk=entry.source_turn, agent__owner=user).exists()


def blankable(user: User, room_id: int, parent_seq: int) -> list[Entry]:
    """What this person may blank of a message and of what happened under it, newest state of each, oldest first."""
    rows = (
        Entry.objects.filter(room=room_id, kind__in=CONTENT)
        .filter(Q(seq=parent_seq) | Q(parent_seq=parent_seq))
        .select_related("room", "author__agent")
    )
    found: dict[tuple[str, object, object], Entry] = {}
    for entry in rows.order_by("seq"):
        together = TOGETHER.get(entry.kind)
        same = (entry.data.get("turn"), entry.data.get(together)) if together else (None, entry.seq)
        found[(entry.kind, *same)] = entry
    return [entry for entry in found.values() if entry.data != log.BLANK and may_blank(user, entry)]


@rule
def blank(user: User, room_id: int, seq: int) -> Entry:
    """Take the words and files of one entry, and of what belongs together with it, out of the room.

    A request that has not started is cancelled with its words. The entry that says so is returned.
    """
    member = member_for(user, room_id)
    lock_rooms([room_id])
    rows = Entry.objects.filter(room=room_id, kind__in=CONTENT).select_related("room", "author__agent")
    entry = rows.filter(seq=seq).first()
    if entry is None:
        raise NotFound(ABSENT)
    if not may_blank(user, entry):
        raise Refused("The room's owner, who wrote it, or the owner of the agent can blank that.")
    if entry.data == log.BLANK:
        raise Conflict("It is blank already.")
    called = f"{CALLED[entry.kind]} {seq}" if entry.kind == Entry.Kind.MESSAGE else CALLED[entry.kind]
    words = f"{member.handle} blanked {called}."
    if entry.kind == Entry.Kind.MESSAGE:
        requests = Turn.objects.filter(Q(entry=entry) | Q(mail__entry=entry)).distinct()
        cancel_all(requests.filter(status__in=Turn.WAITING), by=user, note=words)
        # Without its words a request can't be shown whole, so nobody can approve it either.
        Approval.objects.filter(turn__in=requests, subject=Approval.Subject.START).update(action="")
    told = log.blank(room_id, _together(rows, entry), by=member, words=words)
    audit.write(
        entry.room.owner_id, "blank", who=user.username, room=entry.room.name, about=f"entry {seq}: {entry.body_hash}"
    )
    return told


def _together(rows: QuerySet[Entry], entry: Entry) -> list[Entry]:
    shared = TOGETHER.get(entry.kind)
    if shared is None:
        return [entry]
    same = {"data__turn": entry.data.get("turn"), f"data__{shared}": entry.data.get(shared)}
    return list(rows.filter(parent_seq=entry.parent_seq, kind=entry.kind, **same).order_by("seq"))
