"""Who is where."""

from __future__ import annotations

from datetime import timedelta
from typing import ClassVar

from django.contrib.auth.models import AbstractUser
from django.core.validators import RegexValidator
from django.db import models
from django.db.models import F, Q
from django.db.models.functions import Lower
from django.utils import timezone

from agentroom_machine.wire import ONLINE_FOR

HANDLE = r"^[a-z0-9][a-z0-9_-]{0,31}$"
handle_is_plain = RegexValidator(
    HANDLE, "Use 1 to 32 of a-z, 0-9, - and _, starting with a letter or a digit.", code="handle"
)


class User(AbstractUser):
    """A person. The username is their handle."""

    username = models.CharField(
        "handle",
        max_length=32,
        unique=True,
        validators=[handle_is_plain],
        error_messages={"unique": "That name is taken."},
    )
    email = models.EmailField(blank=True)
    deputy = models.ForeignKey("self", models.SET_NULL, null=True, blank=True, related_name="+")
    """Who answers for this person's agents until ``deputy_until``."""
    deputy_until = models.DateTimeField(null=True, blank=True)
    gone_at = models.DateTimeField(null=True, blank=True, editable=False)
    """When the account was deleted. The row stays, empty: turns in others' rooms and the audit trail hang on it."""

    class Meta(AbstractUser.Meta):
        constraints: ClassVar = [
            models.CheckConstraint(condition=~Q(deputy=F("id")), name="user_not_own_deputy"),
            models.CheckConstraint(condition=Q(gone_at=None) | Q(is_active=False), name="gone_means_inactive"),
        ]

    def __str__(self) -> str:
        return self.username


class SignInLink(models.Model):
    """A link that signs one person in, once; without a user, it makes the first owner and administrator."""

    user = models.ForeignKey(User, models.CASCADE, null=True, blank=True)
    token_hash = models.CharField(max_length=64, unique=True)
    created_at = models.DateTimeField(default=timezone.now)
    expires_at = models.DateTimeField()
    used_at = models.DateTimeField(null=True, blank=True)


class Machine(models.Model):
    owner = models.ForeignKey(User, models.CASCADE, related_name="machines")
    name = models.CharField(max_length=60)
    token_hash = models.CharField(max_length=64, unique=True)
    epoch = models.PositiveIntegerField(default=0)
    """Counts the daemons that said hello; an older one is refused."""
    instance = models.CharField(max_length=100, blank=True)
    journal_id = models.CharField(max_length=100, blank=True)
    journal_acked = models.PositiveBigIntegerField(default=0)
    """Every fact of that journal up to this number is stored."""
    max_running = models.PositiveSmallIntegerField(default=2)
    created_at = models.DateTimeField(default=timezone.now)
    last_seen_at = models.DateTimeField(null=True, blank=True)
    draining = models.BooleanField(default=False)
    asleep = models.JSONField(default=list, blank=True)
    """Ids of agents without a live session, as last reported."""
    problems = models.JSONField(default=dict, blank=True)
    """Agent id → why it can't run, as last reported; for its owner's eyes."""
    confined = models.JSONField(default=dict, blank=True)
    """Agent id → why its commands run without confinement, empty when they are confined, as last reported."""
    revoked_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(
                "owner", Lower("name"), condition=Q(revoked_at=None), name="machine_name_once_per_owner"
            ),
        ]

    def __str__(self) -> str:
        return self.name

    @property
    def connected(self) -> bool:
        seen = self.last_seen_at
        return self.revoked_at is None and seen is not None and timezone.now() - seen < timedelta(seconds=ONLINE_FOR)


class Pairing(models.Model):
    """A machine that asks to be paired. It made its two secrets itself and told us only their hashes."""

    user_code = models.CharField(max_length=9, unique=True)
    name = models.CharField(max_length=60)
    token_hash = models.CharField(max_length=64, unique=True)
    connection_hash = models.CharField(max_length=64, unique=True)
    address = models.CharField(max_length=64, blank=True)
    """Where it called from, for the person who confirms."""
    created_at = models.DateTimeField(default=timezone.now)
    expires_at = models.DateTimeField()
    machine = models.OneToOneField(Machine, models.CASCADE, null=True, blank=True)
    declined_at = models.DateTimeField(null=True, blank=True)


