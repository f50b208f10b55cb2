"""The owner's hand: grants, stop, leaving and removing, and what each of them cancels at once."""

from __future__ import annotations

from approvals.control.accounts import DELETE, Leaving, delete_account, is_last, leaving, shut_out, sweep
from approvals.control.agents import pause_agent, reset_memory, retire_agent, revoke_machine
from approvals.control.blanking import CALLED, blank, blankable, may_blank
from approvals.control.cleaning import Cleaned, Due, Preview, clean, clean_room, due, preview, told
from approvals.control.grants import revoke_grant, set_grant
from approvals.control.keeping import MOST_DAYS, keep, shortens
from approvals.control.limits import set_limit, set_times
from approvals.control.removal import SIGN_IN, Loss, check_deletable, delete_room, lost_with
from approvals.control.rooms import archive, decline_direct, end_deputy, heirs, name_deputy, transfer
from approvals.control.seats import leave, remove_member, set_role
from approvals.control.stopping import cancel_waiting, close_turn, stop_machine, stop_turn
from approvals.control.time import expire
from approvals.control.undoing import undo_turn, undoable

__all__ = [
    "CALLED",
    "DELETE",
    "MOST_DAYS",
    "SIGN_IN",
    "Cleaned",
    "Due",
    "Leaving",
    "Loss",
    "Preview",
    "archive",
    "blank",
    "blankable",
    "cancel_waiting",
    "check_deletable",
    "clean",
    "clean_room",
    "close_turn",
    "decline_direct",
    "delete_account",
    "delete_room",
    "due",
    "end_deputy",
    "expire",
    "heirs",
    "is_last",
    "keep",
    "leave",
    "leaving",
    "lost_with",
    "may_blank",
    "name_deputy",
    "pause_agent",
    "preview",
    "remove_member",
    "reset_memory",
    "retire_agent",
    "revoke_grant",
    "revoke_machine",
    "set_grant",
    "set_limit",
    "set_role",
    "set_times",
    "shortens",
    "shut_out",
    "stop_machine",
    "stop_turn",
    "sweep",
    "told",
    "transfer",
    "undo_turn",
    "undoable",
]
