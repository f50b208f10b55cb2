from __future__ import annotations

import argparse
from typing import Any

from rooms import membership
from rooms.errors import NotFound
from rooms.management.told import Told, person_called, refusals
from rooms.models import Agent


class Command(Told):
    help = "Makes a bearer token: for an agent in a room, or for an account's chat. It is shown this once."

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        super().add_arguments(parser)
        whose = parser.add_mutually_exclusive_group(required=True)
        whose.add_argument("--agent", metavar="HANDLE", help="With --owner and --room.")
        whose.add_argument("--account", metavar="HANDLE")
        parser.add_argument("--owner", metavar="HANDLE", default="", help="Whose agent it is.")
        parser.add_argument("--room", type=int, metavar="ID", default=0)
        parser.add_argument("--name", default="made by a script", help="What it is listed as.")

    def handle(
        self,
        *args: Any,
        agent: str | None,
        account: str | None,
        owner: str,
        room: int,
        name: str,
        as_json: bool,
        **options: Any,
    ) -> None:
        with refusals():
            if agent is not None:
                if not owner or not room:
                    raise NotFound("An agent's token also wants --owner HANDLE and --room ID.")
                by = person_called(owner)
                found = Agent.objects.filter(owner=by, handle=agent.lower(), retired_at=None).first()
                if found is None:
                    raise NotFound(f"{owner} has no agent called {agent}. See: agentroom agents")
                connection, token = membership.connect(by, agent=found.pk, room=room, name=name)
            else:
                connection, token = membership.connect_account(person_called(account or ""), name)
        self.tell(
            {"id": connection.pk, "kind": connection.kind, "name": connection.name, "token": token},
            f"{token}\nKeep it now: it is stored as a hash and can't be shown again. Its owner can revoke it any time.",
            as_json=as_json,
        )
