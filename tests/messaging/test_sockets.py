from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import Any

import pytest
from channels.routing import URLRouter
from channels.testing import WebsocketCommunicator
from django.conf import settings
from django.db import OperationalError
from django.test import Client
from django.utils import timezone

from agentroom_machine import wire
from approvals import control
from messaging import consumers, feed, log, nudge, viewer
from messaging.feed import feeds, in_thread
from messaging.models import Entry
from messaging.render import live
from messaging.routing import websocket_urlpatterns
from rooms.models import Member, User
from tests.approvals.kitchen import Kitchen, make_kitchen

pytestmark = pytest.mark.django_db(transaction=True)
application = URLRouter(websocket_urlpatterns)
DEADLINE = 20


@pytest.fixture
def kitchen(transactional_db: None) -> Kitchen:
    return make_kitchen()


def cookie(user: User) -> str:
    client = Client()
    client.force_login(user)
    return client.cookies[settings.SESSION_COOKIE_NAME].value


class Tab:
    """A page's socket: what it was sent, in order."""

    def __init__(self, path: str, session: str = "", origin: str = "http://testserver") -> None:
        headers = [(b"host", b"testserver"), (b"origin", origin.encode())]
        if session:
            headers.append((b"cookie", f"{settings.SESSION_COOKIE_NAME}={session}".encode()))
        self.socket = WebsocketCommunicator(application, path, headers=headers)
        self.frames: list[dict[str, Any]] = []
        self.closed: int | None = None
        self.acks = True

    async def open(self) -> bool:
        accepted, _ = await self.socket.connect(timeout=DEADLINE)
        return bool(accepted)

    async def receive(self, seconds: float = DEADLINE) -> dict[str, Any]:
        message = await self.socket.receive_output(timeout=seconds)
        if message["type"] == "websocket.close":
            self.closed = message.get("code")
            return {}
        frame: dict[str, Any] = json.loads(message["text"])
        self.frames.append(frame)
        if self.acks and "cursor" in frame:
            await self.ack(frame["cursor"])
        return frame

    async def ack(self, cursor: int) -> None:
        await self.socket.send_to(text_data=json.dumps({"ack": cursor}))

    async def until(self, right: Callable[[], bool]) -> None:
        async with asyncio.timeout(DEADLINE):
            while not right():
                await self.receive()

    @property
    def cursor(self) -> int:
        return max((frame["cursor"] for frame in self.frames if "cursor" in frame), default=0)

    @property
    def parts(self) -> list[dict[str, Any]]:
        return [part for frame in self.frames for part in frame.get("parts", ())]

    @property
    def numbers(self) -> list[int]:
        """The numbers of entries that stand by themselves, as they came."""
        return [part["seq"] for part in self.parts if part["target"] == "entries"]

    @property
    def html(self) -> str:
        return "".join(part["html"] for part in self.parts)


@asynccontextmanager
async def tab(kitchen: Kitchen, user: User, *, after: int | None = None) -> AsyncIterator[Tab]:
    session = await in_thread(cookie, user)
    start = await in_thread(head, kitchen) if after is None else after
    opened = Tab(f"ws/rooms/{kitchen.room.pk}/?after={start}", session)
    assert await opened.open()
    try:
        yield opened
    finally:
        await opened.socket.disconnect(timeout=DEADLINE)


def head(kitchen: Kitchen) -> int:
    kitchen.room.refresh_from_db()
    return kitchen.room.last_seq


def many(kitchen: Kitchen, count: int, *, start: int = 0) -> list[int]:
    author = kitchen.seat(kitchen.bob)
    new = [log.New(Entry.Kind.MESSAGE, author=author, body=f"message {start + n}") for n in range(count)]
    return [entry.seq for entry in log.append(kitchen.room.pk, *new)]


async def test_absent_and_forbidden_sockets_look_alike(kitchen: Kitchen) -> None:
    stranger, member = await in_thread(cookie, kitchen.charlie), await in_thread(cookie, kitchen.bob)
    room = f"ws/rooms/{kitchen.room.pk}/"

    answers = [
        await Tab(path, session, origin).socket.connect(timeout=DEADLINE)
        for path, session, origin in (
            (room, stranger, "http://testserver"),
            ("ws/rooms/999999/", member, "http://testserver"),
            (room, "", "http://testserver"),
            (room, "no-such-session", "http://testserver"),
            (room, member, "http://evil.example"),
            (room, member, ""),
            ("ws/me/", member, "http://evil.example"),
            ("ws/me/", "", "http://testserver"),
        )
    ]
    assert [accepted for accepted, _ in answers] == [False] * 8
    assert len({code for _, code in answers}) == 1


async def test_what_is_said_arrives_in_order_and_once(kitchen: Kitchen) -> None:
    async with tab(kitchen, kitchen.vera) as page:
        first = await in_thread(many, kitchen, 3)
        await page.until(lambda: page.cursor >= first[-1])
        second = await in_thread(many, kitchen, 2, start=3)
        await page.until(lambda: page.cursor >= second[-1])

        assert page.numbers == first + second
        assert "message 4" in page.html


