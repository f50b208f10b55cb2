"""An account goes for good: what is personal goes, what others said and decided stays, and the name is nobody's."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from allauth.account.models import EmailAddress
from allauth.idp.oidc.models import Client as Program
from allauth.idp.oidc.models import Token
from allauth.mfa.models import Authenticator
from django.contrib.sessions.models import Session
from django.db import DatabaseError, connection
from django.db.models import CASCADE, ManyToOneRel, Model
from django.test import Client
from django.utils import timezone

from agentroom import auth
from agentroom.auth import Unauthorised
from agentroom_machine import wire
from approvals import audit, consent, control, mailbox, turns
from approvals.control import accounts
from approvals.models import Approval, AuditRecord, Grant, Limit, Turn
from messaging import chat, export, files, log, mail
from messaging.models import Attachment, Entry, Recipient
from messaging.render import live, reading, timeline
from messaging.verify import verify
from rooms import membership, pruning, tokens
from rooms.errors import Invalid, NotFound, Refused
from rooms.models import Agent, Connection, Consent, FormerName, Invite, Machine, Member, Room, SignInLink, User
from tests.approvals.kitchen import Kitchen, agent_of, join, key, machine_of
from tests.doors.scene import png

pytestmark = pytest.mark.django_db
Commit = Callable[..., Any]


@pytest.fixture
def kitchen(kitchen: Kitchen, settings: Any, tmp_path: Path) -> Kitchen:
    settings.MEDIA_ROOT = tmp_path
    return kitchen


def delete(user: User, rooms: dict[int, int] | None = None, **more: Any) -> None:
    given: dict[str, Any] = {"handle": user.username, "recently": True} | more
    control.delete_account(user, rooms=rooms or {}, **given)


def to_bob(kitchen: Kitchen) -> dict[int, int]:
    return {kitchen.room.pk: kitchen.seat(kitchen.bob).pk}


def called(user: User) -> str:
    return f"former member {user.pk}"


def shown(kitchen: Kitchen) -> str:
    """What the room's page shows of its timeline, to everybody."""
    seen = reading.newest(kitchen.room.pk, limit=200)
    return "".join(timeline.entry(item) for item in seen.items)


def written(kitchen: Kitchen) -> str:
    """The room as a member takes it away."""
    return "".join(export.pages(kitchen.alice, kitchen.room.pk, export.as_line))


def rows_of(of: type[Model]) -> Iterator[tuple[type[Model], str, object]]:
    """Every table with a column that names one of these, that column, and what it does when its row goes."""
    for field in of._meta.get_fields(include_hidden=True):
        if isinstance(field, ManyToOneRel) and isinstance(field.related_model, type):
            yield field.related_model, field.field.name, field.on_delete


def personal() -> Iterator[tuple[type[Model], str]]:
    """Every table whose rows belong to a user or to an agent, and by which column."""
    for of in (User, Agent):
        for model, column, on_delete in rows_of(of):
            if on_delete is CASCADE:
                yield model, f"{column}__{'owner' if of is Agent else 'pk'}"


def give_everything_to(kitchen: Kitchen, user: User) -> None:
    """One row of all that an account can have."""
    machine = machine_of(user, "desk")
    agent = agent_of(machine, "helper")
    membership.add_agent(user, kitchen.room.pk, agent.pk)
    membership.set_avatar(user, agent.pk, png())
    membership.connect_account(user, "script")
    membership.connect(user, agent=agent.pk, room=kitchen.room.pk, name="by hand")
    membership.consent(user, grant_id="g", client="c", name="a program", agent=None, room=None)
    membership.sign_in_link(user)
    program = Program.objects.create(name="A program", type=Program.Type.PUBLIC, secret="!")
    Token(client=program, user=user, type="at", hash="h", data={"grant_id": "g"}).save()
    EmailAddress.objects.create(user=user, email="someone@example.org", primary=True, verified=True)
    Authenticator.objects.create(user=user, type=Authenticator.Type.WEBAUTHN, data={})
    control.set_grant(user, agent_id=agent.pk, member_id=kitchen.seat(kitchen.dana).pk, level="always")
    control.set_grant(user, agent_id=agent.pk, person_id=kitchen.dana.pk, level="always")
    control.set_grant(kitchen.alice, agent_id=kitchen.codex.pk, person_id=user.pk, level="always")
    control.set_limit(user, agent.pk, kitchen.dana.pk, requests_a_day=3)
    control.set_limit(kitchen.alice, kitchen.codex.pk, user.pk, requests_a_day=3)
    times = {"four_minutes": 5, "tool_minutes": 5, "question_minutes": 5}
    control.set_times(user, agent.pk, **times)
    control.name_deputy(user, handle="dana", until=timezone.now() + timedelta(days=1), recently=True)
    User.objects.filter(pk=user.pk).update(email="someone@example.org", first_name="Robert", last_name="Smith")


