"""What the pages ask for. A form shapes input; what is allowed, the rules decide."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import UTC, date, datetime, time, timedelta
from typing import Any, TypeVar

from django import forms
from django.utils import timezone

from approvals import control
from rooms.errors import Conflict, Invalid, Refused
from rooms.models import Member

T = TypeVar("T")


class PageForm(forms.Form):
    def __init__(self, *args: Any, **kwargs: Any) -> None:
        kwargs.setdefault("label_suffix", "")
        super().__init__(*args, **kwargs)

    def settle(self, act: Callable[[], T]) -> T | None:
        """Do it; what the rule refuses stands beside the field that it names, and the answer is None."""
        try:
            return act()
        except (Invalid, Conflict, Refused) as error:
            self.add_error(error.field if error.field in self.fields else None, error.detail)
            return None


def password(label: str = "Password") -> forms.CharField:
    return forms.CharField(
        label=label,
        max_length=200,
        strip=False,
        help_text="12 characters or more. A passkey can come later.",
        widget=forms.PasswordInput(attrs={"autocomplete": "new-password"}),
    )


def handle(label: str) -> forms.CharField:
    return forms.CharField(
        label=label,
        max_length=64,
        widget=forms.TextInput(
            attrs={"autocomplete": "username", "autocapitalize": "none", "spellcheck": "false", "maxlength": "32"}
        ),
    )


class RoomForm(PageForm):
    name = forms.CharField(label="Name of the room", max_length=200, widget=forms.TextInput(attrs={"maxlength": "80"}))
    about = forms.CharField(
        label="What it is about",
        max_length=500,
        required=False,
        help_text="One line under the name. May stay empty.",
        widget=forms.TextInput(attrs={"maxlength": "200"}),
    )


class InviteForm(PageForm):
    role = forms.ChoiceField(
        label="Who comes by it", choices=[("member", "can write and ask agents"), ("viewer", "reads along")]
    )
    days = forms.IntegerField(label="The link works for, in days", initial=7, min_value=1, max_value=365)
    max_uses = forms.IntegerField(label="How many people may use it", initial=1, min_value=1, max_value=1000)
    seat_days = forms.IntegerField(
        label="Their seat ends after, in days",
        required=False,
        min_value=1,
        max_value=365,
        help_text="Leave it empty to let them stay.",
    )


class JoinForm(PageForm):
    handle = handle("Your name in the room")
    password = password()


class SeatForm(PageForm):
    """For somebody with an account. Their name in the room may differ when it is taken there."""

    handle = handle("Your name in the room")


class FirstForm(PageForm):
    handle = handle("Your name")
    email = forms.EmailField(
        label="E-mail",
        required=False,
        help_text="For sign-in codes and a forgotten password. May stay empty.",
        widget=forms.EmailInput(attrs={"autocomplete": "email"}),
    )
    password = password()


class CodeForm(PageForm):
    code = forms.CharField(
        label="Code in the terminal",
        max_length=20,
        widget=forms.TextInput(attrs={"autocomplete": "off", "autocapitalize": "characters", "spellcheck": "false"}),
    )


class AgentForm(PageForm):
    display_name = forms.CharField(label="Display name", max_length=60)
    role = forms.CharField(
        label="Role",
        max_length=200,
        required=False,
        help_text="What it is for, in one line. Everybody in its rooms reads it.",
    )
    model = forms.CharField(
        label="Model",
        max_length=100,
        required=False,
        help_text="As the runtime names it. Empty: the runtime's own choice.",
    )
    share_diffs = forms.BooleanField(
        label="Share diffs",
        required=False,
        help_text="Off: the rooms see which files changed and by how many lines, never what is in them.",
    )
    worktree_per_room = forms.BooleanField(
        label="A git worktree for each room",
        required=False,
        help_text="Off: all its rooms work in one shared directory, and can see each other's changes there.",
    )
    wake_for_mail = forms.BooleanField(
        label="Wake for mail",
        required=False,
        help_text="Off: mail from other agents waits until it works anyway. On: mail starts it when it is asleep.",
    )


class AvatarForm(PageForm):
    avatar = forms.FileField(
        label="Picture",
        help_text="PNG, JPEG, GIF or WebP, up to 1 MB.",
        widget=forms.FileInput(attrs={"accept": "image/png,image/jpeg,image/gif,image/webp"}),
    )


ACCOUNT = "account"


def identities(seats: Iterable[Member]) -> list[tuple[str, str]]:
    """Whom a connection may speak as, to choose from: the account, or one of these agents' seats."""
    named = [(f"{seat.agent_id}:{seat.room_id}", f"{seat.handle} in {seat.room.name}") for seat in seats]
    return [(ACCOUNT, "my account, in its private chat"), *named]


