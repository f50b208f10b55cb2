"""A program signs in: what is asked of the person, what their answer binds, and what ends it."""

from __future__ import annotations

from datetime import timedelta

import pytest
from allauth.idp.oidc.models import Token
from django.conf import settings
from django.test import Client
from django.utils import timezone

from agentroom import auth
from agentroom.auth import Unauthorised
from approvals import control
from rooms import membership, tokens
from rooms.models import Connection, Consent
from tests.approvals.kitchen import Kitchen
from tests.oauth.program import AUTHORIZE, CALLBACK, Program, browser_of, told
from tests.pages.reading import text


def seat_of(kitchen: Kitchen) -> str:
    return f"{kitchen.claude.pk}:{kitchen.room.pk}"


def header(made: dict[str, str]) -> str:
    return f"Bearer {made['access_token']}"


def refused(made: dict[str, str]) -> bool:
    with pytest.raises(Unauthorised):
        auth.caller(header(made))
    return True


def test_a_program_signs_in_as_the_accounts_chat(kitchen: Kitchen) -> None:
    made = Program.introduced().signs_in(kitchen.bob)
    assert (made["token_type"], made["expires_in"], made["scope"]) == ("Bearer", 12 * 3600, "agentroom")
    caller = auth.caller(header(made))
    assert (caller.kind, caller.seat().user) == ("account", kitchen.bob)
    assert caller.turn() is None


def test_a_program_signs_in_as_ones_agent_in_one_room(kitchen: Kitchen) -> None:
    made = Program.introduced().signs_in(kitchen.alice, seat_of(kitchen))
    caller = auth.caller(header(made))
    assert (caller.kind, caller.seat()) == ("agent", kitchen.seat(kitchen.claude))
    [connection] = Connection.objects.filter(user=kitchen.alice).exclude(grant_id="")
    assert connection.token_hash == tokens.digest(made["access_token"])
    assert connection.name == "Claude Code"
    assert not Consent.objects.exists()


def test_two_sign_ins_of_one_program_are_two_connections_with_two_identities(kitchen: Kitchen) -> None:
    program = Program.introduced()
    as_account = program.signs_in(kitchen.alice)
    as_claude = program.signs_in(kitchen.alice, seat_of(kitchen))
    assert (auth.caller(header(as_account)).kind, auth.caller(header(as_claude)).kind) == ("account", "agent")
    assert Connection.objects.filter(client=program.id).count() == 2


def test_the_page_says_which_program_where_its_answer_goes_and_whom_it_may_speak_as(kitchen: Kitchen) -> None:
    page = Program.introduced("Friendly‮ helper").opens(browser_of(kitchen.alice))
    words = text(page)
    assert "Friendly helper wants to sign in" in words
    assert "127.0.0.1:41414 a program on this computer" in words
    assert "claude in kitchen" in words
    assert "my account, in its private chat" in words
    far = Program.introduced("Web", "https://agents.example/cb").opens(browser_of(kitchen.alice))
    assert "agents.example a site on the internet" in text(far)


def test_the_page_is_never_framed_kept_or_led_elsewhere(kitchen: Kitchen) -> None:
    page = Program.introduced().opens(browser_of(kitchen.alice))
    policy = page["Content-Security-Policy"]
    assert page["X-Frame-Options"] == "DENY"
    assert "frame-ancestors 'none'" in policy
    assert "form-action 'self' http://127.0.0.1:41414;" in policy + ";"
    assert "no-store" in page["Cache-Control"]


def test_another_site_cannot_answer_for_the_person(kitchen: Kitchen) -> None:
    program = Program.introduced()
    page = program.opens(browser_of(kitchen.alice))
    form = page.context["form"]  # type: ignore[attr-defined]
    fields = {"request": form["request"].value(), "scopes": "agentroom", "identity": "account", "action": "grant"}
    strict = Client(enforce_csrf_checks=True)
    strict.force_login(kitchen.alice, "django.contrib.auth.backends.ModelBackend")
    assert strict.post(AUTHORIZE, fields).status_code == 403
    assert not Consent.objects.exists()
    assert not Token.objects.exists()


