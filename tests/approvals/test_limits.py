"""How much one person may have from one agent."""

from __future__ import annotations

from datetime import timedelta
from decimal import Decimal

import pytest
from django.utils import timezone

from agentroom_machine import wire
from approvals import control, limits, turns
from approvals.models import Approval, Grant, Limit, Turn
from messaging.models import Entry
from messaging.render.reading import cards_of
from rooms.errors import Invalid, NotFound
from tests.approvals.kitchen import Kitchen


@pytest.fixture
def granted(kitchen: Kitchen) -> Kitchen:
    control.set_grant(kitchen.alice, agent_id=kitchen.claude.pk, member_id=kitchen.seat(kitchen.bob).pk, level="always")
    return kitchen


def limit(kitchen: Kitchen, **most: object) -> None:
    control.set_limit(kitchen.alice, kitchen.claude.pk, kitchen.bob.pk, **most)  # type: ignore[arg-type]


def used(kitchen: Kitchen, usage: wire.Usage | None = None, minutes: int = 0) -> Turn:
    """One request of bob's that ran to its end."""
    turn = kitchen.turn(kitchen.ask(kitchen.bob, "@claude work"))
    kitchen.daemon.run()
    Turn.objects.filter(pk=turn.pk).update(started_at=timezone.now() - timedelta(minutes=minutes))
    kitchen.daemon.tell(turn.pk, wire.EndFact(state="done", usage=usage))
    kitchen.daemon.running.remove(turn.pk)
    return turn


def notices(turn: Turn) -> list[str]:
    return list(Entry.objects.filter(kind="notice", source_turn=turn.pk).order_by("seq").values_list("body", flat=True))


def test_a_request_over_the_day_waits_for_the_owner_and_says_why(granted: Kitchen) -> None:
    limit(granted, requests_a_day=2)
    for _ in range(2):
        used(granted)
    third = granted.turn(granted.ask(granted.bob, "@claude once more"))
    assert third.status == "asked"
    assert granted.question(third).short == "bob has used the limit for claude: 2 requests a day."
    assert "bob has used the limit for claude: 2 requests a day." in notices(third)[0]
    assert granted.daemon.sync().offers == []


def test_the_owner_approves_it_once_and_the_next_one_waits_again(granted: Kitchen) -> None:
    limit(granted, requests_a_day=1)
    used(granted)
    second = granted.turn(granted.ask(granted.bob, "@claude once more"))
    turns.answer(granted.alice, granted.question(second).pk, verdict="once")
    assert granted.daemon.run() == second.pk
    assert granted.turn(granted.ask(granted.bob, "@claude and more")).status == "asked"


def test_lifting_the_limit_lets_what_waited_for_it_go_on(granted: Kitchen) -> None:
    limit(granted, requests_a_day=0)
    turn = granted.turn(granted.ask(granted.bob, "@claude work"))
    assert turn.status == "asked"
    limit(granted)
    turn.refresh_from_db()
    assert turn.status == "queued"
    assert granted.question(turn).verdict == "gone"
    assert not Limit.objects.exists()
    assert granted.daemon.run() == turn.pk


def test_lifting_a_limit_is_no_permission(kitchen: Kitchen) -> None:
    limit(kitchen, requests_a_day=0)
    turn = kitchen.turn(kitchen.ask(kitchen.bob, "@claude work"))
    limit(kitchen)
    turn.refresh_from_db()
    assert turn.status == "asked"


@pytest.mark.parametrize(
    ("most", "usage", "minutes", "words"),
    [
        ({"minutes_a_day": 30}, None, 31, "30 minutes a day"),
        ({"tokens_a_month": 1000}, wire.Usage(input_tokens=900, output_tokens=100), 0, "1,000 tokens a month"),
        ({"cost_a_month": Decimal("0.50")}, wire.Usage(cost_usd="0.51"), 0, "0.5 US dollars a month"),
    ],
)
def test_time_tokens_and_cost_count(
    granted: Kitchen, most: dict[str, object], usage: wire.Usage | None, minutes: int, words: str
) -> None:
    limit(granted, **most)
    used(granted, usage, minutes)
    second = granted.turn(granted.ask(granted.bob, "@claude more"))
    assert second.status == "asked"
    assert words in granted.question(second).short.replace("0.50", "0.5")


@pytest.mark.parametrize("cost", ["", "free", "NaN", "-3", "Infinity", "1e999"])
def test_a_cost_that_is_none_is_counted_as_far_as_it_goes(granted: Kitchen, cost: str) -> None:
    turn = used(granted, wire.Usage(input_tokens=-5, cost_usd=cost))
    turn.refresh_from_db()
    assert turn.status == "done"
    assert 0 <= turn.cost_usd <= 10_000_000
    assert turn.tokens == 0