class Agent(models.Model):
    """A runtime in a working directory on one machine. Its address outlives both."""

    owner = models.ForeignKey(User, models.CASCADE, related_name="agents")
    machine = models.ForeignKey(Machine, models.SET_NULL, null=True, blank=True, related_name="agents")
    handle = models.CharField(max_length=32, validators=[handle_is_plain])
    display_name = models.CharField(max_length=60)
    role = models.CharField(max_length=200, blank=True)
    runtime = models.CharField(max_length=500)
    model = models.CharField(max_length=100, blank=True)
    workdir = models.CharField(max_length=1000)
    avatar = models.FileField(upload_to="avatars/", blank=True)
    share_diffs = models.BooleanField(default=False)
    wake_for_mail = models.BooleanField(default=False)
    worktree_per_room = models.BooleanField(default=False)
    paused_at = models.DateTimeField(null=True, blank=True)
    created_at = models.DateTimeField(default=timezone.now)
    retired_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["owner", "handle"], name="agent_handle_once_per_owner"),
        ]

    def __str__(self) -> str:
        return self.handle


class Room(models.Model):
    class Kind(models.TextChoices):
        ROOM = "room"
        DIRECT = "direct"
        ACCOUNT = "account"

    owner = models.ForeignKey(User, models.CASCADE, related_name="owned_rooms")
    kind = models.CharField(max_length=10, choices=Kind.choices, default=Kind.ROOM)
    name = models.CharField(max_length=80)
    about = models.CharField(max_length=200, blank=True)
    direct_agent = models.ForeignKey(Agent, models.SET_NULL, null=True, blank=True, related_name="direct_rooms")
    """In a direct room, whom ``owner`` talks with."""
    agent_chat = models.BooleanField(default=True)
    retention_days = models.PositiveSmallIntegerField(null=True, blank=True)
    last_seq = models.PositiveBigIntegerField(default=0)
    last_digest = models.CharField(max_length=64, blank=True)
    membership_version = models.PositiveBigIntegerField(default=0)
    """Moves whenever somebody's right to read may have changed."""
    created_at = models.DateTimeField(default=timezone.now)
    archived_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints: ClassVar = [
            models.CheckConstraint(condition=Q(kind__in=["room", "direct", "account"]), name="room_kind_known"),
            models.CheckConstraint(
                condition=Q(retention_days=None) | Q(retention_days__gte=1), name="room_keeps_a_day_at_least"
            ),
            models.UniqueConstraint(fields=["owner"], condition=Q(kind="account"), name="one_account_chat_per_owner"),
            models.UniqueConstraint(
                fields=["owner", "direct_agent"], condition=Q(kind="direct"), name="one_direct_room_per_pair"
            ),
            models.CheckConstraint(
                condition=Q(kind="direct") | Q(direct_agent=None), name="only_direct_rooms_name_an_agent"
            ),
        ]

    def __str__(self) -> str:
        return self.name


class Member(models.Model):
    """A seat in a room, of a person or of an agent. It stays when its holder leaves: their words name it."""

    class Role(models.TextChoices):
        MEMBER = "member"
        VIEWER = "viewer"
        KEEPER = "keeper"

    room = models.ForeignKey(Room, models.CASCADE, related_name="members")
    user = models.ForeignKey(User, models.SET_NULL, null=True, blank=True, related_name="seats")
    agent = models.ForeignKey(Agent, models.SET_NULL, null=True, blank=True, related_name="seats")
    is_agent = models.BooleanField(default=False)
    """Stays true when the agent's row is gone."""
    handle = models.CharField(max_length=32, validators=[handle_is_plain])
    name = models.CharField(max_length=60, blank=True)
    role = models.CharField(max_length=10, choices=Role.choices, default=Role.MEMBER)
    read_seq = models.PositiveBigIntegerField(default=0)
    memory = models.PositiveIntegerField(default=1)
    """An agent's memory of this room; another number is a new session."""
    joined_at = models.DateTimeField(default=timezone.now)
    expires_at = models.DateTimeField(null=True, blank=True)
    left_at = models.DateTimeField(null=True, blank=True)
    removed_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints: ClassVar = [
            models.CheckConstraint(condition=Q(user=None) | Q(agent=None), name="member_person_or_agent"),
            models.CheckConstraint(condition=Q(role__in=["member", "viewer", "keeper"]), name="member_role_known"),
            models.UniqueConstraint(fields=["room", "user"], name="one_seat_per_person"),
            models.UniqueConstraint(fields=["room", "agent"], name="one_seat_per_agent"),
            models.UniqueConstraint("room", Lower("handle"), condition=Q(left_at=None), name="handle_once_in_a_room"),
            models.CheckConstraint(condition=Q(removed_at=None) | Q(left_at__isnull=False), name="removed_means_left"),
        ]

    def __str__(self) -> str:
        return self.handle

    @property
    def seated(self) -> bool:
        return self.left_at is None and (self.expires_at is None or self.expires_at > timezone.now())

    @property
    def may_ask(self) -> bool:
        """Whether this person may write here at all."""
        return self.seated and self.role == self.Role.MEMBER


