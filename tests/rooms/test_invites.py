from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

import pytest
from django.utils import timezone
from pytest_django.fixtures import Settings

from approvals import consent, control
from approvals.models import Grant
from messaging.models import Entry
from rooms import access, membership, tokens
from rooms.errors import Conflict, Invalid, NotFound, Refused, RuleError
from rooms.models import Invite, Member, Room, User
from tests.approvals.kitchen import Kitchen

LONG = "a long kitchen table"


def link(kitchen: Kitchen, *, role: str = "member", max_uses: int = 1, seat_days: int | None = None) -> str:
    made = membership.invite(kitchen.alice, kitchen.room.pk, role=role, days=7, max_uses=max_uses, seat_days=seat_days)
    return made[1]


def stored(token: str) -> Invite:
    return Invite.objects.get(token_hash=tokens.digest(token))


def test_a_link_brings_a_stranger_in(kitchen: Kitchen) -> None:
    seat = membership.accept_invite(kitchen.charlie, link(kitchen))
    assert (seat.room, seat.user, seat.role, seat.handle) == (kitchen.room, kitchen.charlie, "member", "charlie")
    last = Entry.objects.filter(room=kitchen.room).latest("seq")
    assert (last.kind, last.body, last.data["by"]) == ("joined", "charlie joined by a link.", "alice")


def test_whoever_joins_has_nothing_unread(kitchen: Kitchen) -> None:
    kitchen.ask(kitchen.bob, "before charlie came")
    before = Room.objects.get(pk=kitchen.room.pk).last_seq
    assert membership.accept_invite(kitchen.charlie, link(kitchen)).read_seq == before


def test_joining_moves_the_right_to_read(kitchen: Kitchen) -> None:
    token = link(kitchen)
    before = Room.objects.get(pk=kitchen.room.pk).membership_version
    membership.accept_invite(kitchen.charlie, token)
    assert Room.objects.get(pk=kitchen.room.pk).membership_version > before


def test_a_viewers_link_makes_a_viewer(kitchen: Kitchen) -> None:
    seat = membership.accept_invite(kitchen.charlie, link(kitchen, role="viewer"))
    assert (seat.role, seat.may_ask) == ("viewer", False)


def test_a_time_boxed_link_makes_a_seat_that_ends(kitchen: Kitchen) -> None:
    seat = membership.accept_invite(kitchen.charlie, link(kitchen, seat_days=3))
    assert seat.expires_at is not None
    assert timedelta(days=2, hours=23) < seat.expires_at - timezone.now() <= timedelta(days=3)
    Member.objects.filter(pk=seat.pk).update(expires_at=timezone.now())
    with pytest.raises(NotFound):
        access.member_for(kitchen.charlie, kitchen.room.pk)


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        ({"revoked_at": timezone.now}, "taken back"),
        ({"expires_at": timezone.now}, "expired"),
        ({"uses": lambda: 1}, "used up"),
        ({"member_expires_at": timezone.now}, "expired"),
    ],
    ids=["revoked", "expired", "used up", "its seats have ended"],
)
def test_a_dead_link_says_why_and_not_for_which_room(
    kitchen: Kitchen, spoil: dict[str, Callable[[], object]], words: str
) -> None:
    token = link(kitchen)
    Invite.objects.filter(pk=stored(token).pk).update(**{name: value() for name, value in spoil.items()})
    acts: list[Callable[[], object]] = [
        lambda: membership.invite_for(token),
        lambda: membership.accept_invite(kitchen.charlie, token),
        lambda: membership.join_as_new_person(token, handle="erin", password=LONG),
    ]
    for act in acts:
        with pytest.raises(NotFound, match=words) as refused:
            act()
        assert "kitchen" not in refused.value.detail
    assert not Member.objects.filter(room=kitchen.room, user=kitchen.charlie).exists()
    assert not User.objects.filter(username="erin").exists()


def test_a_link_that_never_was_is_refused_alike(kitchen: Kitchen) -> None:
    for token in ("", "ari_" + "x" * 43, "\udcff", "ari_\0"):
        with pytest.raises(NotFound):
            membership.invite_for(token)


