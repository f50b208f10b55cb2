"""A machine asks to be paired, and its owner confirms in the browser. The server never learns its two secrets."""

from __future__ import annotations

import re
from datetime import timedelta

from django.db import connection
from django.utils import timezone

from agentroom_machine import wire
from messaging import nudge
from rooms import tokens
from rooms.errors import Conflict, NotFound, Refused
from rooms.membership import words
from rooms.models import Connection, Machine, Pairing, User
from rooms.rules import rule

LASTS = timedelta(minutes=15)
MOST_PER_ADDRESS = 20
MOST = 1000
NO_SUCH_CODE = "No machine waits with this code. Compare it with the terminal; it is good for 15 minutes."


@rule
def start_pairing(request: wire.PairRequest, address: str) -> Pairing:
    """Note a machine's wish. The same wish again, after a lost answer, is the same pairing."""
    now = timezone.now()
    same = Pairing.objects.filter(token_hash=request.token_hash).first()
    if same is not None and _waits(same) and same.connection_hash == request.connection_hash:
        return same
    used = Pairing.objects.filter(connection_hash=request.connection_hash).exists()
    if same is not None or used or _known(request.token_hash) or _known(request.connection_hash):
        raise Conflict("These secrets were used before. Run `agentroom login` again.")
    waiting = Pairing.objects.filter(machine=None, declined_at=None, expires_at__gt=now)
    if waiting.filter(address=address).count() >= MOST_PER_ADDRESS or waiting.count() >= MOST:
        raise Refused("Too many machines wait to be paired. Try again in 15 minutes.")
    return Pairing.objects.create(
        user_code=_free_code(),
        name=words.line(request.name, most=60, field="name", what="the machine's name"),
        token_hash=request.token_hash,
        connection_hash=request.connection_hash,
        address=address[:64],
        expires_at=now + LASTS,
    )


def pairing_state(token: str) -> wire.PairState:
    """What became of the pairing whose machine holds ``token``."""
    pairing = Pairing.objects.select_related("machine__owner").filter(token_hash=tokens.digest(token)).first()
    if pairing is None:
        raise NotFound("This machine never asked to be paired. Run `agentroom login`.")
    if (machine := pairing.machine) is not None:
        return wire.PairState(state="paired", machine_id=machine.pk, name=machine.name, owner=machine.owner.username)
    if pairing.declined_at is not None:
        return wire.PairState(state="declined")
    return wire.PairState(state="waiting" if _waits(pairing) else "expired")


def waiting_pairing(user_code: str) -> Pairing:
    """The machine that shows this code now."""
    pairing = Pairing.objects.filter(user_code=as_code(user_code)).first()
    if pairing is None or not _waits(pairing):
        raise NotFound(NO_SUCH_CODE)
    return pairing


@rule
def confirm_pairing(user: User, user_code: str) -> Machine:
    """Make the machine this person's, with its connection to their account chat."""
    pairing = _claimed(user_code)
    machine = Machine.objects.create(owner=user, name=_free_name(user, pairing.name), token_hash=pairing.token_hash)
    Connection.objects.create(
        kind=Connection.Kind.ACCOUNT,
        user=user,
        machine=machine,
        name=machine.name,
        token_hash=pairing.connection_hash,
    )
    pairing.machine = machine
    pairing.save(update_fields=["machine"])
    nudge.user(user.pk)
    return machine


@rule
def decline_pairing(user: User, user_code: str) -> Pairing:
    """Send a machine away that this person does not know."""
    pairing = _claimed(user_code)
    pairing.declined_at = timezone.now()
    pairing.save(update_fields=["declined_at"])
    return pairing


def as_code(text: str) -> str:
    """A code as it is stored, however it was typed."""
    letters = re.sub(r"[^A-Z]", "", text.upper())
    return f"{letters[:4]}-{letters[4:8]}" if len(letters) == 8 else ""


def _claimed(user_code: str) -> Pairing:
    # Locked: two people who confirm at once must not both get the machine.
    rows = Pairing.objects.filter(user_code=as_code(user_code))
    if connection.features.has_select_for_update:
        rows = rows.select_for_update()
    pairing = rows.first()
    if pairing is None or not _waits(pairing):
        raise NotFound(NO_SUCH_CODE)
    return pairing


def _waits(pairing: Pairing) -> bool:
    return pairing.machine_id is None and pairing.declined_at is None and pairing.expires_at > timezone.now()


def _known(token_hash: str) -> bool:
    return (
        Machine.objects.filter(token_hash=token_hash).exists()
        or Connection.objects.filter(token_hash=token_hash).exists()
    )


def _free_code() -> str:
    while Pairing.objects.filter(user_code=(code := tokens.code())).exists():
        continue
    return code


def _free_name(user: User, wanted: str) -> str:
    names = Machine.objects.filter(owner=user, revoked_at=None).values_list("name", flat=True)
    used = {name.lower() for name in names}
    candidates = (wanted, *(f"{wanted[:54]}-{number}" for number in range(2, 10_000)))
    return next(name for name in candidates if name.lower() not in used)
