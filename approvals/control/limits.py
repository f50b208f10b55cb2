"""What the owner sets per agent: how long its questions wait, and how much each person may have."""

from __future__ import annotations

from decimal import Decimal

from django.utils import timezone

from approvals import audit, consent, limits, turns
from approvals.models import AnswerTimes, Grant, Limit, Turn
from rooms.access import ABSENT, lock_rooms, owned_agent, principal_for
from rooms.errors import Conflict, Invalid, NotFound
from rooms.models import Agent, Member, User
from rooms.rules import rule

YEAR = 366 * 24 * 60
"""Minutes that a question may wait at most."""


@rule
def set_times(
    owner: User,
    agent_id: int,
    *,
    four_minutes: int,
    tool_minutes: int,
    question_minutes: int,
    start_minutes: int | None = None,
) -> AnswerTimes:
    """Say how long an agent's questions wait before they lapse to no. What waits already keeps its time."""
    agent = owned_agent(owner, agent_id)
    times = {
        "four_minutes": four_minutes, "tool_minutes": tool_minutes, "question_minutes": question_minutes,
        "start_minutes": start_minutes,
    }  # fmt: skip
    for field, minutes in times.items():
        if minutes is not None and not 1 <= minutes <= YEAR:
            raise Invalid("From one minute to a year.", field=field)
    stored, _ = AnswerTimes.objects.update_or_create(agent=agent, defaults=times)
    said = ", ".join(f"{field.removesuffix('_minutes')} {minutes or 'never'}" for field, minutes in times.items())
    audit.write(owner, "set times", who=owner.username, agent=agent, about=said)
    return stored


@rule
def set_limit(
    owner: User,
    agent_id: int,
    person_id: int,
    *,
    requests_a_day: int | None = None,
    minutes_a_day: int | None = None,
    tokens_a_month: int | None = None,
    cost_a_month: Decimal | None = None,
) -> Limit | None:
    """Limit what one person may have from one agent; with nothing given, lift the limit.

    What waited only for a limit that is no longer reached goes on.
    """
    agent = owned_agent(owner, agent_id)
    person = _person(agent, person_id)
    rooms = list(Turn.objects.filter(agent=agent, principal=person, status="asked").values_list("room_id", flat=True))
    lock_rooms(rooms)
    most = {
        "requests_a_day": requests_a_day, "minutes_a_day": minutes_a_day, "tokens_a_month": tokens_a_month,
        "cost_a_month": cost_a_month,
    }  # fmt: skip
    for field, value in most.items():
        if value is not None and not 0 <= value < 10**8:
            raise Invalid("From 0 to 99,999,999.", field=field)
    stored = None
    if all(value is None for value in most.values()):
        Limit.objects.filter(agent=agent, person=person).delete()
    else:
        stored, _ = Limit.objects.update_or_create(
            agent=agent, person=person, defaults=most | {"updated_at": timezone.now()}
        )
    said = ", ".join(f"{field.replace('_', ' ')} {value}" for field, value in most.items() if value is not None)
    audit.write(
        owner, "limit", who=owner.username, agent=agent, about=said, in_name_of=person.username,
        decision="set" if stored else "lifted",
    )  # fmt: skip
    _let_go_on(agent, person, rooms)
    return stored


def _person(agent: Agent, person_id: int) -> User:
    """Somebody who sits in a room with the agent, or whom a limit names already."""
    shared = Member.objects.filter(agent=agent, left_at=None).values("room")
    seen = User.objects.filter(pk=person_id).exclude(pk=agent.owner_id)
    person = seen.filter(seats__room__in=shared, seats__left_at=None).distinct().first()
    person = person or seen.filter(pk__in=Limit.objects.filter(agent=agent).values("person")).first()
    if person is None:
        raise NotFound(ABSENT)
    return person


def _let_go_on(agent: Agent, person: User, rooms: list[int]) -> None:
    """Queue this person's requests that have a standing grant and waited for nothing but a limit."""
    waiting = Turn.objects.filter(agent=agent, principal=person, status="asked", room__in=rooms)
    for turn in waiting.select_related("agent__owner", "agent__machine", "room", "entry", "principal").order_by("pk"):
        seat = principal_for(person.pk, turn.room_id)
        if seat is None or consent.level(agent, seat) != Grant.Level.ALWAYS or limits.reached(turn):
            continue
        consent.close(turn)
        try:
            turns.queue(turn, "asked")
        except Conflict:
            continue
