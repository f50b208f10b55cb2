"""Schemathesis reads the OpenAPI document and calls every operation with what fits it and with what does not.

All of its checks, as five kinds of actor. ``SCHEMATHESIS_EXAMPLES`` says how many examples for each operation, beside
those that its *coverage* phase makes in any case; ``--all`` makes it 200.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest
import schemathesis
from django.core.cache import cache
from django.core.serializers.json import DjangoJSONEncoder
from django.core.signals import request_finished, request_started
from django.core.wsgi import get_wsgi_application
from django.db import close_old_connections, transaction
from django.test import override_settings
from pytest_django import DjangoDbBlocker
from schemathesis import Case
from schemathesis.checks import CheckContext, not_a_server_error
from schemathesis.config import SchemathesisConfig
from schemathesis.core.transport import Response
from schemathesis.specs.openapi.schemas import OpenApiSchema

from agentroom.api import api, machine
from agentroom.api.document import Api
from messaging import chat
from rooms import membership, tokens
from rooms.models import Machine, Member
from tests.api.post import Caller, account, by_hand, in_session, revoked
from tests.approvals.kitchen import Kitchen, make_kitchen
from tests.mailbox.post import send, works

pytestmark = [pytest.mark.django_db, pytest.mark.timeout(3600 if os.environ.get("SCHEMATHESIS_EXAMPLES") else 120)]
ACTORS = ("in a turn", "by hand", "account", "switched off", "revoked")
CHOSEN = os.environ.get("SCHEMATHESIS_EXAMPLES", "")


def document(api: Api) -> OpenApiSchema:
    config = SchemathesisConfig.from_dict(
        {
            "generation": {
                "max-examples": int(CHOSEN or 4),
                # Without a choice each run is the same; with one each run looks elsewhere.
                "deterministic": not CHOSEN,
                "database": "none",
                # The token is the actor's, whatever is generated. ``ignored_auth`` calls without and with another.
                "with-security-parameters": False,
            },
            # What no schema says (a handle that nobody has, a time that has passed) is a rule's to refuse.
            # ``refused_by_a_rule_at_most`` looks that nothing else is.
            "checks": {"positive_data_acceptance": {"expected-statuses": ["2xx", "401", "403", "404", "409", "422"]}},
        }
    )
    written = json.loads(json.dumps(api.get_openapi_schema(), cls=DjangoJSONEncoder))
    schema = schemathesis.openapi.from_dict(written, config=config)
    schema.app = get_wsgi_application()
    return schema


SCHEMA = document(api)
MACHINE = document(machine)


@dataclass(frozen=True)
class Scene:
    callers: dict[str, Caller]
    letter: int
    """A message in claude's inbox, whoever it is called as."""
    said: int
    """A message in the chat of alice's account."""


@pytest.fixture(scope="module")
def scene(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> Iterator[Scene]:
    busy = override_settings(API_CALLS_PER_MINUTE=1_000_000_000)
    with django_db_blocker.unblock(), busy, transaction.atomic():
        cache.clear()
        signals = (request_started, request_finished)
        for signal in signals:  # as Django's own test client does: each request would end our transaction
            signal.disconnect(close_old_connections)
        yield make_scene(make_kitchen())
        for signal in signals:
            signal.connect(close_old_connections)
        transaction.set_rollback(True)


def make_scene(kitchen: Kitchen) -> Scene:
    works(kitchen, kitchen.bob)
    by = {
        "in a turn": in_session(kitchen, kitchen.claude),
        "by hand": by_hand(kitchen, kitchen.claude),
        "account": account(kitchen),
        "switched off": Caller(membership.connect_account(kitchen.dana, "chat")[1]),
        "revoked": revoked(kitchen),
        "machine": of_machine(kitchen),
    }
    chat.switch(kitchen.dana, on=False)
    alice = Member.objects.get(room=membership.account_chat(kitchen.alice))
    said = chat.send(alice, body="Who bakes?", topic="oven", client_id="first", connection="connection:0a1b2c3d")
    return Scene(by, send(kitchen, kitchen.codex, None, "claude").seq, said.number)


def of_machine(kitchen: Kitchen) -> Caller:
    token = tokens.new(tokens.MACHINE)
    Machine.objects.filter(pk=kitchen.daemon.machine.pk).update(token_hash=tokens.digest(token))
    return Caller(token)


@schemathesis.check
def refused_by_a_rule_at_most(ctx: CheckContext, response: Response, case: Case[Any]) -> None:
    """What the document calls fitting is never refused for its shape."""
    if case.meta is not None and case.meta.generation.mode.is_positive and response.status_code == 422:
        assert response.json()["code"] == "invalid", response.text


@pytest.mark.parametrize("actor", ACTORS)
@SCHEMA.parametrize()
def test_every_operation_does_what_the_document_says(case: Case[Any], actor: str, scene: Scene) -> None:
    if case.meta is not None and case.meta.generation.mode.is_positive:
        let_it_reach(case, scene)
    with transaction.atomic():
        case.call_and_validate(headers={"Authorization": f"Bearer {scene.callers[actor].token}"})
        transaction.set_rollback(True)


@MACHINE.parametrize()
def test_nothing_that_a_machine_may_send_breaks_the_server(case: Case[Any], scene: Scene) -> None:
    # Its document is not published: it says what fits and not how a machine hears that something did not.
    with transaction.atomic():
        case.call_and_validate(
            headers={"Authorization": f"Bearer {scene.callers['machine'].token}"}, checks=[not_a_server_error]
        )
        transaction.set_rollback(True)


def let_it_reach(case: Case[Any], scene: Scene) -> None:
    """Make every other call one about somebody and something that is there: few generated ones are."""
    if len(repr((case.body, case.query, case.path_parameters))) % 2:
        return
    if isinstance(case.body, dict) and isinstance(case.body.get("to"), list):
        case.body["to"] = ["codex"]
    if isinstance(case.body, dict) and "reply_to" in case.body:
        case.body["reply_to"], case.body["topic"] = scene.said, ""
    if "number" in case.path_parameters:
        case.path_parameters["number"] = scene.letter
