"""Agents that call the REST door."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

from django.test import Client

from rooms import membership, tokens
from rooms.membership import sessions
from rooms.models import Agent
from tests.approvals.kitchen import Kitchen


@dataclass
class Caller:
    """Whoever sends this token."""

    token: str
    headers: dict[str, str] = field(default_factory=dict)

    def call(
        self, method: str, path: str, body: Any = None, *, content_type: str = "application/json", **headers: str
    ) -> Any:
        """The answer; a body that is bytes goes as it is."""
        sent = {"Authorization": f"Bearer {self.token}"} if self.token else {}
        names = {name.replace("_", "-"): value for name, value in headers.items()}
        content = body if isinstance(body, bytes) else b"" if body is None else json.dumps(body).encode()
        return Client().generic(method, f"/api/{path}", content, content_type=content_type, headers={**sent, **names})

    def get(self, path: str) -> Any:
        return self.call("GET", path)

    def post(self, path: str, body: Any, **headers: str) -> Any:
        return self.call("POST", path, body, **headers)

    def put(self, path: str, body: Any) -> Any:
        return self.call("PUT", path, body)


def by_hand(kitchen: Kitchen, agent: Agent) -> Caller:
    """The agent through a token that its owner made: nobody stands behind what it sends."""
    _, token = membership.connect(agent.owner, agent=agent.pk, room=kitchen.room.pk, name="by hand")
    return Caller(token)


def in_session(kitchen: Kitchen, agent: Agent) -> Caller:
    """The agent through the token that its machine made for its session."""
    token = tokens.new(tokens.CONNECTION)
    assert agent.machine is not None
    sessions.connect_session(agent.machine, agent_id=agent.pk, room_id=kitchen.room.pk, token_hash=tokens.digest(token))
    return Caller(token)


def account(kitchen: Kitchen) -> Caller:
    _, token = membership.connect_account(kitchen.alice, "chat")
    return Caller(token)


def revoked(kitchen: Kitchen) -> Caller:
    connection, token = membership.connect(kitchen.alice, agent=kitchen.claude.pk, room=kitchen.room.pk, name="gone")
    membership.revoke_connection(kitchen.alice, connection.pk)
    return Caller(token)
