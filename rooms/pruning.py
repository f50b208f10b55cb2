"""Removes what was handed out for a while and can't be used any more."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

from django.conf import settings
from django.db.models import Q
from django.utils import timezone

from rooms.models import Agent, Pairing, SignInLink
from rooms.rules import rule

KEPT = timedelta(days=1)
"""So that somebody who comes late with one is told that it expired, not that it never was."""


@rule
def prune() -> None:
    """Sign-in links and pairing requests that expired or were used a day ago. Paired machines stay, of course."""
    before = timezone.now() - KEPT
    SignInLink.objects.filter(Q(expires_at__lt=before) | Q(used_at__lt=before)).delete()
    Pairing.objects.filter(expires_at__lt=before).delete()


def forget_pictures() -> int:
    """Pictures that no agent shows any more, left by a crash between the commit and their removal. How many went."""
    before = (timezone.now() - KEPT).timestamp()
    shown = set(Agent.objects.exclude(avatar="").values_list("avatar", flat=True))
    gone = 0
    for found in (Path(settings.MEDIA_ROOT) / "avatars").glob("*"):
        # A day: one that was stored just now is named only when its rule has ended.
        if f"avatars/{found.name}" not in shown and found.is_file() and found.stat().st_mtime < before:
            found.unlink(missing_ok=True)
            gone += 1
    return gone
