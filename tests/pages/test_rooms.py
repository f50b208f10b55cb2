from __future__ import annotations

import re

from rooms.models import Invite, Member, Room
from tests.approvals.kitchen import Kitchen, agent_of
from tests.pages.conftest import In
from tests.pages.reading import error_beside, text, value


def test_a_room_is_made_and_opened(kitchen: Kitchen, signed_in: In) -> None:
    answer = signed_in(kitchen.bob).post("/rooms/new/", {"name": "pantry", "about": "Jars"})
    room = Room.objects.get(name="pantry")
    assert (answer.status_code, answer["Location"]) == (302, f"/rooms/{room.pk}/")
    assert room.owner == kitchen.bob


def test_what_was_written_stays_with_the_error_beside_it(kitchen: Kitchen, signed_in: In) -> None:
    answer = signed_in(kitchen.bob).post("/rooms/new/", {"name": "\u200b", "about": "Jars"})
    assert answer.status_code == 422
    assert "Fill in the name" in error_beside(answer, "id_name")
    assert value(answer, "id_about") == "Jars"
    assert not Room.objects.filter(owner=kitchen.bob, kind="room").exists()


def test_the_owner_renames_a_room(kitchen: Kitchen, signed_in: In) -> None:
    path = f"/rooms/{kitchen.room.pk}/settings/"
    assert signed_in(kitchen.alice).post(path, {"name": "galley", "about": ""})["Location"] == path
    assert Room.objects.get(pk=kitchen.room.pk).name == "galley"


def test_an_invite_link_is_shown_once(kitchen: Kitchen, signed_in: In) -> None:
    alice, path = signed_in(kitchen.alice), f"/rooms/{kitchen.room.pk}/"
    wanted = {"role": "viewer", "days": "3", "max_uses": "2", "seat_days": ""}
    answer = alice.post(f"{path}invites/", wanted)
    link = value(answer, "link")
    assert re.fullmatch(r"http://testserver/join/ari_[\w-]{43}/", link)
    invite = Invite.objects.latest("pk")
    assert (invite.role, invite.max_uses, invite.member_expires_at) == ("viewer", 2, None)
    assert link not in alice.get(f"{path}settings/").content.decode()
    assert "used 0 of 2" in text(alice.get(f"{path}settings/"))


def test_a_wrong_number_is_said_beside_its_field(kitchen: Kitchen, signed_in: In) -> None:
    before = Invite.objects.count()
    wanted = {"role": "member", "days": "400", "max_uses": "2"}
    answer = signed_in(kitchen.alice).post(f"/rooms/{kitchen.room.pk}/invites/", wanted)
    assert answer.status_code == 422
    assert "365" in error_beside(answer, "id_days")
    assert value(answer, "id_max_uses") == "2"
    assert Invite.objects.count() == before


def test_a_link_is_taken_back(kitchen: Kitchen, signed_in: In) -> None:
    alice = signed_in(kitchen.alice)
    alice.post(f"/rooms/{kitchen.room.pk}/invites/", {"role": "member", "days": "3", "max_uses": "1"})
    invite = Invite.objects.latest("pk")
    answer = alice.post(f"/invites/{invite.pk}/revoke/", follow=True)
    assert "taken back" in text(answer)
    assert Invite.objects.get(pk=invite.pk).revoked_at is not None


def test_a_room_is_archived_and_opened_again(kitchen: Kitchen, signed_in: In) -> None:
    alice, path = signed_in(kitchen.alice), f"/rooms/{kitchen.room.pk}/archive/"
    alice.post(path, {"archived": "yes"})
    assert Room.objects.get(pk=kitchen.room.pk).archived_at is not None
    assert "kitchen" in text(alice.get("/")).partition("Archived rooms")[2]
    alice.post(path, {"archived": "no"})
    assert Room.objects.get(pk=kitchen.room.pk).archived_at is None


def test_a_member_leaves_and_sees_it_no_more(kitchen: Kitchen, signed_in: In) -> None:
    bob = signed_in(kitchen.bob)
    assert bob.post(f"/rooms/{kitchen.room.pk}/leave/")["Location"] == "/"
    assert bob.get(f"/rooms/{kitchen.room.pk}/people/").status_code == 404


