"""Who gets through which page: the whole table. A door that is not in it fails the test.

The columns are, in this order: nobody (not signed in), charlie (a stranger to the room), vera (a viewer), bob (a
member), dana (a member who brought an agent of her own), alice (owns room, machine and agents).

``in`` is a redirect to the sign-in page, ``ok`` any page or redirect elsewhere, a number that status.
"""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Door:
    method: str
    route: str
    expected: str
    stands_for: dict[str, str] = field(default_factory=dict)
    """Parameter of the route → thing of the scene, where the names differ."""
    data: dict[str, str] = field(default_factory=dict)
    reads: bool = False
    """A POST that is answered with ``ok`` to some for whom it changes nothing."""

    def __str__(self) -> str:
        return f"{self.method} /{self.route}"


def get(route: str, expected: str, **stands_for: str) -> Door:
    return Door("GET", route, expected, stands_for)


def post(route: str, expected: str, data: dict[str, str] | None = None, **stands_for: str) -> Door:
    return Door("POST", route, expected, stands_for, data or {})


ANYBODY = "ok ok ok ok ok ok"
SIGNED_IN = "in ok ok ok ok ok"
SEATED = "in 404 ok ok ok ok"
OWNS_THE_ROOM = "in 404 403 403 403 ok"
OWNS_THE_AGENT = "in 404 404 404 404 ok"
AUTHORIZATION = {
    "client_id": "{program}",
    "redirect_uri": "http://127.0.0.1:5/callback",
    "response_type": "code",
    "code_challenge": "c" * 43,
    "code_challenge_method": "S256",
}