def test_it_is_read_again_when_the_turn_comes(granted: Kitchen) -> None:
    limit(granted, minutes_a_day=10)
    first = granted.turn(granted.ask(granted.bob, "@claude long"))
    second = granted.turn(granted.ask(granted.bob, "@claude short"))
    assert second.status == "queued"
    granted.daemon.run()
    Turn.objects.filter(pk=first.pk).update(started_at=timezone.now() - timedelta(minutes=11))
    granted.daemon.end(first.pk)
    assert granted.daemon.sync().offers == []
    second.refresh_from_db()
    assert second.status == "asked"
    assert "10 minutes a day" in granted.question(second).short
    turns.answer(granted.alice, granted.question(second).pk, verdict="once")
    assert granted.daemon.run() == second.pk


def waits_again(kitchen: Kitchen) -> Turn:
    """A request of bob's that waited for a limit, was let go on, and came to its turn when the limit was used again."""
    limit(kitchen, requests_a_day=1)
    first = kitchen.turn(kitchen.ask(kitchen.bob, "@claude one"))
    kitchen.daemon.run()
    second = kitchen.turn(kitchen.ask(kitchen.bob, "@claude two"))
    limit(kitchen, requests_a_day=5)
    second.refresh_from_db()
    assert (second.status, kitchen.question(second).verdict) == ("queued", "gone")
    limit(kitchen, requests_a_day=1)
    kitchen.daemon.end(first.pk)
    return second


def test_a_limit_that_was_raised_and_is_reached_again_asks_the_owner_again(granted: Kitchen) -> None:
    second = waits_again(granted)
    assert granted.daemon.sync().offers == []
    second.refresh_from_db()
    assert second.status == "asked"
    question = granted.question(second)
    assert (question.verdict, question.decided_at) == ("", None)
    assert "1 requests a day" in question.short
    [asked] = [
        card.asks_to_start for card in cards_of(granted.room.pk, Turn.objects.filter(pk=second.pk))[second.entry.seq]
    ]
    assert asked is not None
    assert asked.open
    turns.answer(granted.alice, question.pk, verdict="once")
    assert granted.daemon.run() == second.pk


def test_one_request_that_breaks_keeps_no_other_from_its_machine(
    granted: Kitchen, caplog: pytest.LogCaptureFixture
) -> None:
    """The question that no rule leaves open for a request that is let in: the database refuses a second one."""
    broken = waits_again(granted)
    Approval.objects.filter(turn=broken).update(verdict="", decided_at=None)
    other = granted.turn(granted.ask(granted.alice, "@claude work"))
    assert [offered.turn_id for offered in granted.daemon.sync().offers] == [other.pk]
    broken.refresh_from_db()
    assert broken.status == "queued"
    assert f"Request {broken.pk} can't be offered" in caplog.text


def test_yesterday_does_not_count(granted: Kitchen) -> None:
    limit(granted, requests_a_day=1, minutes_a_day=5)
    old = used(granted, minutes=30)
    long_ago = timezone.now() - timedelta(hours=25)
    Turn.objects.filter(pk=old.pk).update(queued_at=long_ago, started_at=long_ago, finished_at=long_ago)
    assert granted.turn(granted.ask(granted.bob, "@claude today")).status == "queued"


def test_what_was_cancelled_or_declined_does_not_count(granted: Kitchen) -> None:
    limit(granted, requests_a_day=1)
    turns.cancel(granted.bob, granted.turn(granted.ask(granted.bob, "@claude no")).pk)
    assert granted.turn(granted.ask(granted.bob, "@claude yes")).status == "queued"


def test_others_other_agents_and_the_owner_have_their_own_count(granted: Kitchen) -> None:
    limit(granted, requests_a_day=0)
    for agent, person in ((granted.codex, granted.bob), (granted.claude, granted.dana)):
        control.set_grant(granted.alice, agent_id=agent.pk, member_id=granted.seat(person).pk, level="always")
    assert granted.turn(granted.ask(granted.bob, "@codex work")).status == "queued"
    assert granted.turn(granted.ask(granted.dana, "@claude work")).status == "queued"
    assert granted.turn(granted.ask(granted.alice, "@claude work")).status == "queued"


def test_only_the_agents_owner_sets_them_and_only_for_people_of_its_rooms(kitchen: Kitchen) -> None:
    for other in (kitchen.bob, kitchen.dana, kitchen.charlie):
        with pytest.raises(NotFound):
            control.set_limit(other, kitchen.claude.pk, kitchen.bob.pk, requests_a_day=1)
    for nobody in (kitchen.charlie, kitchen.alice):
        with pytest.raises(NotFound):
            control.set_limit(kitchen.alice, kitchen.claude.pk, nobody.pk, requests_a_day=1)
    with pytest.raises(Invalid):
        limit(kitchen, requests_a_day=-1)


def test_a_grant_is_untouched_by_a_limit(granted: Kitchen) -> None:
    limit(granted, requests_a_day=0)
    granted.ask(granted.bob, "@claude work")
    assert Grant.objects.get().level == "always"
    assert limits.used(granted.claude.pk, granted.bob.pk).requests == 0
