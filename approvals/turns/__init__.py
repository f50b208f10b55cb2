"""A request on its way: asked, queued, offered, running, ended. Each step is one conditional UPDATE."""

from __future__ import annotations

from approvals.turns.answering import answer, lapse
from approvals.turns.asking import WEB, ask
from approvals.turns.hearing import hear
from approvals.turns.inbox import MOST_NOTICES, again, inbox, name_in_offer, unread
from approvals.turns.own import RETRIABLE, cancel, change, own_turn, place, retry
from approvals.turns.passing import letter, reply, request, send, speaking, was_answered
from approvals.turns.running import allowed, end_moot, finish, held, messages, offer, queue_of, start, take_back
from approvals.turns.steps import end, notice, queue, tell
from approvals.turns.undoing import keep_undo, undone, undos_waiting

__all__ = [
    "MOST_NOTICES",
    "RETRIABLE",
    "WEB",
    "again",
    "allowed",
    "answer",
    "ask",
    "cancel",
    "change",
    "end",
    "end_moot",
    "finish",
    "hear",
    "held",
    "inbox",
    "keep_undo",
    "lapse",
    "letter",
    "messages",
    "name_in_offer",
    "notice",
    "offer",
    "own_turn",
    "place",
    "queue",
    "queue_of",
    "reply",
    "request",
    "retry",
    "send",
    "speaking",
    "start",
    "take_back",
    "tell",
    "undone",
    "undos_waiting",
    "unread",
    "was_answered",
]
