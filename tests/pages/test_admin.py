"""Administrators see counts and states; words only by an act that the owner can read about."""

from __future__ import annotations

import pytest
from django.contrib import admin
from django.test import Client

from approvals import control
from approvals.models import Approval, AuditRecord, Grant, Turn
from messaging.models import Attachment, Entry, Recipient
from rooms import membership
from rooms.models import Agent, Connection, Invite, Machine, Member, Room, SignInLink, User
from tests.approvals.kitchen import Kitchen
from tests.pages.conftest import In
from tests.pages.reading import text

WORDS = "a secret about the soup"
LISTED = (User, Room, Member, Invite, Machine, Agent, Connection, Turn, Grant, Approval, AuditRecord)


@pytest.fixture
def root(kitchen: Kitchen, signed_in: In) -> Client:
    kitchen.ask(kitchen.bob, f"@claude {WORDS}")
    control.set_grant(kitchen.alice, agent_id=kitchen.codex.pk, person_id=kitchen.bob.pk, level="always")
    return signed_in(membership.make_person("root", admin=True))


def path(model: type, what: str = "") -> str:
    meta = model._meta  # type: ignore[attr-defined]
    return f"/admin/{meta.app_label}/{meta.model_name}/{what}"


def trail(owner: User) -> list[tuple[str, str, str]]:
    return list(AuditRecord.objects.filter(owner=owner).order_by("number").values_list("who", "what", "about"))


@pytest.mark.parametrize("model", LISTED, ids=lambda model: model.__name__)
def test_an_administrator_sees_rows_but_neither_words_nor_secrets(root: Client, model: type) -> None:
    pages = [root.get(path(model))]
    for row in model.objects.all():  # type: ignore[attr-defined]
        pages.append(root.get(path(model, f"{row.pk}/change/")))
    assert [page.status_code for page in pages] == [200] * len(pages)
    assert len(pages) > 1
    hashes = [
        value for of in (Machine, Connection, Invite) for value in of.objects.values_list("token_hash", flat=True)
    ]
    for page in pages:
        content = page.content.decode()
        assert WORDS not in content
        assert not [value for value in hashes if value in content]


@pytest.mark.parametrize("model", LISTED, ids=lambda model: model.__name__)
def test_nothing_is_added_changed_or_deleted_past_the_rules(root: Client, model: type) -> None:
    row = model.objects.first()  # type: ignore[attr-defined]
    assert root.get(path(model, "add/")).status_code == 403
    assert root.post(path(model, "add/"), {"name": "x"}).status_code == 403
    assert root.post(path(model, f"{row.pk}/change/"), {"name": "x"}).status_code == 403
    assert root.post(path(model, f"{row.pk}/delete/"), {"post": "yes"}).status_code == 403
    root.post(path(model), {"action": "delete_selected", "_selected_action": [row.pk], "post": "yes"})
    assert model.objects.filter(pk=row.pk).exists()  # type: ignore[attr-defined]


@pytest.mark.parametrize("model", [Entry, Recipient, Attachment, SignInLink], ids=lambda model: model.__name__)
def test_what_was_said_is_not_in_the_administration(model: type) -> None:
    assert model not in admin.site._registry


def test_others_get_no_administration(kitchen: Kitchen, signed_in: In) -> None:
    for client in (Client(), signed_in(kitchen.alice)):
        for asked in ("/admin/", path(Room), path(Room, f"{kitchen.room.pk}/words/")):
            answer = client.get(asked)
            assert answer.status_code in (302, 403, 404)
            assert "kitchen" not in answer.content.decode()


def test_the_administration_has_no_sign_in_of_its_own(db: None) -> None:
    membership.make_person("root", admin=True, password="a long kitchen table")
    answer = Client().post("/admin/login/", {"username": "root", "password": "a long kitchen table"})
    assert answer["Location"].startswith("/account/login/")


def test_reading_words_needs_a_reason_and_is_written_down(root: Client, kitchen: Kitchen) -> None:
    words = path(Room, f"{kitchen.room.pk}/words/")
    before = trail(kitchen.alice)
    for answer in (root.get(words), root.post(words, {"reason": "  "})):
        assert WORDS not in answer.content.decode()
    assert trail(kitchen.alice) == before
    assert WORDS in text(root.post(words, {"reason": "A complaint from bob"}))
    assert trail(kitchen.alice)[len(before) :] == [("root", "administrator: read words", "A complaint from bob")]


