"""Who comes in, and as what: a function for each thing that someone can do."""

from __future__ import annotations

from rooms.membership.agents import add_agent, edit_agent, picture_kind, register_agent, set_avatar
from rooms.membership.connections import connect, connect_account, may_speak_as, revoke_connection
from rooms.membership.direct import (
    check_not_declined,
    direct_requests,
    direct_room,
    reachable_agent,
    waits_for_owner,
)
from rooms.membership.invites import (
    accept_invite,
    invite,
    invite_for,
    join_as_new_person,
    revoke_invite,
    seat_by_invite,
)
from rooms.membership.pairing import (
    as_code,
    confirm_pairing,
    decline_pairing,
    pairing_state,
    start_pairing,
    waiting_pairing,
)
from rooms.membership.people import (
    everybody,
    first_link,
    first_link_open,
    link_holder,
    make_person,
    set_active,
    sign_in_link,
    use_first_link,
    use_sign_in_link,
)
from rooms.membership.rooms import account_chat, create_room, rename, rooms_of, say, seats_of
from rooms.membership.sharing import end_unshared
from rooms.membership.sign_ins import admit, consent, end_tokens, forget, let_go, name_of, room_for_a_program

__all__ = [
    "accept_invite",
    "account_chat",
    "add_agent",
    "admit",
    "as_code",
    "check_not_declined",
    "confirm_pairing",
    "connect",
    "connect_account",
    "consent",
    "create_room",
    "decline_pairing",
    "direct_requests",
    "direct_room",
    "edit_agent",
    "end_tokens",
    "end_unshared",
    "everybody",
    "first_link",
    "first_link_open",
    "forget",
    "invite",
    "invite_for",
    "join_as_new_person",
    "let_go",
    "link_holder",
    "make_person",
    "may_speak_as",
    "name_of",
    "pairing_state",
    "picture_kind",
    "reachable_agent",
    "register_agent",
    "rename",
    "revoke_connection",
    "revoke_invite",
    "room_for_a_program",
    "rooms_of",
    "say",
    "seat_by_invite",
    "seats_of",
    "set_active",
    "set_avatar",
    "sign_in_link",
    "start_pairing",
    "use_first_link",
    "use_sign_in_link",
    "waiting_pairing",
    "waits_for_owner",
]
