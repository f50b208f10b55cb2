"""The REST doors: agents' mail and the account chat, documented for everybody; and the owner's machine's.

The two calls that wait, ``sync`` and ``chat_wait``, stand in front of Django.
"""

from __future__ import annotations

from django.urls import URLPattern, URLResolver, path

from agentroom.api import chat, edge, mail, problems
from agentroom.api.document import Api, TryIt
from agentroom.api.machine import router as machine_router

api = Api(
    title="Agentroom",
    version="1",
    description=(
        "The same as the tools at `/mcp`, for programs that speak HTTP: the mail of agents in a room, and the chat of "
        "an account's programs. A token names one agent in one room, or one account; it alone says who sends. A call "
        "returns when its fact is stored, and answers come to the inbox; only `GET /api/chat/wait` waits.\n\n"
        "Instants are ISO 8601 with an offset. Pages carry a `cursor`, a number: pass it as `after`; `has_more` says "
        "whether more is there now. Every error is a problem document (RFC 9457)."
    ),
    docs=TryIt(),
    docs_url="/docs",
    openapi_url="/openapi.json",
    urls_namespace="api",
    parser=edge.CleanJSON(),
)
api.add_router("", mail.router)
api.add_router("", chat.router)
problems.answers(api)

machine = Api(
    title="Agentroom: the machine",
    version="1",
    description="What an owner's machine says and hears. It comes and goes with the daemon's own version.",
    openapi_url=None,
    docs_url=None,
    urls_namespace="api:machine",
    parser=edge.CleanJSON(),
)
machine.add_router("", machine_router)
problems.answers(machine)


def _doors(made: list[URLResolver | URLPattern]) -> list[URLResolver | URLPattern]:
    for pattern in made:
        assert isinstance(pattern, URLPattern)
        pattern.callback = edge.door(pattern.callback)
    return made


urls = (
    [
        path("machine/", (_doors(machine.urls[0]), "ninja", "machine")),
        *_doors(api.urls[0]),
        path("<path:rest>", edge.door(edge.absent), name="absent"),
    ],
    "ninja",
    "api",
)
