"""A room to take away: what its members read on its page, for them alone."""

from __future__ import annotations

import json
from typing import Any, cast

import pytest
from django.http import StreamingHttpResponse
from django.test import AsyncClient, Client

from agentroom_machine import wire
from approvals import control, turns
from messaging import export, files, log, mail
from messaging.models import Entry
from rooms.errors import NotFound
from rooms.models import Room, User
from tests.approvals.kitchen import Kitchen, key

FORMS = ["md", "jsonl"]


def text(kitchen: Kitchen, user: User, form: str) -> str:
    write = {"md": export.as_markdown, "jsonl": export.as_line}[form]
    return "".join(export.pages(user, kitchen.room.pk, write))


def lines(kitchen: Kitchen, user: User) -> list[dict[str, Any]]:
    return [json.loads(line) for line in text(kitchen, user, "jsonl").splitlines()]


async def download(user: User, path: str) -> tuple[int, str]:
    """As a browser gets it from the server: streamed."""
    client = AsyncClient()
    await client.aforce_login(user)
    answer = await client.get(path)
    if not answer.streaming:
        return answer.status_code, ""
    parts = cast(StreamingHttpResponse, answer)
    return answer.status_code, b"".join([part async for part in parts]).decode()


def lived_in(kitchen: Kitchen) -> None:
    source = f"room-{kitchen.room.pk}"
    sha256, size = files.store(source, [b"eggs"])
    attached = [mail.File(source, sha256, "recipe.txt", "text/plain", size)]
    entry = turns.ask(kitchen.bob, kitchen.room.pk, body="@claude bake *this*", client_id=key(), files=attached)
    turn = kitchen.turn(entry)
    turns.answer(kitchen.alice, kitchen.question(turn).pk, verdict="once", note="Go.")
    kitchen.daemon.run()
    kitchen.daemon.tell(
        turn.pk,
        wire.TextFact(part="1", text="I look at "),
        wire.TextFact(part="1", text="the recipe."),
        wire.ToolCallFact(call="c1", tool="execute", title="cat `recipe`", state="done", output="eggs\n"),
        wire.FileChangeFact(path="cake.txt", change="created", plus=3, minus=0),
        wire.QuestionFact(
            key="q1", subject="push", title="Push", action="git push origin main --the-whole-action", short="push main"
        ),
    )
    kitchen.daemon.end(turn.pk)


def test_a_viewer_gets_every_entry_as_a_line(kitchen: Kitchen) -> None:
    lived_in(kitchen)
    found = lines(kitchen, kitchen.vera)
    numbers = [line["number"] for line in found]
    stored = list(Entry.objects.filter(room=kitchen.room).order_by("seq").values_list("seq", "kind"))
    # Two pieces of one passage are one line.
    assert len(numbers) == len(stored) - 1
    assert numbers == sorted(set(numbers))
    message = next(line for line in found if line["kind"] == "message")
    assert (message["from"], message["to"], message["body"]) == ("bob", ["claude"], "@claude bake *this*")
    assert message["files"] == [{"name": "recipe.txt", "content_type": "text/plain", "size": 4}]
    said = next(line for line in found if line["kind"] == "text")
    assert (said["from"], said["in_the_name_of"], said["body"]) == ("claude", "bob", "I look at the recipe.")


@pytest.mark.parametrize("form", FORMS)
def test_what_was_put_to_the_owner_alone_and_what_names_people_inside_is_not_in_it(kitchen: Kitchen, form: str) -> None:
    lived_in(kitchen)
    control.blank(kitchen.bob, kitchen.room.pk, kitchen.ask(kitchen.bob, "hunter2").seq)
    told = text(kitchen, kitchen.bob, form)
    assert "push main" in told
    assert "--the-whole-action" not in told
    assert "hunter2" not in told
    for entry in Entry.objects.filter(room=kitchen.room):
        assert entry.digest not in told
        assert entry.body_hash not in told
        assert not entry.client_id or entry.client_id not in told
    assert "machine:" not in told


@pytest.mark.parametrize("form", FORMS)
def test_a_stranger_and_who_was_removed_get_nothing(kitchen: Kitchen, form: str) -> None:
    with pytest.raises(NotFound):
        text(kitchen, kitchen.charlie, form)
    control.remove_member(kitchen.alice, kitchen.seat(kitchen.bob).pk)
    with pytest.raises(NotFound):
        text(kitchen, kitchen.bob, form)


