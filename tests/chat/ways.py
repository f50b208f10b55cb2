"""The three ways by which a program uses the account chat, made alike: the tools, REST, and the command line."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol

import httpx

from tests.live import Live, Machine
from tests.mcp.http import post, tool_call

Message = dict[str, Any]
"""As each way gives it, but for its instant: REST gives thousandths of a second."""


def alike(message: Message) -> Message:
    at = datetime.fromisoformat(message["at"])
    return message | {"at": at.replace(microsecond=at.microsecond // 1000 * 1000).isoformat()}


class Shut(Exception):
    """It was refused; its text is what the program was told."""


@dataclass(frozen=True)
class Page:
    messages: list[Message]
    cursor: int
    has_more: bool
    latest_seq: int
    reason: str = ""

    def __post_init__(self) -> None:
        self.messages[:] = map(alike, self.messages)

    @property
    def bodies(self) -> list[str]:
        return [message["body"] for message in self.messages]


class Way(Protocol):
    name: str

    def send(
        self, body: str, *, topic: str = "", reply_to: int | None = None, session: str = "", key: str = ""
    ) -> Message: ...

    def read(
        self, after: int = 0, limit: int = 100, topics: Sequence[str] = (), sessions: Sequence[str] = ()
    ) -> Page: ...

    def wait(
        self, after: int, timeout: float = 20, topics: Sequence[str] = (), sessions: Sequence[str] = ()
    ) -> Page: ...


@dataclass
class Tools:
    live: Live
    token: str
    name: str = "tools"

    def _call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        answer = post(self.live.url, self.token, tool_call(tool, **arguments))
        if answer.status_code != 200:
            raise Shut(answer.text)
        # A wait answers as a stream, whose last event is the result.
        raw = [line[6:] for line in answer.text.splitlines() if line.startswith("data: ")][-1:] or [answer.text]
        result = json.loads(raw[0])["result"]
        if result["isError"]:
            raise Shut(result["content"][0]["text"])
        found: dict[str, Any] = result["structuredContent"]
        return found

    def send(
        self, body: str, *, topic: str = "", reply_to: int | None = None, session: str = "", key: str = ""
    ) -> Message:
        answers = {} if reply_to is None else {"reply_to": reply_to}
        sent = self._call("chat_send", body=body, topic=topic, session=session, idempotency_key=key, **answers)
        return alike(sent)

    def read(self, after: int = 0, limit: int = 100, topics: Sequence[str] = (), sessions: Sequence[str] = ()) -> Page:
        return Page(
            **self._call("chat_read", after=after, limit=limit, skip_topics=[*topics], skip_sessions=[*sessions])
        )

    def wait(self, after: int, timeout: float = 20, topics: Sequence[str] = (), sessions: Sequence[str] = ()) -> Page:
        return Page(
            **self._call("chat_wait", after=after, timeout=timeout, skip_topics=[*topics], skip_sessions=[*sessions])
        )


@dataclass
class Rest:
    live: Live
    token: str
    name: str = "rest"

    def _call(self, method: str, path: str, **options: Any) -> dict[str, Any]:
        headers = {"Authorization": f"Bearer {self.token}"} | options.pop("headers", {})
        with httpx.Client(base_url=self.live.url, trust_env=False, timeout=60, headers=headers) as client:
            answer = client.request(method, f"/api/chat/{path}", **options)
        if answer.status_code >= 400:
            raise Shut(answer.text)
        found: dict[str, Any] = answer.json()
        return found

    def send(
        self, body: str, *, topic: str = "", reply_to: int | None = None, session: str = "", key: str = ""
    ) -> Message:
        sent = {"body": body, "topic": topic, "reply_to": reply_to, "session": session}
        return alike(self._call("POST", "messages", json=sent, headers={"Idempotency-Key": key} if key else {}))

    def read(self, after: int = 0, limit: int = 100, topics: Sequence[str] = (), sessions: Sequence[str] = ()) -> Page:
        asked = {"after": after, "limit": limit, "skip_topics": [*topics], "skip_sessions": [*sessions]}
        return Page(**self._call("GET", "messages", params=asked))

    def wait(self, after: int, timeout: float = 20, topics: Sequence[str] = (), sessions: Sequence[str] = ()) -> Page:
        asked = {"after": after, "timeout": timeout, "skip_topics": [*topics], "skip_sessions": [*sessions]}
        return Page(**self._call("GET", "wait", params=asked))


@dataclass
class CommandLine:
    machine: Machine
    name: str = "command line"

    def _run(self, *args: str, nothing: int | None = None) -> list[Message]:
        done = self.machine.cli(*args, code=None)
        if done.returncode not in {0, nothing}:
            raise Shut(done.stderr)
        return [json.loads(line) for line in done.stdout.splitlines()]

    def send(
        self, body: str, *, topic: str = "", reply_to: int | None = None, session: str = "", key: str = ""
    ) -> Message:
        options = [f"--topic={topic}"] if topic else []
        options += [f"--reply-to={reply_to}"] if reply_to is not None else []
        options += [f"--session={session}"] if session else []
        options += [f"--key={key}"] if key else []
        [sent] = self._run("send", *options, "--json", "--", body)
        return alike(sent)

    def read(self, after: int = 0, limit: int = 100, topics: Sequence[str] = (), sessions: Sequence[str] = ()) -> Page:
        return self._page(
            after, self._run("read", "--json", f"--after={after}", f"--limit={limit}", *_skip(topics, sessions))
        )

    def wait(self, after: int, timeout: float = 20, topics: Sequence[str] = (), sessions: Sequence[str] = ()) -> Page:
        options = (f"--after={after}", f"--timeout={timeout}", *_skip(topics, sessions))
        return self._page(after, self._run("wait", "--json", *options, nothing=7))

    def _page(self, after: int, messages: list[Message]) -> Page:
        # It keeps its cursor to itself: who reads goes on from the last number that was printed.
        reached = messages[-1]["number"] if messages else after
        return Page(messages, reached, False, reached, "messages" if messages else "timeout")


def _skip(topics: Sequence[str], sessions: Sequence[str]) -> list[str]:
    return [f"--skip-topic={topic}" for topic in topics] + [f"--skip-session={name}" for name in sessions]
