"""An account goes for good: each room that it owns first gets another owner or goes too.

The row of the user stays, empty. Turns and messages in other people's rooms hang on its agents and seats, the audit
trail on itself, and plain ids in entries name it: removing the row would take others' history along, or leave ids that
mean nobody. What is personal goes; the name is free again, and whoever takes it is somebody else.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial

from django.contrib.admin.models import LogEntry
from django.contrib.auth import SESSION_KEY
from django.contrib.sessions.models import Session
from django.db import transaction
from django.db.models import CASCADE, F, Q, QuerySet
from django.utils import timezone

from approvals import audit, consent, turns
from approvals.control.agents import retire_agent, revoke_machine
from approvals.control.removal import SIGN_IN, Loss, lost_with, remove
from approvals.control.rooms import heirs, transfer
from approvals.control.seats import unseat
from approvals.control.waiting import cancel_all, mark_outlived
from approvals.models import Approval, AuditRecord, Grant, Report, Turn
from messaging import former, nudge
from messaging.models import Recipient
from rooms import membership
from rooms.access import lock_machine, lock_rooms
from rooms.errors import Conflict, Invalid, NotFound, Refused
from rooms.models import Agent, Connection, FormerName, Machine, Member, Room, User
from rooms.rules import rule

DELETE = 0
"""Chosen for a room that goes with the account; every other number is the seat of who takes it over."""
LAST = "You are the last administrator. Name who administers this server after you."


@dataclass(frozen=True, slots=True)
class Owned:
    room: Room
    loss: Loss
    heirs: list[Member]
    """To whom it can be handed over."""


@dataclass(frozen=True, slots=True)
class Leaving:
    """What goes with an account, and what has to be said before."""

    owned: list[Owned]
    direct: list[Room]
    """Its own talks with one agent, which nobody can take over."""
    agents: list[Agent]
    machines: list[Machine]
    connections: int
    seats: list[Member]
    """Where it sits as a guest of others; what it said there stays."""
    messages: int
    """Entries in the chat of its agents."""
    waiting: int
    running: int
    successors: list[User]
    """Empty unless this is the last administrator: who can administer the server afterwards."""


def leaving(user: User) -> Leaving:
    owned = list(Room.objects.filter(owner=user).order_by("name", "pk"))
    theirs = Q(agent__owner=user) | Q(principal=user)
    chat = next((room for room in owned if room.kind == Room.Kind.ACCOUNT), None)
    return Leaving(
        owned=[Owned(room, lost_with(room), heirs(room)) for room in owned if room.kind == Room.Kind.ROOM],
        direct=[room for room in owned if room.kind == Room.Kind.DIRECT],
        agents=list(Agent.objects.filter(owner=user, retired_at=None).order_by("handle")),
        machines=list(Machine.objects.filter(owner=user, revoked_at=None).order_by("name")),
        connections=Connection.objects.filter(user=user, revoked_at=None).count(),
        seats=list(
            Member.objects.filter(user=user, left_at=None).exclude(room__owner=user).select_related("room")
        ),
        messages=lost_with(chat).entries if chat is not None else 0,
        waiting=Turn.objects.filter(theirs, status__in=Turn.WAITING).count(),
        running=Turn.objects.filter(agent__owner=user, status=Turn.Status.RUNNING).count(),
        successors=list(_others(user).filter(is_active=True).order_by("username")) if is_last(user) else [],
    )  # fmt: skip


def is_last(user: User) -> bool:
    """Whether other people would be left without an administrator."""
    if not user.is_superuser or not user.is_active:
        return False
    others = _others(user)
    return others.exists() and not others.filter(is_superuser=True, is_active=True).exists()


@rule
def delete_account(
    user: User,
    *,
    rooms: Mapping[int, int],
    handle: str,
    recently: bool,
    successor: str = "",
    by: User | None = None,
) -> None:
    """Delete an account. ``rooms`` says for each room that it owns ``DELETE``, or the seat of who takes it over.

    ``handle`` is typed by whoever does it: the person, or ``by``, an administrator. They have ``recently`` signed in.
    ``successor``: the handle of the next administrator, where the last one goes.
    """
    user = _locked(user, heirs=rooms.values())
    by = user if by is None or by.pk == user.pk else User.objects.get(pk=by.pk)
    if by.pk != user.pk and not (by.is_staff and by.is_active and (by.is_superuser or not user.is_superuser)):
        raise Refused("Only an administrator can delete somebody else's account.")
    if not recently:
        raise Refused(SIGN_IN)
    if handle.strip().lower().removeprefix("@") != user.username:
        raise Invalid(f"Write {user.username} to confirm.", field="handle")
    _name_successor(user, successor, by)
    for room in Room.objects.filter(owner=user, kind=Room.Kind.ROOM).order_by("pk"):
        chosen = rooms.get(room.pk)
        if chosen is None:
            raise Invalid(f"Choose what becomes of {room.name}.", field=f"room-{room.pk}")
        if chosen != DELETE:
            if chosen not in {seat.pk for seat in heirs(room)}:
                words = "Choose somebody who sits in the room and may write."
                raise Invalid(words, field=f"room-{room.pk}")
            transfer(user, room.pk, chosen, recently=recently, by=by)
    _clear(user, by)


@rule
def shut_out(user: User, *, by: User) -> User:
    """Shut a person out of the server. What waits in their name is cancelled, what runs is marked, all else stays.

    ``membership.set_active`` lets them in again, and revives nothing.
    """
    theirs = Turn.objects.filter(principal=user).exclude(status__in=Turn.ENDED)
    rooms = {*membership.seats_of(user).values_list("room_id", flat=True), *theirs.values_list("room_id", flat=True)}
    lock_rooms(rooms)
    audit.hold(rooms, and_of=Q(pk=user.pk))
    user = membership.set_active(user, active=False)
    theirs, words = theirs.filter(room__in=rooms), "Whoever asked was shut out of this server."
    cancel_all(theirs.filter(status__in=Turn.WAITING), by=by, note=words)
    mark_outlived(theirs, words)
    return user


def sweep() -> int:
    """Clear again what an account that is gone still holds: a request of its last moment may have come after.

    Returns how many accounts held something.
    """
    held = Q(owned_rooms__isnull=False) | Q(machines__isnull=False) | Q(connections__isnull=False)
    held |= Q(agents__retired_at=None, agents__isnull=False) | Q(seats__left_at=None, seats__isnull=False)
    found = list(User.objects.filter(held, gone_at__isnull=False).distinct()[:100])
    for user in found:
        _clear_again(user)
    # What a clean-up took needs no other names.
    FormerName.objects.filter(room__anchor__seq__gte=F("through")).delete()
    return len(found)


@rule
def _clear_again(user: User) -> None:
    _lock(user)
    _clear(User.objects.get(pk=user.pk), user)


def _others(user: User) -> QuerySet[User]:
    return membership.everybody().exclude(pk=user.pk)


def _locked(user: User, *, heirs: Iterable[int]) -> User:
    """The account as it is now, with all that it has to do with locked. ``heirs``: seats of who takes over a room."""
    # Of the last two administrators who go at the same moment, the second one finds itself the last.
    others = Q(is_superuser=True, is_active=True) | Q(pk__in=Member.objects.filter(pk__in=heirs).values("user"))
    before = _lock(user, others)
    found = User.objects.filter(pk=user.pk, gone_at=None).first()
    if found is None:
        raise NotFound("This account is gone.")
    if not _rooms_of(user) <= before:
        raise Conflict("Something changed at this very moment. Look again, and press once more.")
    return found


def _lock(user: User, others: Q | None = None) -> set[int]:
    """Lock every room that the account has to do with, then its machines, then people: itself and the others."""
    rooms = _rooms_of(user)
    lock_rooms(rooms, going=True)
    for pk in Machine.objects.filter(owner=user).order_by("pk").values_list("pk", flat=True):
        lock_machine(pk)
    named = Q(pk=user.pk) | Q(deputy=user)
    audit.hold(rooms, and_of=named if others is None else named | others)
    return rooms


def _rooms_of(user: User) -> set[int]:
    unfinished = Turn.objects.exclude(status__in=Turn.ENDED).filter(Q(agent__owner=user) | Q(principal=user))
    return {
        *Room.objects.filter(owner=user).values_list("pk", flat=True),
        *Member.objects.filter(Q(user=user) | Q(agent__owner=user), left_at=None).values_list("room_id", flat=True),
        *unfinished.values_list("room_id", flat=True),
    }


def _name_successor(user: User, successor: str, by: User) -> None:
    if not is_last(user):
        return
    wanted = successor.strip().lower().removeprefix("@")
    if not wanted:
        raise Invalid(LAST, field="successor")
    named = _others(user).filter(username=wanted, is_active=True).first()
    if named is None:
        raise Invalid("Nobody here is called so.", field="successor")
    User.objects.filter(pk=named.pk).update(is_staff=True, is_superuser=True)
    for trail in (user, named):
        audit.write(trail, "administrator", who=by.username, about=named.username, decision="named")


def _clear(user: User, by: User) -> None:
    """Everything of an account but its empty row. Under the locks of its rooms."""
    for room in Room.objects.filter(owner=user).order_by("pk"):
        remove(room, by=by)
    seats = list(Member.objects.filter(user=user).select_related("room", "user", "agent"))
    _end_agents(user, by)
    for seat in seats:
        if seat.left_at is None:
            # The copy keeps how it was: where this person sat until now, every name so far is theirs.
            unseat(Member.objects.select_related("room", "user").get(pk=seat.pk), by=by, what="deleted")
    _end_questions(user)
    for owner in User.objects.filter(deputy=user):
        User.objects.filter(pk=owner.pk).update(deputy=None, deputy_until=None)
        audit.write(owner, "deputy", who=by.username, about=user.username, decision="ended")
    if user.gone_at is None:
        audit.write(user, "delete account", who=by.username, about=user.username)
    _forget(user, seats)
    _delete_what_is_theirs(user)
    _empty(user)
    transaction.on_commit(partial(end_sessions, user.pk), robust=True)


def _end_agents(user: User, by: User) -> None:
    """Their work ends, they leave every room, and their machines' tokens mean nothing any more."""
    mine = Turn.objects.filter(agent__owner=user).select_related(
        "agent__owner", "agent__machine", "room", "entry", "principal"
    )
    Turn.objects.filter(agent__owner=user, status=Turn.Status.RUNNING).update(ended_by=by)
    for turn in mine.filter(status=Turn.Status.RUNNING).order_by("pk"):
        words = f"The account of {turn.agent.handle}’s owner was deleted; what it did last is not known."
        turns.finish(turn, Turn.Status.INTERRUPTED, reason=words)
    note = "The account of the agent’s owner was deleted."
    cancel_all(mine.filter(status__in=Turn.WAITING), by=by, note=note)
    pictures: list[Callable[[], None]] = []
    for agent in Agent.objects.filter(owner=user):
        if agent.retired_at is None:
            retire_agent(user, agent.pk, by=by)
        if agent.avatar:
            pictures.append(partial(agent.avatar.storage.delete, agent.avatar.name or ""))
    for machine in Machine.objects.filter(owner=user, revoked_at=None):
        revoke_machine(user, machine.pk, by=by)
    Turn.objects.filter(machine__owner=user).update(machine=None)
    Recipient.objects.filter(Q(member__agent__owner=user) | Q(entry__author__agent__owner=user)).exclude(
        awaited_until=None
    ).update(awaited_until=None)
    Report.objects.filter(member__agent__owner=user).delete()
    Member.objects.filter(agent__owner=user).exclude(name="").update(name=F("handle"))
    Agent.objects.filter(owner=user).update(
        machine=None, display_name=F("handle"), role="", runtime="", model="", workdir="", avatar=""
    )
    # After the commit: a picture that is still shown must not be gone. What a kill leaves, the hourly pruning finds.
    for remove_picture in pictures:
        transaction.on_commit(remove_picture, robust=True)


