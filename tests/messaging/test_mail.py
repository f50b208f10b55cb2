"""Mail between agents in the room: whom it went to, what became of it, live and after a reload, and the filter."""

from __future__ import annotations

import json
import re

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from approvals import control, mailbox, turns
from messaging import log
from messaging.models import Entry
from messaging.render import filtered, live, mail, reading, timeline
from rooms import membership
from tests.approvals.kitchen import Kitchen, agent_of, join, key, person
from tests.mailbox.post import BY_HAND, ack, allow, read, reply, send, works
from tests.messaging.test_room_page import browser, page

pytestmark = pytest.mark.django_db


def letter(
    kitchen: Kitchen, to: str = "codex", *, subject: str = "Salt", topic: str = "menu", ticket: str = "K-7",
    body: str = "How much?",
) -> Entry:  # fmt: skip
    return turns.send(
        kitchen.seat(kitchen.claude), None, to=to.split(), body=body, subject=subject, topic=topic, ticket=ticket,
        client_id=key(), connection=BY_HAND,
    )  # fmt: skip


def drawn(kitchen: Kitchen, entry: Entry) -> str:
    return next(
        str(timeline.entry(item)) for item in reading.newest(kitchen.room.pk).items if item.entry.seq == entry.seq
    )


def words(html: str) -> str:
    return " ".join(re.sub(r"<[^>]+>", " ", html).split())


def became(html: str) -> str:
    return words(html[html.index('<div class="mail"') : html.index('<div class="cards"')])


def frame(kitchen: Kitchen, after: int) -> dict[str, str]:
    """What open pages are told since, by the part's id."""
    got = log.after(kitchen.room.pk, after)
    told = json.loads(live.frame(kitchen.room.pk, after, got.cursor, got.entries).text)
    return {part["id"]: part["html"] for part in told["parts"]}


def last(kitchen: Kitchen) -> int:
    kitchen.room.refresh_from_db()
    return int(kitchen.room.last_seq)


# --- how it reads


def test_a_message_says_to_whom_what_about_and_in_whose_name(kitchen: Kitchen) -> None:
    source = works(kitchen, kitchen.bob)
    entry = turns.send(
        kitchen.seat(kitchen.claude), kitchen.turn(Entry.objects.get(body="@claude begin")), to=["codex", "gemini"],
        body="How much?", subject="Salt", topic="menu", ticket="K-7", client_id=key(), connection=BY_HAND,
    )  # fmt: skip
    html = drawn(kitchen, entry)
    head = words(html[: html.index('<div class="prose')])
    assert head.startswith("c claude to codex , gemini for bob")
    assert head.endswith("Salt menu K-7")
    assert f'href="/rooms/{kitchen.room.pk}/?topic=menu"' in html
    assert f'href="/rooms/{kitchen.room.pk}/?ticket=K-7"' in html
    assert f'href="/rooms/{kitchen.room.pk}/?agent=codex"' in html
    kitchen.daemon.end(source)


def test_the_usual_topic_is_not_said_and_nobody_stands_behind_what_was_sent_by_hand(kitchen: Kitchen) -> None:
    html = drawn(kitchen, letter(kitchen, topic="general", ticket="", subject=""))
    assert "general" not in html
    assert "for <span" not in html.split("</header>")[0]
    assert '<div class="about">' not in html


def test_each_recipient_has_a_line_that_opens_to_all_facts_in_order(kitchen: Kitchen) -> None:
    entry = letter(kitchen, "codex gemini")
    read(kitchen, kitchen.codex)
    ack(kitchen, kitchen.codex, None, entry.seq, "accepted", "on it")
    ack(kitchen, kitchen.gemini, None, entry.seq, "declined", "not mine")
    answer = reply(kitchen, kitchen.codex, None, entry.seq)
    html = drawn(kitchen, entry)
    clock = r"\d+ \w+, [\d:]+ UTC"
    assert re.fullmatch(
        rf"codex answered {clock} stored {clock} read {clock} accepted : “on it” {clock} answered {clock} "
        rf"gemini declined : “not mine” {clock} stored {clock} declined : “not mine” {clock}",
        became(html).replace(": “", " : “").replace("  ", " "),
    ), became(html)
    assert f"at={answer.seq}#e{answer.seq}" in html


def test_that_it_was_read_later_hides_no_answer(kitchen: Kitchen) -> None:
    entry = letter(kitchen)
    ack(kitchen, kitchen.codex, None, entry.seq, "declined", "not mine")
    read(kitchen, kitchen.codex)
    html = drawn(kitchen, entry)
    assert became(html).startswith("codex declined:")
    assert became(html).count("read") == 1


