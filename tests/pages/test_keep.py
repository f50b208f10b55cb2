"""The room's owner says how long it keeps entries; before any go, a page says how many."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.test import Client
from django.utils import timezone

from approvals import control
from approvals.models import AuditRecord
from messaging.models import Entry
from rooms.errors import Conflict, Invalid, Refused
from rooms.models import Room
from tests.approvals.kitchen import Kitchen, make_kitchen


@pytest.fixture
def kitchen(db: None) -> Kitchen:
    return make_kitchen()


@pytest.fixture
def browser(kitchen: Kitchen) -> Client:
    client = Client()
    client.force_login(kitchen.alice)
    return client


@pytest.fixture
def later(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is forty days later than when the kitchen was made."""
    now = timezone.now() + timedelta(days=40)
    monkeypatch.setattr("django.utils.timezone.now", lambda: now)


def kept(kitchen: Kitchen) -> int | None:
    return Room.objects.values_list("retention_days", flat=True).get(pk=kitchen.room.pk)


def url(kitchen: Kitchen) -> str:
    return f"/rooms/{kitchen.room.pk}/keep/"


def test_a_limit_is_taken_only_after_a_page_said_how_many_entries_go(
    kitchen: Kitchen, browser: Client, later: None
) -> None:
    browser.force_login(kitchen.alice)
    count = Entry.objects.filter(room=kitchen.room).count()
    page = browser.post(url(kitchen), {"days": "30"})
    said = " ".join(page.content.decode().split())
    assert page.status_code == 200
    assert f"{count} entries go" in said
    assert f"/rooms/{kitchen.room.pk}/export.md" in said
    assert f"/rooms/{kitchen.room.pk}/export.jsonl" in said
    assert kept(kitchen) is None
    assert browser.post(url(kitchen), {"days": "30", "confirmed": "yes"}).status_code == 302
    assert kept(kitchen) == 30
    told = Entry.objects.filter(room=kitchen.room).latest("seq")
    assert told.body == "alice set that entries are kept for 30 days."
    assert AuditRecord.objects.filter(owner=kitchen.alice, what="keep entries", decision="for 30 days").exists()
    assert control.clean().entries == count


def test_a_longer_limit_and_none_are_taken_at_once(kitchen: Kitchen, browser: Client) -> None:
    control.keep(kitchen.alice, kitchen.room.pk, days=30, confirmed=True)
    browser.post(url(kitchen), {"days": "60"})
    assert kept(kitchen) == 60
    browser.post(url(kitchen), {"days": ""})
    assert kept(kitchen) is None


def test_the_rule_itself_wants_a_shorter_limit_confirmed(kitchen: Kitchen) -> None:
    with pytest.raises(Conflict):
        control.keep(kitchen.alice, kitchen.room.pk, days=30)
    assert kept(kitchen) is None


@pytest.mark.parametrize("days", ["0", "-3", "4000", "many", "1.5"])
def test_a_number_that_is_none_stands_beside_its_field(kitchen: Kitchen, browser: Client, days: str) -> None:
    page = browser.post(url(kitchen), {"days": days, "confirmed": "yes"})
    assert page.status_code == 422
    assert kept(kitchen) is None
    assert "How long entries are kept" in page.content.decode()


def test_only_the_owner_sets_it(kitchen: Kitchen) -> None:
    for other in (kitchen.bob, kitchen.dana, kitchen.vera):
        with pytest.raises(Refused):
            control.keep(other, kitchen.room.pk, days=30, confirmed=True)
    with pytest.raises(Invalid):
        control.keep(kitchen.alice, kitchen.room.pk, days=0, confirmed=True)
    assert kept(kitchen) is None


def test_where_the_server_keeps_less_anyway_a_longer_limit_shortens_nothing(kitchen: Kitchen, settings: object) -> None:
    settings.ROOM_RETENTION_DAYS = 10  # type: ignore[attr-defined]
    assert not control.shortens(kitchen.room, 30)
    assert control.shortens(kitchen.room, 5)


def test_the_settings_show_it_and_members_find_the_copy(kitchen: Kitchen, browser: Client) -> None:
    control.keep(kitchen.alice, kitchen.room.pk, days=30, confirmed=True)
    page = browser.get(f"/rooms/{kitchen.room.pk}/settings/").content.decode()
    assert 'name="days" min="1" max="3650" value="30"' in page
    bob = Client()
    bob.force_login(kitchen.bob)
    assert f"/rooms/{kitchen.room.pk}/export.md" in bob.get(f"/rooms/{kitchen.room.pk}/people/").content.decode()