def test_whoever_is_not_signed_in_signs_in_first(kitchen: Kitchen) -> None:
    answer = Program.introduced().opens(Client())
    assert answer["Location"].startswith("/account/login/?next=/identity/o/authorize")
    assert "iss=" not in answer["Location"]


@pytest.mark.parametrize("whose", ["claude", "gemini"])
def test_somebody_elses_agent_is_not_to_choose(whose: str, kitchen: Kitchen) -> None:
    """Bob sits in the room with alice's claude and dana's gemini."""
    program = Program.introduced()
    assert "claude in" not in text(program.opens(browser_of(kitchen.bob)))
    agent = kitchen.claude if whose == "claude" else kitchen.gemini
    answer = program.consented(browser_of(kitchen.bob), f"{agent.pk}:{kitchen.room.pk}")
    assert answer.status_code == 422
    assert not Consent.objects.exists()
    assert not Token.objects.exists()


def test_the_person_has_to_choose(kitchen: Kitchen) -> None:
    answer = Program.introduced().consented(browser_of(kitchen.alice), "")
    assert (answer.status_code, "Choose whom it speaks as." in text(answer)) == (422, True)
    assert not Token.objects.exists()


def test_an_agent_that_left_between_consent_and_code_lets_nothing_in(kitchen: Kitchen) -> None:
    program = Program.introduced()
    answer = program.consented(browser_of(kitchen.alice), seat_of(kitchen))
    control.remove_member(kitchen.alice, kitchen.seat(kitchen.claude).pk)
    tried = program.redeems(told(answer["Location"])["code"])
    assert (tried.status_code, tried.json()["error"]) == (400, "invalid_grant")
    assert not Token.objects.filter(type__in=("at", "rt")).exists()
    assert not Connection.objects.exclude(grant_id="").exists()


def test_the_answer_names_its_issuer_also_when_it_is_no(kitchen: Kitchen) -> None:
    program = Program.introduced()
    for action, expected in (("grant", ""), ("cancel", "access_denied")):
        answer = program.consented(browser_of(kitchen.bob), "account", action)
        assert answer["Location"].startswith(CALLBACK)
        said = told(answer["Location"])
        assert (said["iss"], said["state"]) == (settings.PUBLIC_URL, "somewhere")
        assert said.get("error", "") == expected
        assert ("code" in said) == (action == "grant")


# --- what is refused ------------------------------------------------------------------------------------------------


def test_no_code_without_a_challenge(kitchen: Kitchen) -> None:
    for program in (Program.introduced(), Program.introduced(token_endpoint_auth_method="client_secret_post")):
        answer = program.opens(browser_of(kitchen.bob), code_challenge=None, code_challenge_method=None)
        assert (answer.status_code, told(answer["Location"])["error"]) == (302, "invalid_request")


def test_no_plain_challenge(kitchen: Kitchen) -> None:
    answer = Program.introduced().opens(browser_of(kitchen.bob), code_challenge_method="plain")
    assert told(answer["Location"])["error"] == "invalid_request"


def test_a_wrong_verifier_gets_nothing(kitchen: Kitchen) -> None:
    program = Program.introduced()
    answer = program.consented(browser_of(kitchen.bob), "account")
    tried = program.redeems(told(answer["Location"])["code"], code_verifier="w" * 64)
    assert (tried.status_code, tried.json()["error"]) == (400, "invalid_grant")


def test_a_code_is_good_once_and_its_second_use_ends_what_the_first_got(kitchen: Kitchen) -> None:
    program = Program.introduced()
    code = told(program.consented(browser_of(kitchen.bob), "account")["Location"])["code"]
    made = program.redeems(code).json()
    assert auth.caller(header(made)).kind == "account"
    assert program.redeems(code).status_code == 400


