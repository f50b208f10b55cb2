"""Where the sockets are."""

from __future__ import annotations

from django.urls import re_path

from messaging.consumers import MeSocket, RoomSocket, Socket

websocket_urlpatterns = [
    re_path(r"^ws/rooms/(?P<room_id>[0-9]{1,18})/$", RoomSocket.as_asgi()),
    re_path(r"^ws/me/$", MeSocket.as_asgi()),
    # Anything else is as absent as a room that is not there.
    re_path(r"", Socket.as_asgi()),
]
