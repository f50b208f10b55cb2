"""What an agent said of itself, for as long as it counts."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import timedelta

from django.utils import timezone

from approvals.models import Report, Turn
from rooms.models import Member

GOOD_FOR = timedelta(hours=1)
"""How long *working* and *usage-limited* count when the agent gives no time and says nothing more."""


def standing(seats: Iterable[int]) -> dict[int, Report]:
    """By seat, what still counts of what its agent said last; nothing where that is *available*."""
    reports = [report for report in Report.objects.filter(member__in=list(seats)) if _counts(report)]
    spoke_in = [report.turn for report in reports if report.status == "working" and report.turn is not None]
    running = set(Turn.objects.filter(pk__in=spoke_in, status="running").values_list("pk", flat=True))
    return {
        report.member_id: report
        for report in reports
        if report.status != "working" or report.turn is None or report.turn in running
    }


def _counts(report: Report) -> bool:
    return report.status != "available" and (report.until is None or report.until > timezone.now())


def started(seat: Member) -> None:
    """The agent works on something new: that it was blocked, or at work on something else, is over."""
    Report.objects.filter(member=seat, status__in=["blocked", "working"]).update(
        status="available", at=timezone.now(), note="", ticket="", until=None, turn=None
    )


def holds_mail(room_id: int, agent_id: int) -> Report | None:
    """The report that keeps mail from an agent: that it works, or that its usage is limited. Blocked ones get it."""
    seat = Member.objects.filter(room=room_id, agent=agent_id, left_at=None).values_list("pk", flat=True).first()
    report = standing([seat]).get(seat) if seat is not None else None
    return report if report is not None and report.status in ("working", "usage_limited") else None