async def test_nothing_is_lost_between_drawing_the_page_and_opening_its_socket(kitchen: Kitchen) -> None:
    drawn_at = await in_thread(head, kitchen)
    expected = await in_thread(many, kitchen, 5)
    async with tab(kitchen, kitchen.bob, after=drawn_at) as page:
        expected += await in_thread(many, kitchen, 5)
        await page.until(lambda: page.cursor >= expected[-1])

        assert page.numbers == expected


async def test_a_burst_reaches_a_slow_page_whole_and_holds_up_nobody(kitchen: Kitchen) -> None:
    async with tab(kitchen, kitchen.bob) as slow, tab(kitchen, kitchen.alice) as quick:
        slow.acks = False
        expected: list[int] = []
        for start in range(0, 1000, 100):
            expected += await in_thread(many, kitchen, 100, start=start)
        await quick.until(lambda: quick.cursor >= expected[-1])
        assert quick.numbers == expected

        while await slow.socket.receive_nothing(timeout=0.3) is False:
            await slow.receive()
        begun = expected[0] - 1
        assert begun < slow.cursor <= begun + feed.WINDOW + 500
        assert slow.cursor < expected[-1]

        slow.acks = True
        await slow.ack(slow.cursor)
        await slow.until(lambda: slow.cursor >= expected[-1])
        assert slow.numbers == expected


async def test_a_lost_nudge_costs_a_moment_and_no_entry(kitchen: Kitchen, monkeypatch: pytest.MonkeyPatch) -> None:
    async with tab(kitchen, kitchen.bob) as page:
        monkeypatch.setattr(nudge, "_send", lambda topic: None)
        expected = await in_thread(many, kitchen, 3)
        await page.until(lambda: page.cursor >= expected[-1])

        assert page.numbers == expected


async def test_a_removed_member_is_sent_nothing_more(kitchen: Kitchen) -> None:
    def remove_and_talk() -> None:
        control.remove_member(kitchen.alice, kitchen.seat(kitchen.bob).pk)
        many(kitchen, 3)

    async with tab(kitchen, kitchen.bob) as bob, tab(kitchen, kitchen.alice) as alice:
        await in_thread(many, kitchen, 1)
        await bob.until(lambda: len(bob.numbers) == 1)
        began = asyncio.get_running_loop().time()
        await in_thread(remove_and_talk)
        while bob.closed is None:
            await bob.receive()
        assert asyncio.get_running_loop().time() - began < 2
        await alice.until(lambda: len(alice.numbers) >= 5)

        assert bob.closed == consumers.GONE
        assert bob.frames[-1] == {"gone": True}
        assert "removed bob" not in bob.html
        assert len(bob.numbers) == 1


async def test_a_guest_whose_time_is_over_is_sent_nothing_more(kitchen: Kitchen) -> None:
    def soon_over() -> None:
        seat = kitchen.seat(kitchen.vera)
        Member.objects.filter(pk=seat.pk).update(expires_at=timezone.now() + timedelta(seconds=1))

    await in_thread(soon_over)
    async with tab(kitchen, kitchen.vera) as page:
        while page.closed is None:
            await page.receive()

        assert page.frames[-1] == {"gone": True}


async def test_who_signed_out_is_sent_nothing_more(kitchen: Kitchen, monkeypatch: pytest.MonkeyPatch) -> None:
    def sign_out(session: str) -> None:
        client = Client()
        client.cookies[settings.SESSION_COOKIE_NAME] = session
        client.logout()

    monkeypatch.setattr(feed, "RECHECK", 0)
    session = await in_thread(cookie, kitchen.bob)
    page = Tab(f"ws/rooms/{kitchen.room.pk}/?after={await in_thread(head, kitchen)}", session)
    assert await page.open()
    await in_thread(sign_out, session)
    await in_thread(many, kitchen, 1)
    while page.closed is None:
        await page.receive()

    assert page.numbers == []


