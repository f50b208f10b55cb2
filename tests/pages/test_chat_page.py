"""The account chat in the browser: its owner reads it by topic, and may write; nobody else sees that it is there."""

from __future__ import annotations

import json
import re
from datetime import timedelta
from html import unescape
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from approvals import control
from messaging import chat, feed, log
from messaging.models import Entry
from rooms import membership, rail
from rooms.errors import Refused
from rooms.models import Connection, Member, Room, User
from tests.approvals.kitchen import Kitchen, key
from tests.pages.conftest import In
from tests.pages.reading import error_beside, text


def seat_of(user: User) -> Member:
    room = membership.account_chat(user)
    return Member.objects.select_related("room").get(room=room, user=user)


def says(user: User, body: str, *, by: Connection | None = None, **more: Any) -> int:
    """A program of theirs says it; without a connection, they themselves."""
    connection = f"connection:{by.short}" if by else chat.BY_OWNER
    seat = seat_of(user)
    return chat.send(seat, body=body, client_id=key(), connection=connection, by_program=by is not None, **more).number


@pytest.fixture
def laptop(kitchen: Kitchen) -> Connection:
    return membership.connect_account(kitchen.alice, "laptop")[0]


@pytest.fixture
def alice(kitchen: Kitchen, signed_in: In) -> Client:
    return signed_in(kitchen.alice)


def entry(page: Any, number: int) -> str:
    """The words of one message on the page."""
    found = re.search(rf'<li class="(?:entry|event)" id="e{number}".*?\n</li>', page.content.decode(), re.S)
    return "" if found is None else " ".join(unescape(re.sub(r"<[^>]+>", " ", found[0])).split())


def numbers(page: Any) -> list[int]:
    return [int(n) for n in re.findall(r'<li class="entry" id="e(\d+)"', page.content.decode())]


# --- who sees it ------------------------------------------------------------------------------------------------------


def test_a_message_says_whose_account_it_is_which_connection_it_came_by_its_topic_and_what_it_calls_itself(
    kitchen: Kitchen, laptop: Connection, alice: Client
) -> None:
    number = says(kitchen.alice, "The **tests** pass.", by=laptop, session="builder", topic="ci/main")
    page = alice.get("/chat/")
    assert f"alice by laptop {laptop.short} calls itself builder ci/main {number} · " in entry(page, number)
    assert "<strong>tests</strong>" in page.content.decode()
    assert "A program says itself what it is called: that proves nothing." in text(page)


def test_what_the_owner_wrote_says_so(kitchen: Kitchen, alice: Client) -> None:
    number = says(kitchen.alice, "Stop, all of you.")
    assert entry(alice.get("/chat/"), number).startswith("A alice you, in the browser general ")


def test_others_have_a_chat_of_their_own_and_see_nothing_of_this_one(
    kitchen: Kitchen, laptop: Connection, signed_in: In
) -> None:
    number = says(kitchen.alice, "between us", by=laptop, topic="secret-topic")
    room = membership.account_chat(kitchen.alice)
    assert Client().get("/chat/").status_code == 302
    for user in (kitchen.bob, kitchen.charlie, kitchen.dana, kitchen.vera):
        client = signed_in(user)
        for path in ("/chat/", f"/chat/?at={number}", "/chat/?q=between", "/chat/?topic=secret-topic", "/chat/topics/"):
            shown = client.get(path)
            assert shown.status_code == 200
            assert "between us" not in text(shown)
            assert laptop.short not in text(shown)
            assert numbers(shown) == []
        assert client.get("/chat/?topic=secret-topic").content.decode().count("secret-topic") > 0  # what was asked for
        assert "secret-topic" not in client.get("/chat/").content.decode()
        answered = client.post("/chat/messages/", {"body": "hm", "reply_to": str(number)})
        assert answered.status_code == 422
        for path in ("", "earlier/", "people/", "settings/", f"blank/{number}/"):
            assert client.get(f"/rooms/{room.pk}/{path}").status_code == 404, path
        assert client.post(f"/rooms/{room.pk}/messages/", {"body": "hm"}).status_code == 404
    assert Entry.objects.filter(room=room).count() == 1


