"""What an agent may do."""

from __future__ import annotations

from decimal import Decimal
from typing import ClassVar

from django.db import models
from django.db.models import Q
from django.utils import timezone

from messaging.models import Entry
from rooms.models import Agent, Machine, Member, Room, User


class Grant(models.Model):
    """What one person may start on one agent: in one room (``member``), or wherever both sit (``person``)."""

    class Level(models.TextChoices):
        ASK = "ask"
        ALWAYS = "always"
        DENY = "deny"

    agent = models.ForeignKey(Agent, models.CASCADE, related_name="grants")
    member = models.ForeignKey(Member, models.CASCADE, null=True, blank=True, related_name="grants")
    person = models.ForeignKey(User, models.CASCADE, null=True, blank=True, related_name="grants")
    level = models.CharField(max_length=10, choices=Level.choices)
    expires_at = models.DateTimeField(null=True, blank=True)
    last_used_at = models.DateTimeField(null=True, blank=True)
    updated_at = models.DateTimeField(default=timezone.now)

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["agent", "member"], name="one_grant_per_agent_and_seat"),
            models.UniqueConstraint(fields=["agent", "person"], name="one_grant_per_agent_and_person"),
            models.CheckConstraint(
                condition=Q(member=None, person__isnull=False) | Q(member__isnull=False, person=None),
                name="grant_seat_or_person",
            ),
            models.CheckConstraint(condition=Q(level__in=["ask", "always", "deny"]), name="grant_level_known"),
        ]


class AnswerTimes(models.Model):
    """How many minutes an agent's questions wait before they lapse to no, as its owner set it."""

    agent = models.OneToOneField(Agent, models.CASCADE, related_name="times")
    four_minutes = models.PositiveIntegerField(default=15)
    """Push, delete, spend, credentials, and what can't be read."""
    tool_minutes = models.PositiveIntegerField(default=60)
    question_minutes = models.PositiveIntegerField(default=1440)
    start_minutes = models.PositiveIntegerField(null=True, blank=True)
    """None: a request to start never lapses."""

    class Meta:
        constraints: ClassVar = [
            models.CheckConstraint(
                condition=Q(four_minutes__gte=1, tool_minutes__gte=1, question_minutes__gte=1)
                & (Q(start_minutes=None) | Q(start_minutes__gte=1)),
                name="answer_times_are_times",
            ),
        ]


class Limit(models.Model):
    """How much one person may have from one agent in a while; None is no limit."""

    agent = models.ForeignKey(Agent, models.CASCADE, related_name="limits")
    person = models.ForeignKey(User, models.CASCADE, related_name="+")
    requests_a_day = models.PositiveIntegerField(null=True, blank=True)
    minutes_a_day = models.PositiveIntegerField(null=True, blank=True)
    tokens_a_month = models.PositiveBigIntegerField(null=True, blank=True)
    cost_a_month = models.DecimalField(max_digits=10, decimal_places=2, null=True, blank=True)
    """In US dollars."""
    updated_at = models.DateTimeField(default=timezone.now)

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["agent", "person"], name="one_limit_per_agent_and_person"),
        ]


