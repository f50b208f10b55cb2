"""The account chat's page for its owner, and its settings, which nothing but these pages can change."""

from __future__ import annotations

import uuid
from datetime import timedelta
from typing import Any
from urllib.parse import urlencode

from django import forms
from django.conf import settings
from django.contrib import messages
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_GET, require_POST, require_safe

from messaging import chat, log
from messaging.render import chat as drawing
from messaging.viewer import person
from messaging.views.room import number
from rooms import membership
from rooms.access import member_for
from rooms.errors import Conflict, Invalid, NotFound
from rooms.forms import PageForm
from rooms.models import Connection, Member, Room, User

MOST_TOPICS = 100
HIDDEN = "chat_hidden"
"""Where the browser's session keeps the topics that it does not show."""
MOST_HIDDEN = 100
LONGEST = 200
"""Characters of what is searched for."""


class KeepForm(PageForm):
    days = forms.IntegerField(label="Keep messages for, in days", required=False, min_value=1)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields[
            "days"
        ].help_text = (
            f"1 to {chat.most_days()}. Empty: as long as this server keeps them, which is {chat.most_days()} days."
        )


@require_safe
def page(request: HttpRequest) -> HttpResponse:
    seat, view = seat_of(person(request)), view_of(request)
    words, at = plain(request.GET.get("q"), LONGEST), number(request.GET.get("at"))
    if words:
        shown = drawing.found(seat.room_id, words, view.topic)
        more: dict[str, Any] = {"more": shown.earlier is not None, "words": words, "count": len(shown.said)}
        shown.earlier = None
        return answer(request, seat, view, shown, **more)
    if at is not None:
        return answer(request, seat, drawing.View(), drawing.around(seat.room_id, at))
    return answer(request, seat, view, drawing.newest(seat.room_id, view))


@require_GET
def earlier(request: HttpRequest) -> HttpResponse:
    """What came before a number: a piece for a script, a page of its own without one."""
    seat, view = seat_of(person(request)), view_of(request)
    shown = drawing.newest(seat.room_id, view, before=number(request.GET.get("before")))
    if request.headers.get("X-Requested-With") == "fetch":
        html = drawing.drawn(shown.said, read_seq=seat.read_seq)
        return JsonResponse({"html": html, "earlier": shown.earlier})
    shown.still = True
    return answer(request, seat, view, shown)


@require_GET
def topics(request: HttpRequest) -> HttpResponse:
    """The column of topics alone, as an open page fetches it again."""
    seat, view = seat_of(person(request)), view_of(request)
    return render(request, "messaging/chat_topics.html", column(seat, view))


@require_POST
def post(request: HttpRequest) -> HttpResponse:
    seat = seat_of(person(request))
    body, topic, reply_to = request.POST.get("body", ""), request.POST.get("topic", ""), request.POST.get("reply_to")
    is_script = request.headers.get("X-Requested-With") == "fetch"
    try:
        said = chat.send(
            seat,
            body=body,
            topic="" if reply_to else topic,
            reply_to=(number(reply_to) or 0) if reply_to else None,
            client_id=request.POST.get("client_id", "")[:100] or uuid.uuid4().hex,
            connection=chat.BY_OWNER,
            by_program=False,
        )
    except (Invalid, Conflict, NotFound) as problem:
        if is_script:
            raise
        view = view_of(request)
        shown = drawing.newest(seat.room_id, view)
        return answer(request, seat, view, shown, body=body, topic=topic, problem=problem.detail, status=422)
    if is_script:
        return JsonResponse({"seq": said.number}, status=201)
    shown_topic, hidden = plain(request.POST.get("shown")), request.session.get(HIDDEN, [])
    # To where it can be seen.
    only = said.topic if shown_topic or said.topic in hidden else ""
    return redirect(f"{chat_url(only)}#e{said.number}")


@require_POST
def hide(request: HttpRequest) -> HttpResponse:
    """Leave a topic out of this browser's page, or show it again. Nothing that is stored changes."""
    seat_of(person(request))
    topic = plain(request.POST.get("topic"))
    hidden = [name for name in request.session.get(HIDDEN, []) if name != topic]
    if request.POST.get("hidden") == "yes" and topic:
        hidden.append(topic)
    request.session[HIDDEN] = hidden[-MOST_HIDDEN:]
    only = plain(request.POST.get("shown"))
    return redirect(chat_url("" if only == topic else only))


