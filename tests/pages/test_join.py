from __future__ import annotations

from django.test import Client
from pytest_django.fixtures import Settings

from approvals import control
from rooms import membership
from rooms.models import Member, User
from tests.approvals.kitchen import Kitchen
from tests.pages.conftest import In
from tests.pages.reading import error_beside, text, value

LONG = "a long kitchen table"


def link(kitchen: Kitchen, *, role: str = "member", seat_days: int | None = None, max_uses: int = 1) -> str:
    _, token = membership.invite(
        kitchen.alice, kitchen.room.pk, role=role, days=7, max_uses=max_uses, seat_days=seat_days
    )
    return f"/join/{token}/"


def test_a_stranger_joins_with_one_form_and_is_signed_in(kitchen: Kitchen) -> None:
    client, path = Client(), link(kitchen)
    assert "alice invites you to kitchen" in text(client.get(path))
    answer = client.post(path, {"handle": "Erin", "password": LONG})
    assert answer["Location"] == f"/rooms/{kitchen.room.pk}/"
    erin = User.objects.get(username="erin")
    assert client.session["_auth_user_id"] == str(erin.pk)
    assert kitchen.seat(erin).seated
    assert client.get(f"/rooms/{kitchen.room.pk}/people/").status_code == 200


def test_the_page_says_what_a_viewer_may_do_and_when_the_seat_ends(kitchen: Kitchen) -> None:
    seen = text(Client().get(link(kitchen, role="viewer", seat_days=2)))
    assert "You can read along. Writing and asking agents is for members." in seen
    assert "your seat ends" in seen


def test_a_taken_name_is_said_beside_the_field_and_the_name_stays(kitchen: Kitchen) -> None:
    client, path = Client(), link(kitchen)
    answer = client.post(path, {"handle": "bob", "password": LONG})
    assert answer.status_code == 422
    assert error_beside(answer, "id_handle") == "That name is taken. Try bob-2."
    assert value(answer, "id_handle") == "bob"
    assert LONG not in answer.content.decode()
    answer = client.post(path, {"handle": "claude", "password": LONG})
    assert error_beside(answer, "id_handle") == "Somebody in kitchen is called claude. Try claude-2."
    answer = client.post(path, {"handle": "erin", "password": "short"})
    assert "12" in error_beside(answer, "id_password")
    assert not User.objects.filter(username="erin").exists()


def test_somebody_with_an_account_needs_one_button(kitchen: Kitchen, signed_in: In) -> None:
    charlie, path = signed_in(kitchen.charlie), link(kitchen)
    page = charlie.get(path)
    assert value(page, "id_handle") == "charlie"
    assert "id_password" not in page.content.decode()
    assert charlie.post(path, {"handle": "charlie"})["Location"] == f"/rooms/{kitchen.room.pk}/"
    assert kitchen.seat(kitchen.charlie).seated


def test_who_sits_there_goes_straight_in_even_by_a_dead_link(kitchen: Kitchen, signed_in: In) -> None:
    path = link(kitchen)
    membership.revoke_invite(kitchen.alice, membership.invite_for(path.split("/")[2]).pk)
    assert signed_in(kitchen.bob).get(path)["Location"] == f"/rooms/{kitchen.room.pk}/"


def test_a_dead_link_says_why_and_not_for_which_room(kitchen: Kitchen, signed_in: In) -> None:
    revoked = link(kitchen)
    membership.revoke_invite(kitchen.alice, membership.invite_for(revoked.split("/")[2]).pk)
    used = link(kitchen)
    Client().post(used, {"handle": "erin", "password": LONG})
    for path, why in ((revoked, "taken back"), (used, "used up"), ("/join/ari_none/", "not one of ours")):
        for client in (Client(), signed_in(kitchen.charlie)):
            for answer in (client.get(path), client.post(path, {"handle": "frank", "password": LONG})):
                assert answer.status_code == 404
                assert why in text(answer)
                assert "kitchen" not in answer.content.decode()
    assert not User.objects.filter(username="frank").exists()


def test_a_removed_person_is_told_by_an_old_link(kitchen: Kitchen, signed_in: In) -> None:
    old = link(kitchen, max_uses=5)
    control.remove_member(kitchen.alice, kitchen.seat(kitchen.bob).pk)
    answer = signed_in(kitchen.bob).post(old, {"handle": "bob"})
    assert "You were removed from this room" in text(answer)
    assert not Member.objects.get(room=kitchen.room, user=kitchen.bob).seated


def test_joining_is_limited_by_address(kitchen: Kitchen, settings: Settings) -> None:
    settings.ACCOUNT_RATE_LIMITS = {"join": "2/m/ip"}
    client, path = Client(), link(kitchen)
    for _ in range(2):
        assert client.post(path, {"handle": "bob", "password": LONG}).status_code == 422
    answer = client.post(path, {"handle": "erin", "password": LONG})
    assert (answer.status_code, "Wait a minute" in text(answer)) == (429, True)
    assert not User.objects.filter(username="erin").exists()
    assert client.get(path).status_code == 200


def test_the_link_stays_out_of_caches_and_of_other_sites(kitchen: Kitchen) -> None:
    answer = Client().get(link(kitchen))
    assert "no-store" in answer["Cache-Control"]
    assert answer["Referrer-Policy"] == "same-origin"