def _end_questions(user: User) -> None:
    """Plain questions to whoever asked: nobody is there to answer them in that name."""
    waiting = Approval.objects.filter(subject=Approval.Subject.QUESTION, verdict="", turn__principal=user)
    for pk in waiting.order_by("pk").values_list("pk", flat=True):
        consent.end_undecided(pk, Approval.Verdict.GONE)


def _forget(user: User, seats: Iterable[Member]) -> None:
    """The name is nobody's from now on: on the seats, and in what the rooms' logs say of it."""
    called = f"{former.FORMER} {user.pk}"
    if user.gone_at is None:
        named = Turn.objects.filter(Q(ended_by=user) | Q(approvals__decided_by=user) | Q(undo__asked_by=user))
        elsewhere = set(named.values_list("room_id", flat=True))
        former.forget(seats, username=user.username, elsewhere=elsewhere, shown_as=called)
    Member.objects.filter(user=user).update(handle=called, name="")
    for room_id in {seat.room_id for seat in seats}:
        nudge.room(room_id)


KEPT = (Room, Agent, Machine, Member, AuditRecord, LogEntry)
"""Rows that go or stay by what is said of them elsewhere. All others that belong to an account go with it."""


def _delete_what_is_theirs(user: User) -> None:
    Machine.objects.filter(owner=user).delete()
    Grant.objects.filter(member__user=user).delete()
    agents = list(Agent.objects.filter(owner=user).values_list("pk", flat=True))
    for of, ids in ((Agent, agents), (User, [user.pk])):
        for field in of._meta.get_fields(include_hidden=True):
            remote = field.related_model if field.auto_created and not field.concrete else None
            if remote is None or remote in (*KEPT, Turn) or field.remote_field is None:
                continue
            if getattr(field, "on_delete", None) is CASCADE:
                remote._default_manager.filter(**{f"{field.remote_field.name}__in": ids}).delete()


def _empty(user: User) -> None:
    user.set_unusable_password()
    User.objects.filter(pk=user.pk).update(
        username=f"{former.FORMER} {user.pk}", first_name="", last_name="", email="", password=user.password,
        is_active=False, is_staff=False, is_superuser=False, last_login=None, deputy=None, deputy_until=None,
        gone_at=user.gone_at or timezone.now(),
    )  # fmt: skip
    user.refresh_from_db()


def end_sessions(user_id: int) -> None:
    """Remove the browser sessions of somebody. They are dead already: nobody who is gone is signed in by one."""
    for session in Session.objects.filter(expire_date__gt=timezone.now()).iterator(500):
        if session.get_decoded().get(SESSION_KEY) == str(user_id):
            session.delete()
