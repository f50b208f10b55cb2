"""The room's page, its fragments and its files."""

from __future__ import annotations

from django.urls import path

from messaging.views import became, blank, chat, export, files, room, steps

urlpatterns = [
    path("chat/", chat.page, name="chat"),
    path("chat/messages/", chat.post, name="chat_post"),
    path("chat/earlier/", chat.earlier, name="chat_earlier"),
    path("chat/topics/", chat.topics, name="chat_topics"),
    path("chat/topics/hide/", chat.hide, name="chat_hide"),
    path("chat/settings/", chat.options, name="chat_settings"),
    path("chat/settings/switch/", chat.switch, name="chat_switch"),
    path("chat/settings/keep/", chat.keep, name="chat_keep"),
    path("rooms/<int:room_id>/", room.room, name="room"),
    path("rooms/<int:room_id>/messages/", room.post, name="room_post"),
    path("rooms/<int:room_id>/earlier/", room.earlier, name="room_earlier"),
    path("rooms/<int:room_id>/mail/", became.became, name="room_mail"),
    path("rooms/<int:room_id>/blank/<int:seq>/", blank.blank, name="entry_blank"),
    path("rooms/<int:room_id>/read/", room.read, name="room_read"),
    path("rooms/<int:room_id>/export.md", export.room, {"form": "md"}, name="room_markdown"),
    path("rooms/<int:room_id>/export.jsonl", export.room, {"form": "jsonl"}, name="room_jsonl"),
    path("rooms/<int:room_id>/files/<int:attachment_id>/<path:name>", files.file, name="file"),
    path("rooms/<int:room_id>/produced/<int:seq>/<path:name>", files.produced, name="produced"),
    path("rooms/<int:room_id>/turns/<int:turn_id>/steps/", steps.steps, name="turn_steps"),
    path("rooms/<int:room_id>/turns/<int:turn_id>/decisions/", steps.decisions, name="turn_decisions"),
    path("rooms/<int:room_id>/turns/<int:turn_id>/steps/<int:seq>/", steps.step, name="turn_step"),
    path("rooms/<int:room_id>/turns/<int:turn_id>/text/<int:seq>/", steps.text, name="turn_text"),
]
