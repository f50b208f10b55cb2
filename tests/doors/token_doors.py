"""Who gets through which door for programs.

The columns are, in this order: nothing (no token), session (alice's browser session and no token), connection (the
token of alice's agent in the kitchen), gone (a machine of alice's, revoked two days ago), revoked (one that was revoked
a minute ago: it may still tell the end of what it ran), danas (her machine), alices (the machine of the scene), account
(a connection of alice's own, for her account's chat), ended (one for her agent, revoked), gemini (dana's agent, a guest
in the kitchen).
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

from tests.doors.scene import PICTURE

COLUMNS = ("nothing", "session", "connection", "gone", "revoked", "danas", "alices", "account", "ended", "gemini")
MACHINE = "401 401 401 401 401 200 200 401 401 401"
AGENT = "401 401 {} 401 401 401 401 403 401 {}"
ACCOUNT = "401 401 403 401 401 401 401 {} 401 403"
ANYBODY = "200 200 200 200 200 200 200 200 200 200"
NOBODY = ANYBODY.replace("200", "404")


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
MESSAGE = {"to": ["codex"], "body": "Is it baked?"}
FACTS = {"journal_id": "journal-1", "facts": []}

TOKEN_DOORS = [
    TokenDoor("GET", "api/openapi.json", ANYBODY),
    TokenDoor("GET", "api/docs", ANYBODY),
    TokenDoor("GET", "api/", NOBODY),
    TokenDoor("GET", "api/machine/", NOBODY),
    TokenDoor("GET", "api/<path:rest>", NOBODY),
    # --- agents' mail; the letter is bob's to claude
    TokenDoor("GET", "api/agents", AGENT.format(200, 200)),
    TokenDoor("POST", "api/messages", AGENT.format(201, 201), MESSAGE),
    TokenDoor("GET", "api/messages/<number>", AGENT.format(200, 200)),
    TokenDoor("POST", "api/messages/<number>/replies", AGENT.format(201, 404), {"body": "Baked."}),
    TokenDoor("POST", "api/messages/<number>/acknowledgements", AGENT.format(201, 404), {"status": "done"}),
    TokenDoor("GET", "api/inbox", AGENT.format(200, 200)),
    TokenDoor("PUT", "api/status", AGENT.format(200, 200), {"status": "blocked"}),
    TokenDoor("GET", "api/history", AGENT.format(200, 200)),
    TokenDoor("POST", "api/questions", AGENT.format(201, 201), {"action": "git push", "kind": "push"}),
    # --- the account chat; whoever waits in front of Django has passed this door
    TokenDoor("POST", "api/chat/messages", ACCOUNT.format(201), {"body": "The oven is free."}),
    TokenDoor("GET", "api/chat/messages", ACCOUNT.format(200)),
    TokenDoor("GET", "api/chat/wait", ACCOUNT.format(200)),
    # --- the machine
    TokenDoor("POST", API + "pairings", ANYBODY, PAIR),
    TokenDoor("GET", API + "pairing", NOBODY),
    TokenDoor("GET", API + "me", MACHINE),
    TokenDoor("GET", API + "agents", MACHINE),
    TokenDoor("POST", API + "agents", "401 401 401 401 401 201 201 401 401 401", NEW),
    TokenDoor("PATCH", API + "agents/<handle>", "401 401 401 401 401 404 200 401 401 401", {"role": "cook"}),
    TokenDoor("DELETE", API + "agents/<handle>", "401 401 401 401 401 404 204 401 401 401"),
    TokenDoor(
        "POST",
        API + "turns/<int:turn_id>/start",
        "401 401 401 401 401 409 409 401 401 401",
        CLAIM,
        {"turn_id": "waiting"},
    ),
    TokenDoor("POST", API + "connections", "401 401 401 401 401 404 404 401 401 401", SESSION),
    TokenDoor("POST", API + "facts", "401 401 401 401 409 409 200 401 401 401", FACTS),
    TokenDoor("POST", API + "stop", MACHINE, {}),
    TokenDoor(
        "HEAD", API + "files/<sha256>", "401 401 401 401 404 404 200 401 401 401", None, {"sha256": "produced_sha256"}
    ),
    TokenDoor(
        "PUT", API + "files/<sha256>", "401 401 401 401 204 204 204 401 401 401", PICTURE, {"sha256": "produced_sha256"}
    ),
    TokenDoor(
        "GET",
        API + "turns/<int:turn_id>/files/<sha256>",
        "401 401 401 401 401 404 200 401 401 401",
        None,
        {"turn_id": "running"},
    ),
]
