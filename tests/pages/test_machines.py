from __future__ import annotations

from rooms.models import Machine, Pairing
from tests.approvals.kitchen import Kitchen
from tests.pages.conftest import In
from tests.pages.reading import error_beside, text
from tests.rooms.test_pairing import Terminal


def test_a_machine_is_shown_before_it_is_confirmed(kitchen: Kitchen, signed_in: In) -> None:
    pairing = Terminal("build-box").asks("10.0.0.7")
    bob = signed_in(kitchen.bob)
    seen = text(bob.get(f"/pair/?code={pairing.user_code}"))
    for fact in ("build-box", "10.0.0.7", pairing.user_code):
        assert fact in seen
    assert not Machine.objects.filter(owner=kitchen.bob).exists()
    answer = bob.post("/pair/", {"code": pairing.user_code, "answer": "yes"})
    assert "build-box is yours" in text(answer)
    assert Machine.objects.get(owner=kitchen.bob).name == "build-box"


def test_a_typed_code_leads_to_the_same_page(kitchen: Kitchen, signed_in: In) -> None:
    pairing = Terminal().asks()
    answer = signed_in(kitchen.bob).post("/pair/", {"code": pairing.user_code.lower()})
    assert "Does the terminal of that machine show this code?" in text(answer)
    assert not Machine.objects.filter(owner=kitchen.bob).exists()


def test_not_mine_sends_it_away(kitchen: Kitchen, signed_in: In) -> None:
    pairing = Terminal().asks()
    assert signed_in(kitchen.bob).post("/pair/", {"code": pairing.user_code, "answer": "no"})["Location"] == "/"
    assert Pairing.objects.get(pk=pairing.pk).declined_at is not None
    assert not Machine.objects.filter(owner=kitchen.bob).exists()


def test_a_wrong_code_is_said_beside_the_field(kitchen: Kitchen, signed_in: In) -> None:
    answer = signed_in(kitchen.bob).post("/pair/", {"code": "BCDF-GHJK"})
    assert answer.status_code == 404
    assert "No machine waits with this code" in error_beside(answer, "id_code")


def test_codes_are_not_guessed(kitchen: Kitchen, signed_in: In) -> None:
    bob = signed_in(kitchen.bob)
    assert [bob.post("/pair/", {"code": "BCDF-GHJK"}).status_code for _ in range(21)][-2:] == [404, 429]


def test_revoking_a_machine_says_what_went_with_it(kitchen: Kitchen, signed_in: In) -> None:
    kitchen.ask(kitchen.alice, "@claude start")
    answer = signed_in(kitchen.alice).post(f"/machines/{kitchen.daemon.machine.pk}/revoke/", follow=True)
    assert "One waiting request was cancelled" in text(answer)
    assert Machine.objects.get(pk=kitchen.daemon.machine.pk).revoked_at is not None
