"""The server's side of the account chat in memory, with the faults that a network and a restart bring."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime

import httpx

from agentroom_machine import wire
from tests.machine.fake_server import model, problem

CONNECTION = "arc_test"
AT = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


@dataclass
class FakeChat:
    messages: list[wire.ChatMessage] = field(default_factory=list)
    keys: dict[str, wire.ChatMessage] = field(default_factory=dict)
    asked: list[httpx.Request] = field(default_factory=list)
    token: str = CONNECTION
    on: bool = True
    known: bool = True
    """Whether the token opens it."""
    page: int = 100
    waits: Iterator[Callable[[], object]] = field(default_factory=lambda: iter(()))
    """What happens during each wait that finds nothing; after the last one the chat is switched off."""
    fault: Callable[[httpx.Request], httpx.Response | None] | None = None
    """Answers in the server's place, or raises; None lets the request through."""
    after: Callable[[httpx.Request], None] | None = None
    """Runs when the server has done its part but its answer is not yet out: raise, and the answer is lost."""

    def say(self, body: str, **more: object) -> wire.ChatMessage:
        number = self.messages[-1].number + 1 if self.messages else 1
        given = {"number": number, "account": "alice", "connection": "1f2e3d4c", "topic": "general", "at": AT}
        self.messages.append(wire.ChatMessage.model_validate(given | {"body": body} | more))
        return self.messages[-1]

    def transport(self) -> httpx.MockTransport:
        return httpx.MockTransport(self._handle)

    def _handle(self, request: httpx.Request) -> httpx.Response:
        self.asked.append(request)
        if self.fault and (answer := self.fault(request)):
            return answer
        if not self.known or request.headers.get("Authorization") != f"Bearer {self.token}":
            return problem(401, "unauthorised")
        if not self.on:
            return problem(403, wire.SWITCHED_OFF)
        reply = self._send(request) if request.method == "POST" else self._read(request)
        if self.after:
            self.after(request)
        return reply

    def _send(self, request: httpx.Request) -> httpx.Response:
        new, key = wire.ChatNew.model_validate_json(request.content), request.headers["Idempotency-Key"]
        if key not in self.keys:
            self.keys[key] = self.say(new.body, topic=new.topic or "general", session=new.session, parent=new.reply_to)
        return model(self.keys[key])

    def _read(self, request: httpx.Request) -> httpx.Response:
        waits = request.url.path.endswith("wait")
        found = self._page(request)
        if not waits:
            return model(found)
        if found.messages:
            return model(wire.ChatHeard(**found.model_dump(), reason="messages"))
        during = next(self.waits, None)
        if during is None:
            return model(wire.ChatHeard(**found.model_dump(), reason="switched_off"))
        during()
        # Whoever asked for what lies behind the end waits at the end that there was.
        found = self._page(request, found.cursor)
        return model(wire.ChatHeard(**found.model_dump(), reason="messages" if found.messages else "timeout"))

    def _page(self, request: httpx.Request, after: int | None = None) -> wire.ChatPage:
        asked = request.url.params
        last = self.messages[-1].number if self.messages else 0
        after = min(int(asked["after"]) if after is None else after, last)
        behind = [message for message in self.messages if message.number > after]
        page = [
            m
            for m in behind
            if m.topic not in asked.get_list("skip_topics") and m.session not in asked.get_list("skip_sessions")
        ]
        more = len(page) > self.page
        page = page[: self.page]
        cursor = page[-1].number if more else last
        return wire.ChatPage(messages=page, cursor=cursor, has_more=cursor < last, latest_seq=last)
