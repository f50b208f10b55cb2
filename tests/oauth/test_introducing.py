"""Anybody may introduce a program. It is let in nowhere by that, and bad ones are not even known."""

from __future__ import annotations

import base64
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from allauth.idp.oidc.models import Client as Known
from allauth.idp.oidc.models import Token
from django.contrib.auth import hashers
from django.db import connection
from django.test import Client
from django.utils import timezone
from pytest_django.fixtures import Settings

from agentroom import auth
from rooms import membership
from rooms.models import Connection, Consent
from tests.approvals.kitchen import Kitchen
from tests.oauth.program import CLIENTS, TOKEN, Program, browser_of, introduce, told

REVOKE = "/identity/o/api/revoke"

FINE = [
    "http://127.0.0.1:41414/callback", "http://localhost:1/callback", "http://[::1]:7/cb", "http://localhost/callback",
    "https://agents.example/cb?x=1", "cursor://anysphere.cursor-mcp/oauth/callback",
]  # fmt: skip
BAD = [
    "javascript:alert(1)", "JavaScript://x/%0aalert(1)", "data:text/html,x", "file:///etc/passwd", "http://evil.example/cb",
    "http://127.0.0.1.evil.example/cb", "http://localhost@evil.example/cb", "https://user:pw@agents.example/cb",
    "https://agents.example/cb#part", "https://*.example/cb", "https:///cb", "https://agents.example/c b",
    "https://agents.example/cb\njavascript:alert(1)", "https://agents.example:port/", "ftp://agents.example/", "/cb",
    "", "https://агент.example/cb", "https://agents.example/\\@evil.example", "https://agents.example/" + "x" * 2000,
]  # fmt: skip


@pytest.mark.parametrize("uri", FINE)
def test_a_program_takes_its_answer_on_the_persons_computer_or_at_a_site(uri: str, db: None) -> None:
    made = introduce(client_name="Codex", redirect_uris=[uri])
    assert made.status_code == 201
    assert made.json()["redirect_uris"] == [uri]


@pytest.mark.parametrize("uri", BAD)
def test_a_program_takes_its_answer_nowhere_else(uri: str, db: None) -> None:
    for uris in ([uri], ["https://agents.example/cb", uri]):
        answer = introduce(client_name="Codex", redirect_uris=uris)
        assert answer.status_code == 400
    assert not Known.objects.exists()


@pytest.mark.parametrize(
    "metadata",
    [
        {"response_types": ["token"]},
        {"response_types": ["code", "id_token"]},
        {"grant_types": ["client_credentials"]},
        {"grant_types": ["implicit"]},
        {"grant_types": ["password"]},
        {"redirect_uris": [f"https://agents.example/{n}" for n in range(11)]},
        {"redirect_uris": []},
        {"redirect_uris": "https://agents.example/"},
        {"client_name": "<b>Codex</b>"},
        {"client_name": "C\x00dex"},
        {"client_name": "C" * 200},
        {"token_endpoint_auth_method": "private_key_jwt"},
    ],
    ids=str,
)
def test_what_this_server_does_not_do_is_not_registered(metadata: dict[str, object], db: None) -> None:
    given = {"redirect_uris": ["https://agents.example/"]} | metadata
    assert introduce(**given).status_code == 400
    assert not Known.objects.exists()


def test_what_it_may_ask_for_is_not_its_own_choice(db: None) -> None:
    made = introduce(redirect_uris=["https://agents.example/"], scope="openid email profile admin").json()
    assert made["scope"] == "agentroom openid"
    assert made["response_types"] == ["code"]
    assert Known.objects.get().data == {"dcr": True}


def test_a_secret_has_no_special_characters(db: None) -> None:
    made = introduce(redirect_uris=["https://agents.example/"], token_endpoint_auth_method="client_secret_basic").json()
    assert made["client_secret"].replace("-", "").replace("_", "").isalnum()
    assert len(made["client_secret"]) >= 43


@pytest.mark.parametrize(
    "body", [b"", b"[]", b"{", b'{"redirect_uris": ' + b"[" * 9000, b"\xff", b'{"x": "' + b"x" * 30_000]
)
def test_what_is_no_introduction_is_refused_calmly(body: bytes, db: None) -> None:
    assert Client().post(CLIENTS, body, content_type="application/json").status_code in (400, 413)
    assert not Known.objects.exists()


