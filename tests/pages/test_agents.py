from __future__ import annotations

from pathlib import Path

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from pytest_django.fixtures import Settings

from rooms import membership
from rooms.models import Agent, Member
from tests.approvals.kitchen import Kitchen
from tests.pages.conftest import In
from tests.pages.reading import error_beside, text, value

PNG = b"\x89PNG\r\n\x1a\n" + b"\0" * 20


def page(kitchen: Kitchen) -> str:
    return f"/agents/{kitchen.claude.pk}/"


def test_its_owner_edits_an_agent(kitchen: Kitchen, signed_in: In) -> None:
    alice = signed_in(kitchen.alice)
    assert value(alice.get(page(kitchen)), "id_display_name") == "claude"
    given = {"display_name": "Claude", "role": "Fixes bookings", "model": "opus", "share_diffs": "on"}
    assert alice.post(page(kitchen), given)["Location"] == page(kitchen)
    agent = Agent.objects.get(pk=kitchen.claude.pk)
    assert (agent.display_name, agent.role, agent.model) == ("Claude", "Fixes bookings", "opus")
    assert (agent.share_diffs, agent.worktree_per_room, agent.wake_for_mail) == (True, False, False)


def test_mail_wakes_an_agent_only_when_its_owner_switches_it_on(kitchen: Kitchen, signed_in: In) -> None:
    alice = signed_in(kitchen.alice)
    for wakes in (True, False):
        alice.post(page(kitchen), {"display_name": "claude", **({"wake_for_mail": "on"} if wakes else {})})
        assert Agent.objects.get(pk=kitchen.claude.pk).wake_for_mail is wakes
    assert signed_in(kitchen.bob).post(page(kitchen), {"display_name": "x", "wake_for_mail": "on"}).status_code != 302
    assert not Agent.objects.get(pk=kitchen.claude.pk).wake_for_mail


def test_without_worktrees_the_page_says_shared_directory(kitchen: Kitchen, signed_in: In) -> None:
    alice = signed_in(kitchen.alice)
    assert "shared directory" in text(alice.get(page(kitchen)))
    alice.post(page(kitchen), {"display_name": "claude", "worktree_per_room": "on"})
    assert "a worktree for each room" in text(alice.get(page(kitchen)))


def test_an_agent_needs_a_name_to_show(kitchen: Kitchen, signed_in: In) -> None:
    answer = signed_in(kitchen.alice).post(page(kitchen), {"display_name": "\u200b", "role": "kept"})
    assert answer.status_code == 422
    assert error_beside(answer, "id_display_name")
    assert value(answer, "id_role") == "kept"


def test_others_see_who_it_is_and_nothing_of_the_machine(kitchen: Kitchen, signed_in: In) -> None:
    Agent.objects.filter(pk=kitchen.claude.pk).update(
        role="Fixes bookings", runtime="/opt/run --secret x", model="opus"
    )
    answer = signed_in(kitchen.bob).get(page(kitchen))
    assert "Fixes bookings" in text(answer)
    assert "alice’s" in text(answer)
    for private in ("/tmp/kitchen", "alice-laptop", "--secret", "opus", "<form method"):
        assert private not in answer.content.decode()
    posted = signed_in(kitchen.bob).post(page(kitchen), {"display_name": "bobs"})
    assert "Fixes bookings" in text(posted)
    assert Agent.objects.get(pk=kitchen.claude.pk).display_name == "claude"