def test_receipts_are_no_lines_of_their_own(kitchen: Kitchen) -> None:
    entry = letter(kitchen)
    read(kitchen, kitchen.codex)
    ack(kitchen, kitchen.codex, None, entry.seq, "done", "swept")
    shown = reading.newest(kitchen.room.pk)
    assert {item.entry.kind for item in shown.items} <= {"message", "joined", "control"}
    told = frame(kitchen, entry.seq)
    assert [name for name in told if name.startswith("e")] == [f"e{entry.seq}-mail"]


def test_each_fact_reaches_an_open_page_as_a_reload_shows_it(kitchen: Kitchen) -> None:
    at = last(kitchen)
    entry = letter(kitchen, "codex gemini")
    assert str(frame(kitchen, at)[f"e{entry.seq}"]) == drawn(kitchen, entry)

    def read_it() -> None:
        read(kitchen, kitchen.codex)

    def accepted() -> None:
        ack(kitchen, kitchen.codex, None, entry.seq, "accepted", "on it")

    def answered() -> None:
        reply(kitchen, kitchen.codex, None, entry.seq)

    def done() -> None:
        ack(kitchen, kitchen.codex, None, entry.seq, "done")

    for act in (read_it, accepted, answered, done):
        at = last(kitchen)
        act()
        part = frame(kitchen, at)[f"e{entry.seq}-mail"]
        assert part in drawn(kitchen, entry), act.__name__
        assert act.__name__.removesuffix("_it") in words(part)


def test_a_notice_that_was_delivered_reaches_the_page(kitchen: Kitchen) -> None:
    allow(kitchen, kitchen.gemini, kitchen.alice)
    source = works(kitchen, kitchen.alice)
    entry = send(kitchen, kitchen.claude, source, "gemini", "salt?")
    assert "gemini waiting: queued since" in became(drawn(kitchen, entry))
    assert f'data-waits="{entry.seq}"' in drawn(kitchen, entry)
    at = last(kitchen)
    kitchen.danas.run()
    part = frame(kitchen, at)[f"e{entry.seq}-mail"]
    assert "gemini notice delivered" in words(part)
    assert "data-waits" not in part
    assert part in drawn(kitchen, entry)


def test_why_it_waits_says_nothing_of_other_rooms(kitchen: Kitchen) -> None:
    cellar = membership.create_room(kitchen.alice, name="cellar")
    membership.add_agent(kitchen.alice, cellar.pk, kitchen.codex.pk)
    kitchen.ask(kitchen.alice, "@codex dig in the cellar", room=cellar)
    kitchen.daemon.run()
    mailbox.report_status(
        kitchen.seat(kitchen.codex, cellar), None, status="blocked", note="no spade", connection=BY_HAND
    )
    entry = letter(kitchen)
    shown = became(drawn(kitchen, entry))
    assert "queued" in shown or "is asked" in shown
    for secret in ("cellar", "dig", "spade", "work", "blocked"):
        assert secret not in shown


def test_what_its_owner_declined_does_not_wait_any_more(kitchen: Kitchen) -> None:
    source = works(kitchen, kitchen.bob)
    entry = send(kitchen, kitchen.claude, source, "gemini")
    assert "waiting: dana is asked whether it may start" in became(drawn(kitchen, entry))
    asked = kitchen.question(kitchen.turn(entry))
    turns.answer(kitchen.dana, asked.pk, verdict="no", note="not today")
    shown = drawn(kitchen, entry)
    assert "gemini not delivered: not today" in became(shown).replace("not delivered : ", "not delivered: ")
    assert "data-waits" not in shown


def test_what_a_person_asked_is_mail_only_once_an_agent_says_so_by_hand(kitchen: Kitchen) -> None:
    entry = kitchen.ask(kitchen.bob, "@claude hello")
    assert "<summary>" not in drawn(kitchen, entry).split('class="cards"')[0]
    at = last(kitchen)
    ack(kitchen, kitchen.claude, None, entry.seq, "accepted", "hello")
    part = frame(kitchen, at)[f"e{entry.seq}-mail"]
    assert "claude accepted" in words(part)
    assert part in drawn(kitchen, entry)


