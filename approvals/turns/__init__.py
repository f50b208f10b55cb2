"""A request on its way: asked, queued, offered, running, ended. Each step is one conditional UPDATE."""

from __future__ import annotations

from approvals.turns.answering import answer, lapse
from approvals.turns.asking import WEB, ask
from approvals.turns.own import RETRIABLE, cancel, change, own_turn, place, retry
from approvals.turns.passing import send
from approvals.turns.running import allowed, finish, held, messages, offer, queue_of, start, take_back
from approvals.turns.steps import end, notice, queue, tell
from approvals.turns.undoing import keep_undo, undone, undos_waiting

__all__ = [
    "RETRIABLE",
    "WEB",
    "allowed",
    "answer",
    "ask",
    "cancel",
    "change",
    "end",
    "finish",
    "held",
    "keep_undo",
    "lapse",
    "messages",
    "notice",
    "offer",
    "own_turn",
    "place",
    "queue",
    "queue_of",
    "retry",
    "send",
    "start",
    "take_back",
    "tell",
    "undone",
    "undos_waiting",
]
