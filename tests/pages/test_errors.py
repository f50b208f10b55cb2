from __future__ import annotations

from unittest.mock import patch

from django.contrib.staticfiles import finders
from django.test import Client

from approvals import turns
from tests.approvals.kitchen import Kitchen
from tests.pages.conftest import In
from tests.pages.reading import text


def test_a_page_that_is_not_there_says_where_to_go(kitchen: Kitchen, signed_in: In) -> None:
    answer = signed_in(kitchen.alice).get("/rooms/999999/")
    assert answer.status_code == 404
    assert "There is nothing here" in text(answer)
    assert "Go home" in text(answer)


def test_who_decides_second_reads_who_was_first(kitchen: Kitchen, signed_in: In) -> None:
    question = kitchen.question(kitchen.turn(kitchen.ask(kitchen.bob, "@claude hello")))
    turns.answer(kitchen.alice, question.pk, verdict="once")
    answer = signed_in(kitchen.alice).post(f"/questions/{question.pk}/answer/", {"verdict": "no"})
    assert answer.status_code == 409
    assert "alice was first: approved." in text(answer)


def test_a_broken_page_still_has_its_look_and_the_way_back(kitchen: Kitchen) -> None:
    client = Client(raise_request_exception=False)
    client.force_login(kitchen.alice, "django.contrib.auth.backends.ModelBackend")
    with patch("rooms.views.home.own_agents", side_effect=RuntimeError("broken")):
        answer = client.get("/")
    assert answer.status_code == 500
    assert "Something broke here" in text(answer)
    assert "broken" not in text(answer).replace("Something broke", "")
    page = answer.content.decode()
    sheets = [part.split('"')[0] for part in page.split('href="/static/')[1:]]
    assert sheets
    assert all(finders.find(sheet) for sheet in sheets)
