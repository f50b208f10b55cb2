from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone

from approvals import consent, control
from approvals.models import Grant, Turn
from rooms.errors import Refused
from rooms.models import User
from tests.approvals.kitchen import Kitchen
from tests.pages.conftest import In
from tests.pages.reading import error_beside, text
from tests.pages.test_leaving import SECRET, lately


def wanted(kitchen: Kitchen, **more: object) -> dict[str, object]:
    bob = f"seat:{kitchen.seat(kitchen.bob).pk}"
    return {"agent": kitchen.claude.pk, "whom": bob, "level": "always", "lasts": "7", **more}


def test_an_owner_allows_somebody_for_a_week(kitchen: Kitchen, signed_in: In) -> None:
    assert signed_in(kitchen.alice).post("/grants/", wanted(kitchen))["Location"] == "/grants/"
    grant = Grant.objects.get()
    assert (grant.agent, grant.member, grant.level) == (kitchen.claude, kitchen.seat(kitchen.bob), "always")
    assert grant.expires_at is not None
    assert timedelta(days=6) < grant.expires_at - timezone.now() <= timedelta(days=7)


def test_or_in_every_room_that_they_share(kitchen: Kitchen, signed_in: In) -> None:
    signed_in(kitchen.alice).post("/grants/", wanted(kitchen, whom=f"person:{kitchen.bob.pk}", lasts="", level="deny"))
    grant = Grant.objects.get()
    assert (grant.person, grant.level, grant.expires_at) == (kitchen.bob, "deny", None)


def test_nobody_decides_about_somebody_elses_agent(kitchen: Kitchen, signed_in: In) -> None:
    answer = signed_in(kitchen.dana).post("/grants/", wanted(kitchen))
    assert answer.status_code == 422
    assert error_beside(answer, "id_agent")
    assert not Grant.objects.exists()


def test_strangers_are_not_among_the_people_to_choose(kitchen: Kitchen, signed_in: In) -> None:
    page = signed_in(kitchen.alice).get("/grants/").content.decode()
    assert "charlie" not in page
    answer = signed_in(kitchen.alice).post("/grants/", wanted(kitchen, whom=f"person:{kitchen.charlie.pk}"))
    assert error_beside(answer, "id_whom")


def test_grants_are_listed_and_revoked_with_what_waits_under_them(kitchen: Kitchen, signed_in: In) -> None:
    bob = kitchen.seat(kitchen.bob)
    grant = control.set_grant(kitchen.alice, agent_id=kitchen.claude.pk, member_id=bob.pk, level="always")
    turn = kitchen.turn(kitchen.ask(kitchen.bob, "@claude start"))
    alice = signed_in(kitchen.alice)
    assert "bob claude kitchen always" in text(alice.get("/grants/"))
    answer = alice.post(f"/grants/{grant.pk}/revoke/", {"next": "/"}, follow=True)
    assert "One waiting request was cancelled" in text(answer)
    assert Turn.objects.get(pk=turn.pk).status == "cancelled"
    assert consent.level(kitchen.claude, bob) == Grant.Level.ASK


def test_a_never_for_somebody_who_has_left_is_listed_and_can_be_revoked(kitchen: Kitchen, signed_in: In) -> None:
    bob, dana = kitchen.seat(kitchen.bob).pk, kitchen.seat(kitchen.dana).pk
    never = control.set_grant(kitchen.alice, agent_id=kitchen.claude.pk, member_id=bob, level="deny")
    control.set_grant(kitchen.alice, agent_id=kitchen.claude.pk, member_id=dana, level="always")
    for user in (kitchen.bob, kitchen.dana):
        control.leave(user, kitchen.room.pk)
    alice = signed_in(kitchen.alice)
    assert "bob claude kitchen never" in text(alice.get("/grants/"))
    assert "dana claude kitchen" not in text(alice.get("/grants/"))
    alice.post(f"/grants/{never.pk}/revoke/")
    assert not Grant.objects.exists()


def test_a_deputy_is_named_and_ended(kitchen: Kitchen, signed_in: In) -> None:
    alice = lately(signed_in(kitchen.alice), kitchen.alice)
    assert alice.post("/deputy/", {"handle": "dana", "days": "3"})["Location"] == "/deputy/"
    assert "dana answers for you until" in text(alice.get("/deputy/"))
    assert User.objects.get(username="alice").deputy == kitchen.dana
    alice.post("/deputy/", {"end": "1"})
    assert User.objects.get(username="alice").deputy is None


def test_naming_a_deputy_leads_to_a_sign_in_and_back_and_ending_one_does_not(kitchen: Kitchen, signed_in: In) -> None:
    """An unlocked browser must not hand the four kinds, which it can't approve itself, to somebody else."""
    kitchen.alice.set_password(SECRET)
    kitchen.alice.save()
    alice, named = signed_in(kitchen.alice), {"handle": "dana", "days": "3"}
    page = alice.get("/deputy/").content.decode()
    assert "Show that it is you" in page
    assert 'name="handle"' not in page
    there = alice.post("/deputy/", named)["Location"]
    assert there.startswith("/account/reauthenticate/")
    assert User.objects.get(username="alice").deputy is None
    assert alice.post(there, {"password": SECRET, "next": "/deputy/"})["Location"] == "/deputy/"
    assert User.objects.get(username="alice").deputy is None
    assert alice.post("/deputy/", named)["Location"] == "/deputy/"
    assert User.objects.get(username="alice").deputy == kitchen.dana
    assert signed_in(kitchen.alice).post("/deputy/", {"end": "1"})["Location"] == "/deputy/"
    assert User.objects.get(username="alice").deputy is None


def test_the_rule_names_no_deputy_without_a_recent_sign_in(kitchen: Kitchen) -> None:
    with pytest.raises(Refused, match="sign-in") as refused:
        control.name_deputy(kitchen.alice, handle="dana", until=timezone.now() + timedelta(days=1), recently=False)
    assert refused.value.code == "sign_in"
    assert User.objects.get(username="alice").deputy is None


def test_a_stranger_is_no_deputy(kitchen: Kitchen, signed_in: In) -> None:
    for nobody in ("charlie", "nobody", "alice"):
        alice = lately(signed_in(kitchen.alice), kitchen.alice)
        answer = alice.post("/deputy/", {"handle": nobody, "days": "3"})
        assert answer.status_code == 422
        assert error_beside(answer, "id_handle")
    assert User.objects.get(username="alice").deputy is None