def test_all_that_is_personal_goes_and_an_empty_row_stays(kitchen: Kitchen) -> None:
    give_everything_to(kitchen, kitchen.bob)
    pantry = membership.create_room(kitchen.bob, name="pantry")
    delete(kitchen.bob, {pantry.pk: control.DELETE})
    left = {
        model.__name__
        for model, column in personal()
        if model._default_manager.filter(**{column: kitchen.bob.pk}).exists()
    }
    assert left == {"AuditRecord", "Agent"}
    bob = User.objects.get(pk=kitchen.bob.pk)
    assert (bob.username, bob.email, bob.first_name, bob.last_name, bob.is_active) == (called(bob), "", "", "", False)
    assert (bob.has_usable_password(), bob.last_login, bob.deputy, bob.is_staff) == (False, None, None, False)
    assert bob.gone_at is not None
    agent = Agent.objects.get(owner=bob)
    assert agent.retired_at is not None
    assert (agent.machine, agent.workdir, agent.runtime, agent.role, agent.avatar.name) == (None, "", "", "", "")
    for row in (Connection, Consent, SignInLink, Token, EmailAddress, Authenticator):
        assert not row.objects.filter(user=bob).exists(), row
    assert not Grant.objects.filter(person=bob).exists()
    assert not Limit.objects.exists()
    assert not Room.objects.filter(owner=bob).exists()
    connection.check_constraints()


def test_every_table_that_names_a_person_was_thought_of() -> None:
    """A new one goes with the account by itself, if it cascades; whoever adds one that doesn't looks here first."""
    kept = {f"{model.__name__}.{column}" for model, column, on_delete in rows_of(User) if on_delete is not CASCADE}
    assert kept == {
        "Approval.decided_by", "Member.user", "Turn.ended_by", "Turn.principal", "Undo.asked_by", "User.deputy",
    }  # fmt: skip


def test_nothing_is_chosen_for_a_room_and_nothing_happens_before_all_are(kitchen: Kitchen) -> None:
    cellar = membership.create_room(kitchen.alice, name="cellar")
    rows = User.objects.count(), Entry.objects.count(), AuditRecord.objects.count()
    for rooms in ({}, {kitchen.room.pk: control.DELETE}, to_bob(kitchen)):
        with pytest.raises(Invalid) as refused:
            delete(kitchen.alice, rooms)
        assert refused.value.field in (f"room-{kitchen.room.pk}", f"room-{cellar.pk}")
    for seat in (kitchen.seat(kitchen.vera), kitchen.seat(kitchen.claude), kitchen.seat(kitchen.alice)):
        with pytest.raises(Invalid) as refused:
            delete(kitchen.alice, {kitchen.room.pk: seat.pk, cellar.pk: control.DELETE})
        assert refused.value.field == f"room-{kitchen.room.pk}"
    assert (User.objects.count(), Entry.objects.count(), AuditRecord.objects.count()) == rows
    assert User.objects.get(pk=kitchen.alice.pk).is_active


def test_each_of_its_rooms_goes_to_whom_it_was_given_or_goes(kitchen: Kitchen) -> None:
    cellar = membership.create_room(kitchen.alice, name="cellar")
    direct = membership.direct_room(kitchen.alice, kitchen.claude.pk)
    delete(kitchen.alice, to_bob(kitchen) | {cellar.pk: control.DELETE})
    assert Room.objects.get(pk=kitchen.room.pk).owner == kitchen.bob
    assert not Room.objects.filter(pk__in=[cellar.pk, direct.pk]).exists()
    control.remove_member(kitchen.bob, kitchen.seat(kitchen.vera).pk)
    assert verify(kitchen.room.pk).ok


