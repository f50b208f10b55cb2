from __future__ import annotations

import time
from datetime import datetime, timedelta

import pytest
from allauth.mfa.models import Authenticator
from django.test import Client
from django.utils import timezone

from agentroom_machine import wire
from approvals.models import Approval, Grant
from messaging.models import Entry
from rooms import membership
from rooms.models import User
from tests.approvals.kitchen import Kitchen

pytestmark = pytest.mark.django_db
FETCH = {"X-Requested-With": "fetch"}


def browser(user: User) -> Client:
    client = Client()
    client.force_login(user)
    return client


def lately(client: Client, user: User) -> Client:
    """As if the person had just signed in with their password."""
    session = client.session
    session["account_authentication_methods"] = [{"method": "password", "at": time.time()}]
    session["account_authentication_methods_user"] = str(user.pk)
    session.save()
    return client


def said(approval: Approval, verdict: str, **more: str) -> dict[str, str]:
    """What the form of this question sends."""
    return {"verdict": verdict, "digest": approval.action_digest} | more


def asked(kitchen: Kitchen, **more: object) -> Approval:
    kitchen.ask(kitchen.alice, "@claude release")
    turn = kitchen.daemon.run()
    question = {"key": "k", "subject": "push", "title": "claude wants to push", "action": "git push", "short": "Push"}
    kitchen.daemon.tell(turn, wire.QuestionFact.model_validate(question | more))
    return Approval.objects.get(turn=turn)


def test_the_owner_answers_on_the_page_of_the_question(kitchen: Kitchen) -> None:
    approval = asked(kitchen)
    client = lately(browser(kitchen.alice), kitchen.alice)
    html = client.get(f"/questions/{approval.pk}/").content.decode()
    assert "Approve this push" in html
    assert "1 of 1" in html

    answer = client.post(f"/questions/{approval.pk}/answer/", said(approval, "once"))
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

    late = browser(kitchen.alice).post(f"/questions/{approval.pk}/answer/", said(approval, "once"), headers=FETCH)
    assert late.status_code == 409
    assert late.json()["detail"] == "alice was first: declined."


def test_always_can_be_bounded(kitchen: Kitchen) -> None:
    turn = kitchen.turn(kitchen.ask(kitchen.bob, "@claude deploy"))
    approval = kitchen.question(turn)
    browser(kitchen.alice).post(f"/questions/{approval.pk}/answer/", said(approval, "always", scope="week"))
    grant = Grant.objects.get()
    assert grant.member == kitchen.seat(kitchen.bob)
    assert grant.expires_at is not None

    turn = kitchen.turn(kitchen.ask(kitchen.dana, "@claude deploy"))
    approval = kitchen.question(turn)
    browser(kitchen.alice).post(f"/questions/{approval.pk}/answer/", said(approval, "always", scope="everywhere"))
    assert Grant.objects.get(person=kitchen.dana).expires_at is None


def test_the_asker_answers_a_plain_question_by_a_button_or_in_their_own_words(kitchen: Kitchen) -> None:
    turn = kitchen.turn(kitchen.ask(kitchen.bob, "@claude release"))
    start = kitchen.question(turn)
    browser(kitchen.alice).post(f"/questions/{start.pk}/answer/", said(start, "once"))
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

    client.post(f"/questions/{first.pk}/answer/", said(first, "", option="1"))
    client.post(f"/questions/{second.pk}/answer/", said(second, "once", note="Neither."))
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


# --- the four kinds want a sign-in


def test_approving_a_push_leads_to_a_sign_in_and_back_and_decides_nothing(kitchen: Kitchen) -> None:
    kitchen.alice.set_password("a long enough secret")
    kitchen.alice.save()
    approval = asked(kitchen)
    client = browser(kitchen.alice)
    assert "asks you to sign in once more" in client.get(f"/questions/{approval.pk}/").content.decode()

    answer = client.post(f"/questions/{approval.pk}/answer/", said(approval, "once"))
    assert answer.headers["Location"] == f"/account/reauthenticate/?next=%2Fquestions%2F{approval.pk}%2F"
    by_script = client.post(f"/questions/{approval.pk}/answer/", said(approval, "once"), headers=FETCH)
    assert (by_script.status_code, by_script.json()["sign_in"]) == (403, answer.headers["Location"])
    approval.refresh_from_db()
    assert approval.verdict == ""

    given = {"password": "a long enough secret", "next": f"/questions/{approval.pk}/"}
    back = client.post(answer.headers["Location"], given)
    assert back.headers["Location"] == f"/questions/{approval.pk}/"
    approval.refresh_from_db()
    assert approval.verdict == "", "the sign-in itself decides nothing"
    client.post(f"/questions/{approval.pk}/answer/", said(approval, "once"))
    approval.refresh_from_db()
    assert approval.verdict == "once"


@pytest.mark.parametrize("record", [
    {"method": "password", "at": -16 * 60}, {"method": "password", "at": 60}, {"method": "socialaccount", "at": 0}, {},
])  # fmt: skip
def test_what_is_no_recent_sign_in(kitchen: Kitchen, record: dict[str, object]) -> None:
    approval = asked(kitchen)
    client = lately(browser(kitchen.alice), kitchen.alice)
    session = client.session
    at = record.get("at")
    session["account_authentication_methods"] = [record | ({"at": time.time() + at} if isinstance(at, int) else {})]
    session.save()
    assert client.post(f"/questions/{approval.pk}/answer/", said(approval, "once")).status_code == 403
    approval.refresh_from_db()
    assert approval.verdict == ""


