"""Secrets that we hand out: shown once, stored as their hash."""

from __future__ import annotations

import hashlib
import secrets

MACHINE = "arm_"
CONNECTION = "arc_"
INVITE = "ari_"
SIGN_IN = "ars_"


def new(prefix: str) -> str:
    """A secret of 256 bits that names its kind, so that a leak can be recognised and redacted."""
    return prefix + secrets.token_urlsafe(32)


def digest(token: str) -> str:
    """SHA-256 in hex. A fast hash is enough: the secrets are random."""
    return hashlib.sha256(token.encode("utf-8", "surrogateescape")).hexdigest()


def code() -> str:
    """A short code for a person to compare, as ABCD-EFGH: no vowels, no look-alikes."""
    letters = "".join(secrets.choice("BCDFGHJKLMNPQRSTVWXZ") for _ in range(8))
    return f"{letters[:4]}-{letters[4:]}"
