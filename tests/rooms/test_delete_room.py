"""A room goes for good: what is left is its number, which nobody gets again, and what the trails say."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest
from allauth.idp.oidc.models import Client, Token
from django.core.management import call_command
from django.db import connection

from agentroom import auth
from agentroom.auth import Unauthorised
from agentroom_machine import wire
from approvals import audit, control, limits, turns
from approvals.models import AuditRecord, Turn
from messaging import files, log, mail
from messaging.models import Attachment, Entry, Recipient
from messaging.verify import verify
from rooms import access, membership
from rooms.errors import Invalid, NotFound, Refused
from rooms.models import Connection, Member, Room
from rooms.tokens import digest
from tests.approvals.kitchen import Kitchen, join, key

pytestmark = pytest.mark.django_db
Commit = Callable[..., Any]


@pytest.fixture
def kitchen(kitchen: Kitchen, settings: Any, tmp_path: Path) -> Kitchen:
    settings.MEDIA_ROOT = tmp_path
    return kitchen


def delete(kitchen: Kitchen, **more: Any) -> control.Loss:
    given: dict[str, Any] = {"name": "kitchen", "recently": True} | more
    return control.delete_room(kitchen.alice, kitchen.room.pk, **given)


def attach(kitchen: Kitchen, room: Room, words: bytes) -> Path:
    sha256, size = files.store(f"room-{room.pk}", [words])
    file = mail.File(f"room-{room.pk}", sha256, "recipe.txt", "text/plain", size)
    turns.ask(kitchen.alice, room.pk, body="the recipe", client_id=key(), files=[file])
    return files.path(f"room-{room.pk}", sha256)


def produce(kitchen: Kitchen, turn: int, picture: bytes) -> Path:
    source = f"machine-{kitchen.daemon.machine.pk}"
    sha256, size = files.store(source, [picture])
    kitchen.daemon.tell(turn, wire.ArtifactFact(sha256=sha256, name="cake.png", content_type="image/png", size=size))
    return files.path(source, sha256)


def lived_in(kitchen: Kitchen) -> tuple[Turn, Turn]:
    """One turn that runs and asks, one that waits."""
    control.set_grant(kitchen.alice, agent_id=kitchen.claude.pk, member_id=kitchen.seat(kitchen.bob).pk, level="always")
    running = kitchen.turn(kitchen.ask(kitchen.bob, "@claude bake"))
    kitchen.daemon.run()
    question = wire.QuestionFact(key="q", subject="push", title="Push", action="git push", short="push")
    kitchen.daemon.tell(running.pk, question, wire.UndoableFact(changed=["cake.txt"]))
    return running, kitchen.turn(kitchen.ask(kitchen.dana, "@codex wash up"))


def test_nothing_is_left_of_it_in_any_table(kitchen: Kitchen) -> None:
    lived_in(kitchen)
    turns.send(
        kitchen.seat(kitchen.claude), None, to=["codex"], body="look", client_id=key(), connection="connection:1"
    )
    seats = set(Member.objects.filter(room=kitchen.room).values_list("pk", flat=True))
    loss = delete(kitchen)
    assert (loss.people, loss.agents, loss.running, loss.waiting) == (3, 3, 1, 2)
    assert not Room.objects.filter(pk=kitchen.room.pk).exists()
    assert not Member.objects.filter(pk__in=seats).exists()
    for model, rows in ((Entry, {"room": kitchen.room.pk}), (Turn, {"room": kitchen.room.pk}), (Recipient, {})):
        assert not model.objects.filter(**rows).exists(), model
    # Constraints that wait for the commit are asked now.
    connection.check_constraints()


def test_what_ran_is_stopped_what_waited_cancelled_and_the_machines_hear_it(
    kitchen: Kitchen, monkeypatch: pytest.MonkeyPatch
) -> None:
    running, _ = lived_in(kitchen)
    nudged: set[str] = set()
    monkeypatch.setattr("messaging.nudge._after_commit", nudged.add)
    delete(kitchen)
    kitchen.daemon.questions = ["q"]
    reply = kitchen.daemon.sync()
    assert running.pk in reply.withdrawn
    assert not reply.offers
    laptop, desk = kitchen.daemon.machine.pk, kitchen.danas.machine.pk
    people = {f"user:{user.pk}" for user in (kitchen.alice, kitchen.bob, kitchen.vera, kitchen.dana)}
    assert people | {f"machine:{laptop}", f"machine:{desk}", f"room:{kitchen.room.pk}"} <= nudged
    assert f"user:{kitchen.charlie.pk}" not in nudged


def test_open_pages_of_a_quiet_room_look_at_once(kitchen: Kitchen, monkeypatch: pytest.MonkeyPatch) -> None:
    nudged: set[str] = set()
    monkeypatch.setattr("messaging.nudge._after_commit", nudged.add)
    delete(kitchen)
    assert f"room:{kitchen.room.pk}" in nudged


def test_what_its_machine_reports_afterwards_is_dropped_and_breaks_nothing(kitchen: Kitchen) -> None:
    running, _ = lived_in(kitchen)
    delete(kitchen)
    receipt = kitchen.daemon.tell(running.pk, wire.TextFact(part="1", text="baked"), wire.EndFact(state="done"))
    assert (receipt.acked, set(receipt.refused)) == (kitchen.daemon.n, {kitchen.daemon.n - 1, kitchen.daemon.n})


def test_the_trails_keep_what_was_asked_and_decided(kitchen: Kitchen) -> None:
    lived_in(kitchen)
    before = {owner: AuditRecord.objects.filter(owner=owner).count() for owner in (kitchen.alice, kitchen.dana)}
    delete(kitchen)
    alices, danas = (AuditRecord.objects.filter(owner=owner) for owner in (kitchen.alice, kitchen.dana))
    assert alices.count() > before[kitchen.alice]
    said = list(alices.order_by("number").values_list("what", "decision"))
    assert {("end", "stopped"), ("end", "cancelled"), ("answer push", "gone")} <= set(said)
    assert said[-1] == ("delete room", "")
    last = danas.latest("number")
    assert (last.what, last.who, last.room, last.agent) == ("room deleted", "alice", "kitchen", "gemini")
    for owner in (kitchen.alice, kitchen.dana):
        assert audit.verify(owner.pk) is None


def test_its_files_go_after_the_commit_and_what_others_name_stays(
    kitchen: Kitchen, django_capture_on_commit_callbacks: Commit
) -> None:
    cellar = membership.create_room(kitchen.alice, name="cellar")
    membership.add_agent(kitchen.alice, cellar.pk, kitchen.claude.pk)
    recipe, kept = attach(kitchen, kitchen.room, b"eggs"), attach(kitchen, cellar, b"wine")
    there = kitchen.turn(kitchen.ask(kitchen.alice, "@claude draw", cellar))
    kitchen.daemon.run()
    shared = produce(kitchen, there.pk, b"a cake")
    kitchen.daemon.end(there.pk)
    here = kitchen.turn(kitchen.ask(kitchen.alice, "@claude draw"))
    kitchen.daemon.run()
    produce(kitchen, here.pk, b"a cake")
    alone = produce(kitchen, here.pk, b"a pie")
    with django_capture_on_commit_callbacks() as after:
        delete(kitchen)
        assert recipe.exists()
        assert alone.exists()
    for act in after:
        act()
    assert not recipe.exists()
    assert not alone.exists()
    assert kept.exists()
    assert shared.exists()
    assert Attachment.objects.count() == 2


def test_tokens_of_agents_in_it_end_and_others_go_on(kitchen: Kitchen) -> None:
    cellar = membership.create_room(kitchen.alice, name="cellar")
    membership.add_agent(kitchen.alice, cellar.pk, kitchen.claude.pk)
    _, here = membership.connect(kitchen.alice, agent=kitchen.claude.pk, room=kitchen.room.pk, name="here")
    _, there = membership.connect(kitchen.alice, agent=kitchen.claude.pk, room=cellar.pk, name="there")
    caller = auth.caller(f"Bearer {here}")
    delete(kitchen)
    with pytest.raises(Unauthorised):
        auth.caller(f"Bearer {here}")
    with pytest.raises(NotFound):
        caller.seat()
    assert auth.caller(f"Bearer {there}").seat().room == cellar


def test_a_sign_in_to_it_ends_with_its_tokens(kitchen: Kitchen) -> None:
    client = Client.objects.create(name="A program", type=Client.Type.PUBLIC, secret="!")
    token = Token(client=client, user=kitchen.alice, type="rt", hash=digest("r"), data={"grant_id": "g"})
    token.save()
    Connection.objects.create(
        kind="agent", user=kitchen.alice, agent=kitchen.claude, room=kitchen.room, name="p", grant_id="g",
        client=client.pk, token_hash=digest("a"),
    )  # fmt: skip
    delete(kitchen)
    assert not Token.objects.filter(pk=token.pk).exists()
    with pytest.raises(NotFound):
        membership.admit(kitchen.alice, grant_id="g", token_hash=digest("b"))


def test_other_rooms_are_as_they_were(kitchen: Kitchen) -> None:
    cellar = membership.create_room(kitchen.alice, name="cellar")
    join(cellar, kitchen.bob)
    kitchen.ask(kitchen.bob, "wine", cellar)
    before = list(Entry.objects.filter(room=cellar).order_by("seq").values())
    lived_in(kitchen)
    delete(kitchen)
    assert list(Entry.objects.filter(room=cellar).order_by("seq").values()) == before
    assert verify(cellar.pk).ok


def test_its_number_is_never_given_again(kitchen: Kitchen) -> None:
    last = membership.create_room(kitchen.alice, name="attic")
    control.delete_room(kitchen.alice, last.pk, name="attic", recently=True)
    assert membership.create_room(kitchen.charlie, name="attic").pk > last.pk


@pytest.mark.django_db(transaction=True)
def test_its_number_is_not_given_again_either_once_the_table_was_written_anew(kitchen: Kitchen) -> None:
    last = membership.create_room(kitchen.alice, name="attic")
    control.delete_room(kitchen.alice, last.pk, name="attic", recently=True)
    call_command("migrate", "rooms", "0004", verbosity=0)
    call_command("migrate", verbosity=0)
    assert membership.create_room(kitchen.charlie, name="attic").pk > last.pk


def test_who_deletes_a_room_does_not_get_back_what_they_used_up(kitchen: Kitchen) -> None:
    bobs = membership.create_room(kitchen.bob, name="pantry")
    join(bobs, kitchen.alice)
    membership.add_agent(kitchen.alice, bobs.pk, kitchen.claude.pk)
    control.set_grant(
        kitchen.alice, agent_id=kitchen.claude.pk, member_id=kitchen.seat(kitchen.bob, bobs).pk, level="always"
    )
    kitchen.turn(kitchen.ask(kitchen.bob, "@claude bake", bobs))
    kitchen.daemon.end(kitchen.daemon.run())
    before = limits.used(kitchen.claude.pk, kitchen.bob.pk)
    control.delete_room(kitchen.bob, bobs.pk, name="pantry", recently=True)
    assert limits.used(kitchen.claude.pk, kitchen.bob.pk).requests == before.requests == 1


def test_its_name_has_to_be_written_and_a_sign_in_be_recent(kitchen: Kitchen) -> None:
    for more, error in (({"name": "Kitchen"}, Invalid), ({"name": ""}, Invalid), ({"recently": False}, Refused)):
        with pytest.raises(error):
            delete(kitchen, **more)
    assert Room.objects.filter(pk=kitchen.room.pk).exists()
    delete(kitchen, name="  kitchen ")


def test_nobody_but_its_owner_deletes_it(kitchen: Kitchen) -> None:
    for user in (kitchen.bob, kitchen.vera, kitchen.dana):
        with pytest.raises(Refused):
            control.delete_room(user, kitchen.room.pk, name="kitchen", recently=True)
    with pytest.raises(NotFound):
        control.delete_room(kitchen.charlie, kitchen.room.pk, name="kitchen", recently=True)
    with pytest.raises(NotFound):
        control.delete_room(kitchen.charlie, 987_654_321, name="kitchen", recently=True)


def test_a_talk_of_two_can_be_deleted_by_who_began_it_and_the_chat_by_nobody(kitchen: Kitchen) -> None:
    direct = membership.direct_room(kitchen.bob, kitchen.claude.pk)
    membership.add_agent(kitchen.alice, direct.pk, kitchen.claude.pk)
    with pytest.raises(Refused):
        control.delete_room(kitchen.alice, direct.pk, name=direct.name, recently=True)
    control.delete_room(kitchen.bob, direct.pk, name=direct.name, recently=True)
    assert not Room.objects.filter(pk=direct.pk).exists()
    chat = membership.account_chat(kitchen.bob)
    with pytest.raises(Refused):
        control.delete_room(kitchen.bob, chat.pk, name=chat.name, recently=True)


def test_what_comes_after_it_is_answered_with_absent(kitchen: Kitchen) -> None:
    _, invite = membership.invite(kitchen.alice, kitchen.room.pk, role="member", days=1, max_uses=1)
    offered = kitchen.turn(kitchen.ask(kitchen.alice, "@claude bake"))
    [offer] = kitchen.daemon.take()
    delete(kitchen)
    acts: list[Callable[[], object]] = [
        lambda: kitchen.ask(kitchen.bob, "hello"),
        lambda: membership.accept_invite(kitchen.charlie, invite),
        lambda: membership.add_agent(kitchen.alice, kitchen.room.pk, kitchen.codex.pk),
        lambda: membership.rename(kitchen.alice, kitchen.room.pk, name="x", about=""),
        lambda: control.archive(kitchen.alice, kitchen.room.pk, archived=True),
        lambda: control.leave(kitchen.bob, kitchen.room.pk),
        lambda: log.append(kitchen.room.pk, log.New(Entry.Kind.CONTROL, body="x")),
        lambda: log.after(kitchen.room.pk, 0),
        lambda: turns.cancel(kitchen.alice, offered.pk),
    ]
    for act in acts:
        with pytest.raises(NotFound):
            act()
    assert offer.turn_id in kitchen.daemon.sync().withdrawn


def test_what_goes_between_a_look_and_a_lock_is_absent_too(kitchen: Kitchen, monkeypatch: pytest.MonkeyPatch) -> None:
    stale, seat = Room.objects.get(pk=kitchen.room.pk), kitchen.seat(kitchen.bob).pk
    delete(kitchen)
    monkeypatch.setattr("approvals.control.rooms.owned_room", lambda user, room_id: stale)
    with pytest.raises(NotFound):
        control.transfer(kitchen.alice, kitchen.room.pk, seat, recently=True)


def test_a_report_that_comes_as_the_room_goes_is_dropped(kitchen: Kitchen, monkeypatch: pytest.MonkeyPatch) -> None:
    running, _ = lived_in(kitchen)

    def too_late(room_ids: Iterable[int]) -> object:
        wanted = list(room_ids)
        if Room.objects.filter(pk=kitchen.room.pk).exists():
            delete(kitchen)
        return access.lock_rooms(wanted)

    monkeypatch.setattr("approvals.record.lock_rooms", too_late)
    receipt = kitchen.daemon.tell(running.pk, wire.TextFact(part="1", text="baked"))
    assert (receipt.acked, set(receipt.refused)) == (kitchen.daemon.n, {kitchen.daemon.n})
