"""An agent's mailbox: what waits for it, what it says of it, and what became of what it sent."""

from __future__ import annotations

from approvals.mailbox.delivery import Delivery, Fact, states
from approvals.mailbox.history import History, Line, history
from approvals.mailbox.letters import Inbox, Letter, as_letters, read
from approvals.mailbox.owner import KINDS, ask_owner
from approvals.mailbox.receipts import acknowledge
from approvals.mailbox.status import report_status
from messaging.mail import preview

__all__ = [
    "KINDS",
    "Delivery",
    "Fact",
    "History",
    "Inbox",
    "Letter",
    "Line",
    "acknowledge",
    "as_letters",
    "ask_owner",
    "history",
    "preview",
    "read",
    "report_status",
    "states",
]