class Turn(models.Model):
    """One agent's work on one message, in the name of its principal."""

    class Status(models.TextChoices):
        ASKED = "asked"
        QUEUED = "queued"
        OFFERED = "offered"
        RUNNING = "running"
        DONE = "done"
        FAILED = "failed"
        STOPPED = "stopped"
        INTERRUPTED = "interrupted"
        REFUSED = "refused"
        CANCELLED = "cancelled"

    WAITING = ("asked", "queued", "offered")
    ENDED = ("done", "failed", "stopped", "interrupted", "refused", "cancelled")

    room = models.ForeignKey(Room, models.CASCADE, related_name="turns")
    entry = models.ForeignKey(Entry, models.CASCADE, related_name="turns")
    agent = models.ForeignKey(Agent, models.CASCADE, related_name="turns")
    principal = models.ForeignKey(User, models.SET_NULL, null=True, blank=True, related_name="+")
    machine = models.ForeignKey(Machine, models.SET_NULL, null=True, blank=True, related_name="turns")
    claim_id = models.CharField(max_length=100, blank=True)
    journal_id = models.CharField(max_length=100, blank=True)
    cause = models.CharField(
        max_length=10, choices=[("message", "message"), ("mail", "mail"), ("ask", "ask")], default="message"
    )
    """A person's message, agents' mail, or an agent's own question to its owner (which runs nothing)."""
    status = models.CharField(max_length=12, choices=Status.choices)
    note = models.CharField(max_length=2000, blank=True)
    """Why it ended so."""
    ended_by = models.ForeignKey(User, models.SET_NULL, null=True, blank=True, related_name="+")
    retry_of = models.ForeignKey("self", models.SET_NULL, null=True, blank=True, related_name="retries")
    created_at = models.DateTimeField(default=timezone.now)
    queued_at = models.DateTimeField(null=True, blank=True)
    started_at = models.DateTimeField(null=True, blank=True)
    finished_at = models.DateTimeField(null=True, blank=True)
    stop_asked_at = models.DateTimeField(null=True, blank=True)
    usage = models.JSONField(default=dict, blank=True)
    tokens = models.PositiveBigIntegerField(default=0)
    """In and out, as the runtime reported them; 0 when it reports none."""
    cost_usd = models.DecimalField(max_digits=14, decimal_places=6, default=Decimal(0))
    outlived_at = models.DateTimeField(null=True, blank=True)
    """When the permission that it started under was taken back while it ran."""

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["entry", "agent"], condition=~Q(cause="mail"), name="one_turn_per_message_and_agent"
            ),
            models.UniqueConstraint(fields=["agent"], condition=Q(status="running"), name="one_running_turn_per_agent"),
            models.CheckConstraint(
                condition=Q(
                    status__in=[
                        "asked", "queued", "offered", "running", "done", "failed", "stopped", "interrupted",
                        "refused", "cancelled",
                    ]
                ),
                name="turn_status_known",
            ),
            models.CheckConstraint(condition=Q(cause__in=["message", "mail", "ask"]), name="turn_cause_known"),
            models.CheckConstraint(
                condition=Q(
                    status__in=["done", "failed", "stopped", "interrupted", "refused", "cancelled"],
                    finished_at__isnull=False,
                )
                | Q(status__in=["asked", "queued", "offered", "running"], finished_at=None),
                name="turn_ended_has_a_time",
            ),
        ]  # fmt: skip
        indexes: ClassVar = [
            models.Index(
                fields=["agent", "id"], condition=Q(status__in=["asked", "queued", "offered"]), name="turn_waiting"
            ),
            models.Index(fields=["machine", "status"], name="turn_on_machine"),
        ]

    def __str__(self) -> str:
        return f"turn {self.pk}: {self.status}"


class Spent(models.Model):
    """What a person had from an agent in a turn that a clean-up took: a person's limits still count it."""

    agent = models.ForeignKey(Agent, models.CASCADE, related_name="+")
    person = models.ForeignKey(User, models.CASCADE, related_name="+")
    queued_at = models.DateTimeField(null=True, blank=True)
    """When it was let in; None for a request that ended before it began."""
    started_at = models.DateTimeField(null=True, blank=True)
    finished_at = models.DateTimeField()
    tokens = models.PositiveBigIntegerField(default=0)
    cost_usd = models.DecimalField(max_digits=14, decimal_places=6, default=Decimal(0))

    class Meta:
        indexes: ClassVar = [models.Index(fields=["agent", "person"], name="spent_by_whom")]


class Mail(models.Model):
    """Further mail that a mail turn is about, beside ``Turn.entry``: always of the same principal.

    A receipt starts a turn on the message that it is about, which its reader wrote; the receipt itself stands here.
    """

    turn = models.ForeignKey(Turn, models.CASCADE, related_name="mail")
    entry = models.ForeignKey(Entry, models.CASCADE, related_name="+")

    class Meta:
        constraints: ClassVar = [models.UniqueConstraint(fields=["turn", "entry"], name="mail_once_in_a_turn")]


class Report(models.Model):
    """What an agent last said of itself in a room: a projection of its status entries, for speed."""

    class Status(models.TextChoices):
        WORKING = "working"
        BLOCKED = "blocked"
        USAGE_LIMITED = "usage_limited"
        AVAILABLE = "available"

    member = models.OneToOneField(Member, models.CASCADE, related_name="report")
    status = models.CharField(max_length=15, choices=Status.choices)
    note = models.CharField(max_length=2000, blank=True)
    ticket = models.CharField(max_length=200, blank=True)
    until = models.DateTimeField(null=True, blank=True)
    turn = models.BigIntegerField(null=True, blank=True)
    """Id of the turn that it spoke from."""
    at = models.DateTimeField(default=timezone.now)

    class Meta:
        constraints: ClassVar = [
            models.CheckConstraint(
                condition=Q(status__in=["working", "blocked", "usage_limited", "available"]), name="report_status_known"
            ),
        ]


