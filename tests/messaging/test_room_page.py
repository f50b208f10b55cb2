from __future__ import annotations

import re
from datetime import timedelta

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.utils import timezone

from agentroom_machine import wire
from approvals import turns
from approvals.models import Approval
from messaging import log
from messaging.models import Entry
from rooms import membership
from rooms.models import Machine, User
from tests.approvals.kitchen import Kitchen

pytestmark = pytest.mark.django_db


def browser(user: User) -> Client:
    client = Client()
    client.force_login(user)
    return client


def page(client: Client, path: str) -> str:
    response = client.get(path)
    assert response.status_code == 200, response.content[:500]
    return response.content.decode()


def test_a_member_reads_what_was_said_and_done(kitchen: Kitchen) -> None:
    kitchen.ask(kitchen.alice, "@claude measure **first**")
    turn = kitchen.daemon.run()
    kitchen.daemon.tell(turn, wire.TextFact(part="a", text="It takes `1,840 ms`."))
    kitchen.daemon.end(turn)

    html = page(browser(kitchen.bob), f"/rooms/{kitchen.room.pk}/")

    assert "<strong>first</strong>" in html
    assert '<span class="mention" data-handle="claude">@claude</span>' in html
    assert "<code>1,840 ms</code>" in html
    assert "done in" in html


@pytest.mark.parametrize("who", ["charlie", None])
def test_a_stranger_finds_nothing_behind_any_url_of_the_room(kitchen: Kitchen, who: str | None) -> None:
    entry = kitchen.ask(kitchen.alice, "@claude measure")
    turn = kitchen.daemon.run()
    kitchen.daemon.tell(turn, wire.ToolCallFact(call="c", title="ls", state="done", output="secret-output"))
    step = Entry.objects.get(kind="tool_call")
    client = browser(kitchen.charlie) if who else Client()
    room = f"/rooms/{kitchen.room.pk}"
    absent = client.get("/rooms/999999/")

    for path in (
        f"{room}/", f"{room}/?at={entry.seq}", f"{room}/earlier/?before=9", f"{room}/turns/{turn}/steps/",
        f"{room}/turns/{turn}/steps/{step.seq}/", f"{room}/turns/{turn}/text/{step.seq}/", f"{room}/files/1/x",
        f"{room}/produced/{step.seq}/x", f"/turns/{turn}/controls/",
    ):  # fmt: skip
        answer = client.get(path)
        assert answer.status_code == absent.status_code, path
        assert b"kitchen" not in answer.content, path
        assert b"secret-output" not in answer.content, path
    for path in (f"{room}/messages/", f"{room}/read/", f"/turns/{turn}/stop/", f"/turns/{turn}/cancel/"):
        assert client.post(path, {"body": "let me in", "seq": "1"}).status_code in {404, 302}, path
    assert not Entry.objects.filter(body="let me in").exists()


def test_another_rooms_member_gets_nothing_by_its_numbers(kitchen: Kitchen) -> None:

    other = membership.create_room(kitchen.bob, name="cellar")
    kitchen.ask(kitchen.alice, "@claude measure")
    turn = kitchen.daemon.run()
    kitchen.daemon.tell(turn, wire.ToolCallFact(call="c", title="ls", state="done", output="secret-output"))
    step = Entry.objects.get(kind="tool_call")
    client = browser(kitchen.bob)

    assert client.get(f"/rooms/{other.pk}/turns/{turn}/steps/").status_code == 404
    assert client.get(f"/rooms/{other.pk}/turns/{turn}/steps/{step.seq}/").status_code == 404


def test_a_message_without_a_script_leads_to_its_place(kitchen: Kitchen) -> None:
    response = browser(kitchen.bob).post(
        f"/rooms/{kitchen.room.pk}/messages/", {"body": "@claude hello", "client_id": "one"}
    )
    entry = Entry.objects.get(body="@claude hello")

    assert response.status_code == 302
    assert response.headers["Location"] == f"/rooms/{kitchen.room.pk}/#e{entry.seq}"
    assert entry.turns.get().status == "asked"


def test_the_same_click_twice_says_it_once(kitchen: Kitchen) -> None:
    client = browser(kitchen.bob)
    for _ in range(2):
        client.post(f"/rooms/{kitchen.room.pk}/messages/", {"body": "hello", "client_id": "one"})

    assert Entry.objects.filter(body="hello").count() == 1


