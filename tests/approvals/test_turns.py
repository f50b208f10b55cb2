"""A request on a machine: offered, started, told, ended, each once."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest
from django.db import IntegrityError, transaction
from django.utils import timezone

from agentroom_machine import wire
from approvals import control, record, turns, work
from approvals.models import Approval, Turn
from messaging import files
from messaging.models import Entry
from rooms.errors import Conflict, Invalid, NotFound, Refused
from rooms.models import Machine, Member
from tests.approvals.kitchen import Daemon, Kitchen, key


def test_a_turn_goes_from_offer_to_done(kitchen: Kitchen) -> None:
    kitchen.ask(kitchen.alice, "@claude look around")
    turn = kitchen.daemon.run()
    kitchen.daemon.tell(turn, wire.TextFact(part="1", text="I look."), wire.EndFact(state="done"))
    assert kitchen.kinds(turn) == ["turn queued", "turn running", "text", "turn done"]
    assert Turn.objects.get(pk=turn).finished_at is not None


def test_a_lost_reply_is_offered_again_until_the_machine_holds_it(kitchen: Kitchen) -> None:
    kitchen.ask(kitchen.alice, "@claude look around")
    first = kitchen.daemon.sync().offers
    assert kitchen.daemon.sync().offers == first
    kitchen.daemon.offers = [first[0].turn_id]
    assert kitchen.daemon.sync().offers == []


def test_starting_twice_with_one_claim_is_one_start(kitchen: Kitchen) -> None:
    kitchen.ask(kitchen.alice, "@claude look around")
    offer = kitchen.daemon.take()[0]
    first = kitchen.daemon.start(offer)
    again = turns.start(kitchen.daemon.machine, offer.turn_id, claim_id=offer.claim_id, journal_id="journal-1")
    assert first == again
    assert kitchen.kinds(offer.turn_id).count("turn running") == 1


def test_another_machine_or_claim_cannot_start_it(kitchen: Kitchen) -> None:
    kitchen.ask(kitchen.alice, "@claude look around")
    offer = kitchen.daemon.take()[0]
    for machine, claim, journal in (
        (kitchen.danas.machine, offer.claim_id, "journal-1"),
        (kitchen.daemon.machine, "another", "journal-1"),
        (kitchen.daemon.machine, offer.claim_id, "journal-2"),
    ):
        with pytest.raises(Conflict):
            turns.start(machine, offer.turn_id, claim_id=claim, journal_id=journal)
    assert Turn.objects.get(pk=offer.turn_id).status == "offered"


ENDS = {
    "revoked": "interrupted", "denied": "interrupted", "removed": "interrupted", "back again": "interrupted",
    "archived": "interrupted", "the agent left": "interrupted", "stopped": "stopped",
}  # fmt: skip


@pytest.mark.parametrize("how", ENDS)
def test_a_daemon_that_ended_before_it_began_asks_again_and_consent_is_read_again(kitchen: Kitchen, how: str) -> None:
    bob = kitchen.seat(kitchen.bob)
    grant = control.set_grant(kitchen.alice, agent_id=kitchen.claude.pk, member_id=bob.pk, level="always")
    turn = kitchen.turn(kitchen.ask(kitchen.bob, "@claude start"))
    [offer] = kitchen.daemon.take()
    assert isinstance(kitchen.daemon.start(offer), datetime)
    match how:
        case "revoked":
            control.revoke_grant(kitchen.alice, grant.pk)
        case "denied":
            control.set_grant(kitchen.alice, agent_id=kitchen.claude.pk, person_id=kitchen.bob.pk, level="deny")
        case "removed":
            control.remove_member(kitchen.alice, bob.pk)
        case "back again":
            control.revoke_grant(kitchen.alice, grant.pk)
            control.set_grant(kitchen.alice, agent_id=kitchen.claude.pk, member_id=bob.pk, level="always")
        case "archived":
            control.archive(kitchen.alice, kitchen.room.pk, archived=True)
        case "the agent left":
            control.remove_member(kitchen.alice, kitchen.seat(kitchen.claude).pk)
        case _:
            control.stop_turn(kitchen.bob, turn.pk)
    # Its journal holds the offer, and not that it ran.
    kitchen.daemon.running, kitchen.daemon.offers, kitchen.daemon.instance = [], [turn.pk], "start-2"
    kitchen.daemon.hello()
    refusal = kitchen.daemon.start(offer)
    assert isinstance(refusal, str)
    turn.refresh_from_db()
    assert (turn.status, turn.note) == (ENDS[how], refusal)
    assert kitchen.daemon.running == []
    with pytest.raises(Conflict):
        kitchen.daemon.start(offer)


def test_consent_is_checked_again_at_start(kitchen: Kitchen) -> None:
    turn = kitchen.turn(kitchen.ask(kitchen.bob, "@claude look around"))
    turns.answer(kitchen.alice, kitchen.question(turn).pk, verdict="once")
    offer = kitchen.daemon.take()[0]
    Member.objects.filter(pk=kitchen.seat(kitchen.bob).pk).update(role="viewer")
    assert kitchen.daemon.start(offer) == "Whoever asked may no longer ask here."
    assert Turn.objects.get(pk=turn.pk).status == "cancelled"


def test_removing_a_person_cancels_even_what_is_offered(kitchen: Kitchen) -> None:
    turn = kitchen.turn(kitchen.ask(kitchen.bob, "@claude look around"))
    turns.answer(kitchen.alice, kitchen.question(turn).pk, verdict="once")
    offer = kitchen.daemon.take()[0]
    control.remove_member(kitchen.alice, kitchen.seat(kitchen.bob).pk)
    assert Turn.objects.get(pk=turn.pk).status == "cancelled"
    assert kitchen.daemon.sync().withdrawn == [offer.turn_id]
    with pytest.raises(Conflict):
        kitchen.daemon.start(offer)


def test_an_agent_runs_one_turn_at_a_time(kitchen: Kitchen) -> None:
    kitchen.ask(kitchen.alice, "@claude one")
    kitchen.ask(kitchen.alice, "@claude two")
    first = kitchen.daemon.run()
    assert kitchen.daemon.sync().offers == []
    kitchen.daemon.end(first)
    assert len(kitchen.daemon.take()) == 1


def test_the_database_forbids_two_running_turns_of_one_agent(kitchen: Kitchen) -> None:
    one, two = (kitchen.turn(kitchen.ask(kitchen.alice, f"@claude {word}")) for word in ("one", "two"))
    Turn.objects.filter(pk=one.pk).update(status="running")
    with pytest.raises(IntegrityError), transaction.atomic():
        Turn.objects.filter(pk=two.pk).update(status="running")


def test_a_machine_runs_no_more_than_its_limit(kitchen: Kitchen) -> None:
    Machine.objects.filter(pk=kitchen.daemon.machine.pk).update(max_running=1)
    kitchen.ask(kitchen.alice, "@claude one and @codex two")
    assert len(kitchen.daemon.take()) == 1
    assert kitchen.daemon.sync().offers == []


def test_a_paused_agent_keeps_what_waits(kitchen: Kitchen) -> None:
    control.pause_agent(kitchen.alice, kitchen.claude.pk, paused=True)
    kitchen.ask(kitchen.alice, "@claude one")
    assert kitchen.daemon.sync().offers == []
    control.pause_agent(kitchen.alice, kitchen.claude.pk, paused=False)
    assert len(kitchen.daemon.sync().offers) == 1


def test_pausing_takes_an_offer_back(kitchen: Kitchen) -> None:
    kitchen.ask(kitchen.alice, "@claude one")
    offer = kitchen.daemon.take()[0]
    control.pause_agent(kitchen.alice, kitchen.claude.pk, paused=True)
    assert Turn.objects.get(pk=offer.turn_id).status == "queued"
    with pytest.raises(Conflict):
        kitchen.daemon.start(offer)


def test_what_waits_offline_runs_in_order(kitchen: Kitchen) -> None:
    wanted = [kitchen.turn(kitchen.ask(kitchen.alice, f"@claude {n}")).pk for n in range(4)]
    ran = []
    for _ in wanted:
        ran.append(kitchen.daemon.run())
        kitchen.daemon.end(ran[-1])
    assert ran == wanted


def test_the_same_facts_again_are_stored_once(kitchen: Kitchen) -> None:
    kitchen.ask(kitchen.alice, "@claude one")
    turn = kitchen.daemon.run()
    report = wire.Report(
        journal_id="journal-1", facts=[wire.Numbered(n=1, turn_id=turn, fact=wire.TextFact(part="1", text="Hello."))]
    )
    assert record.record(kitchen.daemon.machine, report).acked == 1
    assert record.record(kitchen.daemon.machine, report).acked == 1
    assert Entry.objects.filter(kind="text").count() == 1


def test_a_gap_in_the_journal_is_refused_whole(kitchen: Kitchen) -> None:
    kitchen.ask(kitchen.alice, "@claude one")
    turn = kitchen.daemon.run()
    gap = [wire.Numbered(n=n, turn_id=turn, fact=wire.TextFact(part="1", text="x")) for n in (1, 3)]
    with pytest.raises(Conflict, match="Fact 2 is missing") as refusal:
        record.record(kitchen.daemon.machine, wire.Report(journal_id="journal-1", facts=gap))
    assert refusal.value.code == "journal_gap"
    assert not Entry.objects.filter(kind="text").exists()


def test_facts_about_somebody_elses_turn_are_dropped_and_named(kitchen: Kitchen) -> None:
    kitchen.ask(kitchen.alice, "@claude one")
    turn = kitchen.daemon.run()
    receipt = kitchen.danas.tell(turn, wire.TextFact(part="1", text="I am claude."))
    assert list(receipt.refused) == [1]
    assert not Entry.objects.filter(kind="text").exists()


def test_secrets_are_taken_out_once_more(kitchen: Kitchen) -> None:
    kitchen.ask(kitchen.alice, "@claude one")
    turn = kitchen.daemon.run()
    token = "ghp_" + "a1B2" * 9
    kitchen.daemon.tell(
        turn,
        wire.TextFact(part="1", text=f"It is {token}."),
        wire.ToolCallFact(call="c", title=f"echo {token}", state="done", output=f"{token}\n"),
        wire.EndFact(state="failed", reason=f"bad {token}"),
    )
    for entry in Entry.objects.filter(source_turn=turn):
        assert token not in f"{entry.body}{entry.data}"


def test_a_diff_stays_out_unless_its_owner_shares_diffs(kitchen: Kitchen) -> None:
    kitchen.ask(kitchen.alice, "@claude one")
    turn = kitchen.daemon.run()
    fact = wire.FileChangeFact(path="a.py", plus=1, minus=0, diff="+secret sauce")
    kitchen.daemon.tell(turn, fact)
    assert Entry.objects.get(kind="file_change").body == ""
    type(kitchen.claude).objects.update(share_diffs=True)
    kitchen.daemon.tell(turn, fact)
    assert Entry.objects.filter(kind="file_change").latest("seq").body == "+secret sauce"


def test_a_produced_file_is_taken_only_from_the_machine_that_sent_it(kitchen: Kitchen) -> None:
    kitchen.ask(kitchen.alice, "@claude one and @codex two")
    turn = kitchen.daemon.run()
    sha256, size = files.store(f"machine-{kitchen.danas.machine.pk}", [b"dana's"])
    fact = wire.ArtifactFact(sha256=sha256, name="x.png", content_type="image/png", size=size)
    assert kitchen.daemon.tell(turn, fact).refused
    files.store(f"machine-{kitchen.daemon.machine.pk}", [b"dana's"])
    assert not kitchen.daemon.tell(turn, fact).refused
    assert Entry.objects.get(kind="artifact").attachments.get().sha256 == sha256


def test_a_question_pauses_and_its_verdict_reaches_the_machine(kitchen: Kitchen) -> None:
    kitchen.ask(kitchen.alice, "@claude one")
    turn = kitchen.daemon.run()
    ask = wire.QuestionFact(key="q1", subject="tool", title="Run make", action="make\nin /tmp", short="run a command")
    kitchen.daemon.tell(turn, ask)
    kitchen.daemon.questions = ["q1"]
    assert kitchen.daemon.sync().verdicts == []
    turns.answer(kitchen.alice, kitchen.question(turn, "tool").pk, verdict="no", note="Use just.")
    (verdict,) = kitchen.daemon.sync().verdicts
    assert (verdict.key, verdict.verdict, verdict.answer, verdict.decided_by) == ("q1", "no", "Use just.", "alice")
    assert kitchen.daemon.sync().verdicts, "told again until the machine no longer waits for it"
    kitchen.daemon.questions = []
    assert kitchen.daemon.sync().verdicts == []


def test_the_room_never_sees_the_whole_action(kitchen: Kitchen) -> None:
    kitchen.ask(kitchen.alice, "@claude one")
    turn = kitchen.daemon.run()
    kitchen.daemon.tell(
        turn, wire.QuestionFact(key="q", subject="tool", title="T", action="make SECRETPLAN", short="run a command")
    )
    assert all("SECRETPLAN" not in f"{entry.body}{entry.data}" for entry in Entry.objects.all())


def test_an_answered_question_is_found_although_the_report_is_older(kitchen: Kitchen) -> None:
    kitchen.ask(kitchen.alice, "@claude one")
    turn = kitchen.daemon.run()
    since = timezone.now()
    kitchen.daemon.tell(turn, wire.QuestionFact(key="q", subject="tool", title="T", action="a", short="s"))
    turns.answer(kitchen.alice, kitchen.question(turn, "tool").pk, verdict="once")
    assert [verdict.key for verdict in kitchen.daemon.sync(since).verdicts] == ["q"]


def test_the_asker_may_answer_a_plain_question_but_no_tool_call(kitchen: Kitchen) -> None:
    turn = kitchen.turn(kitchen.ask(kitchen.bob, "@claude one"))
    turns.answer(kitchen.alice, kitchen.question(turn).pk, verdict="once")
    kitchen.daemon.run()
    kitchen.daemon.tell(
        turn.pk,
        wire.QuestionFact(key="q", subject="question", title="Which?", action="Which?", short="Which?", options=["a"]),
        wire.QuestionFact(key="t", subject="tool", title="T", action="rm -rf /", short="s"),
    )
    turns.answer(kitchen.bob, kitchen.question(turn, "question").pk, verdict="once", note="a")
    with pytest.raises(NotFound):
        turns.answer(kitchen.bob, kitchen.question(turn, "tool").pk, verdict="once")


def test_a_tool_call_is_never_allowed_always(kitchen: Kitchen) -> None:
    kitchen.ask(kitchen.alice, "@claude one")
    turn = kitchen.daemon.run()
    kitchen.daemon.tell(turn, wire.QuestionFact(key="t", subject="tool", title="T", action="ls", short="s"))
    with pytest.raises(Invalid, match="Answer once"):
        turns.answer(kitchen.alice, kitchen.question(turn, "tool").pk, verdict="always")


def test_the_end_of_a_turn_closes_its_questions(kitchen: Kitchen) -> None:
    kitchen.ask(kitchen.alice, "@claude one")
    turn = kitchen.daemon.run()
    kitchen.daemon.tell(
        turn,
        wire.QuestionFact(key="t", subject="tool", title="T", action="ls", short="s"),
        wire.EndFact(state="done"),
    )
    assert Approval.objects.get(key="t").verdict == "gone"


def test_stop_is_told_until_the_turn_ends(kitchen: Kitchen) -> None:
    kitchen.ask(kitchen.alice, "@claude one")
    turn = kitchen.daemon.run()
    control.stop_turn(kitchen.alice, turn)
    assert kitchen.daemon.sync().stop == [turn]
    assert kitchen.daemon.sync().stop == [turn]
    kitchen.daemon.end(turn, "stopped")
    assert kitchen.daemon.sync().stop == []
    assert kitchen.kinds(turn)[-2:] == ["turn stopping", "turn stopped"]


def test_a_second_daemon_with_another_journal_is_refused(kitchen: Kitchen) -> None:
    other = Daemon(kitchen.daemon.machine, journal_id="journal-2", instance="start-2")
    with pytest.raises(Conflict) as refusal:
        other.hello()
    assert refusal.value.code == "second_daemon"


def test_a_restarted_daemon_follows_and_the_old_one_is_refused(kitchen: Kitchen) -> None:
    Daemon(kitchen.daemon.machine, instance="start-2").hello()
    with pytest.raises(Conflict) as refusal:
        kitchen.daemon.sync()
    assert refusal.value.code == "superseded"


def test_a_new_journal_ends_what_the_old_one_ran(kitchen: Kitchen) -> None:
    kitchen.ask(kitchen.alice, "@claude one and @codex two")
    offers = kitchen.daemon.take()
    kitchen.daemon.start(offers[0])
    Machine.objects.update(last_seen_at=timezone.now() - timedelta(minutes=5))
    Daemon(kitchen.daemon.machine, journal_id="journal-2", instance="start-2").hello()
    assert Turn.objects.get(pk=offers[0].turn_id).status == "interrupted"
    assert Turn.objects.get(pk=offers[1].turn_id).status == "queued"


def test_a_running_turn_that_its_machine_forgot_ends_as_unknown(kitchen: Kitchen) -> None:
    kitchen.ask(kitchen.alice, "@claude one")
    turn = kitchen.daemon.run()
    kitchen.daemon.running = []
    kitchen.daemon.sync()
    assert Turn.objects.get(pk=turn).status == "running", "the report may be older than the start"
    Turn.objects.update(started_at=timezone.now() - work.LOST_AFTER - timedelta(seconds=1))
    kitchen.daemon.sync()
    assert Turn.objects.get(pk=turn).status == "interrupted"


def test_a_failed_turn_is_asked_again_with_fresh_consent_for_the_same_person(kitchen: Kitchen) -> None:
    turn = kitchen.turn(kitchen.ask(kitchen.bob, "@claude one"))
    turns.answer(kitchen.alice, kitchen.question(turn).pk, verdict="once")
    kitchen.daemon.run()
    kitchen.daemon.end(turn.pk, "failed", "no luck")
    again = kitchen.turn(turns.retry(kitchen.bob, turn.pk, client_id=key()))
    assert (again.status, again.principal, again.retry_of) == ("asked", kitchen.bob, turn)
    owners = kitchen.turn(turns.retry(kitchen.alice, turn.pk, client_id=key()))
    assert (owners.status, owners.principal) == ("asked", kitchen.bob)


def test_what_ended_well_is_not_asked_again_by_that_button(kitchen: Kitchen) -> None:
    kitchen.ask(kitchen.alice, "@claude one")
    turn = kitchen.daemon.run()
    kitchen.daemon.end(turn)
    with pytest.raises(Conflict):
        turns.retry(kitchen.alice, turn, client_id=key())


def test_the_owner_closes_a_turn_whose_machine_stays_away(kitchen: Kitchen) -> None:
    kitchen.ask(kitchen.alice, "@claude one")
    turn = kitchen.daemon.run()
    with pytest.raises(Refused):
        control.close_turn(kitchen.alice, turn)
    Machine.objects.update(last_seen_at=timezone.now() - timedelta(minutes=5))
    control.close_turn(kitchen.alice, turn)
    assert Turn.objects.get(pk=turn).status == "interrupted"
    kitchen.daemon.tell(turn, wire.EndFact(state="done"))
    assert Turn.objects.get(pk=turn).status == "interrupted", "final once"
    assert "reported later: done" in Entry.objects.filter(kind="notice").latest("seq").body


def test_revoking_a_machine_cancels_what_waits_and_records_what_ran(kitchen: Kitchen) -> None:
    kitchen.ask(kitchen.alice, "@claude one and @codex two")
    offers = kitchen.daemon.take()
    kitchen.daemon.start(offers[0])
    assert control.revoke_machine(kitchen.alice, kitchen.daemon.machine.pk) == 1
    assert Turn.objects.get(pk=offers[1].turn_id).status == "cancelled"
    receipt = kitchen.daemon.tell(offers[0].turn_id, wire.EndFact(state="done"))
    assert not receipt.refused
    Machine.objects.update(revoked_at=timezone.now() - record.AFTER_REVOCATION - timedelta(seconds=1))
    assert kitchen.daemon.tell(offers[0].turn_id, wire.TextFact(part="1", text="later")).refused


def test_stopping_the_machine_cancels_its_queue_and_with_now_what_runs(kitchen: Kitchen) -> None:
    kitchen.ask(kitchen.alice, "@claude one")
    kitchen.ask(kitchen.alice, "@claude two")
    turn = kitchen.daemon.run()
    assert control.stop_machine(kitchen.daemon.machine, now=False) == (1, 0)
    assert kitchen.daemon.sync().stop == []
    assert control.stop_machine(kitchen.daemon.machine, now=True) == (0, 1)
    assert kitchen.daemon.sync().stop == [turn]


def test_the_agent_hears_what_was_said_since_its_last_turn(kitchen: Kitchen) -> None:
    kitchen.ask(kitchen.bob, "The oven is broken.")
    kitchen.ask(kitchen.alice, "@claude one")
    offer = kitchen.daemon.take()[0]
    assert [said.body for said in offer.context] == ["The oven is broken."]
    kitchen.daemon.start(offer)
    kitchen.daemon.end(offer.turn_id)
    kitchen.ask(kitchen.bob, "It works again.")
    kitchen.ask(kitchen.alice, "@claude two")
    assert [said.body for said in kitchen.daemon.take()[0].context] == ["It works again."]
