from __future__ import annotations

from typing import Any

from rooms import membership
from rooms.management.told import Told, address, refusals


class Command(Told):
    help = "Prints the link that makes the first owner and administrator; any earlier one stops working."

    def handle(self, *args: Any, as_json: bool, **options: Any) -> None:
        with refusals():
            link = address("first", membership.first_link())
        self.tell({"first": link}, f"This link makes the first owner and administrator, once:\n{link}", as_json=as_json)
