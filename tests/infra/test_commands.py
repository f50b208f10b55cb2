from __future__ import annotations

import io
import json
from typing import Any

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError
from django.utils import timezone

from rooms import membership, tokens
from rooms.models import Agent, Connection, Member, Room, SignInLink, User

pytestmark = pytest.mark.django_db


def run(*args: str) -> dict[str, Any]:
    said = io.StringIO()
    call_command(*args, "--json", stdout=said)
    told: dict[str, Any] = json.loads(said.getvalue())
    return told


def test_a_script_makes_a_person_and_gets_a_link_that_works_once() -> None:
    told = run("person", "alice", "--email", "alice@example.org")
    token = told["sign_in"].rstrip("/").rpartition("/")[2]
    alice = User.objects.get(username="alice")
    assert (alice.email, alice.is_staff, told["new"]) == ("alice@example.org", False, True)
    assert membership.use_sign_in_link(token) == alice
    with pytest.raises(membership_error()):
        membership.use_sign_in_link(token)


def test_the_link_is_stored_as_a_hash_alone() -> None:
    token = run("person", "alice")["sign_in"].rstrip("/").rpartition("/")[2]
    link = SignInLink.objects.get()
    assert link.token_hash == tokens.digest(token)
    assert link.expires_at > timezone.now()


def test_an_administrator_is_made_only_when_asked_for() -> None:
    run("person", "alice", "--admin")
    assert User.objects.get(username="alice").is_superuser


def test_a_person_who_is_here_already_gets_a_new_link_and_keeps_all_else() -> None:
    run("person", "bob", "--email", "bob@example.org")
    told = run("person", "bob", "--email", "other@example.org", "--admin")
    bob = User.objects.get(username="bob")
    assert (told["new"], bob.email, bob.is_staff) == (False, "bob@example.org", False)


def test_a_password_comes_by_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("a long enough secret\n"))
    run("person", "alice", "--password-stdin")
    assert User.objects.get(username="alice").check_password("a long enough secret")


def test_a_handle_that_does_not_fit_is_an_error_in_words() -> None:
    with pytest.raises(CommandError, match="a-z"):
        run("person", "Alice B.")
    assert not User.objects.exists()


def test_a_room_has_its_owner_and_members_seated() -> None:
    for handle in ("alice", "bob"):
        run("person", handle)
    told = run("room", "kitchen", "--owner", "alice", "--member", "bob")
    room = Room.objects.get(pk=told["id"])
    assert room.owner.username == "alice"
    assert set(Member.objects.filter(room=room, left_at=None).values_list("handle", flat=True)) == {"alice", "bob"}
    assert not any(invite.open for invite in room.invites.all())


def test_a_room_with_an_unknown_member_is_not_made() -> None:
    run("person", "alice")
    with pytest.raises(CommandError, match="Nobody here is called bob"):
        run("room", "kitchen", "--owner", "alice", "--member", "bob")
    assert not Room.objects.filter(kind="room").exists()


def test_a_token_for_an_account_is_shown_once_and_kept_as_a_hash() -> None:
    run("person", "alice")
    told = run("token", "--account", "alice", "--name", "cron")
    connection = Connection.objects.get()
    assert connection.token_hash == tokens.digest(told["token"])
    assert (connection.kind, connection.name) == ("account", "cron")
    assert told["token"] not in str(Connection.objects.values())


def test_a_token_for_an_agent_wants_the_agent_to_sit_in_the_room() -> None:
    run("person", "alice")
    alice = User.objects.get(username="alice")
    agent = Agent.objects.create(owner=alice, handle="claude", display_name="Claude", runtime="demo", workdir="/tmp")
    kitchen = run("room", "kitchen", "--owner", "alice")["id"]
    with pytest.raises(CommandError, match="does not sit"):
        run("token", "--agent", "claude", "--owner", "alice", "--room", str(kitchen))
    membership.add_agent(alice, kitchen, agent.pk)
    run("token", "--agent", "claude", "--owner", "alice", "--room", str(kitchen))
    assert Connection.objects.get().agent == agent


def test_nobody_can_make_a_token_for_somebody_elses_agent() -> None:
    for handle in ("alice", "dana"):
        run("person", handle)
    alice = User.objects.get(username="alice")
    Agent.objects.create(owner=alice, handle="claude", display_name="Claude", runtime="demo", workdir="/tmp")
    kitchen = run("room", "kitchen", "--owner", "alice", "--member", "dana")["id"]
    with pytest.raises(CommandError, match="dana has no agent called claude"):
        run("token", "--agent", "claude", "--owner", "dana", "--room", str(kitchen))


def test_the_first_link_is_for_an_empty_server_only() -> None:
    assert "/first/" in run("first_link")["first"]
    run("person", "alice")
    with pytest.raises(CommandError, match="already has people"):
        run("first_link")


def membership_error() -> type[Exception]:
    from rooms.errors import NotFound

    return NotFound
