"""What was said and done."""

from __future__ import annotations

from typing import Any, ClassVar

from django.db import models
from django.db.models import Case, F, Q, When
from django.utils import timezone

from rooms.models import Member, Room

TOPIC = r"^[a-z0-9][a-z0-9._/-]{0,99}$"


class Entry(models.Model):
    """One thing that happened, with its room's next number. Only ``messaging.log`` writes it; nothing changes it.

    ``principal``, ``source_turn``, ``connection`` and ``parent_seq`` are plain values: what they name may go.
    """

    class Kind(models.TextChoices):
        MESSAGE = "message"
        DELIVERED = "delivered"
        READ = "read"
        ACCEPTED = "accepted"
        DECLINED = "declined"
        DONE = "done"
        TURN = "turn"
        TEXT = "text"
        PLAN = "plan"
        TOOL_CALL = "tool_call"
        FILE_CHANGE = "file_change"
        ARTIFACT = "artifact"
        NOTICE = "notice"
        APPROVAL = "approval"
        STATUS = "status"
        JOINED = "joined"
        LEFT = "left"
        CONTROL = "control"
        BLANKED = "blanked"

    RECEIPTS = ("delivered", "read", "accepted", "declined", "done")

    room = models.ForeignKey(Room, models.CASCADE, related_name="entries")
    seq = models.PositiveBigIntegerField()
    kind = models.CharField(max_length=12, choices=Kind.choices)
    author = models.ForeignKey(Member, models.RESTRICT, null=True, blank=True, related_name="entries")
    """None for the system."""
    principal = models.BigIntegerField(null=True, blank=True)
    """Id of the user in whose name it was done."""
    source_turn = models.BigIntegerField(null=True, blank=True)
    """The turn in which an agent did it."""
    hop = models.PositiveSmallIntegerField(default=0)
    topic = models.CharField(max_length=100, default="general")
    parent_seq = models.PositiveBigIntegerField(null=True, blank=True)
    subject = models.CharField(max_length=200, blank=True)
    body = models.TextField(blank=True)
    data = models.JSONField(default=dict, blank=True)
    body_hash = models.CharField(max_length=64)
    """SHA-256 over subject, body and data; it stays when they are blanked."""
    ticket = models.CharField(max_length=200, blank=True)
    session = models.CharField(max_length=100, blank=True)
    connection = models.CharField(max_length=100, blank=True)
    """What it came by: ``web``, ``machine:7``, ``connection:1f2e3d4c`` (how its hash begins); empty for the system."""
    client_id = models.CharField(max_length=200, blank=True)
    digest = models.CharField(max_length=64)
    """SHA-256 over the room's previous digest and this entry's canonical form."""
    created_at = models.DateTimeField(default=timezone.now)

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["room", "seq"], name="entry_number_once"),
            models.UniqueConstraint(
                fields=["author", "connection", "client_id"], condition=~Q(client_id=""), name="entry_client_id_once"
            ),
            models.UniqueConstraint(
                fields=["room", "parent_seq", "author", "kind"],
                condition=Q(kind__in=["delivered", "read", "accepted", "declined", "done"]),
                name="receipt_once",
            ),
            models.CheckConstraint(
                condition=Q(parent_seq=None) | Q(parent_seq__lt=F("seq")), name="entry_parent_is_earlier"
            ),
            models.CheckConstraint(condition=Q(topic__regex=TOPIC), name="entry_topic_plain"),
            models.CheckConstraint(
                condition=Q(
                    kind__in=[
                        "message", "delivered", "read", "accepted", "declined", "done", "turn", "text", "plan",
                        "tool_call", "file_change", "artifact", "notice", "approval", "status", "joined", "left",
                        "control", "blanked",
                    ]
                ),
                name="entry_kind_known",
            ),
        ]  # fmt: skip
        indexes: ClassVar = [
            models.Index(fields=["room", "parent_seq"], name="entry_children"),
            models.Index(fields=["room", "created_at"], name="entry_age"),
        ]

    def save(self, *args: Any, **kwargs: Any) -> None:
        raise TypeError("Entries are written by messaging.log alone, and never changed.")


class Recipient(models.Model):
    """A message in one member's inbox: a projection of the receipts, for speed."""

    entry = models.ForeignKey(Entry, models.CASCADE, related_name="recipients")
    member = models.ForeignKey(Member, models.CASCADE, related_name="inbox")
    seq = models.PositiveBigIntegerField()
    principal = models.BigIntegerField(null=True, blank=True)
    """Id of the user in whose name it came: the entry's."""
    open_to = models.BigIntegerField(null=True, blank=True)
    """Id of the user in whose turns the agent may read it.

    None while its owner has not let it in, where nobody stands behind it, and where its words come as a turn.
    """
    notice_turn = models.BigIntegerField(null=True, blank=True)
    """The turn whose offer names it."""
    noticed_at = models.DateTimeField(null=True, blank=True)
    read_at = models.DateTimeField(null=True, blank=True)
    # While it is unread, its number once more. Only the index that fits has it, so that no database is tempted to walk
    # along another one over what it then throws away.
    waits = models.GeneratedField(
        expression=Case(When(read_at=None, then=F("seq"))),
        output_field=models.PositiveBigIntegerField(null=True), db_persist=True, null=True,
    )  # fmt: skip
    waits_open = models.GeneratedField(
        expression=Case(When(read_at=None, open_to__isnull=False, then=F("seq"))),
        output_field=models.PositiveBigIntegerField(null=True), db_persist=True, null=True,
    )  # fmt: skip
    awaited_until = models.DateTimeField(null=True, blank=True)
    """So long its sender, an agent, waits for an answer; None once there is one."""

    class Meta:
        constraints: ClassVar = [models.UniqueConstraint(fields=["entry", "member"], name="recipient_once")]
        # A read of an inbox touches the rows that it returns and no others: every column that it asks for leads.
        indexes: ClassVar = [
            models.Index(fields=["member", "waits"], name="recipient_unread"),
            models.Index(fields=["member", "open_to", "waits_open"], name="recipient_unread_in_turn"),
            models.Index(fields=["member", "seq"], name="recipient_mail"),
            models.Index(fields=["member", "open_to", "seq"], name="recipient_mail_in_turn"),
            models.Index(fields=["awaited_until"], condition=Q(awaited_until__isnull=False), name="recipient_awaited"),
        ]


class Attachment(models.Model):
    """A file of an entry. Its bytes lie under its source and SHA-256."""

    entry = models.ForeignKey(Entry, models.CASCADE, related_name="attachments")
    source = models.CharField(max_length=40)
    """Whose content it is, see ``messaging.files``."""
    sha256 = models.CharField(max_length=64)
    name = models.CharField(max_length=255)
    content_type = models.CharField(max_length=100)
    size = models.PositiveBigIntegerField()

    class Meta:
        indexes: ClassVar = [models.Index(fields=["source", "sha256"], name="attachment_names")]


class Anchor(models.Model):
    """Where a room's chain begins after a clean-up: the last entry that was removed."""

    room = models.OneToOneField(Room, models.CASCADE, related_name="anchor")
    seq = models.PositiveBigIntegerField()
    digest = models.CharField(max_length=64)
    at = models.DateTimeField(default=timezone.now)
