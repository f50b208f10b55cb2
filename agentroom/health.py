"""Whether the process lives (healthz), and whether it can do its work (readyz). Both tell outsiders nothing else."""

from __future__ import annotations

import logging

from django.conf import settings
from django.contrib.auth.decorators import login_not_required
from django.core.cache import cache
from django.db import connection
from django.db.migrations.executor import MigrationExecutor
from django.http import HttpRequest, JsonResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

logger = logging.getLogger(__name__)


@login_not_required
@require_safe
@never_cache
def healthz(request: HttpRequest) -> JsonResponse:
    return JsonResponse({"alive": True})


@login_not_required
@require_safe
@never_cache
def readyz(request: HttpRequest) -> JsonResponse:
    """200 when the database answers, its migrations are applied, and Redis answers where there is one; else 503."""
    checks = {"database": database_ready}
    if settings.SCALED:
        checks["redis"] = redis_ready
    found: dict[str, str] = {}
    for name, check in checks.items():
        try:
            found[name] = check()
        except Exception:
            logger.warning("readyz: %s does not answer", name, exc_info=True)
            found[name] = "does not answer"
    ready = all(state == "ok" for state in found.values())
    return JsonResponse({"ready": ready, **found}, status=200 if ready else 503)


_migrated = False


def database_ready() -> str:
    global _migrated
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1")
    if not _migrated:
        # Migrations are never taken back under a running process, so once is enough.
        executor = MigrationExecutor(connection)
        _migrated = not executor.migration_plan(executor.loader.graph.leaf_nodes())
    return "ok" if _migrated else "migrations are missing: run ./manage.py migrate"


def redis_ready() -> str:
    cache.get("readyz")
    return "ok"