def test_its_chat_goes_with_its_entries_and_nobody_makes_it_anew(kitchen: Kitchen) -> None:
    room = membership.account_chat(kitchen.bob)
    seat = Member.objects.select_related("room", "user").get(room=room, user=kitchen.bob)
    connected, token = membership.connect_account(kitchen.bob, "script")
    chat.send(seat, body="only ours", client_id=key(), connection=f"connection:{connected.short}")
    caller = auth.caller(f"Bearer {token}")
    delete(kitchen.bob)
    assert not Entry.objects.filter(room=room.pk).exists()
    with pytest.raises(NotFound):
        caller.seat()
    with pytest.raises(Unauthorised):
        auth.caller(f"Bearer {token}")
    with pytest.raises(NotFound):
        chat.read(seat)
    assert not Room.objects.filter(kind="account", owner=kitchen.bob).exists()


def test_its_words_in_others_rooms_stay_under_former_member(kitchen: Kitchen) -> None:
    said = kitchen.ask(kitchen.bob, "I like cake.")
    turn = kitchen.turn(kitchen.ask(kitchen.bob, "@claude bake"))
    turns.answer(kitchen.alice, kitchen.question(turn).pk, verdict="once")
    kitchen.daemon.end(kitchen.daemon.run())
    delete(kitchen.bob)
    page, name = shown(kitchen), called(kitchen.bob)
    assert "I like cake." in page
    assert f"<strong>{name}</strong>" in page
    assert f"{name} joined by a link." in page
    assert f"{name} left: the account was deleted." in page
    assert "bob" not in page
    lines = mailbox.history(kitchen.seat(kitchen.claude), after=said.seq - 1).entries
    assert {line.from_handle for line in lines} == {name}
    assert verify(kitchen.room.pk).ok


def test_what_it_decided_and_cancelled_is_nobody_elses(kitchen: Kitchen) -> None:
    first = kitchen.turn(kitchen.ask(kitchen.bob, "@gemini bake"))
    turns.answer(kitchen.dana, kitchen.question(first).pk, verdict="no", note="not now")
    second = kitchen.turn(kitchen.ask(kitchen.dana, "@claude bake"))
    turns.cancel(kitchen.dana, second.pk)
    kitchen.ask(kitchen.bob, "@dana you there?")
    delete(kitchen.dana)
    page = shown(kitchen)
    assert f'data-handle="{called(kitchen.dana)}"' in page
    assert 'data-handle="dana"' not in page
    assert "@dana you there?" in page, "what others wrote stays as they wrote it"


def test_mail_that_came_through_its_name_says_former_member(kitchen: Kitchen) -> None:
    control.set_grant(kitchen.alice, agent_id=kitchen.claude.pk, member_id=kitchen.seat(kitchen.bob).pk, level="always")
    kitchen.ask(kitchen.bob, "@claude bake")
    turn = Turn.objects.get(pk=kitchen.daemon.run())
    claude = kitchen.seat(kitchen.claude)
    turns.send(claude, turn, to=["gemini"], body="help me", client_id=key(), connection="connection:1")
    assert "bob → claude → gemini" in written(kitchen)
    delete(kitchen.bob)
    assert "bob" not in written(kitchen)
    assert f"{called(kitchen.bob)} → claude → gemini" in written(kitchen)


def test_open_pages_are_sent_no_name_that_is_nobodys(kitchen: Kitchen) -> None:
    kitchen.ask(kitchen.alice, "@gemini bake")
    turn = kitchen.turn(Entry.objects.filter(room=kitchen.room, kind="message").latest("seq"))
    turns.answer(kitchen.dana, kitchen.question(turn).pk, verdict="once")
    kitchen.danas.run()
    cards, cursor = live.Cards(), 0

    def frame() -> str:
        nonlocal cursor
        page = log.after(kitchen.room.pk, cursor)
        before, cursor = cursor, page.cursor
        return live.frame(kitchen.room.pk, before, cursor, page.entries, cards).text

    assert "dana" in frame()
    control.stop_turn(kitchen.dana, turn.pk)
    kitchen.danas.end(turn.pk, "stopped")
    delete(kitchen.dana)
    told = frame()
    assert "stopped" in told
    assert f'by <span data-handle=\\"{called(kitchen.dana)}\\">' in told
    assert 'data-handle=\\"dana\\"' not in told


def test_agents_that_read_the_room_hear_no_name_that_is_nobodys(kitchen: Kitchen) -> None:
    asked = kitchen.ask(kitchen.alice, "@bob look")
    delete(kitchen.bob)
    [line] = mailbox.history(kitchen.seat(kitchen.claude), after=asked.seq - 1).entries
    assert line.to == [called(kitchen.bob)]


