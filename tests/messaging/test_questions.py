from __future__ import annotations

import pytest
from django.test import Client

from agentroom_machine import wire
from approvals.models import Approval, Grant
from messaging.models import Entry
from rooms.models import User
from tests.approvals.kitchen import Kitchen

pytestmark = pytest.mark.django_db
FETCH = {"X-Requested-With": "fetch"}


def browser(user: User) -> Client:
    client = Client()
    client.force_login(user)
    return client


def asked(kitchen: Kitchen, **more: object) -> Approval:
    kitchen.ask(kitchen.alice, "@claude release")
    turn = kitchen.daemon.run()
    question = {"key": "k", "subject": "push", "title": "claude wants to push", "action": "git push", "short": "Push"}
    kitchen.daemon.tell(turn, wire.QuestionFact.model_validate(question | more))
    return Approval.objects.get(turn=turn)


def test_the_owner_answers_on_the_page_of_the_question(kitchen: Kitchen) -> None:
    approval = asked(kitchen)
    client = browser(kitchen.alice)
    html = client.get(f"/questions/{approval.pk}/").content.decode()
    assert "Approve this push" in html
    assert "1 of 1" in html

    answer = client.post(f"/questions/{approval.pk}/answer/", {"verdict": "once"})
    assert answer.headers["Location"].endswith(f"#e{approval.turn.entry.seq}")
    approval.refresh_from_db()
    assert approval.verdict == "once"
    assert "You approved it." in client.get(f"/questions/{approval.pk}/").content.decode()


def test_a_question_is_absent_for_who_may_not_answer_it(kitchen: Kitchen) -> None:
    approval = asked(kitchen)
    for user in (kitchen.bob, kitchen.vera, kitchen.dana, kitchen.charlie):
        client = browser(user)
        assert client.get(f"/questions/{approval.pk}/").status_code == 404
        assert client.post(f"/questions/{approval.pk}/answer/", {"verdict": "once"}).status_code == 404
    approval.refresh_from_db()
    assert approval.verdict == ""


def test_who_comes_second_reads_who_was_first(kitchen: Kitchen) -> None:
    approval = asked(kitchen)
    browser(kitchen.alice).post(f"/questions/{approval.pk}/answer/", {"verdict": "no", "note": "Not on a Friday."})

    late = browser(kitchen.alice).post(f"/questions/{approval.pk}/answer/", {"verdict": "once"}, headers=FETCH)
    assert late.status_code == 409
    assert late.json()["detail"] == "alice was first: declined."


def test_always_can_be_bounded(kitchen: Kitchen) -> None:
    turn = kitchen.turn(kitchen.ask(kitchen.bob, "@claude deploy"))
    approval = kitchen.question(turn)
    browser(kitchen.alice).post(f"/questions/{approval.pk}/answer/", {"verdict": "always", "scope": "week"})
    grant = Grant.objects.get()
    assert grant.member == kitchen.seat(kitchen.bob)
    assert grant.expires_at is not None

    turn = kitchen.turn(kitchen.ask(kitchen.dana, "@claude deploy"))
    browser(kitchen.alice).post(
        f"/questions/{kitchen.question(turn).pk}/answer/", {"verdict": "always", "scope": "everywhere"}
    )
    assert Grant.objects.get(person=kitchen.dana).expires_at is None


def test_the_asker_answers_a_plain_question_by_a_button_or_in_their_own_words(kitchen: Kitchen) -> None:
    turn = kitchen.turn(kitchen.ask(kitchen.bob, "@claude release"))
    browser(kitchen.alice).post(f"/questions/{kitchen.question(turn).pk}/answer/", {"verdict": "once"})
    kitchen.daemon.run()
    for key in ("one", "two"):
        kitchen.daemon.tell(
            turn.pk,
            wire.QuestionFact(
                key=key, subject="question", title="claude asks", action="Which branch?", short="Which branch?",
                options=["main", "release"],
            ),
        )  # fmt: skip
    first, second = Approval.objects.filter(turn=turn, subject="question").order_by("pk")
    client = browser(kitchen.bob)
    html = client.get(f"/turns/{turn.pk}/controls/").content.decode()
    assert f'id="q{first.pk}"' in html
    assert '<button class="button" name="option" value="1">release</button>' in html

    client.post(f"/questions/{first.pk}/answer/", {"option": "1"})
    client.post(f"/questions/{second.pk}/answer/", {"verdict": "once", "note": "Neither."})
    first.refresh_from_db()
    second.refresh_from_db()
    assert (first.verdict, first.note) == ("once", "release")
    assert (second.verdict, second.note) == ("once", "Neither.")
    assert client.post(f"/questions/{first.pk}/answer/", {"option": "7"}, headers=FETCH).status_code == 422


def test_the_asker_changes_cancels_and_asks_again(kitchen: Kitchen) -> None:
    client = browser(kitchen.bob)
    turn = kitchen.turn(kitchen.ask(kitchen.bob, "@claude deploy"))
    client.post(f"/turns/{turn.pk}/change/", {"body": "@claude test first", "client_id": "x"})
    turn.refresh_from_db()
    assert turn.status == "cancelled"
    other = kitchen.turn(Entry.objects.get(body="@claude test first"))

    answer = client.post(f"/turns/{other.pk}/cancel/", headers=FETCH)
    assert answer.status_code == 200
    other.refresh_from_db()
    assert other.status == "cancelled"
    again = client.post(f"/turns/{other.pk}/retry/", headers=FETCH)
    assert again.status_code == 409


def test_the_owner_stops_what_runs_and_the_room_hears_it(kitchen: Kitchen) -> None:
    kitchen.ask(kitchen.alice, "@claude deploy")
    turn = kitchen.daemon.run()
    browser(kitchen.alice).post(f"/turns/{turn}/stop/")

    assert "Stopping…" in browser(kitchen.alice).get(f"/turns/{turn}/controls/").content.decode()
    kitchen.daemon.end(turn, "stopped")
    html = browser(kitchen.bob).get(f"/rooms/{kitchen.room.pk}/").content.decode()
    assert 'stopped by <span data-handle="alice">alice</span>' in html
    assert "Ask again" in browser(kitchen.alice).get(f"/turns/{turn}/controls/").content.decode()


def test_a_form_needs_its_token(kitchen: Kitchen) -> None:
    approval = asked(kitchen)
    strict = Client(enforce_csrf_checks=True)
    strict.force_login(kitchen.alice)

    assert strict.post(f"/questions/{approval.pk}/answer/", {"verdict": "once"}).status_code == 403
    approval.refresh_from_db()
    assert approval.verdict == ""