def test_the_token_is_stored_as_its_hash_alone(kitchen: Kitchen) -> None:
    token = link(kitchen)
    assert token not in str(list(Invite.objects.values()))
    assert stored(token).uses == 0


def test_uses_are_counted_and_bounded(kitchen: Kitchen) -> None:
    token = link(kitchen, max_uses=2)
    for name in ("erin", "frank"):
        membership.accept_invite(membership.make_person(name), token)
    assert stored(token).uses == 2
    with pytest.raises(NotFound, match="used up"):
        membership.accept_invite(kitchen.charlie, token)


def test_who_already_sits_there_keeps_the_seat_and_uses_nothing_up(kitchen: Kitchen) -> None:
    token = link(kitchen, role="viewer", seat_days=1)
    seat = membership.accept_invite(kitchen.bob, token)
    assert (seat.pk, seat.role, seat.expires_at) == (kitchen.seat(kitchen.bob).pk, "member", None)
    assert stored(token).uses == 0


def test_a_viewer_does_not_become_a_member_by_a_members_link(kitchen: Kitchen) -> None:
    assert membership.accept_invite(kitchen.vera, link(kitchen)).role == "viewer"


def test_a_removed_person_does_not_come_back_by_an_old_link(kitchen: Kitchen) -> None:
    old = link(kitchen, max_uses=5)
    control.remove_member(kitchen.alice, kitchen.seat(kitchen.bob).pk)
    with pytest.raises(Refused, match="removed"):
        membership.accept_invite(kitchen.bob, old)
    with pytest.raises(NotFound):
        access.member_for(kitchen.bob, kitchen.room.pk)
    assert stored(old).uses == 0
    assert membership.accept_invite(kitchen.charlie, old).seated  # it still works for others
    seat = membership.accept_invite(kitchen.bob, link(kitchen))
    assert (seat.seated, seat.removed_at) == (True, None)


def test_who_left_comes_back_by_an_old_link_with_a_clean_seat(kitchen: Kitchen) -> None:
    old = link(kitchen, role="viewer")
    control.set_grant(kitchen.alice, agent_id=kitchen.claude.pk, member_id=kitchen.seat(kitchen.bob).pk, level="always")
    control.leave(kitchen.bob, kitchen.room.pk)
    seat = membership.accept_invite(kitchen.bob, old)
    assert (seat.role, seat.pk) == ("viewer", kitchen.seat(kitchen.bob).pk)
    assert not Grant.objects.exists()
    assert consent.level(kitchen.claude, seat) == Grant.Level.ASK


def test_a_guest_whose_time_was_over_comes_back_without_a_grant(kitchen: Kitchen) -> None:
    seat = membership.accept_invite(kitchen.charlie, link(kitchen, seat_days=3))
    control.set_grant(kitchen.alice, agent_id=kitchen.claude.pk, member_id=seat.pk, level="always")
    Member.objects.filter(pk=seat.pk).update(expires_at=timezone.now())  # and nobody has cleared up yet
    seat = membership.accept_invite(kitchen.charlie, link(kitchen))
    assert (seat.seated, seat.expires_at) == (True, None)
    assert consent.level(kitchen.claude, seat) == Grant.Level.ASK


def test_coming_back_revives_no_grant_for_every_shared_room(kitchen: Kitchen) -> None:
    control.set_grant(kitchen.alice, agent_id=kitchen.claude.pk, person_id=kitchen.bob.pk, level="always")
    control.leave(kitchen.bob, kitchen.room.pk)
    seat = membership.accept_invite(kitchen.bob, link(kitchen))
    assert consent.level(kitchen.claude, seat) == Grant.Level.ASK


def test_a_grant_for_every_shared_room_stays_while_another_is_shared(kitchen: Kitchen) -> None:
    other = membership.create_room(kitchen.alice, name="pantry")
    _, token = membership.invite(kitchen.alice, other.pk, role="member", days=1, max_uses=1)
    membership.accept_invite(kitchen.bob, token)
    membership.add_agent(kitchen.alice, other.pk, kitchen.claude.pk)
    control.set_grant(kitchen.alice, agent_id=kitchen.claude.pk, person_id=kitchen.bob.pk, level="always")
    control.leave(kitchen.bob, kitchen.room.pk)
    membership.accept_invite(kitchen.bob, link(kitchen))
    assert consent.level(kitchen.claude, kitchen.seat(kitchen.bob, other)) == Grant.Level.ALWAYS


