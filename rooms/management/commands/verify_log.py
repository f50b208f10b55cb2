from __future__ import annotations

import argparse
import json
from dataclasses import asdict
from typing import Any

from django.core.management.base import CommandError

from approvals import audit
from messaging.verify import Verified, verify
from rooms.management.told import Told
from rooms.models import Room, User


class Command(Told):
    help = (
        "Verifies the digest chain of every room's log and of every owner's audit trail. Ends with 1 if one is broken."
    )

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("--room", type=int, metavar="ID", help="Only this room.")

    def handle(self, *args: Any, room: int | None, as_json: bool, **options: Any) -> None:
        rooms = Room.objects.order_by("pk").values_list("pk", flat=True)
        if room is not None:
            rooms = rooms.filter(pk=room)
            if not rooms:
                raise CommandError(f"There is no room {room}.")
        found = [verify(pk) for pk in rooms]
        trails = {} if room is not None else _trails()
        if as_json:
            told = {"rooms": [asdict(one) | {"ok": one.ok} for one in found], "trails": trails}
            self.stdout.write(json.dumps(told))
        else:
            for one in found:
                self.stdout.write(in_words(one))
            for owner, broken_at in trails.items():
                self.stdout.write(
                    f"Trail of {owner}: " + ("all there." if broken_at is None else f"broken at line {broken_at}.")
                )
        if not all(one.ok for one in found) or any(broken_at is not None for broken_at in trails.values()):
            raise CommandError("Something was changed or removed behind our back.")


def _trails() -> dict[str, int | None]:
    """Each owner's handle, with the first line of their trail that does not fit."""
    owners = User.objects.filter(audit__isnull=False).distinct().order_by("username")
    return {owner.username: audit.verify(owner.pk) for owner in owners}


def in_words(one: Verified) -> str:
    if not one.ok:
        return f"Room {one.room}: broken at {one.broken_at}. {one.why}"
    cleaned = f", cleaned up to {one.begins_after}" if one.begins_after else ""
    blanked = f", {one.blanked} blanked" if one.blanked else ""
    return f"Room {one.room}: {one.entries} entries, all there{cleaned}{blanked}."