def test_a_text_that_can_not_be_taken_stays_in_the_form(kitchen: Kitchen) -> None:
    response = browser(kitchen.bob).post(f"/rooms/{kitchen.room.pk}/messages/", {"body": "x" * 50_001})

    assert response.status_code == 422
    assert b"at most 50,000 characters" in response.content
    assert b"x" * 50_001 in response.content


def test_a_viewer_reads_and_can_not_write(kitchen: Kitchen) -> None:
    client = browser(kitchen.vera)

    html = page(client, f"/rooms/{kitchen.room.pk}/")
    assert "You read this room; alice can let you write." in html
    assert 'name="body"' not in html
    answer = client.post(f"/rooms/{kitchen.room.pk}/messages/", {"body": "@claude do it"})
    assert answer.status_code == 403
    assert not Entry.objects.filter(body="@claude do it").exists()


def test_only_who_decides_gets_the_forms(kitchen: Kitchen) -> None:
    turn = kitchen.turn(kitchen.ask(kitchen.bob, "@claude deploy"))
    readers = (kitchen.alice, kitchen.bob, kitchen.dana, kitchen.vera)
    forms = {user.username: page(browser(user), f"/rooms/{kitchen.room.pk}/") for user in readers}

    assert "Allow always" in forms["alice"]
    assert "Cancel request" in forms["bob"]
    assert "Approve once" not in forms["bob"]
    for name in ("dana", "vera"):
        assert f'action="/turns/{turn.pk}/' not in forms[name]
        assert "Approve once" not in forms[name]
        assert "claude starts when" in forms[name]


def test_the_exact_command_is_for_who_may_answer(kitchen: Kitchen) -> None:
    kitchen.ask(kitchen.alice, "@claude release")
    turn = kitchen.daemon.run()
    kitchen.daemon.tell(
        turn,
        wire.QuestionFact(
            key="k", subject="push", title="claude wants to push", action="git push origin main\u200b --token=hush",
            short="Push to `kitchen`",
        ),
    )  # fmt: skip
    owner = page(browser(kitchen.alice), f"/rooms/{kitchen.room.pk}/")
    others = page(browser(kitchen.bob), f"/rooms/{kitchen.room.pk}/")

    assert "Approve this push" in owner
    assert 'git push origin main<mark class="hidden-char">U+200B</mark> --token=hush' in owner
    assert "One hidden character, U+200B (zero width space)." in owner
    assert "Push to <code>kitchen</code>" in others
    assert "hush" not in others
    assert "Approve this push" not in others


def test_earlier_entries_come_in_pieces(kitchen: Kitchen) -> None:
    for number in range(70):
        kitchen.ask(kitchen.bob, f"message {number}")
    client = browser(kitchen.alice)
    html = page(client, f"/rooms/{kitchen.room.pk}/")
    before = re.search(r"earlier/\?before=(\d+)", html)
    assert before is not None
    assert "message 69" in html
    assert "message 19<" not in html

    answer = client.get(
        f"/rooms/{kitchen.room.pk}/earlier/?before={before[1]}", headers={"X-Requested-With": "fetch"}
    ).json()
    assert "message 19<" in answer["html"]
    assert answer["earlier"] is None
    assert "These are earlier entries" in page(client, f"/rooms/{kitchen.room.pk}/earlier/?before={before[1]}")


def test_a_link_to_an_old_entry_shows_it_and_all_since(kitchen: Kitchen) -> None:
    first = kitchen.ask(kitchen.bob, "the very first")
    for number in range(70):
        kitchen.ask(kitchen.bob, f"message {number}")

    html = page(browser(kitchen.alice), f"/rooms/{kitchen.room.pk}/?at={first.seq}")
    assert "the very first" in html
    assert "message 69" in html


def test_the_line_stands_above_what_is_new(kitchen: Kitchen) -> None:
    seen = kitchen.ask(kitchen.bob, "seen")
    client = browser(kitchen.alice)
    client.post(f"/rooms/{kitchen.room.pk}/read/", {"seq": seen.seq})
    kitchen.ask(kitchen.bob, "new")
    html = page(client, f"/rooms/{kitchen.room.pk}/")

    assert html.index("seen</p>") < html.index("Last read here") < html.index("new</p>")
    client.post(f"/rooms/{kitchen.room.pk}/read/", {"seq": 1})
    assert kitchen.seat(kitchen.alice).read_seq == seen.seq
    client.post(f"/rooms/{kitchen.room.pk}/read/", {"seq": 10**9})
    assert "Last read here" not in page(client, f"/rooms/{kitchen.room.pk}/")