def pantry_of(kitchen: Kitchen) -> Room:
    return membership.create_room(kitchen.alice, name="pantry")


def come_into(room: Room, user: User) -> Member:
    _, token = membership.invite(room.owner, room.pk, role="member", days=1, max_uses=1)
    return membership.accept_invite(user, token)


def always_everywhere(kitchen: Kitchen) -> None:
    control.set_grant(kitchen.alice, agent_id=kitchen.claude.pk, person_id=kitchen.bob.pk, level="always")


@pytest.mark.parametrize("how", ["they leave", "they are removed", "their time is over", "the room is deleted"])
def test_another_room_revives_no_grant_for_every_shared_room(kitchen: Kitchen, how: str) -> None:
    pantry, bob = pantry_of(kitchen), kitchen.seat(kitchen.bob)
    membership.add_agent(kitchen.alice, pantry.pk, kitchen.claude.pk)
    always_everywhere(kitchen)
    match how:
        case "they leave":
            control.leave(kitchen.bob, kitchen.room.pk)
        case "they are removed":
            control.remove_member(kitchen.alice, bob.pk)
        case "their time is over":
            Member.objects.filter(pk=bob.pk).update(expires_at=timezone.now())  # and nobody has cleared up yet
        case _:
            control.delete_room(kitchen.alice, kitchen.room.pk, name="kitchen", recently=True)
    assert consent.level(kitchen.claude, come_into(pantry, kitchen.bob)) == Grant.Level.ASK


@pytest.mark.parametrize("how", ["it is removed", "the room is deleted", "their time is over"])
def test_an_agent_that_comes_into_another_room_revives_none(kitchen: Kitchen, how: str) -> None:
    pantry = pantry_of(kitchen)
    come_into(pantry, kitchen.bob)
    always_everywhere(kitchen)
    match how:
        case "it is removed":
            control.remove_member(kitchen.alice, kitchen.seat(kitchen.claude).pk)
            assert not Grant.objects.exists()
        case "the room is deleted":
            control.delete_room(kitchen.alice, kitchen.room.pk, name="kitchen", recently=True)
            assert not Grant.objects.exists()
        case _:
            Member.objects.filter(pk=kitchen.seat(kitchen.bob).pk).update(expires_at=timezone.now())
    membership.add_agent(kitchen.alice, pantry.pk, kitchen.claude.pk)
    assert consent.level(kitchen.claude, kitchen.seat(kitchen.bob, pantry)) == Grant.Level.ASK


@pytest.mark.parametrize("everywhere", [False, True])
@pytest.mark.parametrize("who", ["the person", "the agent"])
def test_a_never_outlives_leaving_and_coming_back(kitchen: Kitchen, who: str, everywhere: bool) -> None:
    bob = kitchen.seat(kitchen.bob)
    if everywhere:
        control.set_grant(kitchen.alice, agent_id=kitchen.claude.pk, person_id=kitchen.bob.pk, level="deny")
    else:
        control.set_grant(kitchen.alice, agent_id=kitchen.claude.pk, member_id=bob.pk, level="deny")
    if who == "the person":
        control.leave(kitchen.bob, kitchen.room.pk)
        come_into(kitchen.room, kitchen.bob)
    else:
        control.remove_member(kitchen.alice, kitchen.seat(kitchen.claude).pk)
        membership.add_agent(kitchen.alice, kitchen.room.pk, kitchen.claude.pk)
    assert consent.level(kitchen.claude, kitchen.seat(kitchen.bob)) == Grant.Level.DENY
    assert kitchen.turn(kitchen.ask(kitchen.bob, "@claude let me")).status == "refused"