def test_introductions_are_limited_by_address(db: None, settings: Settings) -> None:
    settings.IDP_OIDC_RATE_LIMITS = {"client_registration": "2/m/ip"}
    told_ = [introduce(redirect_uris=["https://agents.example/"]).status_code for _ in range(3)]
    assert told_ == [201, 201, 429]
    assert Known.objects.count() == 2


def test_guesses_at_secrets_are_limited_by_address(kitchen: Kitchen, settings: Settings) -> None:
    settings.ACCOUNT_RATE_LIMITS = {"token": "2/m/ip"}
    program = Program.introduced(token_endpoint_auth_method="client_secret_post")
    program.secret = "guessed"
    assert [program.redeems("c").status_code for _ in range(3)] == [401, 401, 429]


@pytest.fixture
def hashed(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """For each hash or comparison of a secret: whether a transaction was open, in which nobody else writes."""
    found: list[bool] = []
    hasher = hashers.MD5PasswordHasher
    of_the_test = len(connection.savepoint_ids)

    def counted(encode: Callable[..., str]) -> Callable[..., str]:
        def encoded(*args: Any, **kwargs: Any) -> str:
            found.append(len(connection.savepoint_ids) > of_the_test)
            return encode(*args, **kwargs)

        return encoded

    monkeypatch.setattr(hasher, "encode", counted(hasher.encode))
    return found


def test_a_secret_is_hashed_and_compared_while_others_write(kitchen: Kitchen, hashed: list[bool]) -> None:
    program = Program.introduced(token_endpoint_auth_method="client_secret_post")
    assert hashed == [False]
    made = program.signs_in(kitchen.bob)
    made = program.refreshes(made["refresh_token"]).json()
    wrong = replace(program, secret="guessed")
    assert wrong.refreshes(made["refresh_token"]).status_code == 401
    assert program.post(REVOKE, {"token": made["refresh_token"]}).status_code == 200
    assert hashed == [False] * 5


def test_a_secret_is_compared_where_it_comes_in_a_header(kitchen: Kitchen, hashed: list[bool]) -> None:
    program = Program.introduced(token_endpoint_auth_method="client_secret_basic")
    basic = base64.b64encode(f"{program.id}:{program.secret}".encode()).decode()
    header = replace(program, secret="", http=Client(headers={"Authorization": f"Basic {basic}"}))
    assert header.signs_in(kitchen.bob)
    assert hashed == [False] * 2


def test_a_program_without_a_secret_costs_no_hash(db: None, hashed: list[bool]) -> None:
    assert "client_secret" not in introduce(redirect_uris=["https://agents.example/"]).json()
    assert hashed == []


def test_what_comes_too_often_is_neither_read_nor_hashed(
    kitchen: Kitchen, settings: Settings, hashed: list[bool]
) -> None:
    program = Program.introduced(token_endpoint_auth_method="client_secret_post")
    hashed.clear()
    settings.IDP_OIDC_RATE_LIMITS = {"client_registration": "0/m/ip"}
    settings.ACCOUNT_RATE_LIMITS = {"token": "0/m/ip", "device_code": "0/m/ip"}
    assert introduce(redirect_uris=["https://agents.example/"], token_endpoint_auth_method="").status_code == 429
    assert Client().post(CLIENTS, b"x" * 30_000, content_type="application/json").status_code == 429
    for path in (TOKEN, REVOKE, "/identity/o/api/device/code"):
        assert program.post(path, {"token": "t", "grant_type": "refresh_token"}).status_code == 429
    assert hashed == []


def test_unused_programs_do_not_pile_up_and_keep_nobody_out_for_long(
    kitchen: Kitchen, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("agentroom.oauth.adapter.MOST_UNUSED", 2)
    used = Program.introduced()
    used.signs_in(kitchen.bob)
    told_ = [introduce(redirect_uris=["https://agents.example/"]).status_code for _ in range(3)]
    assert told_ == [201, 201, 400]
    later(minutes=11)
    assert introduce(redirect_uris=["https://agents.example/"]).status_code == 201
    assert Known.objects.filter(pk=used.id).exists()
    assert Known.objects.count() == 2


def test_programs_whose_sign_ins_ended_keep_nobody_out(kitchen: Kitchen, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("agentroom.oauth.adapter.MOST_UNUSED", 2)
    for _ in range(3):
        Program.introduced().signs_in(kitchen.bob)
    Connection.objects.update(revoked_at=timezone.now())
    Token.objects.all().delete()
    told_ = [introduce(redirect_uris=["https://agents.example/"]).status_code for _ in range(3)]
    assert told_ == [201, 201, 400]


# --- what is forgotten ----------------------------------------------------------------------------------------------


def later(**since: float) -> None:
    """Let everything that was made have been made so much earlier."""
    earlier = timezone.now() - timedelta(**since)
    for model in (Known, Consent, Connection):
        model.objects.update(created_at=earlier)


def test_a_program_that_nobody_used_is_forgotten_after_a_day(kitchen: Kitchen) -> None:
    unused, used = Program.introduced(), Program.introduced()
    used.signs_in(kitchen.bob)
    membership.forget()
    assert Known.objects.count() == 2
    later(days=1, minutes=1)
    membership.forget()
    assert set(Known.objects.values_list("pk", flat=True)) == {used.id} - {unused.id}


def test_a_program_whose_sign_in_was_ended_may_come_again_without_introducing_itself(kitchen: Kitchen) -> None:
    program = Program.introduced()
    made = program.signs_in(kitchen.bob)
    connection = auth.caller(f"Bearer {made['access_token']}").connection
    membership.revoke_connection(kitchen.bob, connection.pk)
    later(days=2)
    membership.forget()
    assert not Token.objects.filter(type__in=("at", "rt")).exists()
    assert program.signs_in(kitchen.bob)
    Token.objects.all().delete()
    membership.forget()
    Connection.objects.update(revoked_at=timezone.now() - timedelta(days=91))
    membership.forget()
    assert not Known.objects.exists()


def test_of_many_programs_whose_sign_ins_ended_those_stay_that_were_used_last(
    kitchen: Kitchen, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rooms.membership.sign_ins.MOST_KEPT", 1)
    long_ago, lately, standing = (Program.introduced() for _ in range(3))
    for program, days in ((long_ago, 9), (lately, 8), (long_ago, 7), (lately, 1)):
        program.signs_in(kitchen.bob)
        now = timezone.now()
        Connection.objects.filter(revoked_at=None).update(revoked_at=now - timedelta(days=days))
    Token.objects.all().delete()
    standing.signs_in(kitchen.bob)
    membership.forget()
    assert set(Known.objects.values_list("pk", flat=True)) == {lately.id, standing.id}


def test_a_sign_in_whose_tokens_all_expired_is_listed_no_more(kitchen: Kitchen) -> None:
    program = Program.introduced()
    program.signs_in(kitchen.bob)
    lasting = program.signs_in(kitchen.alice)
    Token.objects.filter(user=kitchen.bob).update(expires_at=timezone.now() - timedelta(seconds=1))
    membership.forget()
    assert not Token.objects.filter(user=kitchen.bob).exists()
    assert Connection.objects.get(user=kitchen.bob, client=program.id).revoked_at is not None
    assert auth.caller(f"Bearer {lasting['access_token']}").connection.revoked_at is None


def test_forgetting_leaves_bearer_tokens_and_waiting_consents_alone(kitchen: Kitchen) -> None:
    _, token = membership.connect_account(kitchen.bob, "script")
    program = Program.introduced()
    code = told(program.consented(browser_of(kitchen.bob), "account")["Location"])["code"]
    membership.forget()
    assert auth.caller(f"Bearer {token}").kind == "account"
    assert program.redeems(code).status_code == 200


def test_an_old_consent_is_forgotten(kitchen: Kitchen) -> None:
    program = Program.introduced()
    code = told(program.consented(browser_of(kitchen.bob), "account")["Location"])["code"]
    later(hours=1, minutes=1)
    membership.forget()
    assert not Consent.objects.exists()
    assert program.redeems(code).status_code == 400