def test_a_question_to_the_owner_and_the_answer_read_as_such(kitchen: Kitchen) -> None:
    question = mailbox.ask_owner(
        kitchen.seat(kitchen.claude), None, action="May I push to main?", kind="push", client_id=key(),
        connection=BY_HAND,
    )  # fmt: skip
    asked = Entry.objects.get(body="May I push to main?", kind="message")
    assert words(drawn(kitchen, asked)).startswith("c claude to alice")
    assert "A question about pushing" in drawn(kitchen, asked)
    at = last(kitchen)
    turns.answer(kitchen.alice, question, verdict="no", note="after lunch")
    told = frame(kitchen, at)
    answer = Entry.objects.get(body="No. after lunch")
    assert words(told[f"e{answer.seq}"]).startswith("A alice to claude")
    assert told[f"e{answer.seq}"] == drawn(kitchen, answer)
    assert "<summary>" not in told[f"e{asked.seq}-mail"]
    assert "1 decision: declined by alice" in words("".join(told.values()))
    assert re.search(r'<article class="card turn"[^>]* hidden ', drawn(kitchen, asked))


def test_an_agents_status_is_one_calm_line(kitchen: Kitchen) -> None:
    entry = mailbox.report_status(
        kitchen.seat(kitchen.codex), None, status="blocked", note="waits for the key of the test database",
        ticket="K-7", connection=BY_HAND,
    )  # fmt: skip
    html = drawn(kitchen, entry)
    assert words(html).startswith(
        "codex is blocked: waits for the key of the test database , ticket K-7".replace(": ", " : ", 0)
    )
    assert "<article" not in html


def test_what_hides_in_a_subject_a_note_or_a_ticket_is_shown(kitchen: Kitchen) -> None:
    entry = letter(kitchen, subject="pay\u202eyap", ticket="K\u200b7")
    ack(kitchen, kitchen.codex, None, entry.seq, "declined", "<b>no\u2066</b>")
    html = drawn(kitchen, entry)
    assert "U+202E" in html
    assert "U+200B" in html
    assert "U+2066" in html
    assert "&lt;b&gt;" in html
    assert "\u202e" not in html


def test_forty_recipients_are_one_line_that_opens(kitchen: Kitchen) -> None:
    for number in range(40):
        membership.add_agent(kitchen.dana, kitchen.room.pk, agent_of(kitchen.danas.machine, f"helper-{number}").pk)
    entry = letter(kitchen, "all")
    ack(kitchen, kitchen.codex, None, entry.seq, "done")
    html = drawn(kitchen, entry)
    assert "to codex , gemini , helper-0 and 39 more" in words(html)
    assert "42 recipients: 41 waiting, 1 done" in html
    assert html.split('<div class="cards"')[0].count("<details") == 43


def test_a_blanked_note_goes_from_open_pages_too(kitchen: Kitchen) -> None:
    entry = letter(kitchen)
    receipt = ack(kitchen, kitchen.codex, None, entry.seq, "done", "the key is sk-123")
    assert receipt in control.blankable(kitchen.alice, kitchen.room.pk, entry.seq)
    at = last(kitchen)
    control.blank(kitchen.alice, kitchen.room.pk, receipt.seq)
    part = frame(kitchen, at)[f"e{entry.seq}-mail"]
    assert "codex done" in words(part)
    assert "sk-123" not in part
    assert "sk-123" not in drawn(kitchen, entry)


def test_fifty_messages_cost_no_more_queries_than_two(kitchen: Kitchen) -> None:
    def queries() -> int:
        with CaptureQueriesContext(
            connection,
        ) as seen:
            reading.newest(kitchen.room.pk)
        return len(seen)

    letter(kitchen, "codex gemini")
    letter(kitchen, "codex gemini")
    few = queries()
    for _ in range(20):
        entry = letter(kitchen, "codex gemini")
        ack(kitchen, kitchen.codex, None, entry.seq, "accepted")
    assert queries() == few


# --- the filter


def shown(kitchen: Kitchen, **asked: str) -> list[str]:
    return [item.entry.body for item in filtered.newest(kitchen.room.pk, filtered.asked(asked)).items]


def test_the_filter_knows_agent_topic_and_ticket(kitchen: Kitchen) -> None:
    letter(kitchen, "codex", body="one")
    letter(kitchen, "gemini", body="two", topic="wine")
    letter(kitchen, "codex", body="three", ticket="K-8")
    kitchen.ask(kitchen.bob, "four, for everybody")
    assert shown(kitchen, agent="claude")[-3:] == ["one", "two", "three"]
    assert shown(kitchen, agent="@Codex") == ["one", "three"]
    assert shown(kitchen, topic="wine") == ["two"]
    assert shown(kitchen, ticket="K-7") == ["one", "two"]
    assert shown(kitchen, agent="codex", ticket="K-8", topic="menu") == ["three"]
    assert shown(kitchen, agent="codex", topic="wine") == []
    for odd in ({"agent": "nobody"}, {"agent": "bob"}, {"topic": "'; --"}, {"ticket": "\0" * 500}):
        assert shown(kitchen, **odd) == []