@pytest.mark.parametrize(
    "uri",
    ["http://127.0.0.1:41414/other", "https://evil.example/cb", "javascript:alert(1)", "http://localhost/callback"],
)
def test_a_code_goes_nowhere_that_the_program_did_not_name(uri: str, kitchen: Kitchen) -> None:
    answer = Program.introduced().opens(browser_of(kitchen.bob), redirect_uri=uri)
    assert (answer.status_code, answer.has_header("Location")) == (400, False)


def test_any_port_of_this_computer_will_do(kitchen: Kitchen) -> None:
    """A program takes a free port each time (RFC 8252)."""
    assert (
        Program.introduced().opens(browser_of(kitchen.bob), redirect_uri=CALLBACK.replace("41414", "5")).status_code
        == 200
    )


def test_a_token_for_another_server_is_neither_made_nor_taken(kitchen: Kitchen) -> None:
    program = Program.introduced()
    answer = program.opens(browser_of(kitchen.bob), resource="https://other.example/mcp")
    assert (answer.status_code, answer.has_header("Location")) == (400, False)
    code = told(program.consented(browser_of(kitchen.bob), "account")["Location"])["code"]
    tried = program.redeems(code, resource="https://other.example/mcp")
    assert (tried.status_code, tried.json()["error"]) == (400, "invalid_target")
    made = program.signs_in(kitchen.bob)
    stored = Token.objects.get(hash=tokens.digest(made["access_token"]))
    assert stored.get_resources() == [settings.MCP_RESOURCE]
    stored.set_resources([settings.MCP_RESOURCE, "https://other.example/mcp"])
    stored.save()
    assert refused(made)


def test_a_program_of_2025_names_no_resource_and_a_slash_does_no_harm(kitchen: Kitchen) -> None:
    for resource in (None, f"{settings.MCP_RESOURCE}/"):
        made = Program.introduced().signs_in(kitchen.bob, resource=resource)
        assert auth.caller(header(made)).kind == "account"


def test_a_token_without_our_scope_opens_nothing(kitchen: Kitchen) -> None:
    assert refused(Program.introduced().signs_in(kitchen.bob, scope="openid"))


def test_nobody_is_let_in_unseen(kitchen: Kitchen) -> None:
    """prompt=none would renew a sign-in without anybody choosing."""
    program, browser = Program.introduced(), browser_of(kitchen.bob)
    program.signs_in(kitchen.bob, scope="openid agentroom")
    before = Token.objects.count()
    unseen = {"prompt": "none", "scope": "openid agentroom"}
    answer = program.opens(browser, **unseen)
    assert told(answer["Location"])["error"] == "consent_required"
    assert Token.objects.count() == before
    assert program.opens(Client(), **unseen)["Location"].startswith("/account/login/")
    assert program.opens(browser, prompt="none").status_code == 200


def test_a_code_that_nobody_consented_to_is_worth_nothing(kitchen: Kitchen) -> None:
    program = Program.introduced()
    code = told(program.consented(browser_of(kitchen.bob), "account")["Location"])["code"]
    Consent.objects.all().delete()
    tried = program.redeems(code)
    assert (tried.status_code, tried.json()["error"]) == (400, "invalid_grant")
    assert not Token.objects.filter(type__in=("at", "rt")).exists()


# --- while it lasts -------------------------------------------------------------------------------------------------


def test_a_refresh_keeps_the_connection_and_its_identity(kitchen: Kitchen) -> None:
    program = Program.introduced()
    first = program.signs_in(kitchen.alice, seat_of(kitchen))
    second = program.refreshes(first["refresh_token"]).json()
    third = program.refreshes(second["refresh_token"], resource=settings.MCP_RESOURCE).json()
    assert len({made["access_token"] for made in (first, second, third)}) == 3
    assert auth.caller(header(third)).connection == auth.caller(header(first)).connection
    assert auth.caller(header(third)).connection.short == tokens.digest(first["access_token"])[:8]
    assert auth.caller(header(third)).seat() == kitchen.seat(kitchen.claude)
    assert Connection.objects.exclude(grant_id="").count() == 1