def test_what_was_denied_to_it_goes_too_also_where_it_had_left(kitchen: Kitchen) -> None:
    cellar = membership.create_room(kitchen.alice, name="cellar")
    membership.add_agent(kitchen.alice, cellar.pk, kitchen.claude.pk)
    join(cellar, kitchen.bob)
    for room in (kitchen.room, cellar):
        seat = kitchen.seat(kitchen.bob, room).pk
        control.set_grant(kitchen.alice, agent_id=kitchen.claude.pk, member_id=seat, level="deny")
    control.leave(kitchen.bob, cellar.pk)
    delete(kitchen.bob)
    assert not Grant.objects.exists()


def test_a_new_account_of_that_name_gets_and_is_nothing(kitchen: Kitchen) -> None:
    kitchen.ask(kitchen.bob, "I like cake.")
    turn = kitchen.turn(kitchen.ask(kitchen.alice, "@bob and @gemini look"))
    turns.answer(kitchen.dana, kitchen.question(turn).pk, verdict="once")
    control.set_grant(kitchen.alice, agent_id=kitchen.claude.pk, person_id=kitchen.bob.pk, level="always")
    old = shown(kitchen)
    assert 'data-handle="bob"' in old
    delete(kitchen.bob)
    again = membership.make_person("bob")
    assert again.pk != kitchen.bob.pk
    assert not Member.objects.filter(user=again).exclude(room__kind="account").exists()
    assert not consent.waiting_for(again).exists()
    with pytest.raises(NotFound):
        kitchen.ask(again, "hello")
    seat = join(kitchen.room, again)
    assert (seat.handle, consent.level(kitchen.claude, seat)) == ("bob", Grant.Level.ASK)
    assert not Recipient.objects.filter(member=seat).exists()
    assert not Entry.objects.filter(author=seat).exists()
    page = shown(kitchen)
    before = page.partition("bob joined by a link")[0]
    assert 'data-handle="bob"' not in before
    assert "bob joined by a link" in page
    kitchen.ask(kitchen.alice, "@bob welcome")
    assert 'data-handle="bob"' in shown(kitchen)
    assert verify(kitchen.room.pk).ok


def test_two_who_were_called_the_same_one_after_the_other_are_told_apart(kitchen: Kitchen) -> None:
    delete(kitchen.bob)
    second = membership.make_person("bob")
    join(kitchen.room, second)
    delete(second)
    page = shown(kitchen)
    for user in (kitchen.bob, second):
        assert f"{called(user)} joined by a link." in page
    assert "bob joined" not in page


def test_who_sits_under_that_name_by_their_own_choice_keeps_it(kitchen: Kitchen) -> None:
    cellar = membership.create_room(kitchen.alice, name="cellar")
    _, token = membership.invite(kitchen.alice, cellar.pk, role="member", days=1, max_uses=5)
    membership.accept_invite(kitchen.dana, token, handle="bob")
    membership.accept_invite(kitchen.bob, token, handle="robert")
    delete(kitchen.bob)
    assert set(FormerName.objects.filter(room=cellar).values_list("handle", flat=True)) == {"robert"}


def as_bob(kitchen: Kitchen, user: User) -> Member:
    """Somebody else takes the seat name bob."""
    _, token = membership.invite(kitchen.alice, kitchen.room.pk, role="member", days=1, max_uses=5)
    return membership.accept_invite(user, token, handle="bob")


def test_what_ended_when_somebody_left_is_nobody_elses_once_they_are_gone(kitchen: Kitchen) -> None:
    turn = kitchen.turn(kitchen.ask(kitchen.bob, "@claude bake"))
    control.leave(kitchen.bob, kitchen.room.pk)
    assert Entry.objects.filter(room=kitchen.room, kind="turn").latest("seq").data["by"] == "bob"
    delete(kitchen.bob)
    join(kitchen.room, membership.make_person("bob"))
    before = shown(kitchen).partition("bob joined by a link")[0]
    assert f'data-handle="{called(kitchen.bob)}"' in before
    assert 'data-handle="bob"' not in before
    assert Turn.objects.get(pk=turn.pk).status == "cancelled"


def test_what_a_deputy_answered_after_leaving_is_nobody_elses(kitchen: Kitchen) -> None:
    control.name_deputy(kitchen.alice, handle="bob", until=timezone.now() + timedelta(days=1), recently=True)
    control.leave(kitchen.bob, kitchen.room.pk)
    between = as_bob(kitchen, kitchen.charlie)
    control.leave(kitchen.charlie, kitchen.room.pk)
    turn = kitchen.turn(kitchen.ask(kitchen.dana, "@claude bake"))
    turns.answer(User.objects.get(pk=kitchen.bob.pk), kitchen.question(turn).pk, verdict="no")
    delete(kitchen.bob)
    join(kitchen.room, membership.make_person("bob"))
    before = shown(kitchen).rpartition("bob joined by a link")[0]
    assert 'data-handle="bob"' not in before
    assert between.user == kitchen.charlie


