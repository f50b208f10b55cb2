"""Small parts that every page draws: an icon, an avatar, an instant, a person's name."""

from __future__ import annotations

from datetime import datetime, timedelta

from django import template
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString

register = template.Library()


@register.simple_tag
def icon(name: str) -> SafeString:
    return format_html('<svg class="icon" aria-hidden="true"><use href="#i-{}"/></svg>', name)


@register.simple_tag
def avatar(handle: str, agent: bool = False, size: str = "") -> SafeString:
    """The first letter: round and capital for a person, square for an agent."""
    letter = handle[:1] if agent else handle[:1].upper()
    classes = " ".join(filter(None, ["avatar", "agent" if agent else "", size]))
    return format_html('<span class="{}" aria-hidden="true">{}</span>', classes, letter)


@register.simple_tag
def when(at: datetime | None, form: str = "time") -> SafeString:
    """An instant. The browser makes it local; without a script it stands in UTC, and says so.

    ``form``: time (14:02), day (Thursday 26 November), both (26 Nov, 14:02), or ago.
    """
    if at is None:
        return SafeString("")
    utc = timezone.localtime(at, timezone.get_fixed_timezone(0))
    words = {
        "time": f"{utc:%H:%M} UTC",
        "day": f"{utc:%A} {utc.day} {utc:%B}",
        "both": f"{utc.day} {utc:%b}, {utc:%H:%M} UTC",
        "ago": f"{utc.day} {utc:%b}, {utc:%H:%M} UTC",
    }[form]
    iso = utc.isoformat(timespec="milliseconds")
    return format_html('<time datetime="{}" data-form="{}">{}</time>', iso, form, words)


@register.simple_tag
def person(handle: str) -> SafeString:
    """A person's handle, which the browser turns into *you* where it is the reader's own."""
    return format_html('<span data-handle="{0}">{0}</span>', handle)


@register.filter
def duration(value: timedelta | float | None) -> str:
    """Seconds, or a timedelta, in words: 0.3 s, 41 s, 6 min 12 s, 2 h 5 min."""
    if value is None:
        return ""
    seconds = value.total_seconds() if isinstance(value, timedelta) else float(value)
    if seconds < 0.05:
        return "under 0.1 s"
    if seconds < 10:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s" if whole % 60 else f"{whole // 60} min"
    return f"{whole // 3600} h {whole % 3600 // 60} min"


@register.filter
def bytesize(size: int) -> str:
    for unit, at in (("GB", 1e9), ("MB", 1e6), ("KB", 1e3)):
        if size >= at:
            return f"{size / at:.1f}".removesuffix(".0") + f" {unit}"
    return f"{size} B"