def test_an_output_is_fetched_by_its_step(kitchen: Kitchen) -> None:
    kitchen.ask(kitchen.alice, "@claude measure")
    turn = kitchen.daemon.run()
    kitchen.daemon.tell(
        turn,
        wire.ToolCallFact(call="c", title="pytest", state="running", output="collecting"),
        wire.ToolCallFact(
            call="c", title="pytest", state="done", output="\x1b[32m2 passed\x1b[0m", output_cut=2_000_000
        ),
    )
    html = page(browser(kitchen.bob), f"/rooms/{kitchen.room.pk}/")
    link = re.search(rf"/rooms/{kitchen.room.pk}/turns/{turn}/steps/\d+/", html)
    assert link is not None
    assert "2 passed" not in html

    output = page(browser(kitchen.bob), link[0])
    assert '<span class="t-green">2 passed</span>' in output
    assert "stayed on the machine" in output


def test_an_attached_page_can_do_no_harm(kitchen: Kitchen) -> None:
    client = browser(kitchen.bob)
    evil = SimpleUploadedFile("evil.html", b"<script>alert(1)</script>", content_type="text/html")
    picture = SimpleUploadedFile("plan.svg", b"<svg xmlns='http://www.w3.org/2000/svg'/>", content_type="image/svg+xml")
    client.post(f"/rooms/{kitchen.room.pk}/messages/", {"body": "look", "client_id": "f", "files": [evil, picture]})
    html = page(browser(kitchen.vera), f"/rooms/{kitchen.room.pk}/")
    links = re.findall(r'"(/rooms/\d+/files/\d+/[^"]+)"', html)
    assert [link.rsplit("/", 1)[1] for link in dict.fromkeys(links)] == ["evil.html", "plan.svg"]

    answers = [browser(kitchen.vera).get(link) for link in dict.fromkeys(links)]
    for answer in answers:
        assert answer.headers["Content-Security-Policy"].startswith("sandbox; default-src 'none'")
        assert answer.headers["X-Content-Type-Options"] == "nosniff"
        assert answer.headers["Content-Disposition"].startswith("attachment")
    assert answers[0].headers["Content-Type"] == "application/octet-stream"
    assert answers[1].headers["Content-Type"] == "image/svg+xml"
    known = {"If-None-Match": answers[0].headers["ETag"]}
    assert browser(kitchen.vera).get(links[0], headers=known).status_code == 304
    assert browser(kitchen.charlie).get(links[0], headers=known).status_code == 404


@pytest.mark.timeout(400)
def test_a_room_with_two_thousand_steps_opens_small(kitchen: Kitchen) -> None:
    kitchen.ask(kitchen.alice, "@claude measure")
    turn = kitchen.daemon.run()
    for start in range(0, 2000, 100):
        facts = [
            wire.ToolCallFact(call=f"c{n}", title=f"step {n}", state="done", output="x" * 3000, duration_ms=10)
            for n in range(start, start + 100)
        ]
        kitchen.daemon.tell(turn, *facts)
    running = page(browser(kitchen.bob), f"/rooms/{kitchen.room.pk}/")
    kitchen.daemon.end(turn)
    ended = page(browser(kitchen.bob), f"/rooms/{kitchen.room.pk}/")

    for html in (running, ended):
        assert "2,000 " in html
        assert "step 1999" in html
        assert "step 1900" not in html
        assert len(html) < 100_000
    earlier = page(browser(kitchen.bob), f"/rooms/{kitchen.room.pk}/turns/{turn}/steps/")
    assert "step 1800" in earlier
    assert "step 1799" not in earlier


def test_a_link_reaches_the_oldest_entry_of_a_long_room(kitchen: Kitchen) -> None:
    first = kitchen.ask(kitchen.bob, "the very first")
    author = kitchen.seat(kitchen.bob)
    log.append(
        kitchen.room.pk,
        *(log.New(Entry.Kind.MESSAGE, author=author, body=f"message {number};") for number in range(1000)),
    )
    html = page(browser(kitchen.alice), f"/rooms/{kitchen.room.pk}/?at={first.seq}")

    assert "the very first" in html
    assert "These are earlier entries" in html
    assert "message 999;" not in html