def test_a_stranger_gets_an_account_and_a_seat_or_neither(kitchen: Kitchen) -> None:
    token = link(kitchen)
    tries: list[tuple[str, str, type[RuleError], str]] = [
        ("erin", "short", Invalid, "password"),
        ("erin", "", Invalid, "password"),
        ("Erin Smith", LONG, Invalid, "handle"),
        ("bob", LONG, Conflict, "handle"),
        ("claude", LONG, Conflict, "handle"),  # free as an account, taken in the room
    ]
    people = User.objects.count()
    for handle, password, error, field in tries:
        with pytest.raises(error) as refused:
            membership.join_as_new_person(token, handle=handle, password=password)
        assert refused.value.field == field
        assert User.objects.count() == people
    assert stored(token).uses == 0
    user, seat = membership.join_as_new_person(token, handle="erin", password=LONG)
    assert (user.username, seat.user, seat.room) == ("erin", user, kitchen.room)


def test_a_name_that_is_taken_in_the_room_comes_with_a_free_one(kitchen: Kitchen) -> None:
    with pytest.raises(Conflict, match=r"Somebody in kitchen is called bob\. Try bob-2\."):
        membership.accept_invite(kitchen.charlie, link(kitchen), handle="Bob")
    assert membership.accept_invite(kitchen.charlie, link(kitchen), handle="bob-2").handle == "bob-2"


def test_a_closed_server_makes_no_accounts(kitchen: Kitchen, settings: Settings) -> None:
    settings.SIGN_UP = "closed"
    with pytest.raises(Refused):
        membership.join_as_new_person(link(kitchen), handle="erin", password=LONG)
    assert membership.accept_invite(kitchen.charlie, link(kitchen)).seated


def test_only_the_owner_invites(kitchen: Kitchen) -> None:
    with pytest.raises(Refused):
        membership.invite(kitchen.bob, kitchen.room.pk, role="member", days=1, max_uses=1)
    with pytest.raises(NotFound):
        membership.invite(kitchen.charlie, kitchen.room.pk, role="member", days=1, max_uses=1)


@pytest.mark.parametrize(
    ("wrong", "field"),
    [
        ({"role": "keeper"}, "role"),
        ({"days": 0}, "days"),
        ({"days": 366}, "days"),
        ({"max_uses": 0}, "max_uses"),
        ({"max_uses": 1001}, "max_uses"),
        ({"seat_days": 366}, "seat_days"),
        ({"seat_days": -1}, "seat_days"),
    ],
)
def test_an_invite_is_bounded(kitchen: Kitchen, wrong: dict[str, object], field: str) -> None:
    wanted: dict[str, object] = {"role": "member", "days": 7, "max_uses": 1, **wrong}
    with pytest.raises(Invalid) as refused:
        membership.invite(kitchen.alice, kitchen.room.pk, **wanted)  # type: ignore[arg-type]
    assert refused.value.field == field
    assert not Invite.objects.filter(room=kitchen.room, revoked_at=None, uses=0).exists()


def test_nobody_is_invited_into_a_direct_room_or_a_chat(kitchen: Kitchen) -> None:
    for room in (membership.direct_room(kitchen.alice, kitchen.claude.pk), membership.account_chat(kitchen.alice)):
        with pytest.raises(Refused):
            membership.invite(kitchen.alice, room.pk, role="member", days=1, max_uses=1)


def test_an_archived_room_lets_nobody_in(kitchen: Kitchen) -> None:
    token = link(kitchen)
    control.archive(kitchen.alice, kitchen.room.pk, archived=True)
    with pytest.raises(NotFound):
        membership.accept_invite(kitchen.charlie, token)
    with pytest.raises(Refused):
        link(kitchen)


def test_only_the_owner_takes_a_link_back(kitchen: Kitchen) -> None:
    token = link(kitchen)
    for other in (kitchen.bob, kitchen.dana, kitchen.charlie):
        with pytest.raises(NotFound):
            membership.revoke_invite(other, stored(token).pk)
    assert membership.revoke_invite(kitchen.alice, stored(token).pk).revoked_at is not None
    with pytest.raises(NotFound, match="taken back"):
        membership.accept_invite(kitchen.charlie, token)
