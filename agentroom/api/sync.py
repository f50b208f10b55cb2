"""The machine's long poll, as plain ASGI: while it waits it holds no thread and no database connection."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from datetime import datetime
from functools import partial
from http import HTTPStatus
from typing import Any

from django.utils import timezone
from pydantic import ValidationError

from agentroom import auth
from agentroom.api import problems
from agentroom.pool import Pool
from agentroom_machine import wire
from approvals import work
from messaging import nudge
from rooms.errors import RuleError
from rooms.models import Machine

PATH = "/api/machine/sync"
MAX_BODY = 512_000
POLL = 5.0
"""Seconds between two looks when no nudge comes: covers a nudge that was lost, and keeps the machine seen."""

Scope = dict[str, Any]
Receive = Callable[[], Awaitable[dict[str, Any]]]
Send = Callable[[dict[str, Any]], Awaitable[None]]

_run = Pool("sync", 4).run


async def machine_sync(scope: Scope, receive: Receive, send: Send) -> None:
    """POST: what the machine lacks, as soon as it lacks something, at the latest after ``wait`` seconds."""
    try:
        if scope["method"] != "POST":
            await _answer(
                send, HTTPStatus.METHOD_NOT_ALLOWED, problems.body(HTTPStatus.METHOD_NOT_ALLOWED, "POST it.", "invalid")
            )
            return
        raw = await _body(receive)
        if raw is None:
            return
        header = dict(scope["headers"]).get(b"authorization", b"").decode("latin-1")
        reply = await _wait(header, wire.SyncRequest.model_validate_json(raw), receive)
        if reply is not None:
            await _answer(send, HTTPStatus.OK, reply.model_dump_json().encode())
    except _TooLarge:
        await _answer(
            send,
            HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
            problems.body(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, "The report is too large.", "too_large"),
        )
    except ValidationError as error:
        words = "; ".join(f"{'.'.join(map(str, item['loc']))}: {item['msg']}" for item in error.errors()[:5])
        await _answer(
            send, HTTPStatus.UNPROCESSABLE_ENTITY, problems.body(HTTPStatus.UNPROCESSABLE_ENTITY, words, "invalid")
        )
    except auth.Unauthorised as error:
        await _answer(send, HTTPStatus.UNAUTHORIZED, problems.body(HTTPStatus.UNAUTHORIZED, error.detail, error.code))
    except RuleError as error:
        status = problems.status_of(error)
        await _answer(send, status, problems.body(status, error.detail, error.code))


async def _wait(header: str, request: wire.SyncRequest, receive: Receive) -> wire.SyncReply | None:
    """The reply, or None when the machine hung up meanwhile."""
    loop = asyncio.get_running_loop()
    since, arrived = timezone.now(), loop.time()
    machine, request = await _run(partial(_arrive, header, request))
    until = arrived + max(0.0, min(request.wait, wire.MAX_WAIT))
    look = asyncio.Event()
    gone = asyncio.ensure_future(hung_up(receive))
    unlisten = nudge.listen(f"machine:{machine.pk}", look.set)
    try:
        while True:
            look.clear()
            reply, lacks = await _run(partial(_look, header, request, since))
            left = until - loop.time()
            if lacks or left <= 0:
                return reply
            nudged = asyncio.ensure_future(look.wait())
            await asyncio.wait({nudged, gone}, timeout=min(left, POLL), return_when=asyncio.FIRST_COMPLETED)
            nudged.cancel()
            if gone.done():
                return None
    finally:
        unlisten()
        gone.cancel()


def _arrive(header: str, request: wire.SyncRequest) -> tuple[Machine, wire.SyncRequest]:
    machine = auth.machine(header)
    if request.epoch is None:
        machine = work.hello(machine, request)
        # Hello is answered at once, so that the daemon knows its epoch before anything runs.
        return machine, request.model_copy(update={"epoch": machine.epoch, "wait": 0, "slots": 0})
    work.check_epoch(machine, request.epoch, request.instance)
    return machine, request


def _look(header: str, request: wire.SyncRequest, since: datetime) -> tuple[wire.SyncReply, bool]:
    # The token is read again each time: a revoked machine hears so within one nudge.
    machine = auth.machine(header)
    work.check_epoch(machine, request.epoch, request.instance)
    work.seen(machine.pk, request)
    return work.sync(machine, request, since=since)


class _TooLarge(Exception):
    pass


async def _body(receive: Receive) -> bytes | None:
    raw = b""
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            return None
        raw += bytes(message.get("body", b""))
        if len(raw) > MAX_BODY:
            raise _TooLarge
        if not message.get("more_body"):
            return raw


async def hung_up(receive: Receive) -> None:
    """Returns when whoever called has closed the connection."""
    while (await receive())["type"] != "http.disconnect":
        continue


async def _answer(send: Send, status: HTTPStatus, body: bytes) -> None:
    kind = b"application/json" if status < 400 else b"application/problem+json"
    headers = [(b"content-type", kind), (b"content-length", str(len(body)).encode()), (b"cache-control", b"no-store")]
    await send({"type": "http.response.start", "status": int(status), "headers": headers})
    await send({"type": "http.response.body", "body": body})