def test_another_persons_sign_in_in_the_same_browser_is_none(kitchen: Kitchen) -> None:
    approval = asked(kitchen)
    client = lately(browser(kitchen.alice), kitchen.bob)
    assert client.post(f"/questions/{approval.pk}/answer/", said(approval, "once")).status_code == 403


def test_who_has_a_passkey_is_asked_to_touch_it(kitchen: Kitchen) -> None:
    Authenticator.objects.create(user=kitchen.alice, type="webauthn", data={})
    approval = asked(kitchen)
    client = lately(browser(kitchen.alice), kitchen.alice)
    assert "asks for your passkey" in client.get(f"/questions/{approval.pk}/").content.decode()
    answer = client.post(f"/questions/{approval.pk}/answer/", said(approval, "once"))
    assert answer.headers["Location"].startswith("/account/2fa/webauthn/reauthenticate/?next=")
    session = client.session
    session["account_authentication_methods"] = [{"method": "mfa", "type": "webauthn", "at": time.time()}]
    session.save()
    client.post(f"/questions/{approval.pk}/answer/", said(approval, "once"))
    approval.refresh_from_db()
    assert approval.verdict == "once"


def test_a_sign_in_by_a_link_counts_as_long_as_any_other(kitchen: Kitchen) -> None:
    approval = asked(kitchen)
    client = Client()
    client.post(f"/in/{membership.sign_in_link(kitchen.alice)}/")
    client.post(f"/questions/{approval.pk}/answer/", said(approval, "once"))
    approval.refresh_from_db()
    assert approval.verdict == "once"


def test_who_has_nothing_to_sign_in_with_is_told_what_to_do(kitchen: Kitchen) -> None:
    approval = asked(kitchen)
    answer = browser(kitchen.alice).post(f"/questions/{approval.pk}/answer/", said(approval, "once"))
    assert answer.status_code == 403
    assert "Set a password or add a passkey" in answer.content.decode()


def test_declining_a_push_wants_none(kitchen: Kitchen) -> None:
    approval = asked(kitchen)
    browser(kitchen.alice).post(f"/questions/{approval.pk}/answer/", {"verdict": "no"})
    approval.refresh_from_db()
    assert approval.verdict == "no"


@pytest.mark.parametrize("digest", [None, "", "0" * 64])
def test_a_form_that_did_not_show_this_action_approves_nothing(kitchen: Kitchen, digest: str | None) -> None:
    approval = asked(kitchen)
    client = lately(browser(kitchen.alice), kitchen.alice)
    data = {"verdict": "once"} | ({} if digest is None else {"digest": digest})
    assert client.post(f"/questions/{approval.pk}/answer/", data).status_code == 409
    approval.refresh_from_db()
    assert approval.verdict == ""


def test_no_get_answers_anything(kitchen: Kitchen) -> None:
    approval = asked(kitchen)
    client = lately(browser(kitchen.alice), kitchen.alice)
    for path in ("", "answer/"):
        client.get(f"/questions/{approval.pk}/{path}", said(approval, "once"))
        client.head(f"/questions/{approval.pk}/{path}?verdict=once&digest={approval.action_digest}")
    approval.refresh_from_db()
    assert approval.verdict == ""


def test_what_cannot_be_shown_whole_has_no_button_to_approve_it(kitchen: Kitchen) -> None:
    approval = asked(kitchen, action="git push\0")
    client = lately(browser(kitchen.alice), kitchen.alice)
    html = client.get(f"/questions/{approval.pk}/").content.decode()
    assert "can’t be shown whole" in html
    assert 'value="once"' not in html
    assert client.post(f"/questions/{approval.pk}/answer/", said(approval, "once")).status_code == 403
    approval.refresh_from_db()
    assert approval.verdict == ""


# --- longer answers


def test_always_for_an_hour_or_until_a_day(kitchen: Kitchen) -> None:
    client = browser(kitchen.alice)
    ends: list[datetime] = []
    for scope, day in (("hour", ""), ("date", "2099-12-31")):
        approval = kitchen.question(kitchen.turn(kitchen.ask(kitchen.bob, "@claude deploy")))
        client.post(f"/questions/{approval.pk}/answer/", said(approval, "always", scope=scope, until=day))
        grant = Grant.objects.get()
        assert grant.expires_at is not None
        ends.append(grant.expires_at)
        grant.delete()
    assert timedelta(minutes=59) < ends[0] - timezone.now() <= timedelta(hours=1)
    assert ends[1].date().isoformat() == "2099-12-31"
    approval = kitchen.question(kitchen.turn(kitchen.ask(kitchen.bob, "@claude deploy")))
    for day in ("", "2020-01-01", "soon"):
        answer = client.post(f"/questions/{approval.pk}/answer/", said(approval, "always", scope="date", until=day))
        assert answer.status_code == 422
    assert not Grant.objects.exists()


def test_decline_and_do_not_ask_again_is_among_the_folded(kitchen: Kitchen) -> None:
    turn = kitchen.turn(kitchen.ask(kitchen.bob, "@claude deploy"))
    approval = kitchen.question(turn)
    client = browser(kitchen.alice)
    assert "Decline, and don’t ask again" in client.get(f"/turns/{turn.pk}/controls/").content.decode()
    client.post(f"/questions/{approval.pk}/answer/", said(approval, "never"))
    assert Grant.objects.get().level == "deny"
    assert kitchen.turn(kitchen.ask(kitchen.bob, "@claude please")).status == "refused"