class Exchange(models.Model):
    """How long the agents of a room have been talking among themselves."""

    room = models.OneToOneField(Room, models.CASCADE, related_name="exchange")
    since_seq = models.PositiveBigIntegerField(default=0)
    """The last message of a person: what agents said after it counts."""
    paused_at = models.DateTimeField(null=True, blank=True)
    """Their mail waits until a person speaks."""


class Approval(models.Model):
    """A question to a person, bound to exactly one action."""

    class Subject(models.TextChoices):
        START = "start"
        PUSH = "push"
        DELETE = "delete"
        SPEND = "spend"
        CREDENTIALS = "credentials"
        UNREADABLE = "unreadable"
        TOOL = "tool"
        QUESTION = "question"
        ASK = "ask"
        """An agent asks its owner something and goes on; the answer comes as mail and grants nothing."""

    class Verdict(models.TextChoices):
        OPEN = ""
        ONCE = "once"
        ALWAYS = "always"
        NO = "no"
        LAPSED = "lapsed"
        GONE = "gone"

    turn = models.ForeignKey(Turn, models.CASCADE, related_name="approvals")
    key = models.CharField(max_length=100, blank=True)
    """The machine's name for it; empty for a request to start."""
    subject = models.CharField(max_length=12, choices=Subject.choices)
    title = models.CharField(max_length=2000, blank=True)
    action = models.TextField(blank=True)
    """The whole action, for whoever may answer."""
    short = models.CharField(max_length=2000, blank=True)
    """What the room sees."""
    options = models.JSONField(default=list, blank=True)
    call = models.CharField(max_length=100, blank=True)
    action_digest = models.CharField(max_length=64)
    verdict = models.CharField(max_length=10, choices=Verdict.choices, blank=True, default="")
    note = models.TextField(blank=True)
    decided_by = models.ForeignKey(User, models.SET_NULL, null=True, blank=True, related_name="+")
    decided_at = models.DateTimeField(null=True, blank=True)
    expires_at = models.DateTimeField(null=True, blank=True)
    created_at = models.DateTimeField(default=timezone.now)

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["turn"], condition=Q(subject="start"), name="one_start_question_per_turn"),
            models.UniqueConstraint(fields=["turn", "key"], condition=~Q(key=""), name="question_key_once"),
            models.CheckConstraint(
                condition=Q(verdict="", decided_at=None) | (~Q(verdict="") & Q(decided_at__isnull=False)),
                name="verdict_and_time_together",
            ),
            models.CheckConstraint(
                condition=Q(verdict__in=["", "once", "always", "no", "lapsed", "gone"]), name="verdict_known"
            ),
            models.CheckConstraint(
                condition=Q(
                    subject__in=[
                        "start", "push", "delete", "spend", "credentials", "unreadable", "tool", "question", "ask",
                    ]
                ),
                name="approval_subject_known",
            ),
        ]  # fmt: skip
        indexes: ClassVar = [models.Index(fields=["turn"], condition=Q(verdict=""), name="approval_open")]


class Undo(models.Model):
    """What an ended turn left different on its machine, and what became of putting it back."""

    turn = models.OneToOneField(Turn, models.CASCADE, related_name="undo")
    changes = models.JSONField(default=dict)
    """Lists of paths as the machine reported them: created, changed, deleted; and how many more, how many lost."""
    asked_at = models.DateTimeField(null=True, blank=True)
    asked_by = models.ForeignKey(User, models.SET_NULL, null=True, blank=True, related_name="+")
    done_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints: ClassVar = [
            models.CheckConstraint(
                condition=Q(done_at=None) | Q(asked_at__isnull=False), name="undone_only_when_asked"
            ),
        ]
        indexes: ClassVar = [
            models.Index(fields=["turn"], condition=Q(asked_at__isnull=False, done_at=None), name="undo_open"),
        ]


class AuditRecord(models.Model):
    """Something decided or done, for one owner's trail. It only grows; ``approvals.audit`` writes it."""

    owner = models.ForeignKey(User, models.CASCADE, related_name="audit")
    number = models.PositiveBigIntegerField()
    room = models.CharField(max_length=80, blank=True)
    agent = models.CharField(max_length=32, blank=True)
    """The handle of the agent that it is about."""
    who = models.CharField(max_length=60)
    what = models.CharField(max_length=40)
    about = models.TextField(blank=True)
    in_name_of = models.CharField(max_length=60, blank=True)
    decision = models.CharField(max_length=40, blank=True)
    at = models.DateTimeField()
    digest = models.CharField(max_length=64)

    class Meta:
        constraints: ClassVar = [models.UniqueConstraint(fields=["owner", "number"], name="audit_number_once")]