def identity(chosen: str) -> tuple[int | None, int | None]:
    """The agent and the room of a choice; neither for the account."""
    agent, _, room = chosen.partition(":")
    return (None, None) if chosen == ACCOUNT else (int(agent), int(room))


class ConnectionForm(PageForm):
    identity = forms.ChoiceField(label="It speaks as")
    name = forms.CharField(label="Name, for you to tell it apart", max_length=60)

    def __init__(self, *args: Any, identities: list[tuple[str, str]], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        choice = self.fields["identity"]
        assert isinstance(choice, forms.ChoiceField)
        choice.choices = identities


LASTS = [
    ("", "until I revoke it"), ("hour", "for an hour"), ("1", "for a day"), ("7", "for a week"), ("30", "for 30 days"),
    ("date", "until the end of a day"),
]  # fmt: skip


def ends_at(lasts: str, day: date | None = None) -> datetime | None:
    """The instant that a choice of ``LASTS`` names; ``day`` belongs to ``date``."""
    if lasts == "date":
        if day is None:
            raise Invalid("Say until which day.", field="until")
        return datetime.combine(day, time.max, tzinfo=UTC)
    if lasts == "hour":
        return timezone.now() + timedelta(hours=1)
    return timezone.now() + timedelta(days=int(lasts)) if lasts else None


class GrantForm(PageForm):
    agent = forms.ChoiceField(label="Agent")
    whom = forms.ChoiceField(label="Person")
    level = forms.ChoiceField(
        label="Their requests", choices=[("always", "start at once"), ("ask", "ask me first"), ("deny", "never start")]
    )
    lasts = forms.ChoiceField(label="That holds", choices=LASTS, required=False)
    until = forms.DateField(label="That day", required=False, widget=forms.DateInput(attrs={"type": "date"}))

    def __init__(self, *args: Any, agents: list[tuple[str, str]], people: list[tuple[str, str]], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for name, choices in (("agent", agents), ("whom", people)):
            choice = self.fields[name]
            assert isinstance(choice, forms.ChoiceField)
            choice.choices = choices


class DeputyForm(PageForm):
    handle = forms.CharField(label="Who answers for you", max_length=64)
    days = forms.IntegerField(label="For how many days", initial=7, min_value=1, max_value=90)


class DeleteRoomForm(PageForm):
    name = forms.CharField(
        label="Write the room’s name to confirm",
        max_length=200,
        widget=forms.TextInput(attrs={"autocomplete": "off", "spellcheck": "false", "autocapitalize": "none"}),
    )


def what_goes(loss: control.Loss) -> str:
    """What is lost with a room, in words without names."""
    parts = [
        _count(loss.entries, "entry", "entries"),
        _count(loss.files, "file", "files"),
        f"{_count(loss.people, 'other person', 'other people')} and {_count(loss.agents, 'agent', 'agents')} in it",
    ]
    ends = [f"{count} {word}" for count, word in ((loss.running, "running"), (loss.waiting, "waiting")) if count]
    requests = f"; {' and '.join(ends)} request{'' if loss.running + loss.waiting == 1 else 's'}" if ends else ""
    return f"{', '.join(parts)}{requests}."


def _count(number: int, one: str, many: str) -> str:
    return f"{number:,} {one if number == 1 else many}"


class DeleteAccountForm(PageForm):
    """A choice for each room that the account owns, none of them made beforehand; then its name, typed."""

    def __init__(self, *args: Any, leaving: control.Leaving, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.owned = [owned.room.pk for owned in leaving.owned]
        for owned in leaving.owned:
            heirs = [(str(seat.pk), f"hand it over to {seat.handle}") for seat in owned.heirs]
            self.fields[f"room-{owned.room.pk}"] = forms.ChoiceField(
                label=owned.room.name,
                choices=[("", "Choose…"), *heirs, (str(control.DELETE), "delete it, for everybody")],
                help_text=what_goes(owned.loss),
                error_messages={"required": "Choose what becomes of this room."},
            )
        if leaving.successors:
            self.fields["successor"] = forms.ChoiceField(
                label="Who administers this server afterwards",
                choices=[("", "Choose…"), *((user.username, user.username) for user in leaving.successors)],
                error_messages={"required": "Other people live here: name who administers it after you."},
            )
        self.fields["handle"] = forms.CharField(
            label="Write the account’s name to confirm",
            max_length=64,
            widget=forms.TextInput(attrs={"autocomplete": "off", "spellcheck": "false", "autocapitalize": "none"}),
        )

    def choices(self) -> dict[str, Any]:
        """What the rule wants to know."""
        data = self.cleaned_data
        return {
            "rooms": {room: int(data[f"room-{room}"]) for room in self.owned},
            "handle": data["handle"],
            "successor": data.get("successor", ""),
        }