def test_what_an_administrator_did_where_they_never_sat_is_nobody_elses(kitchen: Kitchen) -> None:
    root, toor = (membership.make_person(name, admin=True) for name in ("root", "toor"))
    delete(kitchen.dana, by=root)
    assert not Turn.objects.exists()
    assert Entry.objects.filter(room=kitchen.room, data__by="root").exists()
    delete(root)
    delete(toor, successor="alice")
    assert "root" not in shown(kitchen)
    assert "root" not in written(kitchen)


def test_who_took_the_name_after_they_left_keeps_what_is_theirs(kitchen: Kitchen) -> None:
    control.leave(kitchen.bob, kitchen.room.pk)
    as_bob(kitchen, kitchen.charlie)
    kitchen.ask(kitchen.charlie, "@claude bake")
    delete(kitchen.bob)
    before, _, after = shown(kitchen).rpartition("bob joined by a link")
    assert f"{called(kitchen.bob)} left." in before
    assert 'data-handle="bob"' not in before
    assert called(kitchen.bob) not in after
    control.leave(kitchen.charlie, kitchen.room.pk)
    assert "bob left." in shown(kitchen)


def test_a_name_that_it_bore_before_it_came_again_goes_too(kitchen: Kitchen) -> None:
    control.leave(kitchen.bob, kitchen.room.pk)
    _, token = membership.invite(kitchen.alice, kitchen.room.pk, role="member", days=1, max_uses=5)
    for handle in ("robert", "bobby"):
        membership.accept_invite(kitchen.bob, token, handle=handle)
        control.leave(kitchen.bob, kitchen.room.pk)
    assert "robert joined by a link" in shown(kitchen)
    delete(kitchen.bob)
    assert not {name for name in ("bob", "robert", "bobby") if f">{name} " in shown(kitchen)}
    assert "robert" not in written(kitchen)


def test_nobody_can_choose_the_name_that_it_is_shown_under(kitchen: Kitchen) -> None:
    delete(kitchen.bob)
    with pytest.raises(Invalid):
        membership.make_person(called(kitchen.bob))
    with pytest.raises(Invalid):
        _, token = membership.invite(kitchen.alice, kitchen.room.pk, role="member", days=1, max_uses=5)
        membership.accept_invite(kitchen.charlie, token, handle=called(kitchen.bob))


def test_its_agents_leave_and_their_work_ends(kitchen: Kitchen, monkeypatch: pytest.MonkeyPatch) -> None:
    control.set_grant(kitchen.dana, agent_id=kitchen.gemini.pk, member_id=kitchen.seat(kitchen.bob).pk, level="always")
    running = kitchen.turn(kitchen.ask(kitchen.bob, "@gemini bake"))
    kitchen.danas.run()
    question = wire.QuestionFact(key="q", subject="push", title="Push", action="git push", short="push")
    kitchen.danas.tell(running.pk, question)
    waiting = kitchen.turn(kitchen.ask(kitchen.bob, "@gemini wash up"))
    nudged: set[str] = set()
    monkeypatch.setattr("messaging.nudge._after_commit", nudged.add)
    delete(kitchen.dana)
    running.refresh_from_db()
    waiting.refresh_from_db()
    assert (running.status, waiting.status) == ("interrupted", "cancelled")
    assert Approval.objects.get(turn=running).verdict == "gone"
    assert "approval gone" in kitchen.kinds(running)
    assert kitchen.seat(kitchen.gemini).left_at is not None
    assert {f"machine:{kitchen.danas.machine.pk}", f"room:{kitchen.room.pk}", f"user:{kitchen.dana.pk}"} <= nudged
    assert not Machine.objects.filter(pk=kitchen.danas.machine.pk).exists()
    # Somebody else's history of it stays whole.
    assert Turn.objects.filter(pk=running.pk, agent__owner=kitchen.dana, principal=kitchen.bob).exists()
    assert "gemini" in shown(kitchen)


