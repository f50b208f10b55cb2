"""The machine's two tokens: in the system's keyring where there is one, else in a file that only its owner can read."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import secrets
from dataclasses import dataclass

import keyring
from keyring.errors import KeyringError

from agentroom_machine.errors import Trouble
from agentroom_machine.profile import Profile, write_private

SERVICE = "agentroom"


@dataclass(frozen=True)
class Tokens:
    machine: str
    """Proves that a call comes from this machine."""
    connection: str
    """The account connection, for the account chat."""

    @classmethod
    def make(cls) -> Tokens:
        return cls("arm_" + secrets.token_urlsafe(32), fresh())


def fresh() -> str:
    """A new token for a connection."""
    return "arc_" + secrets.token_urlsafe(32)


def hashed(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest()


def keep(profile: Profile, tokens: Tokens) -> str:
    """Stores the tokens and says where: "the system keyring" or the file's path."""
    profile.make()
    text = json.dumps({"machine": tokens.machine, "connection": tokens.connection})
    file = profile.folder / "tokens.json"
    if _keyring_works():
        with contextlib.suppress(KeyringError, OSError, RuntimeError):
            keyring.set_password(SERVICE, str(profile.folder), text)
            if keyring.get_password(SERVICE, str(profile.folder)) == text:
                file.unlink(missing_ok=True)
                return "the system keyring"
    write_private(file, text)
    return str(file)


def load(profile: Profile) -> Tokens | None:
    """The tokens; None when there are none. Raises Trouble when their file can't be read."""
    file = profile.folder / "tokens.json"
    text: str | None = None
    if file.exists():
        try:
            text = file.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise Trouble(f"The tokens' file {file} can't be read ({type(error).__name__}).") from None
    elif _keyring_works():
        with contextlib.suppress(KeyringError, OSError, RuntimeError):
            text = keyring.get_password(SERVICE, str(profile.folder))
    if not text:
        return None
    try:
        kept = json.loads(text)
        return Tokens(kept["machine"], kept["connection"])
    except (ValueError, KeyError, TypeError):
        return None


def forget(profile: Profile) -> None:
    (profile.folder / "tokens.json").unlink(missing_ok=True)
    if _keyring_works():
        with contextlib.suppress(KeyringError, OSError, RuntimeError):
            keyring.delete_password(SERVICE, str(profile.folder))


def _keyring_works() -> bool:
    if os.environ.get("AGENTROOM_NO_KEYRING") == "1":
        return False
    try:
        backend = keyring.get_keyring()
        return type(backend).__module__ != "keyring.backends.fail" and backend.priority > 0
    except (KeyringError, RuntimeError, OSError):
        return False
