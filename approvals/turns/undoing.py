"""What a machine says about undoing a turn: what can be put back, and what became of it."""

from __future__ import annotations

from collections.abc import Callable

from django.utils import timezone

from agentroom_machine import wire
from approvals.models import Turn, Undo
from rooms.models import Machine


def keep_undo(turn: Turn, fact: wire.UndoableFact, clean: Callable[[str], str]) -> None:
    """Keep what can be put back, unless its owner has asked for it already. Under the room's lock."""
    lists = {name: [clean(path) for path in getattr(fact, name)] for name in ("created", "changed", "deleted")}
    undo, _ = Undo.objects.get_or_create(turn=turn)
    Undo.objects.filter(pk=undo.pk, asked_at=None).update(changes={**lists, "more": fact.more, "lost": fact.lost})


def undone(turn: Turn, fact: wire.UndoneFact, clean: Callable[[str], str]) -> str | None:
    """Note that an undo is over, and say it in words; None when nobody asked or it was said before."""
    if not Undo.objects.filter(turn=turn, asked_at__isnull=False, done_at=None).update(done_at=timezone.now()):
        return None
    if fact.gone:
        return "It can't be undone: its machine no longer has the snapshot."
    said = [
        ("put back", [*fact.restored]),
        ("removed", [*fact.removed]),
        ("left, because somebody changed it since", [*fact.conflicts]),
        ("not kept, so not put back", [*fact.lost]),
    ]
    parts = [f"{what}: {_named([clean(path) for path in paths])}" for what, paths in said if paths]
    if fact.more:
        parts.append(f"{fact.more} more are not listed")
    return (
        f"Undone. {parts[0][0].upper()}{'; '.join(parts)[1:]}."
        if parts
        else "Undone: everything was as before already."
    )


def _named(paths: list[str]) -> str:
    shown = ", ".join(paths[:8])
    return f"{shown} and {len(paths) - 8} more" if len(paths) > 8 else shown


def undos_waiting(machine: Machine) -> list[int]:
    """Ended turns of this machine that its owner wants undone."""
    waiting = Undo.objects.filter(
        turn__machine=machine, turn__journal_id=machine.journal_id, asked_at__isnull=False, done_at=None
    )
    return list(waiting.order_by("turn_id").values_list("turn_id", flat=True))