def test_the_owner_may_not_leave_and_is_told_what_to_do(kitchen: Kitchen, signed_in: In) -> None:
    answer = signed_in(kitchen.alice).post(f"/rooms/{kitchen.room.pk}/leave/")
    assert answer.status_code == 403
    assert "hand it over" in text(answer)


def test_a_script_is_answered_with_a_problem(kitchen: Kitchen, signed_in: In) -> None:
    bob, path = signed_in(kitchen.bob), f"/members/{kitchen.seat(kitchen.vera).pk}/remove/"
    for headers in ({"X-Requested-With": "fetch"}, {"Accept": "application/json"}):
        answer = bob.post(path, headers=headers)
        assert answer["Content-Type"] == "application/problem+json"
        assert {key: answer.json()[key] for key in ("status", "code")} == {"status": 403, "code": "refused"}
    assert bob.post(path, headers={"Accept": "text/html,*/*"})["Content-Type"].startswith("text/html")


def test_the_column_shows_the_owner_what_they_can_do(kitchen: Kitchen, signed_in: In) -> None:
    path = f"/rooms/{kitchen.room.pk}/people/"
    alice, bob, vera = (
        signed_in(user).get(path).content.decode() for user in (kitchen.alice, kitchen.bob, kitchen.vera)
    )
    remove_vera = f"/members/{kitchen.seat(kitchen.vera).pk}/remove/"
    assert remove_vera in alice
    assert f"/rooms/{kitchen.room.pk}/settings/" in alice
    for page in (bob, vera):
        assert "/remove/" not in page
        assert "/settings/" not in page
        assert "/memory/" not in page


def test_an_agent_is_brought_in_under_a_free_name(kitchen: Kitchen, signed_in: In) -> None:
    other = agent_of(kitchen.danas.machine, "claude")
    dana, path = signed_in(kitchen.dana), f"/rooms/{kitchen.room.pk}/agents/"
    answer = dana.post(path, {"agent": other.pk})
    assert answer.status_code == 409
    assert "claude-dana" in text(answer)
    answer = dana.post(path, {"agent": other.pk, "handle": "claude-dana"})
    assert answer["Location"] == f"/rooms/{kitchen.room.pk}/"
    assert kitchen.seat(other).handle == "claude-dana"


def test_nobody_brings_in_somebody_elses_agent(kitchen: Kitchen, signed_in: In) -> None:
    nightly = agent_of(kitchen.daemon.machine, "nightly")
    answer = signed_in(kitchen.dana).post(f"/rooms/{kitchen.room.pk}/agents/", {"agent": nightly.pk})
    assert answer.status_code == 404
    assert not Member.objects.filter(agent=nightly).exists()


def test_the_owner_changes_a_role_and_removes(kitchen: Kitchen, signed_in: In) -> None:
    alice, bob = signed_in(kitchen.alice), kitchen.seat(kitchen.bob)
    alice.post(f"/members/{bob.pk}/role/", {"role": "viewer"})
    assert kitchen.seat(kitchen.bob).role == "viewer"
    alice.post(f"/members/{bob.pk}/remove/", {"next": "/rooms/new/"})
    assert kitchen.seat(kitchen.bob).removed_at is not None
    assert signed_in(kitchen.bob).get(f"/rooms/{kitchen.room.pk}/people/").status_code == 404


def test_a_form_sends_nobody_elsewhere(kitchen: Kitchen, signed_in: In) -> None:
    alice, path = signed_in(kitchen.alice), f"/agents/{kitchen.claude.pk}/pause/"
    for elsewhere in ("https://evil.example/", "//evil.example/", "javascript:alert(1)", "/\\evil.example"):
        assert alice.post(path, {"paused": "yes", "next": elsewhere})["Location"] == "/"
    assert alice.post(path, {"paused": "no", "next": "/grants/"})["Location"] == "/grants/"


def test_a_direct_room_is_one_click_away_for_members(kitchen: Kitchen, signed_in: In) -> None:
    path, direct = f"/rooms/{kitchen.room.pk}/people/", f'action="/agents/{kitchen.claude.pk}/direct/"'
    assert direct in signed_in(kitchen.bob).get(path).content.decode()
    assert direct not in signed_in(kitchen.vera).get(path).content.decode()
    room = signed_in(kitchen.bob).post(f"/agents/{kitchen.claude.pk}/direct/")["Location"]
    assert Room.objects.get(pk=int(room.split("/")[2])).kind == "direct"