def test_the_room_behind_it_is_no_ordinary_room(kitchen: Kitchen, laptop: Connection, alice: Client) -> None:
    number = says(kitchen.alice, "one", by=laptop)
    room = membership.account_chat(kitchen.alice)
    assert alice.get(f"/rooms/{room.pk}/")["Location"] == "/chat/"
    assert alice.get(f"/rooms/{room.pk}/?at={number}")["Location"] == f"/chat/?at={number}"
    assert alice.get(f"/rooms/{room.pk}/earlier/").status_code == 404
    assert alice.get(f"/rooms/{room.pk}/people/").status_code == 404
    assert alice.post(f"/rooms/{room.pk}/messages/", {"body": "past the chat"}).status_code == 404
    assert alice.post(f"/rooms/{room.pk}/archive/", {"archived": "yes"}).status_code == 403
    assert alice.post(f"/rooms/{room.pk}/invites/", {"role": "member", "days": "7", "max_uses": "1"}).status_code == 403
    assert f"/rooms/{room.pk}/" not in alice.get("/").content.decode()
    room.refresh_from_db()
    assert room.archived_at is None
    assert Entry.objects.filter(room=room).count() == 1


def test_an_administrator_reads_no_word_of_it(kitchen: Kitchen, laptop: Connection, signed_in: In) -> None:
    says(kitchen.alice, "between us", by=laptop)
    root = signed_in(membership.make_person("root", admin=True))
    room = membership.account_chat(kitchen.alice)
    assert root.get(f"/rooms/{room.pk}/").status_code == 404
    assert root.get(f"/admin/rooms/room/{room.pk}/words/").status_code == 404
    assert root.post(f"/admin/rooms/room/{room.pk}/words/", {"reason": "curious"}).status_code == 404
    assert f"/admin/rooms/room/{room.pk}/words/" not in root.get("/admin/rooms/room/").content.decode()
    assert f"/admin/rooms/room/{kitchen.room.pk}/words/" in root.get("/admin/rooms/room/").content.decode()


def test_the_rail_leads_there_and_counts_what_programs_said(
    kitchen: Kitchen, laptop: Connection, alice: Client
) -> None:
    says(kitchen.alice, "mine")
    assert rail.build(kitchen.alice).chat == 0
    number = says(kitchen.alice, "theirs", by=laptop)
    assert rail.build(kitchen.alice).chat == 1
    assert rail.build(kitchen.bob).chat == 0
    assert "Agent chat 1 unread" in text(alice.get("/"))
    alice.post(f"/rooms/{membership.account_chat(kitchen.alice).pk}/read/", {"seq": str(number)})
    assert rail.build(kitchen.alice).chat == 0


# --- by topic ---------------------------------------------------------------------------------------------------------


def test_topics_are_listed_with_their_counts_and_one_is_shown_alone(
    kitchen: Kitchen, laptop: Connection, alice: Client
) -> None:
    first = says(kitchen.alice, "one", by=laptop, topic="ci")
    says(kitchen.alice, "two", by=laptop)
    third = says(kitchen.alice, "three", by=laptop, topic="ci")
    assert re.search(r"Topics All topics ci .*? 2 messages Hide general .*? 1 message Hide", text(alice.get("/chat/")))
    alone = alice.get("/chat/?topic=ci")
    assert numbers(alone) == [first, third]
    assert "Only the topic ci" in text(alone)


def test_of_very_many_topics_the_newest_are_listed_and_the_rest_is_counted(
    kitchen: Kitchen, laptop: Connection, alice: Client
) -> None:
    for n in range(103):
        says(kitchen.alice, f"{n}", by=laptop, topic=f"build-{n}")
    alice.post("/chat/topics/hide/", {"topic": "build-1", "hidden": "yes"})
    page = alice.get("/chat/topics/")
    names = re.findall(r'name="topic" value="(build-\d+)"', page.content.decode())
    assert names == [f"build-{n}" for n in range(102, 2, -1)] + ["build-1"]
    assert "2 more, with nothing new for longer" in text(page)
    assert "build-0" in text(alice.get("/chat/?topic=build-0"))


