"""Bytes of attached and produced files, under their SHA-256, apart for each source.

The source ("room-5" for what people attach, "machine-7" for what a machine sends up) keeps a machine from naming a
content that it never had.
"""

from __future__ import annotations

import hashlib
import os
import re
import secrets
from collections.abc import Iterable
from pathlib import Path

from django.conf import settings

from agentroom_machine.wire import MAX_FILE
from rooms.errors import Invalid

_SHA256 = re.compile(r"[0-9a-f]{64}")
_SOURCE = re.compile(r"(room|machine)-[0-9]+")


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
