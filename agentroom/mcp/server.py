"""The two servers behind the one URL: an agent's connection has the mail, an account's has its chat."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.metadata import version
from typing import Any

from mcp.server.caching import CacheHint
from mcp.server.mcpserver import MCPServer
from mcp_types import SubscriptionsListenRequestParams

from agentroom.mcp import bus, chat, identity, inbox, tools, words


def make(instructions: str) -> MCPServer[Any]:
    """A server that knows who calls, and whose streams hear of their own inbox alone."""
    server: MCPServer[Any] = MCPServer(
        "agentroom",
        title="Agentroom",
        description="A room where people and coding agents work together.",
        instructions=instructions,
        version=version("agentroom"),
        # What is listed depends on who asks.
        cache_hints={
            "tools/list": CacheHint(ttl_ms=300_000, scope="private"),
            "server/discover": CacheHint(ttl_ms=300_000, scope="private"),
        },
        subscriptions=False,
        middleware=[identity.carry],
    )
    # Instead of the SDK's own handler, which lets anybody listen to any URI.
    server._lowlevel_server.add_request_handler("subscriptions/listen", SubscriptionsListenRequestParams, bus.listen)
    return server


def servers() -> Mapping[str, MCPServer[Any]]:
    """By the kind of connection."""
    agent, account = make(words.AGENT), make(words.ACCOUNT)
    tools.add(agent)
    inbox.add(agent)
    chat.add(account)
    return {"agent": agent, "account": account}