def test_a_hidden_topic_stays_stored_and_comes_back(kitchen: Kitchen, laptop: Connection, alice: Client) -> None:
    noise = says(kitchen.alice, "ping", by=laptop, topic="noise")
    word = says(kitchen.alice, "hello", by=laptop)
    assert alice.post("/chat/topics/hide/", {"topic": "noise", "hidden": "yes"})["Location"] == "/chat/"
    page = alice.get("/chat/")
    assert numbers(page) == [word]
    assert 'data-hidden="noise"' in page.content.decode()
    assert re.search(r"Hidden from you noise .*? 1 message Show", text(page))
    assert numbers(alice.get("/chat/?topic=noise")) == [noise]
    assert [message.number for message in chat.read(seat_of(kitchen.alice)).messages] == [noise, word]
    alice.post("/chat/topics/hide/", {"topic": "noise", "hidden": "no"})
    assert numbers(alice.get("/chat/")) == [noise, word]


def test_hiding_is_one_browsers_own(kitchen: Kitchen, laptop: Connection, signed_in: In) -> None:
    number = says(kitchen.alice, "ping", by=laptop, topic="noise")
    signed_in(kitchen.alice).post("/chat/topics/hide/", {"topic": "noise", "hidden": "yes"})
    assert numbers(signed_in(kitchen.alice).get("/chat/")) == [number]


def test_earlier_messages_keep_to_the_topic(kitchen: Kitchen, laptop: Connection, alice: Client) -> None:
    seat = seat_of(kitchen.alice)
    by = f"connection:{laptop.short}"
    kinds = [log.New(Entry.Kind.MESSAGE, author=seat, body="x", topic=t, connection=by) for t in ("ci", "other") * 60]
    stored = [entry.seq for entry in log.append(seat.room_id, *kinds) if entry.topic == "ci"]
    page = alice.get("/chat/?topic=ci")
    assert numbers(page) == stored[10:]
    before = f"/chat/earlier/?before={stored[10]}&topic=ci"
    assert before in unescape(page.content.decode())
    assert numbers(alice.get(before)) == stored[:10]
    piece = alice.get(before, headers={"X-Requested-With": "fetch"}).json()
    assert re.findall(r'id="e(\d+)"', piece["html"]) == [str(number) for number in stored[:10]]
    assert piece["earlier"] is None


# --- search and links -------------------------------------------------------------------------------------------------


def test_search_finds_all_the_words_in_any_order_also_in_what_is_hidden(
    kitchen: Kitchen, laptop: Connection, alice: Client
) -> None:
    first = says(kitchen.alice, "The Migration of the users is done", by=laptop, topic="db")
    says(kitchen.alice, "users wait", by=laptop)
    alice.post("/chat/topics/hide/", {"topic": "db", "hidden": "yes"})
    page = alice.get("/chat/", {"q": "users  migration"})
    assert numbers(page) == [first]
    assert "1 message with users migration" in text(page)
    assert "data-still" in page.content.decode()
    assert numbers(alice.get("/chat/", {"q": "users", "topic": "general"})) == [first + 1]
    assert "Nothing found" in text(alice.get("/chat/", {"q": "nonsense"}))
    assert alice.get("/chat/", {"q": "100%\0_"}).status_code == 200


def test_a_link_leads_to_its_message_among_many(kitchen: Kitchen, laptop: Connection, alice: Client) -> None:
    seat = seat_of(kitchen.alice)
    by = f"connection:{laptop.short}"
    log.append(
        seat.room_id, *(log.New(Entry.Kind.MESSAGE, author=seat, body=f"m{n}", connection=by) for n in range(400))
    )
    page = alice.get("/chat/?at=20")
    assert numbers(page) == list(range(11, 61))
    assert "These are earlier messages." in text(page)
    assert numbers(alice.get("/chat/?at=390")) == list(range(381, 401))
    assert numbers(alice.get("/chat/?at=999999999999999999"))[-1] == 400


