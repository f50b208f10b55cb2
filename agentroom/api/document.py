"""The API with its OpenAPI document, and the page on which it can be tried."""

from __future__ import annotations

from typing import Any

from ninja import NinjaAPI
from ninja.openapi.docs import Swagger
from ninja.openapi.schema import OpenAPISchema

from agentroom.api.problems import CONTENT_TYPE, Problem

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
    400: "The body is not JSON.",
    401: "No token, or one that is unknown, expired or revoked.",
    403: "The connection speaks for no agent, or its agent may not do this here.",
    404: "It does not exist, or it is not yours to see: the two look the same.",
    409: "The same key, or the same receipt, came before with other content.",
    413: "The request is larger than 1,000,000 bytes.",
    415: "The body is not sent as application/json.",
    422: "It does not fit: `errors` names what. Nothing was stored.",
    429: "Too many calls of this connection.",
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
                for status, response in operation["responses"].items():
                    if int(status) >= 400:
                        response["description"] = _SAYS.get(int(status), response["description"])
                        [content] = response["content"].values()
                        response["content"] = {CONTENT_TYPE: content}
                        if int(status) in _HEADERS:
                            response["headers"] = _HEADERS[int(status)]
        return schema


class TryIt(Swagger):
    """Swagger UI from our own files: it asks no other host for anything."""

    template = "api/docs.html"

    def __init__(self) -> None:
        super().__init__({"validatorUrl": None, "docExpansion": "list", "tryItOutEnabled": True})
