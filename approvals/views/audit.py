"""One's own trail: who asked, in whose name, what ran, what was asked, who decided, when. To read and to take away."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable

from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.http import require_safe

from approvals import audit as trail
from approvals.models import AuditRecord
from messaging.render.hidden import reveal
from messaging.viewer import person
from rooms.models import User

PAGE = 100
VERIFIED_AT_ONCE = 20_000
"""Lines up to which the page verifies the chain unasked."""
FIELDS = ("number", "at", "room", "agent", "who", "in_name_of", "what", "about", "decision", "digest")
FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n")


@require_safe
def audit(request: HttpRequest) -> HttpResponse:
    user = person(request)
    mine = AuditRecord.objects.filter(owner=user)
    shown = chosen(request, mine)
    before = request.GET.get("before", "")
    if before.isascii() and before.isdigit() and len(before) < 19:
        shown = shown.filter(number__lt=int(before))
    lines = list(shown.order_by("-number")[: PAGE + 1])
    count = mine.count()
    verified = "verify" in request.GET or count <= VERIFIED_AT_ONCE
    query = request.GET.copy()
    for name in ("before", "verify"):
        query.pop(name, None)
    context = {
        "lines": [(line, reveal(line.about)) for line in lines[:PAGE]],
        "earlier": lines[PAGE - 1].number if len(lines) > PAGE else None,
        "count": count,
        "verified": verified,
        "broken_at": trail.verify(user.pk) if verified else None,
        "query": query.urlencode(),
        "chosen": {name: request.GET.get(name, "") for name in ("agent", "person", "kind")},
        "agents": values(mine, "agent"),
        "people": sorted({*values(mine, "who"), *values(mine, "in_name_of")}),
        "kinds": values(mine, "what"),
    }
    return render(request, "approvals/audit.html", context)


def values(mine: QuerySet[AuditRecord], field: str) -> list[str]:
    return [value for value in mine.order_by(field).values_list(field, flat=True).distinct() if value]


def chosen(request: HttpRequest, mine: QuerySet[AuditRecord]) -> QuerySet[AuditRecord]:
    """The lines about one agent, of or for one person, of one kind."""
    if agent := request.GET.get("agent"):
        mine = mine.filter(agent=agent)
    if handle := request.GET.get("person"):
        mine = mine.filter(who=handle) | mine.filter(in_name_of=handle)
    if kind := request.GET.get("kind"):
        mine = mine.filter(what=kind)
    return mine


@require_safe
def export(request: HttpRequest, form: str) -> HttpResponse:
    """The chosen lines, oldest first, with their digests, so that the whole chain can be verified elsewhere."""
    user = person(request)
    lines = chosen(request, AuditRecord.objects.filter(owner=user)).order_by("number")
    kind, content = ("text/csv", as_csv(lines)) if form == "csv" else ("application/jsonl", as_jsonl(user, lines))
    answer = HttpResponse(content, content_type=f"{kind}; charset=utf-8")
    name = f"agentroom-audit-{user.username}-{timezone.now():%Y-%m-%d}.{form}"
    answer.headers["Content-Disposition"] = f'attachment; filename="{name}"'
    answer.headers["Cache-Control"] = "private, no-store"
    return answer


def as_jsonl(user: User, lines: Iterable[AuditRecord]) -> str:
    """One JSON object a line; ``owner`` is the number that each digest covers."""
    told = ({"owner": user.pk, **as_row(line)} for line in lines)
    return "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in told)


def as_csv(lines: Iterable[AuditRecord]) -> str:
    """A table that a spreadsheet can open without running anything in it."""
    out = io.StringIO()
    writer = csv.writer(out)
    writer.writerow(FIELDS)
    for line in lines:
        writer.writerow([harmless(str(value)) for value in as_row(line).values()])
    return out.getvalue()


def harmless(cell: str) -> str:
    """What a spreadsheet would take for a formula begins with an apostrophe."""
    return f"'{cell}" if cell.startswith(FORMULA) else cell


def as_row(line: AuditRecord) -> dict[str, object]:
    return {name: line.at.isoformat() if name == "at" else getattr(line, name) for name in FIELDS}
