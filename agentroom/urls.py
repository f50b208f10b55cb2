"""Every page and every token door."""

from __future__ import annotations

from django.contrib import admin
from django.urls import URLPattern, URLResolver, include, path

from agentroom import health
from agentroom.api import urls as api_urls

urlpatterns: list[URLPattern | URLResolver] = [
    path("", include("rooms.urls")),
    path("", include("messaging.urls")),
    path("", include("approvals.urls")),
    path("", include("agentroom.oauth.urls")),
    path("account/", include("allauth.urls")),
    path("admin/", admin.site.urls),
    path("api/", api_urls),
    path("healthz", health.healthz, name="healthz"),
    path("readyz", health.readyz, name="readyz"),
]
