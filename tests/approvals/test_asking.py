"""What a message to an agent does, and what it never does."""

from __future__ import annotations

import pytest

from approvals import turns
from approvals.models import Approval, Turn
from messaging.models import Entry, Recipient
from rooms.errors import Conflict, Invalid, NotFound, Refused
from tests.approvals.kitchen import Kitchen, key


def test_a_mention_alone_runs_nothing(kitchen: Kitchen) -> None:
    entry = kitchen.ask(kitchen.bob, "@claude push everything")
    assert kitchen.turn(entry).status == "asked"
    assert kitchen.daemon.sync().offers == []


def test_a_mention_lands_in_the_inbox_of_whom_it_names_alone(kitchen: Kitchen) -> None:
    entry = kitchen.ask(kitchen.bob, "@claude hello, and @alice too")
    assert set(Recipient.objects.filter(entry=entry).values_list("member__handle", flat=True)) == {"claude", "alice"}
    assert Turn.objects.filter(entry=entry).count() == 1


@pytest.mark.parametrize("body", ["`@claude` is a handle", "```\n@claude go\n```", "mail x@claude.com", "a/@claude"])
def test_what_only_looks_like_a_mention_asks_nobody(kitchen: Kitchen, body: str) -> None:
    assert not Turn.objects.filter(entry=kitchen.ask(kitchen.bob, body)).exists()


def test_a_mention_may_be_written_with_a_capital_and_end_a_sentence(kitchen: Kitchen) -> None:
    assert kitchen.turn(kitchen.ask(kitchen.bob, "Please, @Claude.")).agent == kitchen.claude


def test_several_agents_of_several_owners_each_get_a_request(kitchen: Kitchen) -> None:
    entry = kitchen.ask(kitchen.bob, "@claude and @gemini: compare")
    assert set(Turn.objects.filter(entry=entry).values_list("agent__handle", flat=True)) == {"claude", "gemini"}
    answers = {a.turn.agent.handle: a for a in Approval.objects.filter(turn__entry=entry)}
    turns.answer(kitchen.alice, answers["claude"].pk, verdict="once")
    with pytest.raises(NotFound):
        turns.answer(kitchen.alice, answers["gemini"].pk, verdict="once")


def test_a_viewer_cannot_ask(kitchen: Kitchen) -> None:
    with pytest.raises(Refused):
        kitchen.ask(kitchen.vera, "@claude hello")
    assert not Entry.objects.filter(kind="message").exists()


def test_a_stranger_finds_no_room_to_ask_in(kitchen: Kitchen) -> None:
    with pytest.raises(NotFound):
        kitchen.ask(kitchen.charlie, "@claude hello")


def test_the_same_click_twice_is_one_message_and_one_request(kitchen: Kitchen) -> None:
    first = turns.ask(kitchen.bob, kitchen.room.pk, body="@claude once", client_id="click")
    again = turns.ask(kitchen.bob, kitchen.room.pk, body="@claude once", client_id="click")
    assert first.pk == again.pk
    assert Turn.objects.count() == 1
    with pytest.raises(Conflict):
        turns.ask(kitchen.bob, kitchen.room.pk, body="@claude twice", client_id="click")


@pytest.mark.parametrize("body", ["", "  \n ", "x" * 50_001])
def test_an_empty_or_endless_message_is_refused(kitchen: Kitchen, body: str) -> None:
    before = Entry.objects.count()
    with pytest.raises(Invalid):
        kitchen.ask(kitchen.bob, body)
    assert Entry.objects.count() == before


def test_text_that_a_database_refuses_is_cleaned_and_kept(kitchen: Kitchen) -> None:
    entry = kitchen.ask(kitchen.bob, "a\0b \ud800 c")
    assert Entry.objects.get(pk=entry.pk).body == "a\N{REPLACEMENT CHARACTER}b ? c"


def test_the_owner_needs_no_approval_to_start(kitchen: Kitchen) -> None:
    turn = kitchen.turn(kitchen.ask(kitchen.alice, "@claude look around"))
    assert turn.status == "queued"
    assert not Approval.objects.exists()


def test_an_owner_is_asked_about_another_owners_request(kitchen: Kitchen) -> None:
    assert kitchen.turn(kitchen.ask(kitchen.dana, "@claude look around")).status == "asked"


def test_the_asker_can_cancel_what_has_not_started(kitchen: Kitchen) -> None:
    turn = kitchen.turn(kitchen.ask(kitchen.bob, "@claude hello"))
    turns.cancel(kitchen.bob, turn.pk)
    turn.refresh_from_db()
    assert turn.status == "cancelled"
    assert kitchen.question(turn).verdict == "gone"
    with pytest.raises(Conflict):
        turns.cancel(kitchen.bob, turn.pk)


@pytest.mark.parametrize("who", ["dana", "vera", "charlie"])
def test_nobody_else_can_cancel_it(kitchen: Kitchen, who: str) -> None:
    turn = kitchen.turn(kitchen.ask(kitchen.bob, "@claude hello"))
    with pytest.raises(NotFound):
        turns.cancel(getattr(kitchen, who), turn.pk)


def test_a_changed_request_needs_consent_of_its_own(kitchen: Kitchen) -> None:
    turn = kitchen.turn(kitchen.ask(kitchen.bob, "@claude read the file"))
    turns.answer(kitchen.alice, kitchen.question(turn).pk, verdict="once")
    entry = turns.change(kitchen.bob, turn.pk, body="@claude delete the file", client_id=key())
    turn.refresh_from_db()
    assert turn.status == "cancelled"
    assert kitchen.turn(entry).status == "asked"
    assert kitchen.daemon.sync().offers == []


def test_the_place_in_the_queue_counts_this_room_alone(kitchen: Kitchen) -> None:
    from rooms import membership

    other = membership.create_room(kitchen.alice, name="cellar")
    membership.add_agent(kitchen.alice, other.pk, kitchen.claude.pk)
    kitchen.ask(kitchen.alice, "@claude elsewhere", other)
    first = kitchen.turn(kitchen.ask(kitchen.alice, "@claude one"))
    second = kitchen.turn(kitchen.ask(kitchen.alice, "@claude two"))
    assert (turns.place(first), turns.place(second)) == (1, 2)
