"""Mail that was stored before inboxes were read: in whose name it came, and what a turn may see of it."""

from typing import ClassVar

from django.db import migrations
from django.db.models import Exists, F, OuterRef, Subquery
from django.utils import timezone

WAITING = ["asked", "queued", "offered"]


def fill(apps, schema_editor) -> None:  # type: ignore[no-untyped-def]
    Recipient = apps.get_model("messaging", "Recipient")
    Entry = apps.get_model("messaging", "Entry")
    Turn = apps.get_model("approvals", "Turn")
    Mail = apps.get_model("approvals", "Mail")
    Recipient.objects.update(principal=Subquery(Entry.objects.filter(pk=OuterRef("entry")).values("principal")[:1]))
    to_agents = Recipient.objects.filter(member__is_agent=True)
    own = Turn.objects.filter(entry=OuterRef("entry"), agent=OuterRef("member__agent"))
    shared = Mail.objects.filter(entry=OuterRef("entry"), turn__agent=OuterRef("member__agent"))
    kept_out = ["asked", "refused", "cancelled"]
    let_in = Exists(own.filter(cause="mail").exclude(status__in=kept_out)) | Exists(
        shared.exclude(turn__status__in=kept_out)
    )
    to_agents.filter(let_in).update(open_to=F("principal"))
    handed_over = own.filter(cause="message").exclude(status__in=WAITING)
    to_agents.filter(Exists(handed_over), read_at=None).update(read_at=timezone.now())


class Migration(migrations.Migration):
    dependencies: ClassVar = [("approvals", "0011_mailbox"), ("messaging", "0005_inbox_by_index")]
    operations: ClassVar = [migrations.RunPython(fill, migrations.RunPython.noop)]
