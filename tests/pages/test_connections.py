from __future__ import annotations

from rooms import membership, tokens
from rooms.models import Connection
from tests.approvals.kitchen import Kitchen
from tests.pages.conftest import In
from tests.pages.reading import error_beside, text, value


def test_a_token_is_shown_once_and_listed_by_the_start_of_its_hash(kitchen: Kitchen, signed_in: In) -> None:
    alice = signed_in(kitchen.alice)
    identity = f"{kitchen.claude.pk}:{kitchen.room.pk}"
    token = value(alice.post("/connections/", {"identity": identity, "name": "terminal"}), "token")
    assert token.startswith("arc_")
    again = alice.get("/connections/")
    assert token not in again.content.decode()
    assert f"terminal claude in kitchen · token · {tokens.digest(token)[:8]} · since " in text(again)
    assert " · never used" in text(again)
    assert "no-store" in again["Cache-Control"]


def test_an_account_connection_is_made(kitchen: Kitchen, signed_in: In) -> None:
    signed_in(kitchen.bob).post("/connections/", {"identity": "account", "name": "script"})
    assert Connection.objects.get(user=kitchen.bob).kind == "account"


def test_somebody_elses_agent_is_not_to_choose(kitchen: Kitchen, signed_in: In) -> None:
    bob = signed_in(kitchen.bob)
    answer = bob.post("/connections/", {"identity": f"{kitchen.claude.pk}:{kitchen.room.pk}", "name": "mine"})
    assert error_beside(answer, "id_identity")
    assert not Connection.objects.filter(user=kitchen.bob).exists()


def test_others_connections_are_not_listed_and_not_revoked(kitchen: Kitchen, signed_in: In) -> None:
    made, _ = membership.connect_account(kitchen.bob, "bobs script")
    charlie = signed_in(kitchen.charlie)
    assert "bobs script" not in text(charlie.get("/connections/"))
    assert charlie.post(f"/connections/{made.pk}/revoke/").status_code == 404
    assert signed_in(kitchen.bob).post(f"/connections/{made.pk}/revoke/")["Location"] == "/connections/"
    assert Connection.objects.get(pk=made.pk).revoked_at is not None
