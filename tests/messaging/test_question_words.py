"""How a question reads: to the owner on its page, and to the others in the room."""

from __future__ import annotations

import pytest
from django.test import Client

from agentroom_machine import wire
from approvals.models import Approval
from rooms.models import User
from tests.approvals.kitchen import Kitchen

pytestmark = pytest.mark.django_db
KINDS: dict[wire.Subject, tuple[str, str]] = {
    "push": ("What pushes or publishes", "Approve this push"),
    "delete": ("What deletes", "Approve this deletion"),
    "spend": ("What may cost money", "Approve this payment"),
    "credentials": ("What touches secrets", "Approve this use of credentials"),
    "unreadable": ("What can’t be understood by reading it", "Approve this command"),
}


def seen(user: User, path: str) -> str:
    client = Client()
    client.force_login(user)
    return client.get(path).content.decode()


def asked(
    kitchen: Kitchen, subject: wire.Subject, *, title: str = "claude wants to", action: str = "do it"
) -> Approval:
    kitchen.ask(kitchen.alice, "@claude release")
    turn = kitchen.daemon.run()
    kitchen.daemon.tell(turn, wire.QuestionFact(key="k", subject=subject, title=title, action=action, short="do `it`"))
    return Approval.objects.get(turn=turn)


@pytest.mark.parametrize("subject", KINDS)
def test_each_kind_says_why_it_waits_and_its_button_names_the_act(kitchen: Kitchen, subject: wire.Subject) -> None:
    what, act = KINDS[subject]
    approval = asked(kitchen, subject, action="SECRET plan")
    page = seen(kitchen.alice, f"/questions/{approval.pk}/")
    assert f"{what} waits for your yes, whoever asked for it." in page
    assert f">{act}</button>" in page.replace("</svg>", ">")
    assert "Allow always" not in page
    for other in (kitchen.bob, kitchen.vera):
        room = seen(other, f"/rooms/{kitchen.room.pk}/")
        assert f'{what} waits for <span data-handle="alice">alice</span>, whoever asked for it.' in room
        assert "<p>do <code>it</code></p>" in room
        assert act not in room
        assert "SECRET" not in room


def test_what_is_of_none_of_the_kinds_gives_no_such_reason(kitchen: Kitchen) -> None:
    approval = asked(kitchen, "tool")
    page = seen(kitchen.alice, f"/questions/{approval.pk}/")
    assert "whoever asked for it" not in page + seen(kitchen.bob, f"/rooms/{kitchen.room.pk}/")
    assert ">Approve once</button>" in page


def test_a_long_title_is_cut_and_the_action_is_not(kitchen: Kitchen) -> None:
    approval = asked(kitchen, "delete", title=f"claude wants to delete {'x' * 1000}", action=f"rm {'x' * 1000}")
    page = seen(kitchen.alice, f"/questions/{approval.pk}/")
    assert f"{'x' * 136}…</h2>" in page
    assert f"rm {'x' * 1000}" in page


def test_where_it_would_run_is_said_once(kitchen: Kitchen) -> None:
    workdir = kitchen.claude.workdir
    for action, times in ((f"rm -rf build\n\nin {workdir}", 1), (f"rm -rf build\n\nin {workdir}/sub", 2)):
        approval = asked(kitchen, "delete", action=action)
        assert seen(kitchen.alice, f"/questions/{approval.pk}/").count(workdir) == times
        kitchen.daemon.end(approval.turn_id)


@pytest.mark.parametrize("said", ["", "it is switched off"])
def test_only_a_machine_that_does_not_confine_is_mentioned(kitchen: Kitchen, said: str) -> None:
    """Where a confined command runs stands in the action, because the machine alone knows."""
    kitchen.daemon.confined = {kitchen.claude.pk: said}
    kitchen.daemon.sync()
    page = seen(kitchen.alice, f"/questions/{asked(kitchen, 'push').pk}/")
    assert (f"not confined</span> {said}" in page) is bool(said)
    assert "no network" not in page
