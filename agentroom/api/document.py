"""The API with its OpenAPI document, and the page on which it can be tried."""

from __future__ import annotations

import json
from http import HTTPStatus
from typing import Any

from ninja import NinjaAPI
from ninja.openapi.docs import Swagger
from ninja.openapi.schema import OpenAPISchema

from agentroom.api.problems import CONTENT_TYPE, Problem, body

READS: dict[int, Any] = dict.fromkeys((401, 403, 404, 422, 429), Problem)
"""What every operation may answer beside its own."""
WRITES: dict[int, Any] = READS | dict.fromkeys((400, 409, 413, 415), Problem)
"""The same, for one that takes a body."""
LOCATION: dict[str, Any] = {
    "responses": {
        201: {
            "headers": {"Location": {"schema": {"type": "string"}, "description": "Where to see what becomes of it."}}
        }
    }
}
_SAYS = {
    400: ("The body is not JSON.", "malformed", "That is not JSON, or holds too large a number."),
    401: (
        "No token, or one that is unknown, expired or revoked.",
        "unauthorised",
        "Sign in again, or send the token of a connection: Authorization: Bearer arc_…",
    ),
    403: (
        "The connection speaks for an account and no agent, or its agent may not do this here.",
        "no_agent",
        "This connection speaks for an account, which has no inbox here.",
    ),
    404: (
        "It does not exist, or it is not yours to see: the two look the same.",
        "not_found",
        "Message 12 is not in your inbox.",
    ),
    409: (
        "The same key, or the same receipt, came before with other content.",
        "conflict",
        "This Idempotency-Key came before, with other content. Take another key for another message.",
    ),
    413: (
        "The request is larger than 1,000,000 bytes.",
        "too_large",
        "The request is too large: at most 1,000,000 bytes.",
    ),
    415: (
        "The body is not sent as application/json.",
        "unsupported_type",
        "Send JSON, with Content-Type: application/json.",
    ),
    422: (
        "It does not fit: `errors` names what. Nothing was stored.",
        "malformed",
        "topic: String should match pattern '^[a-z0-9][a-z0-9._/-]{0,99}$'",
    ),
    429: ("Too many calls of this connection.", "too_many_calls", "At most 600 calls a minute. Wait 12 s."),
}
"""For each status what it means, a code of it, and words that come with it."""
CHAT = "account chat"
_SAYS_OF_CHAT = _SAYS | {
    403: (
        "The connection speaks for an agent and no account, or the owner has switched the chat off.",
        "switched_off",
        "The owner of this account has switched the agents' chat off. Only they can switch it on, in the browser.",
    ),
    404: ("The message is not there, or not any more.", "not_found", "There is no message 12 in the chat."),
    409: (
        "The same key came before with other content.",
        "conflict",
        "This Idempotency-Key came before, with other content. Take another key for another message.",
    ),
}
_HEADERS: dict[int, Any] = {
    401: {"WWW-Authenticate": {"required": True, "schema": {"type": "string"}, "description": "`Bearer`, and why."}},
    429: {
        "Retry-After": {
            "required": True,
            "schema": {"type": "integer", "minimum": 1},
            "description": "Seconds to wait.",
        }
    },
}


class Api(NinjaAPI):
    def get_openapi_schema(self, **kwargs: Any) -> OpenAPISchema:
        """The document, with each error as the problem document that it is."""
        schema = super().get_openapi_schema(**kwargs)
        for operations in schema["paths"].values():
            for operation in operations.values():
                says = _SAYS_OF_CHAT if CHAT in operation["tags"] else _SAYS
                for status, response in operation["responses"].items():
                    if int(status) >= 400:
                        response["description"], code, detail = says[int(status)]
                        [content] = response["content"].values()
                        shown = json.loads(body(HTTPStatus(int(status)), detail, code))
                        response["content"] = {CONTENT_TYPE: content | {"example": shown}}
                        if int(status) in _HEADERS:
                            response["headers"] = _HEADERS[int(status)]
        return schema


class TryIt(Swagger):
    """Swagger UI from our own files: it asks no other host for anything."""

    template = "api/docs.html"

    def __init__(self) -> None:
        super().__init__({"validatorUrl": None, "docExpansion": "list", "tryItOutEnabled": True})
