from __future__ import annotations

from pathlib import Path

import pytest
from pytest_django.fixtures import Settings

from agentroom_machine import wire
from approvals import consent, control
from approvals.models import Grant
from messaging.models import Entry, Recipient
from rooms import access, membership
from rooms.errors import Conflict, Invalid, NotFound, Refused
from rooms.models import Agent, Member, Room
from tests.approvals.kitchen import Kitchen, agent_of, join, machine_of

PNG = b"\x89PNG\r\n\x1a\n" + b"\0" * 20


def new(handle: str = "nightly", **more: str) -> wire.AgentNew:
    return wire.AgentNew(**{"handle": handle, "runtime": "demo", "workdir": "/tmp/k", **more})


def test_a_machine_registers_an_agent_of_its_owner(kitchen: Kitchen) -> None:
    agent = membership.register_agent(kitchen.daemon.machine, new(role="Runs\nat night", display_name=""))
    assert (agent.owner, agent.machine, agent.display_name) == (kitchen.alice, kitchen.daemon.machine, "nightly")
    assert agent.role == "Runs at night"
    assert not agent.share_diffs


def test_a_handle_is_once_per_owner(kitchen: Kitchen) -> None:
    with pytest.raises(Conflict, match="claude-2"):
        membership.register_agent(kitchen.daemon.machine, new("claude"))
    assert membership.register_agent(kitchen.danas.machine, new("claude")).owner == kitchen.dana


def test_a_revoked_machine_registers_nothing(kitchen: Kitchen) -> None:
    machine = kitchen.daemon.machine
    control.revoke_machine(kitchen.alice, machine.pk)
    with pytest.raises(NotFound):
        membership.register_agent(machine, new())


def test_a_retired_agents_handle_is_free_again_for_another(kitchen: Kitchen) -> None:
    control.retire_agent(kitchen.alice, kitchen.claude.pk)
    again = membership.register_agent(kitchen.daemon.machine, new("claude"))
    assert again.pk != kitchen.claude.pk
    assert not Member.objects.filter(agent=again).exists()


def test_what_is_given_changes_and_nothing_else(kitchen: Kitchen) -> None:
    edit = wire.AgentEdit(display_name="Claude", model="opus", share_diffs=True)
    agent = membership.edit_agent(kitchen.alice, "claude", edit)
    assert (agent.display_name, agent.model, agent.share_diffs) == ("Claude", "opus", True)
    assert (agent.workdir, agent.runtime, agent.worktree_per_room) == ("/tmp/kitchen", "demo", False)


def test_only_its_owner_edits_an_agent(kitchen: Kitchen) -> None:
    for other in (kitchen.bob, kitchen.dana, kitchen.charlie):
        with pytest.raises(NotFound):
            membership.edit_agent(other, "claude", wire.AgentEdit(role="mine now"))


def test_an_agent_moves_to_another_machine_of_its_owner_alone(kitchen: Kitchen) -> None:
    desk = machine_of(kitchen.alice, "desk")
    moved = membership.edit_agent(kitchen.alice, "claude", wire.AgentEdit(here=True, workdir="/srv"), machine=desk)
    assert (moved.pk, moved.machine, moved.workdir) == (kitchen.claude.pk, desk, "/srv")
    with pytest.raises(NotFound):
        membership.edit_agent(kitchen.alice, "claude", wire.AgentEdit(here=True), machine=kitchen.danas.machine)
    assert Agent.objects.get(pk=kitchen.claude.pk).machine == desk


def test_an_agent_at_work_stays_where_it_is(kitchen: Kitchen) -> None:
    kitchen.ask(kitchen.alice, "@claude start")
    kitchen.daemon.run()
    with pytest.raises(Conflict, match="works right now"):
        membership.edit_agent(kitchen.alice, "claude", wire.AgentEdit(workdir="/elsewhere"))
    assert membership.edit_agent(kitchen.alice, "claude", wire.AgentEdit(role="busy")).role == "busy"


def test_its_owner_alone_seats_an_agent(kitchen: Kitchen) -> None:
    nightly = agent_of(kitchen.daemon.machine, "nightly")
    for other in (kitchen.bob, kitchen.dana, kitchen.vera, kitchen.charlie):
        with pytest.raises(NotFound):
            membership.add_agent(other, kitchen.room.pk, nightly.pk)
    seat = membership.add_agent(kitchen.alice, kitchen.room.pk, nightly.pk)
    assert (seat.agent, seat.is_agent, seat.handle) == (nightly, True, "nightly")
    assert Entry.objects.filter(room=kitchen.room).latest("seq").body == "alice brought nightly in."


def test_an_agent_comes_only_where_its_owner_sits_and_writes(kitchen: Kitchen) -> None:
    pantry = membership.create_room(kitchen.dana, name="pantry")
    with pytest.raises(NotFound):
        membership.add_agent(kitchen.alice, pantry.pk, kitchen.claude.pk)
    join(pantry, kitchen.alice, "viewer")
    with pytest.raises(Refused):
        membership.add_agent(kitchen.alice, pantry.pk, kitchen.claude.pk)
    control.set_role(kitchen.dana, kitchen.seat(kitchen.alice, pantry).pk, "member")
    assert membership.add_agent(kitchen.alice, pantry.pk, kitchen.claude.pk).seated


