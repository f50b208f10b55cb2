"""The doors of the authorization server. allauth's own list opens more than we want, and lacks RFC 8414 and 9728."""

from __future__ import annotations

from django.urls import include, path
from django.views.generic import RedirectView

from agentroom.oauth import discovery, pages, programs

oidc = (
    [
        path(".well-known/openid-configuration", discovery.authorization_server, name="configuration"),
        path(".well-known/jwks.json", discovery.keys, name="jwks"),
        path("identity/o/authorize", pages.authorize, name="authorization"),
        path("identity/o/device", pages.device, name="device_authorization"),
        path("identity/o/device/done", pages.device_done, name="device_done"),
        path("identity/o/logout", RedirectView.as_view(pattern_name="account_logout"), name="logout"),
        path("identity/o/api/token", programs.token, name="token"),
        path("identity/o/api/revoke", programs.revoke, name="revoke"),
        path("identity/o/api/device/code", programs.device_code, name="device_code"),
        path("identity/o/api/userinfo", programs.user_info, name="userinfo"),
        path("identity/o/api/clients", programs.register, name="client_registration"),
    ],
    "oidc",
)
urlpatterns = [
    path(".well-known/oauth-protected-resource", discovery.protected_resource, name="protected_resource"),
    path(".well-known/oauth-protected-resource/mcp", discovery.protected_resource, name="protected_resource_mcp"),
    path(".well-known/oauth-authorization-server", discovery.authorization_server, name="authorization_server"),
    path("", include(([path("", include(oidc))], "idp"))),
]
