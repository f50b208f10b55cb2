from __future__ import annotations

from django.test import Client
from pytest_django.fixtures import Settings

from rooms import membership
from rooms.models import User
from tests.approvals.kitchen import Kitchen
from tests.pages.conftest import In
from tests.pages.reading import error_beside, text, value

LONG = "a long kitchen table"


def test_looking_at_a_sign_in_link_does_not_use_it_up(kitchen: Kitchen) -> None:
    client, path = Client(), f"/in/{membership.sign_in_link(kitchen.bob)}/"
    for _ in range(3):
        assert "Sign in as bob" in text(client.get(path))
    assert "_auth_user_id" not in client.session
    assert client.post(path)["Location"] == "/"
    assert client.session["_auth_user_id"] == str(kitchen.bob.pk)
    assert "was used, or is too old" in text(Client().post(path))


def test_a_sign_in_link_ends_the_session_of_somebody_else(kitchen: Kitchen, signed_in: In) -> None:
    client = signed_in(kitchen.charlie)
    client.post(f"/in/{membership.sign_in_link(kitchen.bob)}/")
    assert client.session["_auth_user_id"] == str(kitchen.bob.pk)


def test_links_are_limited_by_address(kitchen: Kitchen, settings: Settings) -> None:
    settings.ACCOUNT_RATE_LIMITS = {"link": "2/m/ip"}
    client = Client()
    assert [client.post("/in/ars_guess/").status_code for _ in range(3)] == [404, 404, 429]


def test_the_first_person_administers_the_server(db: None) -> None:
    client, path = Client(), f"/first/{membership.first_link()}/"
    answer = client.post(path, {"handle": "alice", "email": "a@example.com", "password": "short"})
    assert "12" in error_beside(answer, "id_password")
    assert (value(answer, "id_handle"), value(answer, "id_email")) == ("alice", "a@example.com")
    assert client.post(path, {"handle": "alice", "email": "a@example.com", "password": LONG})["Location"] == "/"
    assert User.objects.get().is_superuser
    assert "Connect your machine" in text(client.get("/"))
    again = Client().post(path, {"handle": "mallory", "email": "", "password": LONG})
    assert again.status_code == 404
    assert User.objects.count() == 1
