"""What programs read before they sign in."""

from __future__ import annotations

from django.conf import settings
from django.test import Client

from tests.oauth.program import GRANTS


def test_the_resource_names_its_server(db: None) -> None:
    for path in ("", "/mcp"):
        answer = Client().get(f"/.well-known/oauth-protected-resource{path}")
        assert answer.json() == {
            "resource": f"{settings.PUBLIC_URL}/mcp",
            "resource_name": "Agentroom",
            "authorization_servers": [settings.PUBLIC_URL],
            "scopes_supported": ["agentroom"],
            "bearer_methods_supported": ["header"],
        }
        assert answer["Access-Control-Allow-Origin"] == "*"


def test_the_server_tells_what_it_does_and_nothing_that_it_does_not(db: None) -> None:
    found = Client().get("/.well-known/oauth-authorization-server").json()
    assert found == Client().get("/.well-known/openid-configuration").json()
    assert found["issuer"] == settings.PUBLIC_URL
    assert not found["issuer"].endswith("/")
    assert found["code_challenge_methods_supported"] == ["S256"]
    assert found["response_types_supported"] == ["code"]
    assert found["grant_types_supported"] == sorted(GRANTS)
    assert found["scopes_supported"] == ["openid", "agentroom"]
    assert found["authorization_response_iss_parameter_supported"] is True
    assert found["client_id_metadata_document_supported"] is False
    assert "end_session_endpoint" not in found
    assert "introspection_endpoint" not in found
    for name in ("authorization", "token", "registration", "revocation", "device_authorization"):
        assert found[f"{name}_endpoint"].startswith(f"{settings.PUBLIC_URL}/identity/o/")


def test_its_addresses_are_the_public_ones_whoever_asks(db: None) -> None:
    here = Client().get("/.well-known/oauth-authorization-server", headers={"Host": "localhost:9"}).json()
    assert here == Client().get("/.well-known/oauth-authorization-server").json()


def test_only_the_public_half_of_the_key_is_told(db: None) -> None:
    [key] = Client().get("/.well-known/jwks.json").json()["keys"]
    assert key["kty"] == "RSA"
    assert not key.keys() & {"d", "p", "q", "dp", "dq", "qi"}
