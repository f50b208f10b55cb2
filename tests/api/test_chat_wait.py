"""Waiting for the account chat, in front of Django: what ends it, what doesn't, and how it says no."""

from __future__ import annotations

import asyncio
from typing import Any

import httpx
import pytest
from asgiref.sync import sync_to_async
from django.core.cache import cache

from agentroom.api.chat_wait import chat_wait
from agentroom.asgi import application
from messaging import chat
from rooms import membership
from rooms.models import Connection, User
from tests.api.post import Caller, by_hand
from tests.api.test_chat import of, say
from tests.approvals.kitchen import make_kitchen

pytestmark = pytest.mark.django_db(transaction=True)


async def alices() -> tuple[User, Caller]:
    cache.clear()
    alice = await sync_to_async(membership.make_person)("alice")
    return alice, await sync_to_async(of)(alice)


async def wait(caller: Caller, **query: Any) -> httpx.Response:
    transport = httpx.ASGITransport(app=application)  # type: ignore[arg-type]
    headers = {"Authorization": f"Bearer {caller.token}"} if caller.token else {}
    async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1", headers=headers) as client:
        return await client.get("/api/chat/wait", params=query, timeout=20)


async def begin(caller: Caller, **query: Any) -> asyncio.Future[httpx.Response]:
    """A wait that is under way."""
    call = asyncio.ensure_future(wait(caller, **query))
    await asyncio.wait({call}, timeout=0.3)
    assert not call.done(), call.result().text
    return call


async def test_a_wait_ends_with_the_first_message() -> None:
    _, baker = await alices()
    call = await begin(baker, timeout=20)
    number = await sync_to_async(say)(baker, "The oven is free.")
    told = (await asyncio.wait_for(call, 4)).json()
    assert ([message["body"] for message in told["messages"]], told["reason"]) == (["The oven is free."], "messages")
    assert (told["cursor"], told["has_more"], told["latest_seq"]) == (number, False, number)


async def test_what_is_there_already_needs_no_waiting_and_is_the_same_by_each_way() -> None:
    _, baker = await alices()
    await sync_to_async(say)(baker, "The oven is free.")
    answer = await asyncio.wait_for(wait(baker, timeout=20), 4)
    assert answer.json() == (await sync_to_async(baker.get)("chat/wait?timeout=20")).json()
    assert answer.headers["cache-control"] == "no-store"


async def test_a_wait_for_nothing_ends_in_time() -> None:
    _, baker = await alices()
    number = await sync_to_async(say)(baker, "old")
    began = asyncio.get_running_loop().time()
    told = (await wait(baker, after=number, timeout=0.5)).json()
    took = asyncio.get_running_loop().time() - began
    assert (told["messages"], told["reason"], told["cursor"]) == ([], "timeout", number)
    assert 0.4 < took < 5


async def test_ones_own_words_wake_nobody_who_leaves_them_out() -> None:
    _, baker = await alices()
    call = await begin(baker, timeout=20, skip_sessions="baker", skip_topics=["noise", "hum"])
    await sync_to_async(say)(baker, "mine", session="baker")
    await sync_to_async(say)(baker, "loud", topic="hum")
    await asyncio.wait({call}, timeout=1.5)
    assert not call.done()
    number = await sync_to_async(say)(baker, "theirs", session="bakers")
    told = (await asyncio.wait_for(call, 4)).json()
    assert ([message["body"] for message in told["messages"]], told["cursor"]) == (["theirs"], number)


async def test_switched_off_ends_a_wait_and_says_so() -> None:
    alice, baker = await alices()
    call = await begin(baker, timeout=20)
    await sync_to_async(chat.switch)(alice, on=False)
    answer = await asyncio.wait_for(call, 4)
    assert (answer.status_code, answer.json()["reason"], answer.json()["messages"]) == (200, "switched_off", [])
    refused = await wait(baker, timeout=20)
    assert (refused.status_code, refused.json()["code"]) == (403, "switched_off")


async def test_a_connection_that_ends_ends_its_wait() -> None:
    alice, baker = await alices()
    call = await begin(baker, timeout=20)
    made = await Connection.objects.aget(kind="account")
    await sync_to_async(membership.revoke_connection)(alice, made.pk)
    answer = await asyncio.wait_for(call, 4)
    assert (answer.status_code, answer.headers["content-type"]) == (401, "application/problem+json")
    assert answer.headers["www-authenticate"].startswith("Bearer")


async def test_a_wait_says_no_as_every_other_call_does() -> None:
    _, baker = await alices()
    for caller, query, status in (
        (Caller(""), {}, 401), (Caller("arc_unknown"), {}, 401), (baker, {"timeout": 51}, 422), (baker, {"x": 1}, 422),
    ):  # fmt: skip
        answer = await wait(caller, **query)
        assert (answer.status_code, answer.headers["content-type"]) == (status, "application/problem+json")
    transport = httpx.ASGITransport(app=application)  # type: ignore[arg-type]
    async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client:
        answer = await client.post("/api/chat/wait")
        assert (answer.status_code, answer.headers["allow"]) == (405, "GET")


async def test_an_agents_connection_does_not_wait_here() -> None:
    cache.clear()
    kitchen = await sync_to_async(make_kitchen)()
    answer = await wait(await sync_to_async(by_hand)(kitchen, kitchen.claude), timeout=20)
    assert (answer.status_code, answer.json()["code"]) == (403, "no_account")


async def test_who_hangs_up_is_waited_for_no_longer() -> None:
    _, baker = await alices()
    hung_up = asyncio.Event()
    answers: list[dict[str, Any]] = []

    async def receive() -> dict[str, Any]:
        if not asked:
            asked.append(True)
            return {"type": "http.request", "body": b"", "more_body": False}
        await hung_up.wait()
        return {"type": "http.disconnect"}

    async def send(message: dict[str, Any]) -> None:
        answers.append(message)

    asked: list[bool] = []
    headers = [(b"authorization", f"Bearer {baker.token}".encode())]
    scope = {
        "type": "http",
        "method": "GET",
        "path": "/api/chat/wait",
        "query_string": b"timeout=40",
        "headers": headers,
    }
    call = asyncio.ensure_future(chat_wait(scope | {"headers": headers}, receive, send))
    await asyncio.wait({call}, timeout=0.5)
    assert not call.done()
    hung_up.set()
    await asyncio.wait_for(call, 4)
    assert answers == []


async def test_no_message_is_passed_over_by_who_waits_again_and_again() -> None:
    """Each message comes while a wait begins, goes on or ends."""
    _, baker = await alices()
    numbers: list[int] = []

    async def write() -> None:
        for i in range(40):
            numbers.append(await sync_to_async(say)(baker, f"{i}"))
            await asyncio.sleep(0.013 * (i % 4))

    writing = asyncio.ensure_future(write())
    found: list[int] = []
    cursor = 0
    while len(found) < 40:
        told = (await asyncio.wait_for(wait(baker, after=cursor, timeout=10), 15)).json()
        assert told["reason"] == "messages"
        found += [message["number"] for message in told["messages"]]
        cursor = told["cursor"]
    await writing
    assert found == numbers
