from __future__ import annotations

from datetime import timedelta

from django.utils import timezone

from agentroom_machine import wire
from approvals import control, turns
from approvals.models import Approval, Turn
from rooms import membership
from rooms.models import Machine
from tests.approvals.kitchen import Kitchen
from tests.pages.conftest import In
from tests.pages.reading import text


def test_without_a_machine_home_is_a_guide(kitchen: Kitchen, signed_in: In) -> None:
    seen = text(signed_in(kitchen.charlie).get("/"))
    assert "agentroom login http" in seen
    assert "waiting for your machine to call" in seen
    assert "Nothing waits for you" not in seen


def test_what_waits_stands_first_and_can_be_answered_there(kitchen: Kitchen, signed_in: In) -> None:
    entry = kitchen.ask(kitchen.bob, "@claude find the slow query")
    approval = kitchen.question(kitchen.turn(entry))
    alice = signed_in(kitchen.alice)
    page = alice.get("/")
    assert text(page).index("bob asks claude") < text(page).index("Machines")
    assert f'action="/questions/{approval.pk}/answer/"' in page.content.decode()
    sent = {"verdict": "once", "next": "/", "digest": approval.action_digest}
    answer = alice.post(f"/questions/{approval.pk}/answer/", sent)
    assert answer["Location"] == "/"
    assert Turn.objects.get(pk=kitchen.turn(entry).pk).status == "queued"
    assert "bob asks claude" not in text(alice.get("/"))


def test_what_waits_for_one_is_shown_to_nobody_else(kitchen: Kitchen, signed_in: In) -> None:
    kitchen.ask(kitchen.bob, "@claude find the slow query")
    for other in (kitchen.bob, kitchen.dana, kitchen.vera, kitchen.charlie):
        assert "Approve once" not in text(signed_in(other).get("/"))


def test_a_dangerous_question_leads_to_its_own_page(kitchen: Kitchen, signed_in: In) -> None:
    kitchen.ask(kitchen.alice, "@claude push it")
    turn = kitchen.daemon.run()
    kitchen.daemon.tell(
        turn, wire.QuestionFact(key="q1", subject="push", title="claude wants to push", action="git push", short="push")
    )
    page = signed_in(kitchen.alice).get("/")
    assert "claude wants to push" in text(page)
    assert 'data-state="danger"' in page.content.decode()
    assert "Read and decide" in text(page)
    assert 'value="once"' not in page.content.decode()


def test_a_question_stands_with_the_beginning_of_its_command(kitchen: Kitchen, signed_in: In) -> None:
    kitchen.ask(kitchen.alice, "@claude push it")
    turn = kitchen.daemon.run()
    long = "\n".join(f"line {number}" for number in range(20))
    kitchen.daemon.tell(
        turn,
        wire.QuestionFact(key="q1", subject="push", title="one", action="git push\u200b <x>", short="push"),
        wire.QuestionFact(key="q2", subject="tool", title="two", action=long, short="run"),
        wire.QuestionFact(key="q3", subject="tool", title="three", action="y" * 2_000, short="run"),
    )
    seen = text(signed_in(kitchen.alice).get("/"))
    assert "git push U+200B <x>" in seen
    assert "line 5 and 14 more lines; you read it whole where you decide." in seen
    assert "line 6" not in seen
    assert "and 1,400 more characters" in seen


def test_many_questions_stay_a_short_page(kitchen: Kitchen, signed_in: In) -> None:
    kitchen.ask(kitchen.alice, "@claude do it")
    turn = kitchen.daemon.run()
    facts = [wire.QuestionFact(key=f"q{n}", subject="tool", title=f"q {n}", action="x", short="x") for n in range(30)]
    kitchen.daemon.tell(turn, *facts)
    answer = signed_in(kitchen.alice).get("/")
    assert text(answer).count("Read and decide") == 20
    assert "10 more questions" in text(answer)