def act(root: Client, model: type, action: str, row: int) -> None:
    root.post(path(model), {"action": action, "_selected_action": [row]})


def test_acts_call_the_rules_and_stand_in_the_owners_trail(root: Client, kitchen: Kitchen) -> None:
    invite, token = membership.invite(kitchen.alice, kitchen.room.pk, role="member", days=1, max_uses=1)
    made, _ = membership.connect_account(kitchen.alice, "script")
    grant = Grant.objects.get()
    act(root, Invite, "take_back", invite.pk)
    act(root, Connection, "revoke", made.pk)
    act(root, Grant, "revoke", grant.pk)
    act(root, Agent, "retire", kitchen.codex.pk)
    act(root, Machine, "revoke", kitchen.daemon.machine.pk)
    assert Invite.objects.get(pk=invite.pk).revoked_at is not None
    assert Connection.objects.get(pk=made.pk).revoked_at is not None
    assert not Grant.objects.exists()
    assert Agent.objects.get(pk=kitchen.codex.pk).retired_at is not None
    assert Machine.objects.get(pk=kitchen.daemon.machine.pk).revoked_at is not None
    acts = [what for who, what, _ in trail(kitchen.alice) if who == "root"]
    assert acts == [
        f"administrator: {what}"
        for what in (
            "took back an invite", "revoked a connection", "revoked a grant", "retired an agent", "revoked a machine"
        )
    ]  # fmt: skip
    assert token not in str(trail(kitchen.alice))


def test_what_waits_is_cancelled_and_what_runs_is_not(root: Client, kitchen: Kitchen) -> None:
    waits = Turn.objects.get(agent=kitchen.claude)
    kitchen.ask(kitchen.alice, "@codex run")
    runs = kitchen.daemon.run()
    act(root, Turn, "cancel", waits.pk)
    act(root, Turn, "cancel", runs)
    assert Turn.objects.get(pk=waits.pk).status == "cancelled"
    assert Turn.objects.get(pk=runs).status == "running"
    acts = [what for who, what, _ in trail(kitchen.alice) if who == "root"]
    assert acts == ["administrator: cancelled a request"]


def test_an_administrator_grants_nothing_on_anothers_agent_and_answers_no_question(
    root: Client, kitchen: Kitchen
) -> None:
    seat = kitchen.seat(kitchen.bob).pk
    answer = root.post("/grants/", {"agent": kitchen.claude.pk, "whom": f"seat:{seat}", "level": "always"})
    assert answer.status_code == 422
    assert not Grant.objects.filter(agent=kitchen.claude).exists()
    question = Approval.objects.get(subject="start")
    form = {"verdict": "once", "digest": question.action_digest}
    assert root.get(f"/questions/{question.pk}/").status_code == 404
    assert root.post(f"/questions/{question.pk}/answer/", form).status_code == 404
    assert root.post(path(Approval, f"{question.pk}/change/"), form).status_code == 403
    question.refresh_from_db()
    assert question.verdict == ""


def test_somebody_is_shut_out_and_let_in(root: Client, kitchen: Kitchen, signed_in: In) -> None:
    bob = signed_in(kitchen.bob)
    waits = Turn.objects.get(agent=kitchen.claude)
    act(root, User, "shut_out", kitchen.bob.pk)
    assert bob.get("/").status_code == 302
    waits.refresh_from_db()
    assert (waits.status, waits.ended_by) == ("cancelled", User.objects.get(username="root"))
    act(root, User, "let_in", kitchen.bob.pk)
    assert User.objects.get(pk=kitchen.bob.pk).is_active
    root_id = User.objects.get(username="root").pk
    act(root, User, "shut_out", root_id)
    assert User.objects.get(pk=root_id).is_active


def test_a_sign_in_link_is_made_for_somebody_who_is_locked_out(root: Client, kitchen: Kitchen) -> None:
    answer = root.post(path(User), {"action": "make_link", "_selected_action": [kitchen.bob.pk]}, follow=True)
    assert "http://testserver/in/ars_" in text(answer)
    assert SignInLink.objects.get().user == kitchen.bob
