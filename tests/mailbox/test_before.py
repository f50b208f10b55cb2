"""Mail that was stored before inboxes were read gets what reading needs."""

from __future__ import annotations

from importlib import import_module

from django.apps import apps

from messaging.models import Recipient
from tests.approvals.kitchen import Kitchen
from tests.mailbox.post import allow, bodies, read, send, works


def test_old_mail_is_read_as_new_mail_is(kitchen: Kitchen) -> None:
    allow(kitchen, kitchen.gemini, kitchen.bob)
    source = works(kitchen, kitchen.bob)
    first = send(kitchen, kitchen.claude, source, "gemini codex", "one")
    send(kitchen, kitchen.claude, source, "gemini", "two")
    kitchen.ask(kitchen.bob, "@gemini three")

    def stored() -> set[tuple[str, int, int | None, int | None, bool]]:
        rows = Recipient.objects.select_related("member")
        return {(row.member.handle, row.seq, row.principal, row.open_to, row.read_at is None) for row in rows}

    as_new = stored()
    Recipient.objects.update(principal=None, open_to=None, read_at=None)
    import_module("approvals.migrations.0012_mail_that_was_there").fill(apps, None)
    assert stored() == as_new
    assert ("codex", first.seq, kitchen.bob.pk, None, True) in as_new, "its owner was not asked yet"
    assert bodies(read(kitchen, kitchen.gemini, kitchen.danas.run())) == ["one", "two"]
