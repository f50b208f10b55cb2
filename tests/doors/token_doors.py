"""Who gets through which door for programs.

The columns are, in this order: nothing (no token), session (alice's browser session and no token), connection (the
token of alice's agent in the kitchen), gone (a machine of alice's, revoked two days ago), revoked (one that was revoked
a minute ago: it may still tell the end of what it ran), danas (her machine), alices (the machine of the scene).
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

from tests.doors.scene import PICTURE

COLUMNS = ("nothing", "session", "connection", "gone", "revoked", "danas", "alices")
MACHINE = "401 401 401 401 401 200 200"


@dataclass(frozen=True)
class TokenDoor:
    method: str
    route: str
    expected: str
    body: Any = None
    stands_for: dict[str, str] = field(default_factory=dict)

    def __str__(self) -> str:
        return f"{self.method} /{self.route}"

    def content(self) -> bytes:
        if isinstance(self.body, bytes):
            return self.body
        return b"" if self.body is None else json.dumps(self.body).encode()


API = "api/machine/"
PAIR = {"name": "another laptop", "token_hash": "c" * 64, "connection_hash": "d" * 64}
NEW = {"handle": "helper", "runtime": "demo", "workdir": "/tmp/kitchen"}
CLAIM = {"claim_id": "somebody-elses", "journal_id": "journal-1", "epoch": 1}
SESSION = {"agent_id": 987_654_321, "room_id": 987_654_321, "token_hash": "e" * 64}
FACTS = {"journal_id": "journal-1", "facts": []}

TOKEN_DOORS = [
    TokenDoor("GET", "api/openapi.json", "200 200 200 200 200 200 200"),
    TokenDoor("GET", "api/", "404 404 404 404 404 404 404"),
    TokenDoor("POST", API + "pairings", "200 200 200 200 200 200 200", PAIR),
    TokenDoor("GET", API + "pairing", "404 404 404 404 404 404 404"),
    TokenDoor("GET", API + "me", MACHINE),
    TokenDoor("GET", API + "agents", MACHINE),
    TokenDoor("POST", API + "agents", "401 401 401 401 401 201 201", NEW),
    TokenDoor("PATCH", API + "agents/<handle>", "401 401 401 401 401 404 200", {"role": "cook"}),
    TokenDoor("DELETE", API + "agents/<handle>", "401 401 401 401 401 404 204"),
    TokenDoor("POST", API + "turns/<int:turn_id>/start", "401 401 401 401 401 409 409", CLAIM, {"turn_id": "waiting"}),
    TokenDoor("POST", API + "connections", "401 401 401 401 401 404 404", SESSION),
    TokenDoor("POST", API + "facts", "401 401 401 401 409 409 200", FACTS),
    TokenDoor("POST", API + "stop", MACHINE, {}),
    TokenDoor("HEAD", API + "files/<sha256>", "401 401 401 401 404 404 200", None, {"sha256": "produced_sha256"}),
    TokenDoor("PUT", API + "files/<sha256>", "401 401 401 401 204 204 204", PICTURE, {"sha256": "produced_sha256"}),
    TokenDoor(
        "GET", API + "turns/<int:turn_id>/files/<sha256>", "401 401 401 401 401 404 200", None, {"turn_id": "running"}
    ),
]