def test_a_room_that_is_not_there_is_absent(kitchen: Kitchen) -> None:
    with pytest.raises(NotFound):
        membership.add_agent(kitchen.alice, 10**9, kitchen.claude.pk)


def test_a_clash_of_handles_names_a_free_one(kitchen: Kitchen) -> None:
    other = agent_of(kitchen.danas.machine, "claude")
    with pytest.raises(Conflict, match=r"Try claude-dana\."):
        membership.add_agent(kitchen.dana, kitchen.room.pk, other.pk)
    seat = membership.add_agent(kitchen.dana, kitchen.room.pk, other.pk, handle="claude-dana")
    assert (seat.handle, other.handle) == ("claude-dana", "claude")


def test_seating_again_changes_nothing(kitchen: Kitchen) -> None:
    before = Room.objects.get(pk=kitchen.room.pk).last_seq
    seat = membership.add_agent(kitchen.alice, kitchen.room.pk, kitchen.claude.pk, handle="another")
    assert (seat.pk, seat.handle) == (kitchen.seat(kitchen.claude).pk, "claude")
    assert Room.objects.get(pk=kitchen.room.pk).last_seq == before


def test_an_agent_that_joins_an_old_room_has_an_empty_inbox(kitchen: Kitchen) -> None:
    kitchen.ask(kitchen.bob, "@nightly @claude long before")
    nightly = agent_of(kitchen.daemon.machine, "nightly")
    before = Room.objects.get(pk=kitchen.room.pk).last_seq
    seat = membership.add_agent(kitchen.alice, kitchen.room.pk, nightly.pk)
    assert seat.read_seq == before
    assert not Recipient.objects.filter(member=seat).exists()


def test_an_agent_that_comes_back_brings_no_grant_and_no_old_mail(kitchen: Kitchen) -> None:
    control.set_grant(kitchen.alice, agent_id=kitchen.claude.pk, member_id=kitchen.seat(kitchen.bob).pk, level="always")
    control.pause_agent(kitchen.alice, kitchen.claude.pk, paused=True)
    kitchen.ask(kitchen.bob, "@claude unread")
    control.remove_member(kitchen.alice, kitchen.seat(kitchen.claude).pk)
    seat = membership.add_agent(kitchen.alice, kitchen.room.pk, kitchen.claude.pk)
    assert seat.seated
    assert consent.level(kitchen.claude, kitchen.seat(kitchen.bob)) == Grant.Level.ASK
    assert not Recipient.objects.filter(member=seat, read_at=None).exists()


def test_no_agent_sits_in_an_account_chat_or_somebody_elses_direct_room(kitchen: Kitchen) -> None:
    with pytest.raises(Refused):
        membership.add_agent(kitchen.alice, membership.account_chat(kitchen.alice).pk, kitchen.claude.pk)
    direct = membership.direct_room(kitchen.alice, kitchen.claude.pk)
    with pytest.raises(Refused, match="one agent"):
        membership.add_agent(kitchen.alice, direct.pk, kitchen.codex.pk)
    control.archive(kitchen.alice, kitchen.room.pk, archived=True)
    with pytest.raises(Refused):
        membership.add_agent(kitchen.alice, kitchen.room.pk, agent_of(kitchen.daemon.machine, "nightly").pk)


def test_a_retired_agent_is_absent(kitchen: Kitchen) -> None:
    control.retire_agent(kitchen.alice, kitchen.claude.pk)
    with pytest.raises(NotFound):
        membership.add_agent(kitchen.alice, kitchen.room.pk, kitchen.claude.pk)
    with pytest.raises(NotFound):
        membership.reachable_agent(kitchen.alice, kitchen.claude.pk)


def test_an_agents_owner_leaves_with_their_agents(kitchen: Kitchen) -> None:
    control.leave(kitchen.dana, kitchen.room.pk)
    assert not access.seated(kitchen.room).filter(agent=kitchen.gemini).exists()


@pytest.mark.parametrize(
    "picture", [b"", b"<svg xmlns='http://www.w3.org/2000/svg'/>", b"GIF", b"<html>", b"RIFF0000WAVE"]
)
def test_what_is_no_picture_is_refused(kitchen: Kitchen, picture: bytes) -> None:
    with pytest.raises(Invalid) as refused:
        membership.set_avatar(kitchen.alice, kitchen.claude.pk, picture)
    assert refused.value.field == "avatar"


def test_a_picture_too_large_is_refused(kitchen: Kitchen) -> None:
    with pytest.raises(Invalid, match="1 MB"):
        membership.set_avatar(kitchen.alice, kitchen.claude.pk, PNG + b"\0" * 1_000_000)


def test_a_picture_is_set_and_taken_away_by_its_owner(kitchen: Kitchen, settings: Settings, tmp_path: Path) -> None:
    settings.MEDIA_ROOT = tmp_path
    for other in (kitchen.bob, kitchen.charlie):
        with pytest.raises(NotFound):
            membership.set_avatar(other, kitchen.claude.pk, PNG)
    agent = membership.set_avatar(kitchen.alice, kitchen.claude.pk, PNG)
    assert [path.suffix for path in tmp_path.rglob("*.*")] == [".png"]
    assert agent.avatar.read() == PNG
    agent.avatar.close()
    assert not membership.set_avatar(kitchen.alice, kitchen.claude.pk, None).avatar
    assert not list(tmp_path.rglob("*.*"))