def test_a_picture_is_shown_to_its_rooms_and_nobody_else(
    kitchen: Kitchen, signed_in: In, settings: Settings, tmp_path: Path
) -> None:
    settings.MEDIA_ROOT = tmp_path
    upload = SimpleUploadedFile("x.html", PNG, content_type="text/html")
    assert signed_in(kitchen.alice).post(f"{page(kitchen)}avatar/set/", {"avatar": upload}).status_code == 302
    answer = signed_in(kitchen.bob).get(f"{page(kitchen)}avatar/")
    assert (answer.content, answer["Content-Type"]) == (PNG, "image/png")
    assert answer["X-Content-Type-Options"] == "nosniff"
    assert answer["Content-Security-Policy"] == "sandbox; default-src 'none'"
    assert signed_in(kitchen.charlie).get(f"{page(kitchen)}avatar/").status_code == 404
    signed_in(kitchen.alice).post(f"{page(kitchen)}avatar/set/", {"remove": "1"})
    assert signed_in(kitchen.bob).get(f"{page(kitchen)}avatar/").status_code == 404


@pytest.mark.parametrize("content", [b"<svg onload='alert(1)'/>", PNG + b"\0" * 1_000_000], ids=["svg", "too large"])
def test_what_is_no_small_picture_is_refused_beside_the_field(
    kitchen: Kitchen, signed_in: In, content: bytes, settings: Settings, tmp_path: Path
) -> None:
    settings.MEDIA_ROOT = tmp_path
    upload = SimpleUploadedFile("x.png", content, content_type="image/png")
    answer = signed_in(kitchen.alice).post(f"{page(kitchen)}avatar/set/", {"avatar": upload})
    assert answer.status_code == 422
    assert error_beside(answer, "id_avatar")
    assert not list(tmp_path.rglob("*.*"))


def test_an_agent_is_paused_and_resumed(kitchen: Kitchen, signed_in: In) -> None:
    alice = signed_in(kitchen.alice)
    alice.post(f"{page(kitchen)}pause/", {"paused": "yes"})
    assert Agent.objects.get(pk=kitchen.claude.pk).paused_at is not None
    assert "Resume" in text(alice.get("/"))
    alice.post(f"{page(kitchen)}pause/", {"paused": "no"})
    assert Agent.objects.get(pk=kitchen.claude.pk).paused_at is None


def test_its_memory_of_a_room_is_reset(kitchen: Kitchen, signed_in: In) -> None:
    seat = kitchen.seat(kitchen.claude)
    answer = signed_in(kitchen.alice).post(f"/members/{seat.pk}/memory/", {"next": page(kitchen)})
    assert answer["Location"] == page(kitchen)
    assert Member.objects.get(pk=seat.pk).memory == seat.memory + 1


def test_a_retired_agent_is_gone_from_home_and_rooms(kitchen: Kitchen, signed_in: In) -> None:
    alice = signed_in(kitchen.alice)
    assert alice.post(f"{page(kitchen)}retire/")["Location"] == "/"
    assert alice.get(page(kitchen)).status_code == 404
    assert not Member.objects.filter(agent=kitchen.claude, left_at=None).exists()


def test_the_way_into_a_direct_room(kitchen: Kitchen, signed_in: In) -> None:
    bob, alice = signed_in(kitchen.bob), signed_in(kitchen.alice)
    assert "It starts when alice, who owns claude, says so" in text(bob.get(f"{page(kitchen)}direct/"))
    room = bob.post(f"{page(kitchen)}direct/")["Location"]
    assert bob.get(f"{page(kitchen)}direct/")["Location"] == room
    assert "bob would like to talk with claude alone" in text(alice.get("/"))
    room_id = int(room.split("/")[2])
    alice.post(f"/rooms/{room_id}/let-in/")
    assert Member.objects.filter(room=room_id, agent=kitchen.claude).exists()
    assert "would like to talk" not in text(alice.get("/"))


def test_an_owner_declines_a_direct_room(kitchen: Kitchen, signed_in: In) -> None:
    room = membership.direct_room(kitchen.bob, kitchen.claude.pk)
    signed_in(kitchen.alice).post(f"/rooms/{room.pk}/decline/")
    answer = signed_in(kitchen.bob).post(f"{page(kitchen)}direct/")
    assert answer.status_code == 403
    assert "alice declined" in text(answer)