def test_what_it_asked_for_is_cancelled_and_what_runs_is_marked(kitchen: Kitchen) -> None:
    control.set_grant(kitchen.alice, agent_id=kitchen.claude.pk, member_id=kitchen.seat(kitchen.bob).pk, level="always")
    running = kitchen.turn(kitchen.ask(kitchen.bob, "@claude bake"))
    kitchen.daemon.run()
    question = wire.QuestionFact(key="q", subject="question", title="Which?", action="Which cake?", short="which")
    kitchen.daemon.tell(running.pk, question)
    waiting = kitchen.turn(kitchen.ask(kitchen.bob, "@codex wash up"))
    delete(kitchen.bob)
    running.refresh_from_db()
    waiting.refresh_from_db()
    assert (running.status, waiting.status) == ("running", "cancelled")
    assert running.outlived_at is not None
    assert Approval.objects.get(turn=running).verdict == "gone", "nobody is there to be asked"
    assert not consent.waiting_for(kitchen.alice).exists()
    kitchen.daemon.end(running.pk)
    running.refresh_from_db()
    assert running.status == "done"


def test_files_that_it_attached_elsewhere_stay_its_pictures_go_after_the_commit(
    kitchen: Kitchen, django_capture_on_commit_callbacks: Commit
) -> None:
    give_everything_to(kitchen, kitchen.bob)
    source = f"room-{kitchen.room.pk}"
    sha256, size = files.store(source, [b"eggs"])
    file = mail.File(source, sha256, "recipe.txt", "text/plain", size)
    turns.ask(kitchen.bob, kitchen.room.pk, body="the recipe", client_id=key(), files=[file])
    picture = Path(Agent.objects.get(owner=kitchen.bob).avatar.path)
    with django_capture_on_commit_callbacks() as after:
        delete(kitchen.bob)
        assert picture.exists()
    for act in after:
        act()
    assert not picture.exists()
    assert files.path(source, sha256).exists()
    assert Attachment.objects.count() == 1


def test_a_picture_that_a_kill_left_goes_with_the_next_pruning(kitchen: Kitchen) -> None:
    give_everything_to(kitchen, kitchen.bob)
    picture = Path(Agent.objects.get(owner=kitchen.bob).avatar.path)
    delete(kitchen.bob)
    assert pruning.forget_pictures() == 0, "it may be a picture that was stored just now"
    os.utime(picture, (0, 0))
    membership.set_avatar(kitchen.alice, kitchen.claude.pk, png())
    kept = Path(Agent.objects.get(pk=kitchen.claude.pk).avatar.path)
    os.utime(kept, (0, 0))
    assert pruning.forget_pictures() == 1
    assert (picture.exists(), kept.exists()) == (False, True)


def test_its_tokens_and_sessions_open_nothing_at_once(
    kitchen: Kitchen, django_capture_on_commit_callbacks: Commit
) -> None:
    machine_token = tokens.new(tokens.MACHINE)
    Machine.objects.filter(pk=kitchen.danas.machine.pk).update(token_hash=tokens.digest(machine_token))
    _, agents = membership.connect(kitchen.dana, agent=kitchen.gemini.pk, room=kitchen.room.pk, name="by hand")
    _, own = membership.connect_account(kitchen.dana, "script")
    browser = Client()
    browser.force_login(kitchen.dana)
    path = f"/rooms/{kitchen.room.pk}/"
    doors = [(machine_token, "machine/me"), (agents, "inbox"), (own, "chat/messages")]

    def tried() -> list[int]:
        return [
            Client(headers={"Authorization": f"Bearer {token}"}).get(f"/api/{where}").status_code
            for token, where in doors
        ]

    assert tried() == [200, 200, 200]
    assert browser.get(path).status_code == 200
    link = membership.sign_in_link(kitchen.dana)
    with django_capture_on_commit_callbacks(execute=True):
        delete(kitchen.dana)
    assert tried() == [401, 401, 401]
    assert browser.get(path)["Location"].startswith("/account/login/")
    with pytest.raises(NotFound):
        membership.use_sign_in_link(link)
    assert not [row for row in Session.objects.all() if row.get_decoded().get("_auth_user_id") == str(kitchen.dana.pk)]


def test_nobody_lets_it_in_again(kitchen: Kitchen) -> None:
    delete(kitchen.bob)
    bob = User.objects.get(pk=kitchen.bob.pk)
    for act in (lambda: membership.set_active(bob, active=True), lambda: membership.sign_in_link(bob)):
        with pytest.raises(Refused):
            act()
    with pytest.raises(DatabaseError):
        User.objects.filter(pk=bob.pk).update(is_active=True)