def test_a_running_turn_says_who_it_waits_for_or_that_its_machine_is_away(kitchen: Kitchen, signed_in: In) -> None:
    kitchen.ask(kitchen.bob, "@claude push it")
    turns.answer(kitchen.alice, Approval.objects.get().pk, verdict="once")
    turn = kitchen.daemon.run()
    recent = "claude for bob, kitchen"
    assert f"{recent} working" in text(signed_in(kitchen.bob).get("/"))
    kitchen.daemon.tell(turn, wire.QuestionFact(key="q1", subject="tool", title="q", action="x", short="x"))
    assert f"{recent} waiting for alice" in text(signed_in(kitchen.bob).get("/"))
    assert f"{recent} waiting for you" in text(signed_in(kitchen.alice).get("/"))
    Machine.objects.update(last_seen_at=timezone.now() - timedelta(minutes=5))
    assert f"{recent} offline since" in text(signed_in(kitchen.bob).get("/"))


def test_an_agent_is_added_by_a_command_that_home_shows(kitchen: Kitchen, signed_in: In) -> None:
    page = signed_in(kitchen.alice).get("/")
    assert "Add an agent" in text(page)
    assert "agentroom agents add claude --runtime claude --workdir ." in text(page)
    assert f'href="/agents/{kitchen.claude.pk}/"' in page.content.decode()


def test_a_deputy_answers_and_cannot_allow_always(kitchen: Kitchen, signed_in: In) -> None:
    kitchen.ask(kitchen.bob, "@claude find the slow query")
    control.name_deputy(kitchen.alice, handle="dana", until=timezone.now() + timedelta(days=1), recently=True)
    seen = text(signed_in(kitchen.dana).get("/"))
    assert "Approve once" in seen
    assert "Allow always" not in seen


def test_a_deputy_gets_no_link_to_a_room_they_do_not_read(kitchen: Kitchen, signed_in: In) -> None:
    cellar = membership.create_room(kitchen.alice, name="cellar")
    _, token = membership.invite(kitchen.alice, cellar.pk, role="member", days=1, max_uses=1)
    membership.accept_invite(kitchen.bob, token)
    membership.add_agent(kitchen.alice, cellar.pk, kitchen.claude.pk)
    kitchen.ask(kitchen.bob, "@claude look", cellar)
    control.name_deputy(kitchen.alice, handle="dana", until=timezone.now() + timedelta(days=1), recently=True)
    page = signed_in(kitchen.dana).get("/")
    assert "bob asks claude" in text(page)
    assert f"/rooms/{cellar.pk}/" not in page.content.decode()


def test_agents_and_machines_are_listed_for_their_owner_alone(kitchen: Kitchen, signed_in: In) -> None:
    alice, dana = text(signed_in(kitchen.alice).get("/")), text(signed_in(kitchen.dana).get("/"))
    for own in ("codex", "alice-laptop", "2 agents, 0 of 2 running", "connected"):
        assert own in alice
    assert "alice-laptop" not in dana
    assert "dana-desk" in dana
    assert "codex demo agent" not in dana


def test_recent_turns_show_only_rooms_that_one_still_reads(kitchen: Kitchen, signed_in: In) -> None:
    kitchen.ask(kitchen.bob, "@claude find the slow query")
    assert "find the slow query" in text(signed_in(kitchen.bob).get("/"))
    control.leave(kitchen.bob, kitchen.room.pk)
    assert "find the slow query" not in text(signed_in(kitchen.bob).get("/"))
    assert "find the slow query" not in text(signed_in(kitchen.dana).get("/"))


def test_what_people_wrote_is_text_and_never_markup(kitchen: Kitchen, signed_in: In) -> None:
    kitchen.ask(kitchen.bob, "@claude <script>alert(1)</script>")
    assert "<script>alert" not in signed_in(kitchen.alice).get("/").content.decode()


def test_the_page_stays_with_few_queries(
    kitchen: Kitchen, signed_in: In, django_assert_max_num_queries: object
) -> None:
    for _ in range(5):
        kitchen.ask(kitchen.bob, "@claude again")
    client = signed_in(kitchen.alice)
    with django_assert_max_num_queries(40):  # type: ignore[operator]
        client.get("/")