DOORS = [
    # --- one's own pages
    get("", SIGNED_IN),
    get("rail/", SIGNED_IN),
    get("account/", SIGNED_IN),
    # Nobody in the scene has anything to sign in with once more.
    get("account/delete/", SIGNED_IN),
    post("account/delete/", "in 403 403 403 403 403"),
    get("grants/", SIGNED_IN),
    post("grants/", "in 422 422 422 422 ok", {"agent": "{agent_id}", "whom": "seat:{bobs_seat}", "level": "always"}),
    post("grants/<int:grant_id>/revoke/", OWNS_THE_AGENT),
    get("deputy/", SIGNED_IN),
    post("deputy/", "in 403 403 403 403 403", {"handle": "bob", "days": "3"}),
    get("connections/", SIGNED_IN),
    post("connections/", "in 422 422 422 422 ok", {"identity": "{agent_id}:{room_id}", "name": "mine"}),
    post("connections/<int:connection_id>/revoke/", OWNS_THE_AGENT),
    # --- the chat of one's own account
    get("chat/", SIGNED_IN),
    get("chat/earlier/", SIGNED_IN),
    get("chat/topics/", SIGNED_IN),
    post("chat/messages/", SIGNED_IN, {"body": "hello", "client_id": "c"}),
    post("chat/topics/hide/", SIGNED_IN, {"topic": "general", "hidden": "yes"}),
    get("chat/settings/", SIGNED_IN),
    post("chat/settings/switch/", SIGNED_IN, {"on": "no"}),
    post("chat/settings/keep/", SIGNED_IN, {"days": "3"}),
    # --- links: whoever holds one
    get("join/<str:token>/", ANYBODY, token="invite_token"),
    post(
        "join/<str:token>/",
        "ok ok ok ok ok ok",
        {"handle": "erin", "password": "a long enough secret"},
        token="invite_token",
    ),
    get("in/<str:token>/", ANYBODY, token="sign_in_token"),
    post("in/<str:token>/", ANYBODY, token="sign_in_token"),
    get("first/<str:token>/", "404 404 404 404 404 404", token="unknown_token"),
    post("first/<str:token>/", "404 404 404 404 404 404", token="unknown_token"),
    get("pair/", SIGNED_IN),
    post("pair/", SIGNED_IN, {"code": "{code}", "answer": "yes"}),
    # --- rooms
    get("rooms/new/", SIGNED_IN),
    post("rooms/new/", SIGNED_IN, {"name": "attic"}),
    get("rooms/<int:room_id>/", SEATED),
    get("rooms/<int:room_id>/earlier/", SEATED),
    get("rooms/<int:room_id>/mail/", SEATED),
    get("rooms/<int:room_id>/people/", SEATED),
    post("rooms/<int:room_id>/read/", SEATED, {"seq": "1"}),
    post("rooms/<int:room_id>/messages/", "in 404 403 ok ok ok", {"body": "hello", "client_id": "c"}),
    post("rooms/<int:room_id>/transfer/", "in 404 403 403 403 403", {"to": "{bobs_seat}"}),
    get("rooms/<int:room_id>/delete/", OWNS_THE_ROOM),
    post("rooms/<int:room_id>/delete/", "in 404 403 403 403 403", {"name": "kitchen"}),
    post("rooms/<int:room_id>/leave/", "in 404 ok ok ok 403"),
    get("rooms/<int:room_id>/settings/", OWNS_THE_ROOM),
    post("rooms/<int:room_id>/settings/", OWNS_THE_ROOM, {"name": "bakery"}),
    get("rooms/<int:room_id>/invites/", OWNS_THE_ROOM),
    post("rooms/<int:room_id>/invites/", OWNS_THE_ROOM, {"role": "member", "days": "7", "max_uses": "1"}),
    get("rooms/<int:room_id>/keep/", OWNS_THE_ROOM),
    post("rooms/<int:room_id>/keep/", OWNS_THE_ROOM, {"days": "30", "confirmed": "yes"}),
    post("rooms/<int:room_id>/archive/", OWNS_THE_ROOM, {"archived": "yes"}),
    post("invites/<int:invite_id>/revoke/", OWNS_THE_AGENT),
    post("rooms/<int:room_id>/agents/", OWNS_THE_AGENT, {"agent": "{spare}"}),
    post("rooms/<int:room_id>/let-in/", OWNS_THE_AGENT, room_id="direct"),
    post("rooms/<int:room_id>/decline/", OWNS_THE_AGENT, room_id="direct"),
    post("members/<int:member_id>/remove/", OWNS_THE_ROOM),
    post("members/<int:member_id>/role/", OWNS_THE_ROOM, {"role": "viewer"}),
    post("members/<int:member_id>/memory/", OWNS_THE_AGENT, member_id="claudes_seat"),
    get("rooms/<int:room_id>/export.md", SEATED),
    get("rooms/<int:room_id>/export.jsonl", SEATED),
    # --- files and what a card leaves out
    get("rooms/<int:room_id>/files/<int:attachment_id>/<path:name>", SEATED),
    get("rooms/<int:room_id>/produced/<int:seq>/<path:name>", SEATED, seq="produced"),
    get("rooms/<int:room_id>/turns/<int:turn_id>/decisions/", SEATED, turn_id="running"),
    get("rooms/<int:room_id>/turns/<int:turn_id>/steps/", SEATED, turn_id="running"),
    get("rooms/<int:room_id>/turns/<int:turn_id>/steps/<int:seq>/", SEATED, turn_id="running", seq="step"),
    get("rooms/<int:room_id>/turns/<int:turn_id>/text/<int:seq>/", SEATED, turn_id="running", seq="text"),
    # --- turns and questions
    get("questions/<int:approval_id>/", OWNS_THE_AGENT),
    post("questions/<int:approval_id>/answer/", OWNS_THE_AGENT, {"verdict": "once", "digest": "{digest}"}),
    get("turns/<int:turn_id>/controls/", SEATED, turn_id="running"),
    get("agents/<int:agent_id>/limits/", OWNS_THE_AGENT),
    post("agents/<int:agent_id>/limits/", OWNS_THE_AGENT, {"person": "{bob}", "requests_a_day": "3"}),
    post("agents/<int:agent_id>/limits/<int:person_id>/lift/", OWNS_THE_AGENT, person_id="bob"),
    post(
        "agents/<int:agent_id>/times/",
        OWNS_THE_AGENT,
        {"four_minutes": "5", "tool_minutes": "5", "question_minutes": "5"},
    ),
    get("audit/", SIGNED_IN),
    get("audit/export.jsonl", SIGNED_IN),
    get("audit/export.csv", SIGNED_IN),
    get("rooms/<int:room_id>/blank/<int:seq>/", "in 404 404 ok 404 ok", seq="asking"),
    post("rooms/<int:room_id>/blank/<int:seq>/", "in 404 403 ok 403 ok", seq="asking"),
    post("turns/<int:turn_id>/cancel/", "in 404 404 ok 404 ok", turn_id="waiting"),
    post("turns/<int:turn_id>/change/", "in 404 404 ok 404 403", {"body": "@claude bake two"}, turn_id="waiting"),
    post("turns/<int:turn_id>/retry/", "in 404 404 ok 404 ok", turn_id="failed"),
    post("turns/<int:turn_id>/stop/", "in 404 404 ok 404 ok", turn_id="running"),
    post("turns/<int:turn_id>/close/", "in 404 404 403 404 ok", turn_id="running"),
    get("turns/<int:turn_id>/undo/", OWNS_THE_AGENT, turn_id="failed"),
    post("turns/<int:turn_id>/undo/", OWNS_THE_AGENT, turn_id="failed"),
    # --- agents and machines
    get("agents/<int:agent_id>/", SEATED),
    Door("POST", "agents/<int:agent_id>/", SEATED, {}, {"display_name": "Mine now"}, reads=True),
    get("agents/<int:agent_id>/avatar/", SEATED),
    post("agents/<int:agent_id>/avatar/set/", OWNS_THE_AGENT, {"remove": "1"}),
    get("agents/<int:agent_id>/direct/", SEATED),
    post("agents/<int:agent_id>/direct/", "in 404 403 ok ok ok"),
    post("agents/<int:agent_id>/pause/", OWNS_THE_AGENT, {"paused": "yes"}),
    post("agents/<int:agent_id>/retire/", OWNS_THE_AGENT),
    post("machines/<int:machine_id>/revoke/", OWNS_THE_AGENT),
    # --- a program signs in; what programs themselves call is in tests/oauth/test_doors.py
    get(".well-known/oauth-protected-resource", ANYBODY),
    get(".well-known/oauth-protected-resource/mcp", ANYBODY),
    get(".well-known/oauth-authorization-server", ANYBODY),
    get(".well-known/openid-configuration", ANYBODY),
    get(".well-known/jwks.json", ANYBODY),
    Door("GET", "identity/o/authorize", SIGNED_IN, {}, AUTHORIZATION),
    post("identity/o/authorize", "in 403 403 403 403 403", {"request": "forged", "action": "grant"}),
    get("identity/o/device", SIGNED_IN),
    post("identity/o/device", SIGNED_IN),
    get("identity/o/device/done", SIGNED_IN),
    get("identity/o/logout", SIGNED_IN),
    # --- for programs that look whether we live
    get("healthz", ANYBODY),
    get("readyz", ANYBODY),
]

ALLAUTH = {
    "account_login", "account_logout", "account_inactive", "account_signup", "account_reauthenticate",
    "account_request_reauthentication_code", "account_confirm_reauthentication_code", "account_email",
    "account_confirm_email", "account_email_verification_sent", "account_change_password", "account_set_password",
    "account_reset_password", "account_reset_password_done", "account_reset_password_from_key",
    "account_reset_password_from_key_done", "account_request_login_code", "account_confirm_login_code", "mfa_index",
    "mfa_authenticate", "mfa_reauthenticate", "mfa_activate_totp", "mfa_deactivate_totp", "mfa_view_recovery_codes",
    "mfa_generate_recovery_codes", "mfa_download_recovery_codes", "mfa_list_webauthn", "mfa_add_webauthn",
    "mfa_reauthenticate_webauthn", "mfa_remove_webauthn", "mfa_edit_webauthn", "mfa_login_webauthn",
}  # fmt: skip
"""allauth's own doors: about an account, never about a room."""

SOCKETS = {"^ws/rooms/(?P<room_id>[0-9]{1,18})/$", "^ws/me/$", ""}