class FormerName(models.Model):
    """A name that, up to a number of a room's log, means somebody whose account is gone.

    The log's own sentences name people and never change; whoever shows them puts ``shown_as`` there.
    """

    room = models.ForeignKey(Room, models.CASCADE, related_name="former_names")
    handle = models.CharField(max_length=32)
    through = models.PositiveBigIntegerField()
    """The last number at which it meant them."""
    shown_as = models.CharField(max_length=32)

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["room", "handle", "through"], name="former_name_once"),
        ]


class Invite(models.Model):
    room = models.ForeignKey(Room, models.CASCADE, related_name="invites")
    token_hash = models.CharField(max_length=64, unique=True)
    role = models.CharField(max_length=10, choices=[("member", "member"), ("viewer", "viewer")], default="member")
    max_uses = models.PositiveSmallIntegerField(default=1)
    uses = models.PositiveSmallIntegerField(default=0)
    created_by = models.ForeignKey(User, models.CASCADE)
    created_at = models.DateTimeField(default=timezone.now)
    expires_at = models.DateTimeField()
    member_expires_at = models.DateTimeField(null=True, blank=True)
    """When a seat taken by this link ends."""
    revoked_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints: ClassVar = [
            models.CheckConstraint(condition=Q(uses__lte=F("max_uses")), name="invite_uses_bounded"),
            models.CheckConstraint(condition=Q(role__in=["member", "viewer"]), name="invite_role_known"),
        ]

    @property
    def open(self) -> bool:
        return self.revoked_at is None and self.expires_at > timezone.now() and self.uses < self.max_uses


class Connection(models.Model):
    """A program that speaks as an account in its chat, or as an agent in a room: by a bearer token, or signed in."""

    class Kind(models.TextChoices):
        ACCOUNT = "account"
        AGENT = "agent"

    kind = models.CharField(max_length=10, choices=Kind.choices)
    user = models.ForeignKey(User, models.CASCADE, related_name="connections")
    agent = models.ForeignKey(Agent, models.CASCADE, null=True, blank=True, related_name="connections")
    room = models.ForeignKey(Room, models.CASCADE, null=True, blank=True, related_name="connections")
    machine = models.ForeignKey(Machine, models.CASCADE, null=True, blank=True, related_name="connections")
    name = models.CharField(max_length=60)
    token_hash = models.CharField(max_length=64, unique=True)
    """Of its token; of a sign-in, of the first one: later ones are found by ``grant_id``."""
    grant_id = models.CharField(max_length=64, blank=True)
    """The sign-in that its tokens come from; empty for a bearer token."""
    client = models.CharField(max_length=100, blank=True)
    """The id of the program that signed in."""
    created_at = models.DateTimeField(default=timezone.now)
    last_used_at = models.DateTimeField(null=True, blank=True)
    revoked_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints: ClassVar = [
            models.CheckConstraint(
                condition=Q(kind="agent", agent__isnull=False, room__isnull=False)
                | Q(kind="account", agent=None, room=None),
                name="connection_kind_fits",
            ),
            models.UniqueConstraint(fields=["grant_id"], condition=~Q(grant_id=""), name="one_connection_per_sign_in"),
        ]

    @property
    def way(self) -> str:
        """How it came to be, in words."""
        if self.machine_id is not None:
            return "by the machine"
        return "signed in" if self.grant_id else "token"

    @property
    def short(self) -> str:
        """What names it to people and in entries: the start of the hash."""
        return self.token_hash[:8]


class Consent(models.Model):
    """Whom a program that signs in will speak as, until its first token is made."""

    grant_id = models.CharField(max_length=64, unique=True)
    client = models.CharField(max_length=100)
    name = models.CharField(max_length=60)
    user = models.ForeignKey(User, models.CASCADE)
    agent = models.ForeignKey(Agent, models.CASCADE, null=True, blank=True)
    room = models.ForeignKey(Room, models.CASCADE, null=True, blank=True)
    created_at = models.DateTimeField(default=timezone.now)

    class Meta:
        constraints: ClassVar = [
            models.CheckConstraint(
                condition=Q(agent__isnull=False, room__isnull=False) | Q(agent=None, room=None),
                name="consent_agent_in_a_room",
            ),
        ]