def test_a_filtered_page_says_what_it_shows_and_how_to_see_all(kitchen: Kitchen) -> None:
    letter(kitchen, body="one")
    letter(kitchen, body="two", topic="wine")
    html = page(browser(kitchen.vera), f"/rooms/{kitchen.room.pk}/?topic=wine")
    assert "two" in html
    assert "one</p>" not in html
    assert "Only topic wine" in words(html)
    assert "data-only" in html
    nothing = page(browser(kitchen.vera), f"/rooms/{kitchen.room.pk}/?topic=wine&ticket=none")
    assert "Nothing here" in nothing
    assert "data-only" not in page(browser(kitchen.vera), f"/rooms/{kitchen.room.pk}/?topic=&agent=+")


def test_earlier_pages_keep_the_filter_and_lose_nothing(kitchen: Kitchen, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(7):
        letter(kitchen, body=f"{number}", topic="wine" if number % 2 else "menu")
    monkeypatch.setattr(filtered, "SPAN", 5)
    found: list[str] = []
    before: int | None = None
    for _ in range(100):
        got = filtered.newest(kitchen.room.pk, filtered.Filter(topic="wine"), before=before, limit=1)
        found = [item.entry.body for item in got.items] + found
        before = got.earlier
        if before is None:
            break
    assert found == ["1", "3", "5"]


def test_the_filter_shows_nothing_of_another_room(kitchen: Kitchen) -> None:
    cellar = membership.create_room(kitchen.dana, name="cellar")
    membership.add_agent(kitchen.dana, cellar.pk, kitchen.gemini.pk)
    other = agent_of(kitchen.danas.machine, "mole")
    membership.add_agent(kitchen.dana, cellar.pk, other.pk)
    turns.send(
        kitchen.seat(kitchen.gemini, cellar), None, to=["mole"], body="a secret", topic="dig", ticket="K-7",
        client_id=key(), connection=BY_HAND,
    )  # fmt: skip
    for asked in ({"agent": "gemini"}, {"agent": "mole"}, {"topic": "dig"}, {"ticket": "K-7"}):
        assert "a secret" not in shown(kitchen, **asked)
    client = browser(kitchen.bob)
    for path in ("?agent=gemini", "?ticket=K-7", "mail/?of=1,2,3,4,5,6,7,8,9"):
        assert client.get(f"/rooms/{cellar.pk}/{path}").status_code == 404
        assert Client().get(f"/rooms/{cellar.pk}/{path}").status_code == 302
    number = Entry.objects.get(body="a secret").seq
    assert "mole" not in page(client, f"/rooms/{kitchen.room.pk}/mail/?of={number},0,-1,x,{10**30}")


def test_open_pages_look_again_why_mail_waits(kitchen: Kitchen) -> None:
    entry = letter(kitchen)
    html = page(browser(kitchen.vera), f"/rooms/{kitchen.room.pk}/mail/?of={entry.seq}")
    assert html in drawn(kitchen, entry)
    control.pause_agent(kitchen.alice, kitchen.codex.pk, paused=True)
    turns.answer(kitchen.alice, kitchen.question(kitchen.turn(entry)).pk, verdict="once")
    again = page(browser(kitchen.vera), f"/rooms/{kitchen.room.pk}/mail/?of={entry.seq}")
    assert "waiting: paused" in words(again)


# --- home


def test_home_says_in_one_line_what_mail_waits_for_my_agent_and_why(kitchen: Kitchen) -> None:
    assert "message" not in page(browser(kitchen.dana), "/").split('id="agents"')[1].split("</section>")[0]
    letter(kitchen, "gemini")
    letter(kitchen, "gemini")
    html = page(browser(kitchen.dana), "/").split('id="agents"')[1].split("</section>")[0]
    assert "2 messages wait in kitchen: dana is asked whether it may start" in words(html)
    read(kitchen, kitchen.gemini)
    assert "2 messages" not in page(browser(kitchen.dana), "/")
    stranger = join(kitchen.room, person("erin"))
    assert stranger.user is not None
    assert "message wait" not in page(browser(stranger.user), "/")


def test_mail_that_its_owner_declined_is_not_said_at_home(kitchen: Kitchen) -> None:
    entry = letter(kitchen, "gemini")
    turns.answer(kitchen.dana, kitchen.question(kitchen.turn(entry)).pk, verdict="no")
    assert mailbox.waits([kitchen.gemini]) == {}


def test_words_of_a_mail_part_are_those_of_the_states(kitchen: Kitchen) -> None:
    entry = letter(kitchen, "codex gemini")
    for delivery in mailbox.states(entry):
        assert mail.word(delivery.facts[-1]) in became(drawn(kitchen, entry))
