"""Any order of asking, passing on, answering, granting, limiting, revoking, leaving, stopping and running.

Nothing starts without a consent that stands then.

The test keeps its own, simpler account of who allowed what, and holds each start against it.
"""

from __future__ import annotations

import os
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.db import transaction
from django.utils import timezone
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from agentroom_machine import wire
from approvals import control, turns
from approvals.models import Approval, Grant, Turn
from rooms import membership
from rooms.errors import RuleError
from rooms.models import Agent, Member, User
from tests.approvals.kitchen import Daemon, Kitchen, join, key, make_kitchen

EXAMPLES = int(os.environ.get("CONSENT_EXAMPLES", "40"))
"""Of 40 steps each."""
PEOPLE = ("alice", "bob", "dana")
AGENTS = ("claude", "codex", "gemini")
OWNER = {"claude": "alice", "codex": "alice", "gemini": "dana"}


class Consent(RuleBasedStateMachine):
    """What the owners said, as a list of plain facts."""

    def __init__(self) -> None:
        super().__init__()
        self.atomic = transaction.atomic()
        self.atomic.__enter__()
        self.kitchen: Kitchen = make_kitchen()
        self.daemons: dict[str, Daemon] = {"alice": self.kitchen.daemon, "dana": self.kitchen.danas}
        self.always: set[tuple[str, str]] = set()
        self.denied: set[tuple[str, str]] = set()
        self.denied_everywhere: set[tuple[str, str]] = set()
        self.limited: set[tuple[str, str]] = set()
        self.deputy: dict[str, str] = {}
        self.offered: set[int] = set()
        self.approved: set[int] = set()
        self.asked_by: dict[int, str] = {}
        self.ended: dict[int, str] = {}
        self.viewers: set[str] = set()
        self.outside: set[str] = set()
        self.paused: set[str] = set()
        self.gone: set[str] = set()
        self.offers: dict[int, tuple[str, wire.Offer]] = {}
        self.started: set[int] = set()
        self.claims: dict[int, wire.Offer] = {}
        self.restarted: set[int] = set()
        self.told_to_stop: set[int] = set()
        self.outlived: set[int] = set()

    def teardown(self) -> None:
        transaction.set_rollback(True)
        self.atomic.__exit__(None, None, None)

    # --- the cast

    def user(self, name: str) -> User:
        found: User = getattr(self.kitchen, name)
        return found

    def agent(self, name: str) -> Agent:
        found: Agent = getattr(self.kitchen, name)
        return found

    def seat(self, name: str) -> Member:
        return Member.objects.get(room=self.kitchen.room, user=self.user(name))

    def waiting(self) -> list[Turn]:
        return list(Turn.objects.filter(status__in=Turn.WAITING).select_related("agent").order_by("pk"))

    @staticmethod
    def attempt(what: Any, *args: Any, **kwargs: Any) -> Any:
        """The result, or None when the rule said no: then nothing may have changed."""
        try:
            with transaction.atomic():
                return what(*args, **kwargs)
        except RuleError:
            return None

    # --- what people do

    @rule(who=st.sampled_from(PEOPLE), whom=st.sampled_from(AGENTS))
    def ask(self, who: str, whom: str) -> None:
        entry = self.attempt(self.kitchen.ask, self.user(who), f"@{whom} please")
        assert (entry is None) == (who in self.outside or who in self.viewers)
        if entry is not None:
            for turn in Turn.objects.filter(entry=entry):
                self.asked_by[turn.pk] = who

    @precondition(lambda self: self.waiting())
    @rule(data=st.data(), who=st.sampled_from(PEOPLE), verdict=st.sampled_from(["once", "always", "no", "never"]))
    def answer(self, data: st.DataObject, who: str, verdict: str) -> None:
        turn = data.draw(st.sampled_from(self.waiting()))
        self._answer(turn, who, verdict)

    def _answer(self, turn: Turn, who: str, verdict: str) -> None:
        question = Approval.objects.filter(turn=turn, subject="start").first()
        if question is None:
            return
        was_open = question.verdict == ""
        done = self.attempt(turns.answer, self.user(who), question.pk, verdict=verdict)
        owner, pair = OWNER[turn.agent.handle], (self.asked_by[turn.pk], turn.agent.handle)
        stands_in = self.deputy.get(owner) == who and verdict in ("once", "no")
        assert (done is not None) == (was_open and (who == owner or stands_in))
        if done is None:
            return
        if verdict in ("once", "always"):
            self.approved.add(turn.pk)
        if verdict == "always":
            self.always.add(pair)
            self.denied.discard(pair)
        if verdict == "never":
            self.denied.add(pair)
            self.always.discard(pair)
            waiting = Turn.objects.filter(principal=self.user(pair[0]), agent=turn.agent, status__in=Turn.WAITING)
            assert not waiting.exists()

    @rule(who=st.sampled_from(PEOPLE), whom=st.sampled_from(AGENTS), level=st.sampled_from(["ask", "always", "deny"]))
    def grant(self, who: str, whom: str, level: str) -> None:
        owner = OWNER[whom]
        if who == owner or who in self.outside:
            return
        done = self.attempt(
            control.set_grant,
            self.user(owner),
            agent_id=self.agent(whom).pk,
            member_id=self.seat(who).pk,
            level=level,
        )
        if done is None:
            return
        pair = (who, whom)
        (self.always.add if level == "always" else self.always.discard)(pair)
        (self.denied.add if level == "deny" else self.denied.discard)(pair)
        if level != "always":
            self._cancelled(pair)

    @rule(who=st.sampled_from(PEOPLE), whom=st.sampled_from(AGENTS))
    def deny_everywhere(self, who: str, whom: str) -> None:
        agent, person = self.agent(whom), self.user(who)
        if who == OWNER[whom]:
            return
        if self.attempt(control.set_grant, agent.owner, agent_id=agent.pk, person_id=person.pk, level="deny") is None:
            return
        self.denied_everywhere.add((who, whom))
        assert not Turn.objects.filter(principal=person, agent=agent, status__in=Turn.WAITING).exists()

    @rule(who=st.sampled_from(PEOPLE), whom=st.sampled_from(AGENTS), limited=st.booleans())
    def limit(self, who: str, whom: str, limited: bool) -> None:
        """Nothing a day, or lifted again: a limit takes away, and never gives."""
        agent, person = self.agent(whom), self.user(who)
        most = 0 if limited else None
        try:
            with transaction.atomic():
                control.set_limit(agent.owner, agent.pk, person.pk, requests_a_day=most)
        except RuleError:
            return
        (self.limited.add if limited else self.limited.discard)((who, whom))

    @rule(owner=st.sampled_from(["alice", "dana"]), deputy=st.sampled_from(PEOPLE))
    def name_deputy(self, owner: str, deputy: str) -> None:
        until = timezone.now() + timedelta(hours=1)
        try:
            with transaction.atomic():
                control.name_deputy(self.user(owner), handle=deputy, until=until, recently=True)
        except RuleError:
            return
        self.deputy[owner] = deputy

    @rule(owner=st.sampled_from(["alice", "dana"]), by_time=st.booleans())
    def end_deputy(self, owner: str, by_time: bool) -> None:
        if by_time:
            User.objects.filter(username=owner).update(deputy_until=timezone.now() - timedelta(seconds=1))
        else:
            control.end_deputy(self.user(owner))
        self.deputy.pop(owner, None)

    @precondition(lambda self: self.waiting())
    @rule(data=st.data())
    def nobody_answers(self, data: st.DataObject) -> None:
        turn = data.draw(st.sampled_from(self.waiting()))
        late = Approval.objects.filter(turn=turn, verdict="")
        if late.update(expires_at=timezone.now() - timedelta(seconds=1)):
            turns.lapse()
            turn.refresh_from_db()
            assert turn.status == "refused"

    @rule(data=st.data())
    def revoke(self, data: st.DataObject) -> None:
        grants = list(Grant.objects.select_related("agent__owner", "member__user").order_by("pk"))
        if not grants:
            return
        grant = data.draw(st.sampled_from(grants))
        person = grant.person or (grant.member.user if grant.member else None)
        assert person is not None
        control.revoke_grant(grant.agent.owner, grant.pk)
        pair = (person.username, grant.agent.handle)
        if grant.person is not None:
            self.denied_everywhere.discard(pair)
        else:
            self.always.discard(pair)
            self.denied.discard(pair)
        self._cancelled(pair)

    def _cancelled(self, pair: tuple[str, str]) -> None:
        """Revoking cancels what that person has queued on that agent: an approval of it no longer counts."""
        for turn in Turn.objects.filter(pk__in=self.approved, status="cancelled").select_related("agent"):
            if (self.asked_by.get(turn.pk), turn.agent.handle) == pair:
                self.approved.discard(turn.pk)
        assert not Turn.objects.filter(
            principal=self.user(pair[0]), agent=self.agent(pair[1]), status__in=["queued", "offered"]
        ).exists()

    @rule(who=st.sampled_from(["bob", "dana"]), removed=st.booleans())
    def go(self, who: str, removed: bool) -> None:
        if who in self.outside:
            return
        if removed:
            control.remove_member(self.kitchen.alice, self.seat(who).pk)
        else:
            control.leave(self.user(who), self.kitchen.room.pk)
        self.outside.add(who)
        self.outlived |= {turn for turn in self.started if self.asked_by[turn] == who}
        self.viewers.discard(who)
        self.always = {(person, agent) for person, agent in self.always if who not in (person, OWNER[agent])}
        self.gone |= {agent for agent in AGENTS if OWNER[agent] == who}
        assert not Turn.objects.filter(principal=self.user(who), status__in=Turn.WAITING).exists()

    @rule(who=st.sampled_from(["bob", "dana"]))
    def come(self, who: str) -> None:
        if who not in self.outside:
            return
        join(self.kitchen.room, self.user(who))
        self.outside.discard(who)
        for agent in [agent for agent in self.gone if OWNER[agent] == who]:
            membership.add_agent(self.user(who), self.kitchen.room.pk, self.agent(agent).pk)
            self.gone.discard(agent)

    @rule(role=st.sampled_from(["member", "viewer"]))
    def change_role_of_bob(self, role: str) -> None:
        if "bob" in self.outside:
            return
        control.set_role(self.kitchen.alice, self.seat("bob").pk, role)
        (self.viewers.add if role == "viewer" else self.viewers.discard)("bob")

    @rule(whom=st.sampled_from(AGENTS), paused=st.booleans())
    def pause(self, whom: str, paused: bool) -> None:
        control.pause_agent(self.user(OWNER[whom]), self.agent(whom).pk, paused=paused)
        (self.paused.add if paused else self.paused.discard)(whom)

    @precondition(lambda self: self.waiting())
    @rule(data=st.data(), who=st.sampled_from(PEOPLE))
    def cancel(self, data: st.DataObject, who: str) -> None:
        turn = data.draw(st.sampled_from(self.waiting()))
        self.attempt(turns.cancel, self.user(who), turn.pk)

    @rule(owner=st.sampled_from(["alice", "dana"]), now=st.booleans())
    def stop(self, owner: str, now: bool) -> None:
        control.stop_machine(self.daemons[owner].machine, now=now)
        if now:
            self.told_to_stop |= {turn for turn, offer in self.claims.items() if OWNER[offer.agent.handle] == owner}
        assert not [turn for turn in self.waiting() if OWNER[turn.agent.handle] == owner]

    @rule()
    def time_passes(self) -> None:
        Grant.objects.filter(level="always").update(expires_at=timezone.now() - timedelta(seconds=1))
        self.always.clear()
        turns.lapse()

    # --- what machines do

    @rule(owner=st.sampled_from(["alice", "dana"]))
    def offer(self, owner: str) -> None:
        for offered in self.daemons[owner].sync().offers:
            pair = (self.asked_by[offered.turn_id], offered.agent.handle)
            if offered.turn_id not in self.offered and pair in self.limited and pair[0] != OWNER[pair[1]]:
                assert offered.turn_id in self.approved, "over the limit, and nobody said yes to it"
            self.offered.add(offered.turn_id)
            self.offers[offered.turn_id] = (owner, offered)

    @precondition(lambda self: self.offers)
    @rule(data=st.data())
    def start(self, data: st.DataObject) -> None:
        self._start(data.draw(st.sampled_from(sorted(self.offers))))

    def _start(self, turn_id: int) -> None:
        owner, offered = self.offers.pop(turn_id)
        machine = self.daemons[owner].machine
        result = self.attempt(turns.start, machine, turn_id, claim_id=offered.claim_id, journal_id="journal-1")
        if not isinstance(result, datetime):
            return
        who, whom = self.asked_by[turn_id], offered.agent.handle
        assert turn_id not in self.started, "never twice"
        self.started.add(turn_id)
        self.claims[turn_id] = offered
        self.daemons[owner].running.append(turn_id)
        assert who not in self.outside
        assert who not in self.viewers
        assert whom not in self.paused or turn_id in self.restarted, "pausing lets what runs go on"
        assert whom not in self.gone
        assert turn_id not in self.told_to_stop
        assert turn_id not in self.outlived
        assert (who, whom) not in self.denied
        assert (who, whom) not in self.denied_everywhere
        assert who == OWNER[whom] or (who, whom) in self.always or turn_id in self.approved

    @initialize(who=st.sampled_from(PEOPLE), whom=st.sampled_from(AGENTS), begun=st.booleans())
    def something_goes_on(self, who: str, whom: str, begun: bool) -> None:
        self.get_to_work(who, whom, "always", begun)

    @rule(
        who=st.sampled_from(PEOPLE),
        whom=st.sampled_from(AGENTS),
        verdict=st.sampled_from(["once", "always"]),
        begun=st.booleans(),
    )
    def get_to_work(self, who: str, whom: str, verdict: str, begun: bool) -> None:
        """What mostly happens, in one step: else most orders would start nothing."""
        self.ask(who, whom)
        for turn in Turn.objects.filter(status="asked", agent=self.agent(whom)).select_related("agent").order_by("pk"):
            self._answer(turn, OWNER[whom], verdict)
        self.offer(OWNER[whom])
        for turn_id in sorted(self.offers) if begun else ():
            self._start(turn_id)

    @rule(data=st.data())
    def restart_before_it_ran(self, data: st.DataObject) -> None:
        """The server said yes, and the daemon ended before it wrote that down: it asks with the same claim again."""
        running = [(owner, turn) for owner, daemon in self.daemons.items() for turn in daemon.running]
        if not running:
            return
        owner, turn_id = data.draw(st.sampled_from(running))
        self.daemons[owner].running.remove(turn_id)
        self.daemons[owner].hello()
        self.started.discard(turn_id)
        self.restarted.add(turn_id)
        self.offers[turn_id] = (owner, self.claims[turn_id])

    @rule(data=st.data(), state=st.sampled_from(["done", "failed", "stopped", "interrupted"]))
    def finish(self, data: st.DataObject, state: wire.TurnEnd) -> None:
        running = [(owner, turn) for owner, daemon in self.daemons.items() for turn in daemon.running]
        if not running:
            return
        owner, turn_id = data.draw(st.sampled_from(running))
        self.daemons[owner].end(turn_id, state)

    @rule(data=st.data(), whom=st.sampled_from(AGENTS))
    def pass_on(self, data: st.DataObject, whom: str) -> None:
        """An agent writes to another one while it works for somebody: with their rights, whoever owns it."""
        running = [turn for daemon in self.daemons.values() for turn in daemon.running]
        if not running:
            return
        source = Turn.objects.select_related("agent").get(pk=data.draw(st.sampled_from(running)))
        seat = Member.objects.get(room=self.kitchen.room, agent=source.agent)
        entry = self.attempt(
            turns.send, seat, source, to=[whom], body="please look", client_id=key(), connection="turn"
        )
        if entry is not None:
            for turn in Turn.objects.filter(entry=entry):
                assert turn.principal_id in (source.principal_id, None)
                self.asked_by[turn.pk] = self.asked_by[source.pk]

    @rule(data=st.data(), who=st.sampled_from(PEOPLE))
    def ask_again(self, data: st.DataObject, who: str) -> None:
        ended = list(Turn.objects.filter(status__in=turns.RETRIABLE).order_by("pk"))
        if not ended:
            return
        old = data.draw(st.sampled_from(ended))
        entry = self.attempt(turns.retry, self.user(who), old.pk, client_id=key())
        if entry is not None:
            new = Turn.objects.get(entry=entry)
            assert new.principal_id == old.principal_id
            self.asked_by[new.pk] = self.asked_by[old.pk]

    # --- what always holds

    @invariant()
    def one_turn_runs_on_each_agent(self) -> None:
        running = list(Turn.objects.filter(status="running").values_list("agent_id", flat=True))
        assert len(running) == len(set(running))

    @invariant()
    def what_ended_stays_ended(self) -> None:
        for pk, status in Turn.objects.filter(status__in=Turn.ENDED).values_list("pk", "status"):
            assert self.ended.setdefault(pk, status) == status

    @invariant()
    def an_open_question_belongs_to_a_live_turn(self) -> None:
        assert not Approval.objects.filter(verdict="", turn__status__in=Turn.ENDED).exists()


@pytest.mark.django_db
@pytest.mark.timeout(3600)
def test_nothing_starts_without_a_standing_consent() -> None:
    run_state_machine_as_test(
        Consent,
        settings=settings(
            max_examples=EXAMPLES, stateful_step_count=40, deadline=None, suppress_health_check=list(HealthCheck)
        ),
    )