def test_a_refresh_token_is_good_once(kitchen: Kitchen) -> None:
    program = Program.introduced()
    first = program.signs_in(kitchen.bob)
    second = program.refreshes(first["refresh_token"]).json()
    again = program.refreshes(first["refresh_token"])
    assert (again.status_code, again.json()["error"]) == (400, "invalid_grant")
    assert auth.caller(header(second)).kind == "account"


def test_another_program_cannot_use_its_refresh_token(kitchen: Kitchen) -> None:
    made = Program.introduced().signs_in(kitchen.bob)
    tried = Program.introduced("Other").refreshes(made["refresh_token"])
    assert (tried.status_code, tried.json()["error"]) == (400, "invalid_grant")


def test_a_refresh_token_is_no_access_token(kitchen: Kitchen) -> None:
    made = Program.introduced().signs_in(kitchen.bob)
    assert refused({"access_token": made["refresh_token"]})


def test_a_token_ends_with_its_time_and_its_hash_is_then_only_a_name(kitchen: Kitchen) -> None:
    made = Program.introduced().signs_in(kitchen.bob)
    Token.objects.filter(type="at").update(expires_at=timezone.now() - timedelta(seconds=1))
    assert refused(made)


def test_a_revoked_connection_refuses_its_tokens_at_once_and_is_not_renewed(kitchen: Kitchen) -> None:
    program = Program.introduced()
    first = program.signs_in(kitchen.bob)
    second = program.refreshes(first["refresh_token"]).json()
    membership.revoke_connection(kitchen.bob, auth.caller(header(first)).connection.pk)
    assert refused(first)
    assert refused(second)
    tried = program.refreshes(second["refresh_token"])
    assert (tried.status_code, tried.json()["error"]) == (400, "invalid_grant")
    assert not Token.objects.filter(type__in=("at", "rt")).exists()


@pytest.mark.parametrize("what", ["left", "retired", "inactive"])
def test_it_ends_with_its_agent_or_its_person(what: str, kitchen: Kitchen) -> None:
    program = Program.introduced()
    made = program.signs_in(kitchen.alice, seat_of(kitchen))
    if what == "left":
        control.remove_member(kitchen.alice, kitchen.seat(kitchen.claude).pk)
    elif what == "retired":
        control.retire_agent(kitchen.alice, kitchen.claude.pk)
    else:
        membership.set_active(kitchen.alice, active=False)
    assert refused(made)
    assert program.refreshes(made["refresh_token"]).status_code == 400


def test_a_program_gives_its_tokens_back(kitchen: Kitchen) -> None:
    program = Program.introduced()
    made = program.signs_in(kitchen.bob)
    other = Program.introduced("Other")
    assert other.post("/identity/o/api/revoke", {"token": made["refresh_token"]}).status_code == 200
    assert auth.caller(header(made)).kind == "account", "another program's word ends nothing"
    wrong_hint = {"token": made["refresh_token"], "token_type_hint": "access_token"}
    assert program.post("/identity/o/api/revoke", wrong_hint).status_code == 200
    assert refused(made)
    assert program.refreshes(made["refresh_token"]).status_code == 400
    assert Connection.objects.get(client=program.id).revoked_at is not None


def test_a_program_that_gives_back_only_its_access_token_may_still_renew_it(kitchen: Kitchen) -> None:
    program = Program.introduced()
    made = program.signs_in(kitchen.bob)
    assert program.post("/identity/o/api/revoke", {"token": made["access_token"]}).status_code == 200
    assert refused(made)
    assert auth.caller(header(program.refreshes(made["refresh_token"]).json())).kind == "account"


def test_no_token_is_stored_as_it_is(kitchen: Kitchen) -> None:
    program = Program.introduced(token_endpoint_auth_method="client_secret_post")
    made = program.signs_in(kitchen.bob)
    stored = str(
        [list(model.objects.values()) for model in (Token, Connection, Consent, type(Token.objects.all()[0].client))]
    )
    assert program.secret
    for secret in (made["access_token"], made["refresh_token"], program.secret):
        assert secret not in stored
