"""Background work on turns, grants and questions. Each may run twice at once."""

from __future__ import annotations

from approvals import control, turns
from approvals.models import Turn
from messaging import nudge


def lapse() -> None:
    """Questions whose time is over are answered no."""
    turns.lapse()


def expire() -> None:
    """Guests whose time is over leave, and grants that ended go."""
    control.expire()


def clean_up() -> None:
    """Entries that are older than their rooms keep go, and files that nothing names."""
    control.clean()


def nudge_machines() -> None:
    """Machines with waiting work look again, should an earlier nudge have been lost."""
    waiting = Turn.objects.filter(
        status=Turn.Status.QUEUED, agent__machine__isnull=False, agent__machine__revoked_at=None
    )
    for machine_id in waiting.values_list("agent__machine_id", flat=True).distinct():
        nudge.machine(machine_id)