def test_who_named_it_deputy_answers_alone_again(kitchen: Kitchen) -> None:
    control.name_deputy(kitchen.alice, handle="bob", until=timezone.now() + timedelta(days=1), recently=True)
    kitchen.ask(kitchen.dana, "@claude bake")
    assert consent.waiting_for(kitchen.bob).exists()
    delete(kitchen.bob)
    alice = User.objects.get(pk=kitchen.alice.pk)
    assert (alice.deputy, alice.deputy_until) == (None, None)
    assert AuditRecord.objects.filter(owner=alice).latest("number").decision == "ended"


def test_a_talk_of_two_with_its_agent_loses_agent_and_keeper_and_stays(kitchen: Kitchen) -> None:
    direct = membership.direct_room(kitchen.bob, kitchen.claude.pk)
    membership.add_agent(kitchen.alice, direct.pk, kitchen.claude.pk)
    kitchen.ask(kitchen.bob, "just us", direct)
    waiting = membership.direct_room(kitchen.bob, kitchen.codex.pk)
    delete(kitchen.alice, {kitchen.room.pk: control.DELETE})
    for room in (direct, waiting):
        assert [seat.user for seat in Member.objects.filter(room=room, left_at=None)] == [kitchen.bob]
    assert verify(direct.pk).ok


def test_every_trail_stays_and_still_verifies(kitchen: Kitchen) -> None:
    turn = kitchen.turn(kitchen.ask(kitchen.bob, "@gemini bake"))
    turns.answer(kitchen.dana, kitchen.question(turn).pk, verdict="once")
    before = AuditRecord.objects.filter(owner=kitchen.dana).count()
    delete(kitchen.dana)
    danas = AuditRecord.objects.filter(owner=kitchen.dana)
    assert danas.count() > before
    assert danas.filter(what="answer start", in_name_of="bob", decision="once").exists()
    assert (danas.latest("number").what, danas.latest("number").who) == ("delete account", "dana")
    left = AuditRecord.objects.filter(owner=kitchen.alice).latest("number")
    assert (left.what, left.about, left.room) == ("deleted", "dana", "kitchen")
    for owner in (kitchen.alice, kitchen.bob, kitchen.dana):
        assert audit.verify(owner.pk) is None


def test_the_last_administrator_names_another_first(kitchen: Kitchen) -> None:
    root = membership.make_person("root", admin=True)
    assert control.leaving(root).successors
    for successor in ("", "nobody", "root"):
        with pytest.raises(Invalid) as refused:
            delete(root, successor=successor)
        assert refused.value.field == "successor"
    membership.set_active(kitchen.vera, active=False)
    with pytest.raises(Invalid):
        delete(root, successor="vera")
    delete(root, successor="bob")
    bob = User.objects.get(pk=kitchen.bob.pk)
    assert (bob.is_superuser, bob.is_staff) == (True, True)
    assert AuditRecord.objects.filter(owner=bob).latest("number").what == "administrator"


def test_one_of_two_administrators_names_nobody(kitchen: Kitchen) -> None:
    root = membership.make_person("root", admin=True)
    membership.make_person("toor", admin=True)
    assert control.leaving(root).successors == []
    delete(root, successor="bob")
    assert not User.objects.get(pk=kitchen.bob.pk).is_superuser


def test_the_only_person_of_a_server_may_go_and_somebody_may_begin_anew(db: None) -> None:
    alone = membership.make_person("alone", admin=True)
    delete(alone)
    assert not membership.everybody().exists()
    again = membership.use_first_link(membership.first_link(), "alone", "a long enough secret")
    assert (again.is_superuser, again.pk != alone.pk) == (True, True)


def test_an_administrator_deletes_by_the_same_rule_and_nobody_else_does(kitchen: Kitchen) -> None:
    root = membership.make_person("root", admin=True)
    staff = membership.make_person("staff")
    User.objects.filter(pk=staff.pk).update(is_staff=True)
    staff.refresh_from_db()
    for user, by in ((kitchen.bob, kitchen.alice), (root, staff), (kitchen.alice, kitchen.bob)):
        with pytest.raises(Refused):
            delete(user, by=by)
    with pytest.raises(Invalid):
        delete(kitchen.alice, by=root)
    delete(kitchen.alice, to_bob(kitchen), by=root)
    assert AuditRecord.objects.filter(owner=kitchen.alice).latest("number").who == "root"
    assert Room.objects.get(pk=kitchen.room.pk).owner == kitchen.bob


