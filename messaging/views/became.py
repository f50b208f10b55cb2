"""What became of mail, as it stands now."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_GET

from messaging.render import mail
from messaging.viewer import person
from rooms.access import member_for

MOST = 40
"""Messages that one look asks for at most."""


@require_GET
def became(request: HttpRequest, room_id: int) -> HttpResponse:
    """For the numbers in ``of``: why something waits can change without an entry, so an open page asks again."""
    member_for(person(request), room_id)
    wanted = request.GET.get("of", "").split(",")[:MOST]
    numbers = [int(one) for one in wanted if one.isascii() and one.isdigit() and len(one) < 19]
    return HttpResponse("".join(part.html for part in mail.parts(room_id, numbers)))
