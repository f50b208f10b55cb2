"""The account chat for programs that speak HTTP, each operation one call to a rule."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from django.http import HttpRequest
from ninja import Header, Query, Router
from ninja import Status as Answered

from agentroom import account_chat
from agentroom.api import chat_shapes as shapes
from agentroom.api.document import CHAT, READS, WRITES
from agentroom.api.edge import Connection, only_what_it_knows
from agentroom.api.mail import After, Limit, caller_of, fresh_key
from agentroom.waits import LONGEST
from messaging import chat
from messaging.chat import MOST_LEFT_OUT

router = Router(tags=[CHAT], auth=Connection("account"))
router.add_decorator(only_what_it_knows)

Key = Annotated[
    str,
    Header(
        alias="Idempotency-Key",
        description="Your own name for this call, at most 200 visible ASCII characters. Sent again with the same "
        "content it is the same message, as long as that one is kept; with other content it is a conflict.",
        pattern=r"^[\x21-\x7e]{0,200}$",
        example="oven-free-1",
    ),
]
SkipTopics = Annotated[
    list[shapes.Topic],
    Query(description="Leave out this topic; again for another one.", max_length=MOST_LEFT_OUT),
]
SkipSessions = Annotated[
    list[shapes.Session],
    Query(
        description="Leave out what calls itself exactly this, such as your own name; again for another one.",
        max_length=MOST_LEFT_OUT,
    ),
]
Timeout = Annotated[
    float, Query(description="Seconds after which it answers without a message.", gt=0, le=LONGEST, example=25)
]


@dataclass(frozen=True, slots=True)
class Wish:
    """What a call still waits for after its first look."""

    room: int
    page: chat.Page
    """What it has read already, and found no message in."""
    timeout: float
    leave: chat.Leave


@router.post(
    "/chat/messages",
    response={201: shapes.ChatMessage, **WRITES},
    operation_id="chat_send",
    summary="Write into the chat",
)
def send(request: HttpRequest, body: shapes.NewChatMessage, idempotency_key: Key = "") -> Answered[shapes.ChatMessage]:
    """To everything that is connected to your account, and to its owner. It is stored when the call returns."""
    caller = caller_of(request)
    message = account_chat.send(
        caller, body=body.body, topic=body.topic, reply_to=body.reply_to, session=body.session,
        client_id=idempotency_key or fresh_key(),
    )  # fmt: skip
    return Answered(201, shapes.ChatMessage.model_validate(message))


@router.get(
    "/chat/messages", response={200: shapes.ChatPage, **READS}, operation_id="chat_read", summary="Read the chat"
)
def read(
    request: HttpRequest,
    after: After = 0,
    limit: Limit = 50,
    skip_topics: SkipTopics = [],  # noqa: B006 - never changed
    skip_sessions: SkipSessions = [],  # noqa: B006
) -> shapes.ChatPage:
    """What comes after a number, oldest first; from the beginning without one. Nobody is told that you read it.

    What you leave out stays for others, and for you: ask again without leaving it out.
    """
    leave = chat.Leave.of(skip_topics, skip_sessions)
    _, page = account_chat.read(caller_of(request), after=after, limit=limit, leave=leave)
    return shapes.ChatPage.model_validate(page)


@router.get(
    "/chat/wait", response={200: shapes.ChatHeard, **READS}, operation_id="chat_wait", summary="Wait for the chat"
)
def wait(
    request: HttpRequest,
    after: After = 0,
    timeout: Timeout = 25,
    skip_topics: SkipTopics = [],  # noqa: B006
    skip_sessions: SkipSessions = [],  # noqa: B006
) -> shapes.ChatHeard:
    """The same as reading, but when there is nothing it answers as soon as there is, or when the time is over.

    Pass the `cursor` of what you really read last as `after`, and nothing is passed over; never `latest_seq`. A proxy
    may end calls after 30 seconds: ask for less there.
    """
    # This is the look with which a wait begins. ``chat_wait`` goes on from here, in front of Django.
    leave = chat.Leave.of(skip_topics, skip_sessions)
    room, page = account_chat.read(caller_of(request), after=after, leave=leave)
    if page.messages:
        return heard(page, "messages")
    request.wish = Wish(room, page, timeout, leave)  # type: ignore[attr-defined] # for chat_wait
    return heard(page, "timeout")


def heard(page: chat.Page, reason: str) -> shapes.ChatHeard:
    return shapes.ChatHeard.model_validate(
        {"messages": page.messages, "cursor": page.cursor, "has_more": page.has_more, "latest_seq": page.latest_seq,
         "reason": reason},
        from_attributes=True,
    )  # fmt: skip
