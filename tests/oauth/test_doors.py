"""Every door that programs use to sign in, for whoever is nobody: with nothing, a session, a connection's token."""

from __future__ import annotations

import pytest
from django.test import Client
from django.utils import timezone

from rooms import membership
from rooms.models import Connection
from tests.approvals.kitchen import Kitchen
from tests.doors.scene import stored
from tests.oauth.program import Program, browser_of
from tests.test_doors import routes

DOORS = {
    "identity/o/api/token": {"POST": 400},
    "identity/o/api/revoke": {"POST": 400},
    "identity/o/api/device/code": {"POST": 400},
    "identity/o/api/userinfo": {"GET": 401, "POST": 401},
    "identity/o/api/clients": {"POST": 400},
}


def test_the_table_knows_every_door() -> None:
    assert set(DOORS) == {route for route in routes() if route.startswith("identity/o/api/")}


@pytest.mark.parametrize("route", DOORS)
@pytest.mark.parametrize("method", ["GET", "POST", "PUT", "PATCH", "DELETE"])
def test_none_answers_to_a_session_or_to_nobody(route: str, method: str, kitchen: Kitchen) -> None:
    _, token = membership.connect(kitchen.alice, agent=kitchen.claude.pk, room=kitchen.room.pk, name="by hand")
    bearer = Client(headers={"Authorization": f"Bearer {token}"})
    before = stored()
    for client in (Client(), browser_of(kitchen.alice), bearer):
        assert client.generic(method, f"/{route}").status_code == DOORS[route].get(method, 405), client
    assert stored() == before


def test_a_sign_in_opens_no_page_and_no_machines_door(kitchen: Kitchen) -> None:
    token = Program.introduced().signs_in(kitchen.alice)["access_token"]
    client = Client(headers={"Authorization": f"Bearer {token}"})
    assert client.get("/connections/").status_code == 302
    assert client.get(f"/rooms/{kitchen.room.pk}/").status_code == 302
    assert client.get("/api/machine/me").status_code == 401


def test_what_openid_tells_of_a_person_is_a_number(kitchen: Kitchen) -> None:
    token = Program.introduced().signs_in(kitchen.alice, scope="openid agentroom")["access_token"]
    answer = Client(headers={"Authorization": f"Bearer {token}"}).get("/identity/o/api/userinfo")
    assert answer.json() == {"sub": str(kitchen.alice.pk)}


def test_openid_tells_nothing_once_the_connection_has_ended(kitchen: Kitchen) -> None:
    token = Program.introduced().signs_in(kitchen.alice, scope="openid agentroom")["access_token"]
    client = Client(headers={"Authorization": f"Bearer {token}"})
    # Ended through its user, agent or machine, or by its page: the token itself may still be there.
    Connection.objects.update(revoked_at=timezone.now())
    for method in ("GET", "POST"):
        answer = client.generic(method, "/identity/o/api/userinfo")
        assert (answer.status_code, answer.json()["error"]) == (401, "invalid_token")
        assert answer["WWW-Authenticate"] == 'Bearer error="invalid_token"'
