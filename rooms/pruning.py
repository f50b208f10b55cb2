"""Removes what was handed out for a while and can't be used any more."""

from __future__ import annotations

from datetime import timedelta

from django.db.models import Q
from django.utils import timezone

from rooms.models import Pairing, SignInLink
from rooms.rules import rule

KEPT = timedelta(days=1)
"""So that somebody who comes late with one is told that it expired, not that it never was."""


@rule
def prune() -> None:
    """Sign-in links and pairing requests that expired or were used a day ago. Paired machines stay, of course."""
    before = timezone.now() - KEPT
    SignInLink.objects.filter(Q(expires_at__lt=before) | Q(used_at__lt=before)).delete()
    Pairing.objects.filter(expires_at__lt=before).delete()