# --- answers ----------------------------------------------------------------------------------------------------------


def test_an_answer_says_what_it_answers_and_when_that_was_removed(
    kitchen: Kitchen, laptop: Connection, alice: Client
) -> None:
    parent = says(kitchen.alice, "Who has the\nlock?", by=laptop, topic="locks")
    child = says(kitchen.alice, "I do.", by=laptop, reply_to=parent)
    assert f"answers message {parent} by laptop: Who has the lock?" in entry(alice.get("/chat/"), child)
    log.purge(seat_of(kitchen.alice).room_id, parent)
    assert f"answers message {parent}: the message was removed" in entry(alice.get("/chat/"), child)


def test_the_owner_writes_and_answers_without_a_script(kitchen: Kitchen, laptop: Connection, alice: Client) -> None:
    made = alice.post("/chat/messages/", {"body": "Begin.", "topic": "plan/a"})
    seat = seat_of(kitchen.alice)
    [first] = chat.read(seat).messages
    assert made["Location"] == f"/chat/#e{first.number}"
    assert (first.topic, first.by_owner, first.connection, first.session) == ("plan/a", True, "", "")
    asked = says(kitchen.alice, "Where?", by=laptop, topic="places")
    form = alice.get(f"/chat/?reply={asked}")
    assert f"Answers message {asked} in its topic, places" in text(form)
    assert f'name="reply_to" value="{asked}"' in form.content.decode()
    alice.post("/chat/messages/", {"body": "In src.", "topic": "ignored", "reply_to": str(asked)})
    last = chat.read(seat).messages[-1]
    assert (last.parent, last.topic, last.body) == (asked, "places", "In src.")


def test_what_the_rule_refuses_keeps_the_words(kitchen: Kitchen, alice: Client) -> None:
    for sent, said in (
        ({"body": "kept words", "topic": "Not A Topic!"}, "A topic is 1 to 100 of a-z"),
        ({"body": "kept words", "reply_to": "77"}, "There is no message 77"),
        ({"body": "kept words", "reply_to": "x"}, "There is no message 0"),
        ({"body": "  "}, "Write something first."),
    ):
        page = alice.post("/chat/messages/", sent)
        assert page.status_code == 422
        assert said in text(page)
        assert ("kept words" in page.content.decode()) is ("kept" in sent["body"])
        again = alice.post("/chat/messages/", sent, headers={"X-Requested-With": "fetch"})
        assert said in again.json()["detail"]
    assert not Entry.objects.filter(room=seat_of(kitchen.alice).room_id).exists()


def test_the_same_form_twice_is_one_message(kitchen: Kitchen, alice: Client) -> None:
    for _ in range(2):
        alice.post("/chat/messages/", {"body": "once", "client_id": "the-same"})
    assert Entry.objects.filter(room=seat_of(kitchen.alice).room_id).count() == 1


def test_no_file_is_taken_and_the_page_says_how_they_go(kitchen: Kitchen, alice: Client) -> None:
    page = alice.get("/chat/")
    assert 'type="file"' not in page.content.decode()
    assert "Files go by their path on a machine, or by a commit." in text(page)


# --- hostile words ----------------------------------------------------------------------------------------------------

HOSTILE = (
    "<script>alert(1)</script> <img src=x onerror=alert(1)> ![p](http://evil/x.png) [go](javascript:alert(1)) "
    "\x1b[2J\x1b]0;title\x07 \x1b]52;c;aGk=\x07 over\rwritten \u202etxt.exe \u200b"
)


def test_hostile_words_are_inert_and_what_they_hide_is_seen(
    kitchen: Kitchen, laptop: Connection, alice: Client
) -> None:
    number = says(kitchen.alice, HOSTILE, by=laptop, session="<b>root\u202e\x1b[2J</b>")
    says(kitchen.alice, "```\n\x1b[2J<b>\u202e\n```\n`\x1b]8;;http://evil\x07`", by=laptop, reply_to=number)
    for path in ("/chat/", "/chat/?q=alert", f"/chat/?reply={number}"):
        html = alice.get(path).content.decode()
        for bad in (
            "<script>alert",
            "<img src=x",
            "<b>root",
            'href="javascript',
            'src="http',
            "\x1b",
            "\u202e",
        ):
            assert bad not in html, (path, bad)
        assert '<mark class="hidden-char">U+001B</mark>[2J' in html
        assert '<mark class="hidden-char">U+202E</mark>' in html


