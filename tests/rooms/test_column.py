from __future__ import annotations

import pytest

from approvals import control
from rooms import access, membership
from rooms.models import Agent, User
from rooms.people import Column, column, runtime_name
from tests.approvals.kitchen import Kitchen, agent_of


def seen_by(kitchen: Kitchen, user: User) -> Column:
    return column(access.member_for(user, kitchen.room.pk))


def test_everybody_sees_who_owns_which_agent_and_how_it_stands(kitchen: Kitchen) -> None:
    seen = seen_by(kitchen, kitchen.vera)
    agents = [(item.seat.handle, item.agent.owner.username, item.status.state) for item in seen.agents]
    assert agents == [
        ("claude", "alice", "available"),
        ("codex", "alice", "available"),
        ("gemini", "dana", "available"),
    ]
    assert [item.seat.handle for item in seen.people] == ["alice", "bob", "vera", "dana"]


def test_an_agent_that_waits_says_for_whom(kitchen: Kitchen) -> None:
    kitchen.ask(kitchen.bob, "@claude start")
    words = {user: seen_by(kitchen, user).agents[0].status.words for user in (kitchen.alice, kitchen.bob)}
    assert words == {kitchen.alice: "waiting for you", kitchen.bob: "waiting for alice"}


def test_what_one_may_ask_is_said(kitchen: Kitchen) -> None:
    bob = kitchen.seat(kitchen.bob)
    control.set_grant(kitchen.alice, agent_id=kitchen.claude.pk, member_id=bob.pk, level="always")
    control.set_grant(kitchen.alice, agent_id=kitchen.codex.pk, member_id=bob.pk, level="deny")
    may = {item.seat.handle: item.may for item in seen_by(kitchen, kitchen.bob).agents}
    assert may == {"claude": "starts at once for you", "codex": "does not start for you", "gemini": "asks dana first"}
    assert [item.may for item in seen_by(kitchen, kitchen.alice).agents] == ["", "", "asks dana first"]
    assert [item.may for item in seen_by(kitchen, kitchen.vera).agents] == ["", "", ""]


def test_grants_are_shown_to_the_agents_owner_alone(kitchen: Kitchen) -> None:
    control.set_grant(kitchen.alice, agent_id=kitchen.claude.pk, member_id=kitchen.seat(kitchen.bob).pk, level="always")
    control.set_grant(kitchen.alice, agent_id=kitchen.codex.pk, person_id=kitchen.bob.pk, level="deny")
    granted = {item.seat.handle: item.grants for item in seen_by(kitchen, kitchen.alice).people}
    assert granted == {"alice": [], "bob": ["claude: always", "codex: never"], "vera": [], "dana": []}
    for other in (kitchen.bob, kitchen.dana, kitchen.vera):
        assert not any(item.grants for item in seen_by(kitchen, other).people)


def test_who_may_take_whom_out(kitchen: Kitchen) -> None:
    owner, dana, bob = (seen_by(kitchen, user) for user in (kitchen.alice, kitchen.dana, kitchen.bob))
    assert [item.seat.handle for item in owner.people if item.removable] == ["bob", "vera", "dana"]
    assert all(item.removable for item in owner.agents)
    assert [item.seat.handle for item in dana.agents if item.removable] == ["gemini"]
    assert not any(item.removable for item in (*dana.people, *bob.people))
    assert not any(item.removable for item in bob.agents)


def test_ones_own_agents_can_be_brought_in(kitchen: Kitchen) -> None:
    nightly = agent_of(kitchen.daemon.machine, "nightly")
    assert seen_by(kitchen, kitchen.alice).addable == [nightly]
    assert seen_by(kitchen, kitchen.bob).addable == []


def test_a_direct_room_says_for_whom_it_waits(kitchen: Kitchen) -> None:
    room = membership.direct_room(kitchen.bob, kitchen.claude.pk)
    assert column(access.member_for(kitchen.bob, room.pk)).waits_for == "alice"
    keeper = column(access.member_for(kitchen.alice, room.pk))
    assert (keeper.waits_for, keeper.addable) == ("alice", [kitchen.claude])
    membership.add_agent(kitchen.alice, room.pk, kitchen.claude.pk)
    assert column(access.member_for(kitchen.bob, room.pk)).waits_for == ""


@pytest.mark.parametrize(("runtime", "name"), [("claude", "Claude Code"), ("/opt/secret/run --key x", "another agent")])
def test_a_command_line_is_not_shown_to_others(runtime: str, name: str) -> None:
    assert runtime_name(Agent(runtime=runtime)) == name
