"""The machine's doors, as a machine sees them."""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import Awaitable, Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import httpx
import pytest
from asgiref.sync import sync_to_async
from django.core.cache import cache
from django.test import Client
from pytest_django.fixtures import Settings

from agentroom.api import edge
from agentroom.asgi import application
from agentroom_machine import wire
from agentroom_machine.daemon.journal import Journal
from approvals import control, turns
from approvals.models import Turn
from messaging import mail
from messaging.models import Entry
from rooms import membership, tokens
from rooms.models import Connection, Machine
from tests.approvals.kitchen import Daemon, Kitchen, key, make_kitchen

TOKEN, OTHER = "arm_" + "m" * 43, "arc_" + "c" * 43
WISH = {"name": "alice-laptop", "token_hash": tokens.digest(TOKEN), "connection_hash": tokens.digest(OTHER)}


@pytest.fixture
def kitchen(db: None) -> Kitchen:
    made = make_kitchen()
    Machine.objects.filter(pk=made.daemon.machine.pk).update(token_hash=tokens.digest(TOKEN))
    return made


def call(method: str, path: str, body: Any = None, *, token: str = TOKEN, **more: Any) -> Any:
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    return Client().generic(
        method,
        f"/api/machine/{path}",
        body
        if isinstance(body, bytes)
        else (httpx.Request("POST", "http://x", json=body).content if body is not None else b""),
        content_type="application/octet-stream" if isinstance(body, bytes) else "application/json",
        headers=headers,
        **more,
    )


def test_a_machine_is_paired_without_the_server_ever_seeing_its_secrets(db: None) -> None:
    alice = membership.make_person("alice")
    reply = wire.PairReply.model_validate_json(call("POST", "pairings", WISH, token="").content)
    assert reply.url.endswith(f"/pair/?code={reply.user_code}")
    assert call("GET", "pairing").json()["state"] == "waiting"
    assert call("GET", "me").status_code == 401
    membership.confirm_pairing(alice, reply.user_code)
    assert call("GET", "pairing").json() == {
        "state": "paired",
        "machine_id": Machine.objects.get().pk,
        "name": "alice-laptop",
        "owner": "alice",
    }
    assert call("GET", "me").json()["owner"] == "alice"
    assert Connection.objects.get().token_hash == tokens.digest(OTHER)


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "me"), ("GET", "agents"), ("POST", "agents"), ("PATCH", "agents/claude"), ("DELETE", "agents/claude"),
        ("POST", "turns/1/start"), ("POST", "facts"), ("POST", "stop"), ("HEAD", "files/" + "0" * 64),
        ("PUT", "files/" + "0" * 64), ("GET", "turns/1/files/" + "0" * 64),
    ],
)  # fmt: skip
@pytest.mark.parametrize("token", ["", "arm_wrong", "arm_\udcff"])
def test_no_door_opens_without_a_known_token(kitchen: Kitchen, method: str, path: str, token: str) -> None:
    bodies: dict[str, Any] = {
        "agents": {"handle": "x", "runtime": "demo", "workdir": "/"},
        "turns/1/start": {"claim_id": "x", "journal_id": "x", "epoch": 1},
        "facts": {"journal_id": "x", "facts": []},
    }
    body = bodies.get(path, {}) if method in ("POST", "PATCH") else None
    answer = call(method, path, body, token=token.encode("utf-8", "replace").decode())
    assert answer.status_code == 401
    if method != "HEAD":
        assert answer["Content-Type"] == "application/problem+json"
        assert answer.json()["code"] == "unauthorised"


def test_nothing_is_read_before_the_token_is_known(kitchen: Kitchen, monkeypatch: pytest.MonkeyPatch) -> None:
    def read(*args: Any) -> None:
        raise AssertionError("it was read")

    monkeypatch.setattr(edge.CleanJSON, "parse_body", read)
    monkeypatch.setattr(edge, "fits", read)
    for method, path in (("POST", "facts"), ("POST", "agents"), ("PATCH", "agents/claude"), ("POST", "stop")):
        assert call(method, path, {"x": "x" * 2_000_000}, token="arm_wrong").status_code == 401


