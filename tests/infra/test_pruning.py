from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone

from rooms.models import Machine, Pairing, SignInLink, User
from rooms.pruning import prune

pytestmark = pytest.mark.django_db


def link(name: str, *, expires_in: timedelta, used_ago: timedelta | None = None) -> None:
    now = timezone.now()
    used_at = None if used_ago is None else now - used_ago
    SignInLink.objects.create(token_hash=name, expires_at=now + expires_in, used_at=used_at)


def test_links_go_a_day_after_they_ended_and_not_before() -> None:
    day = timedelta(days=1)
    link("open", expires_in=day)
    link("just expired", expires_in=-timedelta(hours=1))
    link("long expired", expires_in=-2 * day)
    link("just used", expires_in=day, used_ago=timedelta(hours=1))
    link("long used", expires_in=day, used_ago=2 * day)
    prune()
    prune()
    assert set(SignInLink.objects.values_list("token_hash", flat=True)) == {"open", "just expired", "just used"}


def test_an_old_pairing_goes_and_its_machine_stays() -> None:
    alice = User.objects.create(username="alice")
    machine = Machine.objects.create(owner=alice, name="laptop", token_hash="t")
    Pairing.objects.create(
        user_code="ABCD-EFGH",
        name="laptop",
        token_hash="t",
        connection_hash="c",
        machine=machine,
        expires_at=timezone.now() - timedelta(days=2),
    )
    prune()
    assert not Pairing.objects.exists()
    assert Machine.objects.get() == machine
