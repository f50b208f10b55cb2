"""The owner's hand: grants, stop, leaving and removing, and what each of them cancels at once."""

from __future__ import annotations

from approvals.control.agents import pause_agent, reset_memory, retire_agent, revoke_machine
from approvals.control.blanking import CALLED, blank, blankable, may_blank
from approvals.control.grants import revoke_grant, set_grant
from approvals.control.limits import set_limit, set_times
from approvals.control.rooms import archive, decline_direct, end_deputy, name_deputy
from approvals.control.seats import leave, remove_member, set_role
from approvals.control.stopping import cancel_waiting, close_turn, stop_machine, stop_turn
from approvals.control.time import expire
from approvals.control.undoing import undo_turn, undoable

__all__ = [
    "CALLED",
    "archive",
    "blank",
    "blankable",
    "cancel_waiting",
    "close_turn",
    "decline_direct",
    "end_deputy",
    "expire",
    "leave",
    "may_blank",
    "name_deputy",
    "pause_agent",
    "remove_member",
    "reset_memory",
    "retire_agent",
    "revoke_grant",
    "revoke_machine",
    "set_grant",
    "set_limit",
    "set_role",
    "set_times",
    "stop_machine",
    "stop_turn",
    "undo_turn",
    "undoable",
]