def test_a_question_whose_time_is_over_has_no_buttons(kitchen: Kitchen) -> None:
    kitchen.ask(kitchen.alice, "@claude release")
    turn = kitchen.daemon.run()
    kitchen.daemon.tell(turn, wire.QuestionFact(key="k", subject="push", title="t", action="git push", short="Push"))
    Approval.objects.filter(turn=turn).update(expires_at=timezone.now())
    html = page(browser(kitchen.alice), f"/turns/{turn}/controls/")

    assert "The time to answer has passed" in html
    assert "Approve this push" not in html


def decided(kitchen: Kitchen, count: int) -> int:
    """A running turn of alice with so many approved questions; its id."""
    kitchen.ask(kitchen.alice, "@claude do it all")
    turn = kitchen.daemon.run()
    for number in range(count):
        kitchen.daemon.tell(
            turn, wire.QuestionFact(key=f"q{number}", subject="tool", title="t", action="x", short=f"do {number}")
        )
        turns.answer(kitchen.alice, Approval.objects.get(turn=turn, key=f"q{number}").pk, verdict="once")
    return turn


def test_a_link_to_a_decision_opens_the_page_at_its_turn(kitchen: Kitchen) -> None:
    turn = decided(kitchen, 1)
    for number in range(15):
        kitchen.ask(kitchen.bob, f"message {number}")
    decision = Entry.objects.filter(room=kitchen.room, kind="approval", data__turn=turn).latest("seq")
    html = page(browser(kitchen.bob), f"/rooms/{kitchen.room.pk}/?at={decision.seq}")

    assert f'id="e{decision.seq}"' in html
    assert "do 0" in html


def test_earlier_decisions_are_fetched_by_whoever_reads_the_room(kitchen: Kitchen) -> None:
    turn = decided(kitchen, 3)
    last = Entry.objects.filter(room=kitchen.room, kind="approval", data__turn=turn).latest("seq")
    path = f"/rooms/{kitchen.room.pk}/turns/{turn}/decisions/?before={last.seq}"
    html = page(browser(kitchen.vera), path)

    assert ("do 0" in html, "do 1" in html, "do 2" in html) == (True, True, False)
    assert browser(kitchen.charlie).get(path).status_code == 404


def test_the_controls_tell_a_reader_that_the_machine_is_away(kitchen: Kitchen) -> None:
    turn = decided(kitchen, 1)
    assert "is offline" not in page(browser(kitchen.vera), f"/turns/{turn}/controls/")
    Machine.objects.update(last_seen_at=timezone.now() - timedelta(minutes=5))
    html = page(browser(kitchen.vera), f"/turns/{turn}/controls/")

    assert "alice-laptop is offline since" in html
    assert "The answer is recorded, waiting for the machine." in html
    assert "offline since" in html
    assert "<form" not in html
    assert "Close" in page(browser(kitchen.alice), f"/turns/{turn}/controls/")


@pytest.mark.parametrize(("said", "badge"), [("", ">confined<"), ("it is switched off", "not confined")])
def test_the_controls_of_what_runs_say_whether_it_runs_confined(kitchen: Kitchen, said: str, badge: str) -> None:
    kitchen.daemon.confined = {kitchen.claude.pk: said}
    kitchen.daemon.sync()
    kitchen.ask(kitchen.alice, "@claude measure")
    turn = kitchen.daemon.run()
    html = page(browser(kitchen.alice), f"/turns/{turn}/controls/").replace("</svg>", ">")
    assert badge in html
    assert html.count('class="badge"') == 1


def test_a_deputy_is_known_by_their_name_in_the_room(kitchen: Kitchen) -> None:
    """Their page asks for the forms of a question when it finds that name on the card."""
    until = timezone.now() + timedelta(hours=1)
    User.objects.filter(pk=kitchen.alice.pk).update(deputy=kitchen.charlie, deputy_until=until)
    _, token = membership.invite(kitchen.alice, kitchen.room.pk, role="member", days=7, max_uses=1)
    membership.accept_invite(kitchen.charlie, token, handle="carlotta")
    kitchen.ask(kitchen.bob, "@claude measure")
    html = page(browser(kitchen.charlie), f"/rooms/{kitchen.room.pk}/")
    assert re.search(r'data-may="([^"]*)"', html)[1].split() == ["alice", "bob", "carlotta"]  # type: ignore[index]
