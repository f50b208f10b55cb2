"""The product with one view more: a wait for the chat as one would write it in Django, to measure ours against.

``python -m tests.bench.waiting PORT`` on a data folder that exists. For tests alone.
"""

from __future__ import annotations

import asyncio
import socket
import sys

import django
from asgiref.sync import sync_to_async
from django.http import HttpRequest, JsonResponse
from django.urls import path


async def usual(request: HttpRequest) -> JsonResponse:
    """GET ?after=N&timeout=S with a connection's token: reads, sleeps until a nudge, reads again."""
    from agentroom import auth
    from messaging import chat, nudge

    caller = await sync_to_async(auth.caller)(request.headers.get("Authorization", ""))
    room, account = await sync_to_async(caller.chat)()
    look = asyncio.Event()
    unlisten = nudge.listen(f"room:{room}", look.set)
    try:
        page = await sync_to_async(chat.page)(room, account, after=int(request.GET["after"]))
        if not page.messages:
            await asyncio.wait_for(look.wait(), float(request.GET["timeout"]))
            await sync_to_async(caller.chat)()
            page = await sync_to_async(chat.page)(room, account, after=page.cursor)
    finally:
        unlisten()
    return JsonResponse({"messages": [message.body for message in page.messages], "cursor": page.cursor})


usual.login_required = False  # type: ignore[attr-defined]


def main() -> None:
    django.setup()
    from agentroom import urls
    from agentroom.asgi import application
    from agentroom.web import serve_with_uvicorn

    urls.urlpatterns.insert(0, path("usual/", usual))
    listener = socket.create_server(("127.0.0.1", int(sys.argv[1])), backlog=2000)
    listener.setblocking(False)
    print("Ready", flush=True)
    serve_with_uvicorn(application, listener, proxied=False)


if __name__ == "__main__":
    main()