def test_what_an_administrator_deletes_is_said_to_be_theirs(kitchen: Kitchen) -> None:
    root = membership.make_person("root", admin=True)
    kitchen.ask(kitchen.bob, "@claude bake")
    before = Entry.objects.latest("pk").pk
    lines = AuditRecord.objects.latest("pk").pk
    pantry = membership.create_room(kitchen.alice, name="pantry")
    delete(kitchen.alice, to_bob(kitchen) | {pantry.pk: control.DELETE}, by=root)
    said = AuditRecord.objects.filter(pk__gt=lines).exclude(who="")
    whats = {"hand over room", "delete room", "retire agent", "revoke machine", "deleted", "end", "delete account"}
    assert {line.what for line in said} == whats
    assert {line.who for line in said} == {"root"}
    told = [entry.data["by"] for entry in Entry.objects.filter(room=kitchen.room, pk__gt=before) if "by" in entry.data]
    assert set(told) - {""} == {"root"}
    page = shown(kitchen)
    assert "root handed this room over to bob." in page
    assert "alice handed" not in page


def test_the_name_has_to_be_written_and_a_sign_in_be_recent(kitchen: Kitchen) -> None:
    for more, error in (({"handle": "vera"}, Invalid), ({"handle": ""}, Invalid), ({"recently": False}, Refused)):
        with pytest.raises(error):
            delete(kitchen.bob, **more)
    assert User.objects.get(pk=kitchen.bob.pk).gone_at is None
    delete(kitchen.bob, handle=" @Bob ")


def test_it_goes_once(kitchen: Kitchen) -> None:
    delete(kitchen.bob)
    with pytest.raises(NotFound):
        delete(kitchen.bob, handle=called(kitchen.bob))


def test_all_of_it_or_nothing(kitchen: Kitchen, monkeypatch: pytest.MonkeyPatch) -> None:
    """As if the server were killed at the very last step."""
    give_everything_to(kitchen, kitchen.bob)
    pantry, cellar = (membership.create_room(kitchen.bob, name=name) for name in ("pantry", "cellar"))
    heir = join(pantry, kitchen.alice)
    models = (User, Room, Member, Entry, Agent, Machine, Connection, Grant, Turn, AuditRecord, Invite)
    before = [list(model.objects.order_by("pk").values()) for model in models]

    def killed(user: User) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(accounts, "_empty", killed)
    with pytest.raises(KeyboardInterrupt):
        delete(kitchen.bob, {pantry.pk: heir.pk, cellar.pk: control.DELETE})
    assert [list(model.objects.order_by("pk").values()) for model in models] == before


def test_what_came_at_the_last_moment_is_swept_away(kitchen: Kitchen) -> None:
    bob = kitchen.bob
    delete(bob)
    assert control.sweep() == 0
    # Their other tab was in the midst of these.
    late = membership.create_room(User.objects.get(pk=bob.pk), name="late")
    machine = Machine.objects.create(owner=bob, name="late", token_hash="t")
    Agent.objects.create(owner=bob, machine=machine, handle="late", display_name="late", runtime="demo", workdir="/")
    Connection.objects.create(kind="account", user=bob, name="late", token_hash="c")
    Member.objects.filter(room=kitchen.room, user=bob).update(left_at=None, handle="bob2")
    when = User.objects.get(pk=bob.pk).gone_at
    assert control.sweep() == 1
    assert not Room.objects.filter(pk=late.pk).exists()
    assert not Machine.objects.filter(owner=bob).exists()
    assert not Connection.objects.filter(user=bob).exists()
    assert Agent.objects.get(owner=bob).retired_at is not None
    seat = kitchen.seat(bob)
    assert (seat.left_at is not None, seat.handle) == (True, called(bob))
    again = User.objects.get(pk=bob.pk)
    assert (again.gone_at, again.username) == (when, called(bob))
    assert control.sweep() == 0
    assert verify(kitchen.room.pk).ok
    connection.check_constraints()


def test_former_names_go_with_the_entries_that_they_are_for(kitchen: Kitchen) -> None:
    delete(kitchen.bob)
    through = FormerName.objects.get(room=kitchen.room).through
    log.purge(kitchen.room.pk, through - 1)
    control.sweep()
    assert FormerName.objects.filter(room=kitchen.room).exists()
    kitchen.ask(kitchen.alice, "hello")
    log.purge(kitchen.room.pk, through)
    control.sweep()
    assert not FormerName.objects.filter(room=kitchen.room).exists()
