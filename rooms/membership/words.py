"""Names that people choose: made safe to show, and unique where they must be."""

from __future__ import annotations

import re
import unicodedata

from rooms.errors import Conflict, Invalid
from rooms.models import HANDLE, Member, Room

_UNSEEN = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}
_JOINERS = {"\u200c", "\u200d"}


def line(text: str, *, most: int, field: str, what: str, needed: bool = True) -> str:
    """One visible line: nothing that hides, reorders or breaks text; joiners stay, as emoji and scripts need them."""
    seen = "".join(
        " " if char in "\t\r\n" else char
        for char in text
        if char in "\t\r\n" or char in _JOINERS or unicodedata.category(char) not in _UNSEEN
    )
    kept = " ".join(seen.split())
    if needed and not kept.strip("".join(_JOINERS)):
        raise Invalid(f"Fill in {what}.", field=field)
    if len(kept) > most:
        raise Invalid(f"Use at most {most} characters for {what}.", field=field)
    return kept


def handle(text: str, *, field: str = "handle") -> str:
    """A handle as it is stored. Phones like to begin with a capital letter; we don't."""
    plain = text.strip().lower().removeprefix("@")
    if not re.fullmatch(HANDLE, plain):
        raise Invalid("Use 1 to 32 of a-z, 0-9, - and _, starting with a letter or a digit.", field=field)
    return plain


def variants(wanted: str, *more: str) -> list[str]:
    """What somebody could be called instead, best first."""
    named = [f"{wanted[: 31 - len(extra)]}-{extra}" for extra in more if len(extra) < 24]
    return [*named, *(f"{wanted[:28]}-{number}" for number in range(2, 10_000))]


def claim_handle(room: Room, wanted: str, *more: str, seat: Member | None = None) -> str:
    """``wanted``, if nobody else in the room is called so; Conflict names a free one. The room must be locked."""
    others = Member.objects.filter(room=room, left_at=None)
    if seat is not None:
        others = others.exclude(pk=seat.pk)
    used = {held.lower() for held in others.values_list("handle", flat=True)}
    if wanted not in used:
        return wanted
    free = next(name for name in variants(wanted, *more) if name not in used)
    raise Conflict(f"Somebody in {room.name} is called {wanted}. Try {free}.", field="handle")