def test_what_is_too_large_is_not_read_and_the_largest_batch_fits(
    kitchen: Kitchen, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    kitchen.ask(kitchen.alice, "@claude one")
    turn = kitchen.daemon.run()
    with closing(Journal(tmp_path / "journal")) as journal:
        for _ in range(wire.MAX_FACTS):
            journal.add(turn, wire.TextFact(part="1", text="x" * 6_000))
        batch = journal.pending()
    report = wire.Report(journal_id="journal-1", facts=batch).model_dump(mode="json")
    assert len(json.dumps(report)) > 1_000_000
    assert call("POST", "facts", report).json() == {"acked": len(batch), "refused": {}}
    largest = wire.QuestionFact(
        key="k", subject="push", title="\x1b" * 2_000, action="\x1b" * wire.MAX_TEXT, short="\x1b" * 2_000
    )
    one = wire.Report(journal_id="journal-1", facts=[wire.Numbered(n=len(batch) + 1, turn_id=turn, fact=largest)])
    assert call("POST", "facts", one.model_dump(mode="json")).json()["acked"] == len(batch) + 1

    def read(*args: Any) -> None:
        raise AssertionError("it was read")

    monkeypatch.setattr(edge.CleanJSON, "parse_body", read)
    assert call("POST", "facts", {"x": "x" * 2_000_000}).status_code == 413
    assert call("POST", "pairings", WISH | {"name": "x" * 10_000}, token="").status_code == 413


def test_a_machine_calls_so_often_a_minute_and_another_all_the_same(kitchen: Kitchen, settings: Settings) -> None:
    settings.MACHINE_CALLS_PER_MINUTE = 2
    Machine.objects.filter(pk=kitchen.danas.machine.pk).update(token_hash=tokens.digest("arm_dana"))
    cache.clear()
    # A minute may begin in between.
    refused = [answer for _ in range(5) if (answer := call("GET", "me")).status_code != 200]
    assert refused[0].status_code == 429
    assert 1 <= int(refused[0]["Retry-After"]) <= 60
    assert call("GET", "me", token="arm_dana").status_code == 200


def test_a_revoked_machine_is_told_so(kitchen: Kitchen) -> None:
    control.revoke_machine(kitchen.alice, kitchen.daemon.machine.pk)
    answer = call("GET", "me")
    assert (answer.status_code, answer.json()["code"]) == (401, "revoked")


def test_an_agents_connection_is_no_machine(kitchen: Kitchen) -> None:
    _, token = membership.connect(kitchen.alice, agent=kitchen.claude.pk, room=kitchen.room.pk, name="by hand")
    assert call("GET", "me", token=token).status_code == 401


def test_agents_are_registered_edited_and_removed(kitchen: Kitchen) -> None:
    made = call("POST", "agents", {"handle": "nightly", "runtime": "demo", "workdir": "/srv/x"})
    assert (made.status_code, made.json()["here"]) == (201, True)
    again = call("POST", "agents", {"handle": "nightly", "runtime": "demo", "workdir": "/srv/x"})
    assert (again.status_code, again.json()["code"]) == (409, "conflict")
    edited = call("PATCH", "agents/nightly", {"model": "small", "paused": True})
    assert (edited.json()["model"], edited.json()["paused"], edited.json()["workdir"]) == ("small", True, "/srv/x")
    assert {agent["handle"] for agent in call("GET", "agents").json()} == {"claude", "codex", "nightly"}
    assert call("DELETE", "agents/nightly").status_code == 204
    assert call("DELETE", "agents/nightly").status_code == 404


def test_somebody_elses_agent_is_absent(kitchen: Kitchen) -> None:
    assert call("PATCH", "agents/gemini", {"model": "x"}).status_code == 404
    assert call("DELETE", "agents/gemini").status_code == 404


def test_input_that_does_not_fit_names_the_field(kitchen: Kitchen) -> None:
    answer = call("POST", "agents", {"handle": "Not A Handle", "runtime": "demo", "workdir": "/"})
    assert answer.status_code == 422
    assert "handle" in answer.json()["detail"]


def test_stop_for_one_person_or_agent_cancels_theirs_alone(kitchen: Kitchen) -> None:
    waits = {agent: kitchen.turn(kitchen.ask(kitchen.bob, f"@{agent} go")) for agent in ("claude", "codex")}
    assert call("POST", "stop", {"agent": "gemini"}).status_code == 422
    assert call("POST", "stop", {"person": "bob", "agent": "codex"}).json() == {"cancelled": 1, "stopping": 0}
    assert {agent: Turn.objects.get(pk=turn.pk).status for agent, turn in waits.items()} == {
        "claude": "asked",
        "codex": "cancelled",
    }


def test_a_produced_file_goes_up_once_and_only_as_what_it_is(kitchen: Kitchen) -> None:
    content = b"\x89PNG and so on"
    sha256 = hashlib.sha256(content).hexdigest()
    assert call("HEAD", f"files/{sha256}").status_code == 404
    assert call("PUT", f"files/{sha256}", b"something else").status_code == 422
    assert call("HEAD", f"files/{sha256}").status_code == 404
    for _ in range(2):
        assert call("PUT", f"files/{sha256}", content).status_code == 204
    assert call("HEAD", f"files/{sha256}").status_code == 200
    assert call("PUT", "files/not-a-hash", content).status_code == 422


def test_an_attached_file_reaches_the_machine_that_runs_the_request_and_no_other(kitchen: Kitchen) -> None:
    from messaging import files

    source = f"room-{kitchen.room.pk}"
    sha256, size = files.store(source, [b"a recipe"])
    file = mail.File(source, sha256, "recipe.txt", "text/plain", size)
    entry = turns.ask(kitchen.alice, kitchen.room.pk, body="@claude cook", client_id=key(), files=[file])
    path = f"turns/{Turn.objects.get(entry=entry).pk}/files/{sha256}"
    assert call("GET", path).status_code == 404, "not before it is offered"
    kitchen.daemon.take()
    assert b"".join(call("GET", path).streaming_content) == b"a recipe"
    Machine.objects.filter(pk=kitchen.danas.machine.pk).update(token_hash=tokens.digest("arm_dana"))
    assert call("GET", path, token="arm_dana").status_code == 404


def test_a_start_that_may_not_be_is_a_conflict_and_is_remembered(kitchen: Kitchen) -> None:
    kitchen.ask(kitchen.alice, "@claude one")
    offer = kitchen.daemon.take()[0]
    membership_gone = kitchen.seat(kitchen.claude)
    body = {"claim_id": offer.claim_id, "journal_id": "journal-1", "epoch": kitchen.daemon.epoch}
    assert call("POST", f"turns/{offer.turn_id}/start", {**body, "epoch": 0}).json()["code"] == "superseded"
    control.remove_member(kitchen.alice, membership_gone.pk)
    assert call("POST", f"turns/{offer.turn_id}/start", body).status_code == 409
    assert Turn.objects.get(pk=offer.turn_id).status == "cancelled"


def test_facts_come_in_over_the_wire(kitchen: Kitchen) -> None:
    kitchen.ask(kitchen.alice, "@claude one")
    turn = kitchen.daemon.run()
    report = wire.Report(
        journal_id="journal-1", facts=[wire.Numbered(n=1, turn_id=turn, fact=wire.TextFact(part="1", text="Hello."))]
    )
    assert call("POST", "facts", report.model_dump(mode="json")).json() == {"acked": 1, "refused": {}}
    assert Entry.objects.get(kind="text").body == "Hello."


# --- the long poll ----------------------------------------------------------------------------------------------------

Sync = Callable[..., Awaitable[httpx.Response]]


@pytest.fixture
def sync() -> Sync:
    async def post(daemon: Daemon, *, wait: float = 0, token: str = TOKEN, **change: Any) -> httpx.Response:
        request = (await sync_to_async(daemon.request)()).model_copy(update={"wait": wait, **change})
        transport = httpx.ASGITransport(app=application)  # type: ignore[arg-type]
        async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client:
            return await client.post(
                "/api/machine/sync",
                content=request.model_dump_json(),
                headers={"Authorization": f"Bearer {token}", "Content-Type": "application/json"},
                timeout=20,
            )

    return post


@pytest.mark.django_db(transaction=True)
async def test_a_waiting_machine_hears_of_a_request_at_once(sync: Sync) -> None:
    kitchen = await sync_to_async(make_kitchen)()
    await Machine.objects.filter(pk=kitchen.daemon.machine.pk).aupdate(token_hash=tokens.digest(TOKEN))
    waiting = asyncio.ensure_future(sync(kitchen.daemon, wait=20))
    await asyncio.wait({waiting}, timeout=0.3)
    assert not waiting.done()
    await sync_to_async(kitchen.ask)(kitchen.alice, "@claude one")
    reply = wire.SyncReply.model_validate_json((await asyncio.wait_for(waiting, 4)).content)
    assert [offer.body for offer in reply.offers] == ["@claude one"]


@pytest.mark.django_db(transaction=True)
async def test_a_wait_with_nothing_to_tell_ends_in_time_with_what_there_is(sync: Sync) -> None:
    kitchen = await sync_to_async(make_kitchen)()
    await Machine.objects.filter(pk=kitchen.daemon.machine.pk).aupdate(token_hash=tokens.digest(TOKEN))
    reply = wire.SyncReply.model_validate_json((await sync(kitchen.daemon, wait=0.2)).content)
    assert (reply.offers, [agent.handle for agent in reply.agents]) == ([], ["claude", "codex"])


@pytest.mark.django_db(transaction=True)
async def test_a_revoked_machine_hears_so_while_it_waits(sync: Sync) -> None:
    kitchen = await sync_to_async(make_kitchen)()
    await Machine.objects.filter(pk=kitchen.daemon.machine.pk).aupdate(token_hash=tokens.digest(TOKEN))
    waiting = asyncio.ensure_future(sync(kitchen.daemon, wait=20))
    await asyncio.wait({waiting}, timeout=0.3)
    await sync_to_async(control.revoke_machine)(kitchen.alice, kitchen.daemon.machine.pk)
    answer = await asyncio.wait_for(waiting, 4)
    assert (answer.status_code, answer.json()["code"]) == (401, "revoked")


@pytest.mark.django_db(transaction=True)
async def test_hello_names_the_epoch_and_an_older_daemon_is_superseded(sync: Sync) -> None:
    kitchen = await sync_to_async(make_kitchen)()
    await Machine.objects.filter(pk=kitchen.daemon.machine.pk).aupdate(token_hash=tokens.digest(TOKEN))
    hello = await asyncio.wait_for(sync(kitchen.daemon, epoch=None, instance="start-2", wait=20), 5)
    assert hello.json()["epoch"] == 2
    old = await sync(kitchen.daemon)
    assert (old.status_code, old.json()["code"]) == (409, "superseded")


@pytest.mark.parametrize(
    ("body", "status"), [(b"", 422), (b"{", 422), (b"[]", 422), (b'{"instance": "a b"}', 422), (b"x" * 600_000, 413)]
)
@pytest.mark.django_db(transaction=True)
async def test_a_report_that_does_not_fit_is_refused(body: bytes, status: int) -> None:
    transport = httpx.ASGITransport(app=application)  # type: ignore[arg-type]
    async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client:
        answer = await client.post("/api/machine/sync", content=body, headers={"Authorization": f"Bearer {TOKEN}"})
        assert (answer.status_code, answer.headers["content-type"]) == (status, "application/problem+json")
        assert (await client.get("/api/machine/sync")).status_code == 405
        unknown = await client.post("/api/machine/sync", content=b'{"instance": "a", "journal_id": "b"}')
        assert unknown.status_code == 401


def test_a_session_gets_a_token_of_its_own_and_the_one_before_ends(kitchen: Kitchen) -> None:
    def bind(token: str, agent: int = kitchen.claude.pk, room: int = kitchen.room.pk) -> Any:
        return call("POST", "connections", {"agent_id": agent, "room_id": room, "token_hash": tokens.digest(token)})

    def bound() -> set[str]:
        return set(
            Connection.objects.filter(machine=kitchen.daemon.machine, revoked_at=None).values_list(
                "token_hash", flat=True
            )
        )

    before = bound()
    first = bind("arc_one")
    assert first.status_code == 201
    made = Connection.objects.get(pk=first.json()["id"])
    assert (made.kind, made.user, made.agent, made.room) == ("agent", kitchen.alice, kitchen.claude, kitchen.room)
    assert bind("arc_one").json() == first.json(), "the same again is the same"
    assert bind("arc_two").status_code == 201
    assert bound() - before == {tokens.digest("arc_two")}
    assert bind("arc_two", kitchen.codex.pk).status_code == 409, "a token is one session's"
    # Neither another owner's agent, nor a room where it does not sit, nor one that is not there.
    elsewhere = membership.create_room(kitchen.alice, name="cellar")
    for agent, room in ((kitchen.gemini.pk, kitchen.room.pk), (kitchen.claude.pk, elsewhere.pk), (987654, 987654)):
        assert bind("arc_three", agent, room).status_code == 404
    control.remove_member(kitchen.alice, kitchen.seat(kitchen.claude).pk)
    assert not bound() - before, "it ends with the seat"
    assert bind("arc_four").status_code == 404


def test_a_sessions_token_ends_with_its_machine(kitchen: Kitchen) -> None:
    digest = tokens.digest("arc_one")
    call("POST", "connections", {"agent_id": kitchen.claude.pk, "room_id": kitchen.room.pk, "token_hash": digest})
    control.revoke_machine(kitchen.alice, kitchen.daemon.machine.pk)
    assert Connection.objects.get(token_hash=digest).revoked_at is not None
