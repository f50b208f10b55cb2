"""Where programs read how to sign in: nothing here depends on who asks."""

from __future__ import annotations

from allauth.idp.oidc import views
from django.conf import settings
from django.contrib.auth.decorators import login_not_required
from django.http import HttpRequest, JsonResponse
from django.views.decorators.http import require_safe

from agentroom.auth import SCOPE

authorization_server = views.ConfigurationView.as_view()
"""RFC 8414, and OpenID's older address for the same."""
keys = views.JwksView.as_view()


@login_not_required
@require_safe
def protected_resource(request: HttpRequest) -> JsonResponse:
    """RFC 9728: which server makes tokens for ``/mcp``."""
    return JsonResponse(
        {
            "resource": settings.MCP_RESOURCE,
            "resource_name": "Agentroom",
            "authorization_servers": [settings.PUBLIC_URL],
            "scopes_supported": [SCOPE],
            "bearer_methods_supported": ["header"],
        },
        headers={"Access-Control-Allow-Origin": "*"},
    )
