"""Administration of turns, grants, questions and the audit trail: states and times, never what was said."""

from __future__ import annotations

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest

from approvals import control, turns
from approvals.models import AnswerTimes, Approval, AuditRecord, Grant, Limit, Turn
from rooms.readonly import ReadOnly


@admin.register(Turn)
class TurnAdmin(ReadOnly[Turn]):
    list_display = ("id", "room", "agent", "principal", "machine", "status", "created_at", "started_at", "finished_at")
    list_filter = ("status", "cause")
    list_select_related = ("room", "agent", "principal", "machine")
    fields = (
        "room", "agent", "principal", "machine", "cause", "status", "ended_by", "created_at", "queued_at",
        "started_at", "finished_at", "stop_asked_at", "outlived_at", "tokens", "cost_usd",
    )  # fmt: skip
    actions = ("cancel",)

    @admin.action(description="Cancel what has not started")
    def cancel(self, request: HttpRequest, chosen: QuerySet[Turn]) -> None:
        self.each(
            request,
            chosen.select_related("agent__owner"),
            "cancelled a request",
            lambda turn: turn.agent.owner,
            lambda turn: turns.cancel(turn.agent.owner, turn.pk),
        )


@admin.register(Grant)
class GrantAdmin(ReadOnly[Grant]):
    list_display = ("id", "agent", "member", "person", "level", "expires_at", "last_used_at", "updated_at")
    list_filter = ("level",)
    list_select_related = ("agent", "member", "person")
    actions = ("revoke",)

    @admin.action(description="Revoke")
    def revoke(self, request: HttpRequest, chosen: QuerySet[Grant]) -> None:
        self.each(
            request,
            chosen.select_related("agent__owner"),
            "revoked a grant",
            lambda grant: grant.agent.owner,
            lambda grant: control.revoke_grant(grant.agent.owner, grant.pk),
        )


@admin.register(Limit)
class LimitAdmin(ReadOnly[Limit]):
    list_display = (
        "id", "agent", "person", "requests_a_day", "minutes_a_day", "tokens_a_month", "cost_a_month", "updated_at"
    )  # fmt: skip
    list_select_related = ("agent", "person")


@admin.register(AnswerTimes)
class AnswerTimesAdmin(ReadOnly[AnswerTimes]):
    list_display = ("id", "agent", "four_minutes", "tool_minutes", "question_minutes", "start_minutes")
    list_select_related = ("agent",)


@admin.register(Approval)
class ApprovalAdmin(ReadOnly[Approval]):
    list_display = ("id", "turn", "subject", "state", "decided_by", "created_at", "decided_at", "expires_at")
    list_filter = ("subject", "verdict")
    list_select_related = ("turn", "decided_by")
    fields = ("turn", "subject", "state", "decided_by", "created_at", "decided_at", "expires_at", "action_digest")
    readonly_fields = ("state",)

    @admin.display(description="verdict")
    def state(self, approval: Approval) -> str:
        return approval.verdict or "open"


@admin.register(AuditRecord)
class AuditRecordAdmin(ReadOnly[AuditRecord]):
    """What it was about may quote a room; that stays with the owner whose trail it is."""

    list_display = ("id", "owner", "number", "agent", "who", "what", "in_name_of", "decision", "at")
    list_filter = ("what",)
    list_select_related = ("owner",)
    search_fields = ("owner__username", "who")
    fields = ("owner", "number", "room", "agent", "who", "what", "in_name_of", "decision", "at", "digest")
