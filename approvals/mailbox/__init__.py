"""An agent's mailbox: what waits for it, what it says of it, and what became of what it sent."""

from __future__ import annotations

from approvals.mailbox.delivery import Delivery, Fact, states, states_of
from approvals.mailbox.history import History, Line, history
from approvals.mailbox.letters import Inbox, Letter, as_letters, names_of, read
from approvals.mailbox.owner import KINDS, ask_owner
from approvals.mailbox.receipts import acknowledge
from approvals.mailbox.status import report_status
from approvals.mailbox.waiting import Waits, waits
from messaging.mail import preview

__all__ = [
    "KINDS",
    "Delivery",
    "Fact",
    "History",
    "Inbox",
    "Letter",
    "Line",
    "Waits",
    "acknowledge",
    "as_letters",
    "ask_owner",
    "history",
    "names_of",
    "preview",
    "read",
    "report_status",
    "states",
    "states_of",
    "waits",
]
