"""What the server serves: the long polls and the agents' door beside Django, the sockets, and Django."""

from __future__ import annotations

import os
from typing import Any

from django.core.asgi import get_asgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "agentroom.settings")
django: Any = get_asgi_application()

from channels.routing import URLRouter  # noqa: E402 - Django has to be set up first

from agentroom.api.chat_wait import PATH as CHAT_PATH  # noqa: E402
from agentroom.api.chat_wait import chat_wait  # noqa: E402
from agentroom.api.sync import PATH as SYNC_PATH  # noqa: E402
from agentroom.api.sync import Receive, Scope, Send, machine_sync  # noqa: E402
from agentroom.mcp.mount import Mount  # noqa: E402
from agentroom.mcp.server import servers  # noqa: E402
from messaging.routing import websocket_urlpatterns  # noqa: E402

# The sockets themselves look at the session and at the Origin, once, before they accept.
sockets: Any = URLRouter(websocket_urlpatterns)
mcp = Mount(servers())


async def application(scope: Scope, receive: Receive, send: Send) -> None:
    match scope["type"]:
        case "http" if scope["path"] == SYNC_PATH:
            await machine_sync(scope, receive, send)
        case "http" if scope["path"] == CHAT_PATH:
            await chat_wait(scope, receive, send)
        case "http" if mcp.serves(scope["path"]):
            await mcp(scope, receive, send)
        case "http":
            await django(scope, receive, send)
        case "websocket":
            await sockets(scope, receive, send)
        case "lifespan":
            await mcp.lifespan(receive, send)
