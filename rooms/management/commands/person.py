from __future__ import annotations

import argparse
import sys
from typing import Any

from rooms import membership
from rooms.management.told import Told, address, refusals
from rooms.models import User


class Command(Told):
    help = "Makes a person, or finds them again, and prints a link that signs them in once, within a day."

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("handle")
        parser.add_argument("--email", default="")
        parser.add_argument("--admin", action="store_true", help="May use the administration pages.")
        parser.add_argument("--password-stdin", action="store_true", help="Reads a password from standard input.")

    def handle(
        self, *args: Any, handle: str, email: str, admin: bool, password_stdin: bool, as_json: bool, **options: Any
    ) -> None:
        password = sys.stdin.readline().rstrip("\n") if password_stdin else ""
        with refusals():
            known = User.objects.filter(username=handle.lower()).first()
            # For somebody who is here already, nothing but a new link: a script that runs again must not change them.
            person = known or membership.make_person(handle, email=email, password=password, admin=admin)
            link = address("sign_in_link", membership.sign_in_link(person))
        made = "is here already" if known else "is here now"
        self.tell(
            {"handle": person.username, "id": person.pk, "new": known is None, "sign_in": link},
            f"{person.username} {made}. This link signs them in, once, within a day:\n{link}",
            as_json=as_json,
        )