async def test_a_page_that_is_far_behind_is_told_to_draw_itself_anew(
    kitchen: Kitchen, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(feed, "FURTHEST", 50)
    before = await in_thread(head, kitchen)
    last = (await in_thread(many, kitchen, 100))[-1]
    async with tab(kitchen, kitchen.bob, after=before) as page:
        await page.until(lambda: page.cursor >= last)

        assert page.frames[0]["gap"] is True
        assert page.frames[0]["parts"] == []


async def test_frames_hold_nothing_that_only_some_may_see(kitchen: Kitchen) -> None:
    def ask() -> None:
        kitchen.ask(kitchen.bob, "@claude deploy")
        kitchen.ask(kitchen.alice, "@claude release")
        turn = kitchen.daemon.run()
        kitchen.daemon.tell(
            turn,
            wire.QuestionFact(key="k", subject="push", title="t", action="git push --token=hush", short="Push it"),
        )

    async with tab(kitchen, kitchen.alice) as page:
        await in_thread(ask)
        await page.until(lambda: "Push it" in page.html)

        assert "hush" not in page.html
        assert "<form" not in page.html
        assert "csrf" not in page.html


async def test_a_running_turn_arrives_step_by_step(kitchen: Kitchen) -> None:
    def begin() -> int:
        kitchen.ask(kitchen.alice, "@claude measure")
        return kitchen.daemon.run()

    async with tab(kitchen, kitchen.bob) as page:
        turn = await in_thread(begin)
        await page.until(lambda: any(part["id"] == f"t{turn}-state" for part in page.parts) or "working" in page.html)
        before = len(page.parts)
        await in_thread(
            kitchen.daemon.tell,
            turn,
            wire.ToolCallFact(call="c", title="pytest", state="running", output="collecting"),
            wire.TextFact(part="a", text="It is slow."),
        )
        await page.until(lambda: "It is slow." in page.html)
        fresh = page.parts[before:]
        assert {part["id"] for part in fresh} >= {f"t{turn}-open", f"t{turn}-texts"}
        assert not any(part["id"] == f"t{turn}-group" for part in fresh)
        await in_thread(kitchen.daemon.end, turn)
        await page.until(lambda: "done in" in page.html)


async def test_a_feed_is_let_go_when_its_last_page_closes(kitchen: Kitchen) -> None:
    async with tab(kitchen, kitchen.bob):
        async with tab(kitchen, kitchen.alice):
            assert kitchen.room.pk in feeds.feeds
            assert len(feeds.feeds[kitchen.room.pk].readers) == 2
        assert kitchen.room.pk in feeds.feeds

    assert kitchen.room.pk not in feeds.feeds


async def test_the_persons_own_socket_only_says_look(kitchen: Kitchen) -> None:
    page = Tab("ws/me/", await in_thread(cookie, kitchen.alice))
    assert await page.open()
    await in_thread(kitchen.ask, kitchen.bob, "@claude deploy")

    assert await page.receive() == {"look": True}
    await page.socket.disconnect(timeout=DEADLINE)


async def test_a_quiet_socket_still_beats(kitchen: Kitchen, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(feed, "BEAT", 0.1)
    async with tab(kitchen, kitchen.bob) as page:
        frame = await page.receive(2)

        assert frame["parts"] == []
        assert frame["cursor"] == await in_thread(head, kitchen)


@pytest.mark.parametrize("nonsense", ["[" * 100_000, "[]", "null", '{"ack": "x"}', '{"ack": 99999999999}', "\x00"])
async def test_nonsense_from_a_page_harms_nothing(kitchen: Kitchen, nonsense: str) -> None:
    async with tab(kitchen, kitchen.bob) as page:
        await page.socket.send_to(text_data=nonsense)
        expected = await in_thread(many, kitchen, 2)
        await page.until(lambda: page.cursor >= expected[-1])

        assert page.numbers == expected


async def test_a_page_whose_feed_failed_comes_back_from_where_it_is(
    kitchen: Kitchen, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Told that its right ended, it would reload itself into an error page."""
    real = viewer.seat_of
    looked: list[int] = []

    def fails_once(session_key: str, room_id: int) -> Any:
        looked.append(room_id)
        if len(looked) == 1:
            raise OperationalError("the database is away")
        return real(session_key, room_id)

    async with tab(kitchen, kitchen.bob) as page:
        monkeypatch.setattr(feed, "RECHECK", 0)
        monkeypatch.setattr(feed, "seat_of", fails_once)
        said = await in_thread(many, kitchen, 3)
        while page.closed is None:
            await page.receive()
        assert page.closed not in {consumers.GONE, 1000}
        assert not any("gone" in frame for frame in page.frames)
        came = page.cursor or said[0] - 1
    async with tab(kitchen, kitchen.bob, after=came) as again:
        await again.until(lambda: again.cursor >= said[-1])
        assert page.numbers + again.numbers == said


async def test_a_frame_that_could_not_be_made_loses_no_question(
    kitchen: Kitchen, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = live.text_of
    made: list[str] = []

    def fails_once(*args: Any, **kwargs: Any) -> str:
        made.append("")
        if len(made) == 1:
            raise OperationalError("the database is away")
        return real(*args, **kwargs)

    def begin() -> int:
        kitchen.ask(kitchen.alice, "@claude measure")
        return kitchen.daemon.run()

    async with tab(kitchen, kitchen.alice) as page:
        turn = await in_thread(begin)
        await page.until(lambda: "working" in page.html)
        monkeypatch.setattr(live, "text_of", fails_once)
        asked = wire.QuestionFact(key="k", subject="push", title="t", action="git push", short="Push it")
        await in_thread(kitchen.daemon.tell, turn, asked)
        await page.until(lambda: "Push it" in page.html)
        assert len(made) > 1
        assert turn in {number for frame in page.frames[-2:] for number in frame.get("turns", ())}


async def test_blanking_an_old_message_does_not_put_it_on_top_of_pages_that_begin_later(kitchen: Kitchen) -> None:
    old = (await in_thread(many, kitchen, 60))[0]
    async with tab(kitchen, kitchen.bob) as page:
        await in_thread(control.blank, kitchen.bob, kitchen.room.pk, old)
        await page.until(lambda: any(part["id"] == f"e{old}" for part in page.parts))
        modes = {part["seq"]: part["mode"] for part in page.parts if part["target"] == "entries"}
        assert modes == {old: "replace", old + 60: "append"}
