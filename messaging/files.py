"""Bytes of attached and produced files, under their SHA-256, apart for each source.

The source ("room-5" for what people attach, "machine-7" for what a machine sends up) keeps a machine from naming a
content that it never had.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import secrets
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import batched
from pathlib import Path
from stat import S_ISREG

from django.conf import settings

from agentroom_machine.wire import MAX_FILE
from messaging.models import Attachment
from rooms.errors import Invalid

_SHA256 = re.compile(r"[0-9a-f]{64}")
_SOURCE = re.compile(r"(room|machine)-[0-9]+")
_ASIDE = re.compile(r"\.aside-[0-9a-f]{16}-(.+)")
KEPT = timedelta(days=1)
"""So long bytes may lie here before something names them."""


def path(source: str, sha256: str) -> Path:
    """Where that content lies, whether or not it is there."""
    if not _SHA256.fullmatch(sha256) or not _SOURCE.fullmatch(source):
        raise Invalid("That is no SHA-256.")
    return Path(settings.MEDIA_ROOT) / source / sha256[:2] / sha256


def store(source: str, chunks: Iterable[bytes], *, limit: int = MAX_FILE, expected: str = "") -> tuple[str, int]:
    """Write the bytes and return their SHA-256 and size; the same content again is no harm.

    Invalid when they are more than ``limit``, or not what ``expected`` names.
    """
    folder = Path(settings.MEDIA_ROOT) / source
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    draft = folder / f".{secrets.token_hex(8)}"
    digest, size = hashlib.sha256(), 0
    try:
        with open(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as handle:
            for chunk in chunks:
                size += len(chunk)
                if size > limit:
                    raise Invalid(f"The file is larger than {limit // 1_000_000} MB.", code="too_large")
                digest.update(chunk)
                handle.write(chunk)
            handle.flush()
            os.fsync(handle.fileno())
        sha256 = digest.hexdigest()
        if expected and sha256 != expected:
            raise Invalid("The bytes do not have the SHA-256 that was named.")
        final = path(source, sha256)
        final.parent.mkdir(exist_ok=True, mode=0o700)
        os.replace(draft, final)
        _sync_folder(final.parent)
    finally:
        draft.unlink(missing_ok=True)
    return sha256, size


def _sync_folder(folder: Path) -> None:
    """Make the new name itself survive a power cut."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def there(source: str, sha256: str) -> int | None:
    """The size of that content if it is here. Whoever asks is about to name it: it stays as if it had just come."""
    try:
        found = path(source, sha256)
        os.utime(found)
        return found.stat().st_size
    except FileNotFoundError:
        return None


def named(source: str, sha256s: Iterable[str]) -> set[str]:
    """Which of these contents an entry still names."""
    return set(Attachment.objects.filter(source=source, sha256__in=list(sha256s)).values_list("sha256", flat=True))


@dataclass(frozen=True, slots=True)
class Unnamed:
    path: Path
    size: int


def unnamed(now: datetime) -> Iterator[Unnamed]:
    """Bytes that nothing names and that have lain here for a day: of a message that never came, or left by a crash."""
    for found, still in _lying(now):
        if not still:
            # Another sweep may be at it, here and wherever a file is looked at.
            with contextlib.suppress(FileNotFoundError):
                yield Unnamed(found, found.stat().st_size)


def sweep(now: datetime) -> None:
    """Remove what ``unnamed`` finds, and put back what a crash left aside though something names it."""
    for found, still in _lying(now):
        if not still or _ASIDE.fullmatch(found.name):
            remove(found, now - KEPT)


def _lying(now: datetime) -> Iterator[tuple[Path, bool]]:
    """What has lain here for a day, and whether something names it."""
    root = Path(settings.MEDIA_ROOT)
    folders = sorted(folder for folder in root.iterdir() if _SOURCE.fullmatch(folder.name)) if root.is_dir() else []
    for folder in folders:
        for lot in batched(_older(folder, now - KEPT), 500):
            still = named(folder.name, [name for found in lot if _SHA256.fullmatch(name := _first_name(found))])
            for found in lot:
                yield found, _first_name(found) in still


def _older(folder: Path, than: datetime) -> Iterator[Path]:
    """The contents of a source, and what was left of writing or removing one."""
    for found in folder.rglob("*"):
        with contextlib.suppress(FileNotFoundError):
            known = found.stat()
            # Who put it aside may be about to put it back: what counts is when that was, not how old the bytes are.
            at = known.st_ctime if _ASIDE.fullmatch(found.name) else known.st_mtime
            ours = _SHA256.fullmatch(found.name) or found.name.startswith(".")
            if ours and S_ISREG(known.st_mode) and at < than.timestamp():
                yield found


def _first_name(found: Path) -> str:
    """Under which name it lay before it was put aside."""
    aside = _ASIDE.fullmatch(found.name)
    return aside[1] if aside else found.name


def remove(found: Path, since: datetime) -> bool:
    """Remove bytes that nothing names, unless they came anew ``since`` then. False when they stay, or are gone."""
    source = found.relative_to(settings.MEDIA_ROOT).parts[0]
    place = found.with_name(_first_name(found))
    aside = found.with_name(f".aside-{secrets.token_hex(8)}-{place.name}")
    try:
        # Under another name first: whoever stores or names the same content at this moment is seen to have done it.
        found.rename(aside)
        goes = aside.stat().st_mtime <= since.timestamp() and place.name not in named(source, [place.name])
        if not goes:
            with contextlib.suppress(FileExistsError):
                os.link(aside, place)
        aside.unlink()
    except FileNotFoundError:
        # Another sweep was first: with the name that it had, or with this one, where its clock is a day ahead.
        return False
    return goes
