"""Reading an inbox touches the rows that it returns, and one more, however much mail the room holds."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from django.db import connection, transaction
from django.db.models import QuerySet
from pytest_django import DjangoDbBlocker

from approvals import mailbox, turns
from approvals.models import Turn
from messaging.models import Entry, Recipient
from rooms.models import Agent, Member
from tests.approvals.kitchen import Kitchen, make_kitchen

AGENTS, LETTERS, LIMIT = 1_000, 100_000, 20
pytestmark = [pytest.mark.bench, pytest.mark.timeout(600), pytest.mark.django_db]


@pytest.fixture(scope="module")
def crowd(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> Iterator[Kitchen]:
    """A room of a thousand agents and a hundred thousand letters, most of them read, in three people's names."""
    with django_db_blocker.unblock(), transaction.atomic():
        kitchen = make_kitchen()
        agents = Agent.objects.bulk_create(
            Agent(owner=kitchen.alice, handle=f"a{n}", display_name=f"a{n}", runtime="demo", workdir="/")
            for n in range(AGENTS)
        )
        seats = Member.objects.bulk_create(
            Member(room=kitchen.room, agent=agent, is_agent=True, handle=agent.handle) for agent in agents
        )
        people = [kitchen.alice.pk, kitchen.bob.pk, None]
        start = kitchen.room.last_seq + 1_000
        entries = Entry.objects.bulk_create(
            (
                Entry(
                    room=kitchen.room, seq=start + n, kind="message", author=seats[n % 7], body="x", body_hash="",
                    digest="", principal=people[n % 3],
                )
                for n in range(LETTERS)
            ),
            batch_size=2_000,
        )  # fmt: skip
        Recipient.objects.bulk_create(
            (
                Recipient(
                    # A third of all the mail is one agent's: the fullest inbox is the slowest.
                    entry=entry, member=seats[0 if n % 3 else n % AGENTS], seq=entry.seq, principal=entry.principal,
                    open_to=entry.principal if n % 5 else None, read_at=entry.created_at if n % 2 else None,
                )
                for n, entry in enumerate(entries)
            ),
            batch_size=2_000,
        )  # fmt: skip
        kitchen.room.last_seq = start + LETTERS
        kitchen.room.save()
        if connection.vendor == "postgresql":  # it does so by itself; SQLite is never told to
            with connection.cursor() as cursor:
                cursor.execute("ANALYZE")
        yield kitchen
        transaction.set_rollback(True)


def looks(kitchen: Kitchen) -> dict[str, QuerySet[Recipient]]:
    """Every read that an inbox is asked for, as the product asks it."""
    seat = Member.objects.get(handle="a0")
    assert seat.agent is not None
    entry = Entry.objects.filter(kind="message").first()
    turn = Turn(room=kitchen.room, entry=entry, agent=seat.agent, principal=kitchen.bob, status="running")
    middle = kitchen.room.last_seq - LETTERS // 2
    return {
        "unread by hand": turns.unread(seat, None),
        "unread in a turn": turns.unread(seat, turn),
        "again by hand": turns.again(seat, None, middle),
        "again in a turn": turns.again(seat, turn, middle),
    }


BY_INDEX = {
    "unread by hand": "recipient_unread (member_id=? AND waits>?)",
    "unread in a turn": "recipient_unread_in_turn (member_id=? AND open_to=? AND waits_open>?)",
    "again by hand": "recipient_mail (member_id=? AND seq>?)",
    "again in a turn": "recipient_mail_in_turn (member_id=? AND open_to=? AND seq>?)",
}


@pytest.mark.parametrize("what", BY_INDEX)
def test_a_read_examines_what_it_returns_and_one_more(crowd: Kitchen, what: str) -> None:
    rows = looks(crowd)[what][: LIMIT + 1]
    found = list(rows)
    assert len(found) == LIMIT + 1, "there is more than a page"
    if connection.vendor == "postgresql":
        [plan] = json.loads(rows.explain(analyze=True, format="json"))
        assert examined(plan["Plan"]) <= LIMIT + 1, plan
    else:
        plan = rows.explain()
        # All that is asked is in the index, so no row of it is passed over; and no sorting reads further.
        assert plan.endswith(f"SEARCH messaging_recipient USING INDEX {BY_INDEX[what]}"), plan


def examined(node: dict[str, Any]) -> int:
    """Rows that the leaves of a plan looked at, returned or not."""
    if below := node.get("Plans"):
        return sum(examined(child) for child in below)
    passed_over = sum(node.get(f"Rows Removed by {what}", 0) for what in ("Filter", "Index Recheck"))
    return int((node["Actual Rows"] + passed_over) * node["Actual Loops"])


def test_the_whole_call_asks_a_bounded_number_of_queries(crowd: Kitchen, django_assert_max_num_queries: Any) -> None:
    seat = Member.objects.get(handle="a0")
    with django_assert_max_num_queries(8):
        inbox = mailbox.read(seat, None, peek=True, limit=LIMIT)
    assert len(inbox.messages) == LIMIT