def options(request: HttpRequest) -> HttpResponse:
    return settings_page(request, person(request))


@require_POST
def switch(request: HttpRequest) -> HttpResponse:
    user = person(request)
    seat_of(user)
    on = request.POST.get("on") == "yes"
    chat.switch(user, on=on)
    words = "On: your programs can talk again." if on else "Off: no program can send, read or wait in your chat."
    messages.success(request, words)
    return redirect("chat_settings")


@require_POST
def keep(request: HttpRequest) -> HttpResponse:
    """What goes sooner is said first: the second press, for the same number of days, is the one that counts."""
    user = person(request)
    room, form = seat_of(user).room, KeepForm(request.POST)
    if not form.is_valid():
        return settings_page(request, user, form)
    days = form.cleaned_data["days"]
    goes = older(room, days) if days and 0 < days < chat.kept_days(room) else 0
    if goes and request.POST.get("confirmed") != str(days):
        return settings_page(request, user, form, goes=goes, confirm=days)
    if form.settle(lambda: chat.keep_for(user, days)) is None:
        return settings_page(request, user, form)
    messages.success(request, "Saved.")
    return redirect("chat_settings")


# --- what the pages need ----------------------------------------------------------------------------------------------


def seat_of(user: User) -> Member:
    """The owner's seat in their chat."""
    own = Room.objects.filter(owner=user, kind=Room.Kind.ACCOUNT).first()
    return member_for(user, (own or membership.account_chat(user)).pk)


def plain(value: str | None, most: int = 100) -> str:
    text: str = log.clean((value or "")[:most])
    return " ".join(text.split())


def view_of(request: HttpRequest) -> drawing.View:
    """One topic if the address names one; all but those that this browser hides otherwise."""
    topic = plain(request.GET.get("topic") or request.POST.get("shown"))
    return drawing.View(topic, frozenset() if topic else frozenset(request.session.get(HIDDEN, [])))


def chat_url(topic: str = "") -> str:
    return reverse("chat") + (f"?{urlencode({'topic': topic})}" if topic else "")


def connections_of(user: User | None) -> list[Connection]:
    rows = Connection.objects.filter(user=user, kind=Connection.Kind.ACCOUNT, revoked_at=None)
    return list(rows.order_by("-created_at"))


def column(seat: Member, view: drawing.View) -> dict[str, Any]:
    every = chat.topics(seat)
    # A program may make a topic for each build: the newest are shown, and those that this browser asks about.
    asked = view.hidden | {view.topic}
    known = every[:MOST_TOPICS] + [topic for topic in every[MOST_TOPICS:] if topic.name in asked]
    return {
        "seat": seat,
        "view": view,
        "topics": known,
        "more_topics": len(every) - len(known),
        "shown": [topic for topic in known if topic.name not in view.hidden],
        "hidden": [topic for topic in known if topic.name in view.hidden],
        "connections": connections_of(seat.user),
    }


def answer(
    request: HttpRequest,
    seat: Member,
    view: drawing.View,
    shown: drawing.Stretch,
    *,
    status: int = 200,
    **more: Any,
) -> HttpResponse:
    replies = number(request.GET.get("reply") or request.POST.get("reply_to"))
    answering = drawing.messages(seat.room_id).filter(seq=replies).first() if replies else None
    context = {
        **column(seat, view),
        "days": chat.kept_days(seat.room),
        "timeline": drawing.drawn(shown.said, read_seq=seat.read_seq),
        "cursor": shown.cursor,
        "earlier": shown.earlier,
        "still": shown.still,
        "answering": answering,
        "topic": view.topic,
        "client_id": uuid.uuid4().hex,
        "mcp": settings.MCP_RESOURCE,
        **more,
    }
    return render(request, "messaging/chat.html", context, status=status)


def older(room: Room, days: int) -> int:
    """How many messages were written more than so many days ago."""
    before = timezone.now() - timedelta(days=days)
    return drawing.messages(room.pk).filter(created_at__lt=before).count()


def settings_page(request: HttpRequest, user: User, form: KeepForm | None = None, **more: Any) -> HttpResponse:
    room = seat_of(user).room
    form = form or KeepForm(initial={"days": room.retention_days})
    context = {
        "room": room,
        "form": form,
        "days": chat.kept_days(room),
        "connections": connections_of(user),
        **more,
    }
    return render(request, "messaging/chat_settings.html", context, status=422 if form.errors else 200)