def test_ordinary_letters_and_emoji_are_not_marked(kitchen: Kitchen, laptop: Connection, alice: Client) -> None:
    says(kitchen.alice, "naïve — 👩‍💻 ❤️ می‌خواهم\n\n`tab\there`", by=laptop)
    assert "hidden-char" not in alice.get("/chat/").content.decode()


def test_a_very_long_message_is_whole(kitchen: Kitchen, laptop: Connection, alice: Client) -> None:
    says(kitchen.alice, "a" * 45_000 + "<the end>", by=laptop)
    html = alice.get("/chat/").content.decode()
    assert "The rest, as plain text" in html
    assert "aaa&lt;the end&gt;</pre>" in html


def test_a_blanked_message_is_gone_from_the_page_and_from_its_answers(
    kitchen: Kitchen, laptop: Connection, alice: Client
) -> None:
    number = says(kitchen.alice, "password: hunter2", by=laptop)
    says(kitchen.alice, "thanks", by=laptop, reply_to=number)
    room = membership.account_chat(kitchen.alice)
    assert f"/rooms/{room.pk}/blank/{number}/" in alice.get("/chat/").content.decode()
    assert "hunter2" in text(alice.get(f"/rooms/{room.pk}/blank/{number}/"))
    done = alice.post(f"/rooms/{room.pk}/blank/{number}/", follow=True)
    assert done.redirect_chain[-1][0] == f"/chat/?at={number}"
    assert "Blanked. Its hash stays" in entry(done, number)
    assert "hunter2" not in done.content.decode()


def test_an_open_page_is_told_what_was_blanked(kitchen: Kitchen, laptop: Connection) -> None:
    number = says(kitchen.alice, "password: hunter2", by=laptop)
    room = membership.account_chat(kitchen.alice)
    control.blank(kitchen.alice, room.pk, number)
    seen = feed.look(room.pk, number)
    assert seen is not None
    [part] = json.loads(seen.frame.text)["parts"]
    assert (part["id"], part["target"]) == (f"e{number}", "entries")
    assert "Blanked. Its hash stays" in part["html"]
    assert "hunter2" not in seen.frame.text


# --- the switch, the limit, who is connected -----------------------------------------------------------------------


def test_the_switch_shuts_programs_out_and_not_the_owner(kitchen: Kitchen, laptop: Connection, alice: Client) -> None:
    number = says(kitchen.alice, "before", by=laptop)
    assert "on" in text(alice.get("/chat/settings/"))
    assert alice.post("/chat/settings/switch/", {"on": "no"})["Location"] == "/chat/settings/"
    with pytest.raises(Refused):
        says(kitchen.alice, "meanwhile", by=laptop)
    page = alice.get("/chat/")
    assert "Agent chat is off: no program can send, read or wait here. You can read and write." in text(page)
    assert "alice switched the agents' chat off." in text(page)
    assert number in numbers(page)
    assert alice.post("/chat/messages/", {"body": "I can"}).status_code == 302
    assert "Off: settings" in text(alice.get("/account/"))
    alice.post("/chat/settings/switch/", {"on": "yes"})
    assert "Agent chat is off" not in text(alice.get("/chat/"))
    assert says(kitchen.alice, "again", by=laptop) > number


def test_no_token_switches_it(kitchen: Kitchen) -> None:
    _, token = membership.connect_account(kitchen.alice, "script")
    client = Client(headers={"Authorization": f"Bearer {token}"})
    for path, sent in (("switch", {"on": "no"}), ("keep", {"days": "1"})):
        assert client.post(f"/chat/settings/{path}/", sent)["Location"].startswith("/account/login/")
    room = Room.objects.get(owner=kitchen.alice, kind="account")
    assert (room.agent_chat, room.retention_days) == (True, None)