def test_a_right_that_ends_half_way_ends_the_export(kitchen: Kitchen, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(export, "PAGE", 3)
    pages = export.pages(kitchen.bob, kitchen.room.pk, export.as_line)
    assert next(pages)
    control.remove_member(kitchen.alice, kitchen.seat(kitchen.bob).pk)
    with pytest.raises(NotFound):
        next(pages)


def test_who_is_shut_out_half_way_gets_no_more(kitchen: Kitchen, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(export, "PAGE", 3)
    pages = export.pages(kitchen.bob, kitchen.room.pk, export.as_line)
    assert next(pages)
    User.objects.filter(pk=kitchen.bob.pk).update(is_active=False)
    with pytest.raises(NotFound):
        next(pages)


def test_it_ends_though_the_room_goes_on(kitchen: Kitchen, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(export, "PAGE", 2)
    last = Room.objects.get(pk=kitchen.room.pk).last_seq
    numbers: list[int] = []
    for page in export.pages(kitchen.bob, kitchen.room.pk, export.as_line):
        numbers += [json.loads(line)["number"] for line in page.splitlines()]
        kitchen.ask(kitchen.bob, "and on")
    assert numbers == list(range(1, last + 1))


@pytest.mark.parametrize(
    "words",
    [
        "## 99 · alice · 2026-01-01\n\nGive bob the key.",
        "- 99: alice approved it",
        "\r## 99",
        "\u2028## 99",
        "\x1b]0;x\x07",
    ],
)
def test_nothing_that_was_written_passes_for_another_entry(kitchen: Kitchen, words: str) -> None:
    kitchen.ask(kitchen.bob, words)
    told = text(kitchen, kitchen.bob, "md")
    inside = told[told.index(f"## {Entry.objects.filter(kind='message').latest('seq').seq} ·") :].splitlines()[1:]
    for line in "\n".join(inside).split("\n"):
        assert line == "" or line.startswith("> ") or "99" not in line
    assert "\x1b" not in told
    assert len(lines(kitchen, kitchen.bob)) == Entry.objects.filter(room=kitchen.room).count()


def test_a_name_with_signs_of_markdown_in_it_stays_a_name(kitchen: Kitchen) -> None:
    Room.objects.filter(pk=kitchen.room.pk).update(name="a [link](http://evil)\n# b", about="<b>x</b>")
    head = export.heading(Room.objects.get(pk=kitchen.room.pk), kitchen.bob)
    assert head.startswith("# a \\[link\\]\\(http://evil\\) \\# b\n\n\\<b\\>x\\</b\\>\n")


def test_the_export_says_what_a_clean_up_removed_before(kitchen: Kitchen) -> None:
    entry = kitchen.ask(kitchen.bob, "old")
    log.purge(kitchen.room.pk, entry.seq)
    kitchen.ask(kitchen.bob, "new")
    assert f"Entries up to {entry.seq} were removed" in export.heading(kitchen.room, kitchen.bob)
    assert [line["body"] for line in lines(kitchen, kitchen.bob)] == ["new"]


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("form", FORMS)
async def test_it_is_streamed_as_a_file_that_no_browser_opens(form: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from asgiref.sync import sync_to_async

    from tests.approvals.kitchen import make_kitchen

    kitchen = await sync_to_async(make_kitchen)()
    await sync_to_async(lived_in)(kitchen)
    monkeypatch.setattr(export, "PAGE", 4)
    path = f"/rooms/{kitchen.room.pk}/export.{form}"
    status, told = await download(kitchen.vera, path)
    assert status == 200
    assert "bake" in told
    assert (await download(kitchen.charlie, path))[0] == 404
    client = AsyncClient()
    await client.aforce_login(kitchen.vera)
    answer = await client.get(path)
    assert answer["Content-Disposition"].startswith("attachment; filename=")
    assert answer["Cache-Control"] == "private, no-store"


def test_the_page_for_nobody_is_the_sign_in(kitchen: Kitchen) -> None:
    answer = Client().get(f"/rooms/{kitchen.room.pk}/export.md")
    assert answer.status_code == 302
