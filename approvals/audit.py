"""The trail of what was decided and done, for each owner: it only grows, and each line carries a hash over the last.

It names rooms, people and messages as they were called then, and quotes actions that were put to the owner. It quotes
nothing that people said: clean-up of words leaves the decisions.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable

from django.db import connection
from django.db.models import Q
from django.utils import timezone

from approvals.models import AuditRecord
from messaging.log import clean
from rooms.models import Agent, Member, Room, User
from rooms.rules import rule


@rule
def write(
    owner: User | int,
    what: str,
    *,
    who: str,
    room: str = "",
    agent: Agent | None = None,
    about: str = "",
    in_name_of: str = "",
    decision: str = "",
) -> AuditRecord:
    """Add a line to the owner's trail. ``who`` and ``in_name_of`` are handles as they are now."""
    owner_id = owner if isinstance(owner, int) else owner.pk
    if connection.features.has_select_for_update:
        # Whoever commits a row that names this person looks at theirs: that must not wait for us.
        User.objects.select_for_update(no_key=True).only("pk").get(pk=owner_id)
    last = AuditRecord.objects.filter(owner_id=owner_id).order_by("-number").first()
    record = AuditRecord(
        owner_id=owner_id, number=last.number + 1 if last else 1, room=clean(room), agent=agent.handle if agent else "",
        who=clean(who), what=what, about=clean(about), in_name_of=clean(in_name_of), decision=decision,
        at=timezone.now(),
    )  # fmt: skip
    record.digest = digest(last.digest if last else "", record)
    record.save(force_insert=True)
    return record


def hold(room_ids: Iterable[int], *, and_of: Q | None = None) -> None:
    """Lock the trails of all who own these rooms or an agent there, in id order, and those ``and_of`` others.

    For a rule that writes to several, before its first line: else two of them could wait for each other. After the
    rooms' and machines' rows.
    """
    if not connection.features.has_select_for_update:
        return
    rooms = set(room_ids)
    held = Q(pk__in=Room.objects.filter(pk__in=rooms).values("owner"))
    held |= Q(pk__in=Member.objects.filter(room__in=rooms, agent__isnull=False).values("agent__owner"))
    users = User.objects.filter(held if and_of is None else held | and_of).order_by("pk")
    list(users.select_for_update(no_key=True).values_list("pk"))


def digest(previous: str, record: AuditRecord) -> str:
    """SHA-256, hex, over the previous line's digest and this line."""
    form = [
        previous, record.owner_id, record.number, record.room, record.agent, record.who, record.what, record.about,
        record.in_name_of, record.decision, record.at.isoformat(),
    ]  # fmt: skip
    return hashlib.sha256(json.dumps(form, ensure_ascii=False, separators=(",", ":")).encode()).hexdigest()


def verify(owner_id: int) -> int | None:
    """The number of the first line that does not fit its predecessor, or None when all do."""
    previous, expected = "", 1
    for record in AuditRecord.objects.filter(owner_id=owner_id).order_by("number").iterator():
        if record.number != expected or record.digest != digest(previous, record):
            return expected
        previous, expected = record.digest, expected + 1
    return None
