"""A room gets another owner; everything else in it keeps its own."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone

from approvals import audit, control
from approvals.models import AuditRecord, Grant
from messaging.models import Entry
from messaging.verify import verify
from rooms import membership
from rooms.errors import Conflict, Invalid, NotFound, Refused
from rooms.models import Invite, Member, Room
from tests.approvals.kitchen import Kitchen


def hand_over(kitchen: Kitchen) -> Room:
    return control.transfer(kitchen.alice, kitchen.room.pk, kitchen.seat(kitchen.bob).pk, recently=True)


def test_the_new_owner_invites_and_removes_and_the_old_one_does_not(kitchen: Kitchen) -> None:
    assert hand_over(kitchen).owner == kitchen.bob
    membership.invite(kitchen.bob, kitchen.room.pk, role="member", days=1, max_uses=1)
    control.remove_member(kitchen.bob, kitchen.seat(kitchen.vera).pk)
    with pytest.raises(Refused):
        membership.invite(kitchen.alice, kitchen.room.pk, role="member", days=1, max_uses=1)
    with pytest.raises(Refused):
        control.remove_member(kitchen.alice, kitchen.seat(kitchen.dana).pk)
    control.leave(kitchen.alice, kitchen.room.pk)


def test_the_room_and_both_trails_say_so(kitchen: Kitchen) -> None:
    hand_over(kitchen)
    last = Entry.objects.filter(room=kitchen.room).latest("seq")
    assert (last.kind, last.body) == ("control", "alice handed this room over to bob.")
    for owner in (kitchen.alice, kitchen.bob):
        line = AuditRecord.objects.filter(owner=owner).latest("number")
        assert (line.what, line.who, line.about, line.room) == ("hand over room", "alice", "bob", "kitchen")
        assert audit.verify(owner.pk) is None
    assert verify(kitchen.room.pk).ok


def test_agents_grants_and_turns_keep_their_owners(kitchen: Kitchen) -> None:
    control.set_grant(
        kitchen.alice, agent_id=kitchen.claude.pk, member_id=kitchen.seat(kitchen.dana).pk, level="always"
    )
    turn = kitchen.turn(kitchen.ask(kitchen.dana, "@claude bake"))
    hand_over(kitchen)
    turn.refresh_from_db()
    assert (turn.status, turn.agent.owner, turn.principal) == ("queued", kitchen.alice, kitchen.dana)
    assert Grant.objects.get().agent.owner == kitchen.alice
    with pytest.raises(NotFound):
        control.revoke_grant(kitchen.bob, Grant.objects.get().pk)
    assert kitchen.turn(kitchen.ask(kitchen.bob, "@codex bake")).status == "asked"


def test_the_new_owner_takes_an_agent_out_as_any_rooms_owner_can(kitchen: Kitchen) -> None:
    hand_over(kitchen)
    # The room's owner takes an agent out, as ever.
    control.remove_member(kitchen.bob, kitchen.seat(kitchen.claude).pk)
    assert kitchen.seat(kitchen.claude).removed_at is not None


def test_links_of_the_old_owner_let_nobody_in_any_more(kitchen: Kitchen) -> None:
    _, token = membership.invite(kitchen.alice, kitchen.room.pk, role="member", days=1, max_uses=1)
    hand_over(kitchen)
    with pytest.raises(NotFound):
        membership.accept_invite(kitchen.charlie, token)
    assert not Invite.objects.filter(room=kitchen.room, revoked_at=None).exists()


def test_a_guest_who_gets_the_room_stays(kitchen: Kitchen) -> None:
    seat = kitchen.seat(kitchen.bob)
    Member.objects.filter(pk=seat.pk).update(expires_at=timezone.now() + timedelta(hours=1))
    hand_over(kitchen)
    assert kitchen.seat(kitchen.bob).expires_at is None


def test_only_who_sits_there_and_may_write_can_get_it(kitchen: Kitchen) -> None:
    elsewhere = membership.create_room(kitchen.charlie, name="cellar")
    gone = kitchen.seat(kitchen.dana)
    control.leave(kitchen.dana, kitchen.room.pk)
    unfit = [
        kitchen.seat(kitchen.vera).pk,
        kitchen.seat(kitchen.claude).pk,
        kitchen.seat(kitchen.alice).pk,
        kitchen.seat(kitchen.charlie, elsewhere).pk,
        gone.pk,
        987_654_321,
    ]
    for seat in unfit:
        with pytest.raises(Invalid):
            control.transfer(kitchen.alice, kitchen.room.pk, seat, recently=True)
    membership.set_active(kitchen.bob, active=False)
    with pytest.raises(Invalid):
        hand_over(kitchen)
    assert Room.objects.get(pk=kitchen.room.pk).owner == kitchen.alice


def test_nobody_but_its_owner_hands_it_over(kitchen: Kitchen) -> None:
    seat = kitchen.seat(kitchen.bob).pk
    for user in (kitchen.bob, kitchen.vera, kitchen.dana):
        with pytest.raises(Refused):
            control.transfer(user, kitchen.room.pk, seat, recently=True)
    with pytest.raises(NotFound):
        control.transfer(kitchen.charlie, kitchen.room.pk, seat, recently=True)


def test_who_has_not_signed_in_lately_gives_nothing_away(kitchen: Kitchen) -> None:
    with pytest.raises(Refused, match="15 minutes"):
        control.transfer(kitchen.alice, kitchen.room.pk, kitchen.seat(kitchen.bob).pk, recently=False)
    assert Room.objects.get(pk=kitchen.room.pk).owner == kitchen.alice


def test_talks_of_two_and_the_chat_stay_where_they_are(kitchen: Kitchen) -> None:
    direct = membership.direct_room(kitchen.bob, kitchen.claude.pk)
    keeper = kitchen.seat(kitchen.alice, direct)
    with pytest.raises(Refused):
        control.transfer(kitchen.bob, direct.pk, keeper.pk, recently=True)
    chat = membership.account_chat(kitchen.alice)
    with pytest.raises(Refused):
        control.transfer(kitchen.alice, chat.pk, kitchen.seat(kitchen.alice, chat).pk, recently=True)


def test_what_was_handed_over_meanwhile_is_not_handed_over_again(
    kitchen: Kitchen, monkeypatch: pytest.MonkeyPatch
) -> None:
    stale = Room.objects.get(pk=kitchen.room.pk)
    hand_over(kitchen)
    monkeypatch.setattr("approvals.control.rooms.owned_room", lambda user, room_id: stale)
    with pytest.raises(Conflict):
        control.transfer(kitchen.alice, kitchen.room.pk, kitchen.seat(kitchen.dana).pk, recently=True)
