"""The resource ``agentroom://inbox``: how many letters wait for who calls, and the newest one's number."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import Any

from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ResourceNotFoundError

from agentroom import auth
from agentroom.mcp import identity
from approvals import turns
from rooms.errors import RuleError
from rooms.models import Connection

INBOX = "agentroom://inbox"


@dataclass(frozen=True, slots=True)
class Standing:
    unread: int
    latest: int
    """Number of the newest letter, read or not; 0 when there is none."""


def standing(caller: auth.Caller) -> Standing:
    """How the caller's inbox stands; NotFound when who calls has no seat any more."""
    seat = caller.seat()
    if caller.kind != Connection.Kind.AGENT:
        return Standing(0, 0)
    mail = turns.inbox(seat, caller.turn())
    newest = mail.order_by("-seq").values_list("seq", flat=True).first()
    return Standing(mail.filter(read_at=None).count(), newest or 0)


def add(server: MCPServer[Any]) -> None:
    """Let an agent read how its inbox stands; that marks nothing as read."""

    @server.resource(
        INBOX,
        name="inbox",
        title="Your inbox",
        description="How many letters wait for you, and the newest one's number. agents_read_inbox gives the letters.",
        mime_type="application/json",
    )
    async def inbox() -> str:
        try:
            return json.dumps(asdict(await identity.act(standing)))
        except RuleError as error:
            raise ResourceNotFoundError(error.detail) from None
