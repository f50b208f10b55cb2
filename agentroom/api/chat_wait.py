"""Waiting for the account chat, as plain ASGI: while it waits it holds no thread and no database connection.

Each call begins with the documented operation itself, which looks who asks, for what, and what is there already.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from functools import partial
from io import BytesIO
from typing import Any

from django.core.handlers.asgi import ASGIRequest
from django.http import HttpResponse
from django.urls import resolve

from agentroom import auth, waits
from agentroom.api import api, chat, problems
from agentroom.api.sync import Receive, Scope, Send, hung_up
from agentroom.callers import Callers
from agentroom.pool import Pool
from rooms.errors import RuleError

PATH = "/api/chat/wait"

_pool = Pool("chat-wait", 4)
_callers = Callers(_pool)


async def chat_wait(scope: Scope, receive: Receive, send: Send) -> None:
    """GET: what comes after a number, as soon as there is something; nothing for who hung up meanwhile."""
    arrived = time.monotonic()
    gone = asyncio.ensure_future(hung_up(receive))
    try:
        request = ASGIRequest(scope, BytesIO())
        with contextlib.suppress(auth.Unauthorised):  # the operation says so in its own words
            header = request.headers.get("Authorization", "")
            request.known_caller = await _callers.of(header)  # type: ignore[attr-defined] # for edge.Connection
        answer = await _pool.run(partial(_look, request))
        wish: chat.Wish | None = getattr(request, "wish", None)
        if wish is not None:
            left = max(0.0, wish.timeout - (time.monotonic() - arrived))
            caller: auth.Caller = request.auth  # type: ignore[attr-defined] # set where the token is looked at
            try:
                waited = await waits.sleep(caller, wish.room, wish.page, timeout=left, leave=wish.leave, gone=gone)
            except (RuleError, auth.Unauthorised) as error:
                answer = problems.told(request, error)
            else:
                if waited is None:
                    return
                # A large answer is not written in the loop in which everybody waits.
                answer.content = await _pool.run(partial(_content, request, waited))
        await _send(send, answer)
    finally:
        gone.cancel()


def _look(request: ASGIRequest) -> HttpResponse:
    answer: Any = resolve(PATH).func(request)
    assert isinstance(answer, HttpResponse)
    return answer


def _content(request: ASGIRequest, waited: waits.Waited) -> str:
    heard = chat.heard(waited.page, waited.reason)
    content: str = api.renderer.render(request, heard.model_dump(), response_status=200)
    return content


async def _send(send: Send, answer: HttpResponse) -> None:
    answer.headers["Content-Length"] = str(len(answer.content))
    answer.headers["X-Content-Type-Options"] = "nosniff"
    headers = [(name.lower().encode("latin-1"), value.encode("latin-1")) for name, value in answer.items()]
    await send({"type": "http.response.start", "status": answer.status_code, "headers": headers})
    await send({"type": "http.response.body", "body": answer.content})
