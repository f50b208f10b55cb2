"""At the doors of the running product: nothing that was opened with a token outlives its account or its room."""

from __future__ import annotations

import time
from concurrent.futures import Future, ThreadPoolExecutor, wait

import httpx

from tests.live import HandMachine, Live, Person
from tests.mcp import http
from tests.mcp.peers import account_token, token_of

AT_ONCE = 4.0
"""Seconds; whatever waited would otherwise have waited for twenty."""


def agent_of(machine: HandMachine, handle: str) -> None:
    new = {"handle": handle, "runtime": "demo", "workdir": "/tmp"}
    assert machine.client.post("/api/machine/agents", json=new).status_code == 201


def get(live: Live, token: str, path: str) -> httpx.Response:
    return httpx.get(f"{live.url}/api/{path}", headers={"Authorization": f"Bearer {token}"}, timeout=30)


def delete_account(person: Person, **choices: str) -> None:
    page = person.press("/account/delete/", "Delete my account", {"handle": person.handle, **choices})
    assert "Your account is deleted" in page.text


def ended(call: Future[httpx.Response], since: float) -> int:
    status = call.result(timeout=25).status_code
    assert time.monotonic() - since < AT_ONCE
    return status


def test_an_accounts_tokens_end_at_once_at_every_door_also_while_they_wait(live: Live) -> None:
    alice, bob = live.person("alice"), live.person("bob")
    kitchen = bob.make_room("kitchen")
    alice.join(bob.invite(kitchen))
    machine = HandMachine(alice)
    agent_of(machine, "claude")
    alice.seat_agent(kitchen, "claude")
    own = account_token(alice)
    claudes = token_of(live, alice, "claude", kitchen)
    epoch = machine.sync().json()["epoch"]
    assert get(live, own, "chat/messages").status_code == 200
    assert get(live, claudes, "inbox").status_code == 200
    assert http.post(live.url, claudes, http.tool_call("room_history")).status_code == 200
    with ThreadPoolExecutor(4) as pool, alice.watch(kitchen) as alices:
        polls = [
            pool.submit(machine.sync, epoch=epoch, wait=20),
            pool.submit(get, live, own, "chat/wait?timeout=20"),
        ]
        assert not wait(polls, timeout=0.5).done
        began = time.monotonic()
        delete_account(alice)
        assert [ended(poll, began) for poll in polls] == [401, 401]
        while not alices.gone:
            alices.frame()
        assert time.monotonic() - began < AT_ONCE
    for token, path in ((own, "chat/messages"), (claudes, "inbox"), (machine.token, "machine/me")):
        assert get(live, token, path).status_code == 401, path
    for token, tool in ((claudes, "room_history"), (own, "chat_read")):
        answer = http.post(live.url, token, http.tool_call(tool))
        assert answer.status_code == 401 or answer.json()["result"]["isError"], answer.text
    assert "former member" in bob.room(kitchen).text
    machine.close()
