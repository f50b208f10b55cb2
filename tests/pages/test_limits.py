from __future__ import annotations

import pytest

from approvals import control
from approvals.models import AnswerTimes, Grant, Limit
from tests.approvals.kitchen import Kitchen
from tests.pages.conftest import In
from tests.pages.reading import error_beside, text, value


def test_an_owner_sets_how_long_questions_wait(kitchen: Kitchen, signed_in: In) -> None:
    alice = signed_in(kitchen.alice)
    page = f"/agents/{kitchen.claude.pk}/limits/"
    assert page in alice.get(f"/agents/{kitchen.claude.pk}/").content.decode()
    shown = alice.get(page)
    assert [value(shown, f"id_{name}_minutes") for name in ("four", "tool", "question", "start")] == [
        "15", "60", "1440", "",
    ]  # fmt: skip
    times = {"four_minutes": 3, "tool_minutes": 4, "question_minutes": 5, "start_minutes": 600}
    assert alice.post(f"/agents/{kitchen.claude.pk}/times/", times)["Location"] == page
    assert (
        AnswerTimes.objects.values("four_minutes", "tool_minutes", "question_minutes", "start_minutes").get() == times
    )


def test_a_time_that_is_none_stands_beside_its_field(kitchen: Kitchen, signed_in: In) -> None:
    times = {"four_minutes": 0, "tool_minutes": 4, "question_minutes": 5}
    answer = signed_in(kitchen.alice).post(f"/agents/{kitchen.claude.pk}/times/", times)
    assert answer.status_code == 422
    assert error_beside(answer, "id_four_minutes")
    assert not AnswerTimes.objects.exists()


def test_an_owner_limits_somebody_and_lifts_it(kitchen: Kitchen, signed_in: In) -> None:
    alice = signed_in(kitchen.alice)
    page = f"/agents/{kitchen.claude.pk}/limits/"
    alice.post(page, {"person": kitchen.bob.pk, "requests_a_day": 3, "cost_a_month": "2.50"})
    limit = Limit.objects.get()
    assert (limit.person, limit.requests_a_day, limit.minutes_a_day) == (kitchen.bob, 3, None)
    assert "bob 0 of 3 0 of any 0 of any 0.00 of 2.50" in text(alice.get(page))
    alice.post(f"{page}{kitchen.bob.pk}/lift/")
    assert not Limit.objects.exists()


def test_only_people_of_its_rooms_can_be_chosen(kitchen: Kitchen, signed_in: In) -> None:
    alice = signed_in(kitchen.alice)
    page = f"/agents/{kitchen.claude.pk}/limits/"
    assert "charlie" not in alice.get(page).content.decode()
    answer = alice.post(page, {"person": kitchen.charlie.pk, "requests_a_day": 3})
    assert answer.status_code == 422
    assert not Limit.objects.exists()


def test_what_waits_for_a_limit_says_so_in_the_room_and_on_the_owners_pages(kitchen: Kitchen, signed_in: In) -> None:
    bob = kitchen.seat(kitchen.bob)
    control.set_grant(kitchen.alice, agent_id=kitchen.claude.pk, member_id=bob.pk, level="always")
    control.set_limit(kitchen.alice, kitchen.claude.pk, kitchen.bob.pk, requests_a_day=0)
    turn = kitchen.turn(kitchen.ask(kitchen.bob, "@claude start"))
    words = "bob has used the limit for claude: 0 requests a day."
    assert words in text(signed_in(kitchen.bob).get(f"/rooms/{kitchen.room.pk}/"))
    alice = signed_in(kitchen.alice)
    for path in ("/", f"/questions/{kitchen.question(turn).pk}/", f"/turns/{turn.pk}/controls/"):
        assert words in text(alice.get(path)), path


@pytest.mark.parametrize(("lasts", "day"), [("hour", ""), ("date", "2099-12-31")])
def test_a_grant_for_an_hour_or_until_a_day(kitchen: Kitchen, signed_in: In, lasts: str, day: str) -> None:
    form = {"agent": kitchen.claude.pk, "whom": f"seat:{kitchen.seat(kitchen.bob).pk}", "level": "always"}
    signed_in(kitchen.alice).post("/grants/", form | {"lasts": lasts, "until": day})
    grant = Grant.objects.get()
    assert grant.expires_at is not None
    assert not day or grant.expires_at.date().isoformat() == day


def test_a_day_has_to_be_said(kitchen: Kitchen, signed_in: In) -> None:
    form = {"agent": kitchen.claude.pk, "whom": f"seat:{kitchen.seat(kitchen.bob).pk}", "level": "always"}
    answer = signed_in(kitchen.alice).post("/grants/", form | {"lasts": "date", "until": ""})
    assert answer.status_code == 422
    assert error_beside(answer, "id_until")
    assert not Grant.objects.exists()