def test_an_administrator_cannot_switch_it(kitchen: Kitchen, signed_in: In) -> None:
    root = signed_in(membership.make_person("root", admin=True))
    room = membership.account_chat(kitchen.alice)
    root.post("/chat/settings/switch/", {"on": "no"})
    root.post(f"/admin/rooms/room/{room.pk}/change/", {"agent_chat": "", "retention_days": "1"})
    shown = root.get(f"/admin/rooms/room/{room.pk}/change/").content.decode()
    assert 'name="agent_chat"' not in shown
    room.refresh_from_db()
    assert (room.agent_chat, room.retention_days) == (True, None)


def test_a_limit_of_ones_own_is_never_longer_than_the_servers(kitchen: Kitchen, alice: Client) -> None:
    assert "Only you and your programs · kept for 14 days" in text(alice.get("/chat/"))
    assert alice.post("/chat/settings/keep/", {"days": "3"})["Location"] == "/chat/settings/"
    room = Room.objects.get(owner=kitchen.alice, kind="account")
    assert room.retention_days == 3
    assert "kept for 3 days" in text(alice.get("/chat/"))
    for wrong in ("15", "0", "-1", "x", "99999999999999999999"):
        assert error_beside(alice.post("/chat/settings/keep/", {"days": wrong}), "id_days")
    room.refresh_from_db()
    assert room.retention_days == 3
    alice.post("/chat/settings/keep/", {"days": ""})
    room.refresh_from_db()
    assert room.retention_days is None


def test_what_a_shorter_limit_deletes_is_said_first(
    kitchen: Kitchen, laptop: Connection, alice: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as past:
        then = timezone.now() - timedelta(days=5)
        past.setattr("django.utils.timezone.now", lambda: then)
        says(kitchen.alice, "old", by=laptop)
    says(kitchen.alice, "new", by=laptop)

    def kept() -> int | None:
        return membership.account_chat(kitchen.alice).retention_days

    asked = alice.post("/chat/settings/keep/", {"days": "3"})
    assert "1 message is older than that and would be deleted within the hour, for good." in text(asked)
    assert 'name="confirmed" value="3"' in asked.content.decode()
    assert alice.post("/chat/settings/keep/", {"days": "2", "confirmed": "3"}).status_code == 200
    assert kept() is None
    assert alice.post("/chat/settings/keep/", {"days": "3", "confirmed": "3"}).status_code == 302
    assert kept() == 3
    assert alice.post("/chat/settings/keep/", {"days": "6"}).status_code == 302


def test_connected_programs_are_listed_and_revoked(kitchen: Kitchen, laptop: Connection, alice: Client) -> None:
    membership.connect(kitchen.alice, agent=kitchen.claude.pk, room=kitchen.room.pk, name="an agents own")
    membership.connect_account(kitchen.bob, "bobs")
    listed = text(alice.get("/chat/settings/"))
    assert f"laptop token · {laptop.short} · since " in listed
    assert "an agents own" not in listed
    assert "bobs" not in listed
    number = says(kitchen.alice, "bye", by=laptop)
    gone = alice.post(f"/connections/{laptop.pk}/revoke/", {"next": "/chat/settings/"})
    assert gone["Location"] == "/chat/settings/"
    assert "Revoke laptop" not in alice.get("/chat/settings/").content.decode()
    assert f"by laptop {laptop.short}" in entry(alice.get("/chat/"), number)


def test_an_empty_chat_says_how_to_connect_a_program(kitchen: Kitchen, signed_in: In) -> None:
    shown = text(signed_in(kitchen.charlie).get("/chat/"))
    assert "claude mcp add --transport http agentroom http" in shown
    assert "codex mcp add agentroom --url http" in shown
    assert "No program yet." in shown


def test_leaving_rooms_and_agents_touches_no_chat(kitchen: Kitchen, laptop: Connection, alice: Client) -> None:
    number = says(kitchen.alice, "still here", by=laptop)
    control.archive(kitchen.alice, kitchen.room.pk, archived=True)
    assert numbers(alice.get("/chat/")) == [number]
