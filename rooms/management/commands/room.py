from __future__ import annotations

import argparse
from typing import Any

from rooms import membership
from rooms.management.told import Told, address, person_called, refusals
from rooms.rules import rule


class Command(Told):
    help = "Makes a room, with its owner and members seated."

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("name")
        parser.add_argument("--owner", required=True, metavar="HANDLE")
        parser.add_argument("--member", action="append", default=[], metavar="HANDLE", help="May be given again.")
        parser.add_argument("--about", default="", help="One line about what the room is for.")

    def handle(
        self, *args: Any, name: str, owner: str, member: list[str], about: str, as_json: bool, **options: Any
    ) -> None:
        with refusals():
            room_id = furnish(name, owner, member, about)
        link = address("room", room_id)
        self.tell({"id": room_id, "name": name, "url": link}, f"Room {room_id}, {name}: {link}", as_json=as_json)


@rule
def furnish(name: str, owner: str, members: list[str], about: str) -> int:
    """The room and everybody's seat, or nothing of it. Members come in as they always do: by the owner's invite."""
    by = person_called(owner)
    people = [person_called(handle) for handle in members]
    room = membership.create_room(by, name=name, about=about)
    if people:
        _, token = membership.invite(by, room.pk, role="member", days=1, max_uses=len(people))
        for person in people:
            membership.accept_invite(person, token)
    return room.pk
