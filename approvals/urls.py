"""Questions and turns."""

from __future__ import annotations

from django.urls import path

from approvals.views import audit, limits, questions, turns

urlpatterns = [
    path("questions/<int:approval_id>/", questions.question, name="question"),
    path("questions/<int:approval_id>/answer/", questions.answer, name="question_answer"),
    path("audit/", audit.audit, name="audit"),
    path("audit/export.jsonl", audit.export, {"form": "jsonl"}, name="audit_jsonl"),
    path("audit/export.csv", audit.export, {"form": "csv"}, name="audit_csv"),
    path("agents/<int:agent_id>/limits/", limits.agent_limits, name="agent_limits"),
    path("agents/<int:agent_id>/times/", limits.agent_times, name="agent_times"),
    path("agents/<int:agent_id>/limits/<int:person_id>/lift/", limits.limit_lift, name="limit_lift"),
    path("turns/<int:turn_id>/controls/", turns.controls, name="turn_controls"),
    path("turns/<int:turn_id>/cancel/", turns.cancel, name="turn_cancel"),
    path("turns/<int:turn_id>/change/", turns.change, name="turn_change"),
    path("turns/<int:turn_id>/retry/", turns.retry, name="turn_retry"),
    path("turns/<int:turn_id>/stop/", turns.stop, name="turn_stop"),
    path("turns/<int:turn_id>/close/", turns.close, name="turn_close"),
    path("turns/<int:turn_id>/undo/", turns.undo, name="turn_undo"),
]
