"""Which paths lie in the working directory, and which hold secrets by their name."""

from __future__ import annotations

import fnmatch
import os
from pathlib import Path

from agentroom_machine.danger import places

_SECRET_NAMES = (
    ".env", ".env.*", "*.env", "*.pem", "*.key", "*.p12", "*.pfx", "*.jks", "*.keystore", "*.kdbx", "*.asc", "*.gpg",
    "*.tfstate", "*.tfvars", "id_*", ".netrc", "_netrc", ".npmrc", ".pypirc", ".pgpass", ".my.cnf", ".htpasswd",
    ".git-credentials", ".envrc", "credentials", "credentials.*", "secrets", "secrets.*", "service-account*.json",
    "*.ovpn", ".dockercfg", ".boto", "token", "tokens", "*.token", "tokens.json", "auth.json", ".mcp.json",
)  # fmt: skip
_OPEN_NAMES = (".env.example", ".env.sample", ".env.template", ".env.dist", "*.pub")
_SECRET_FOLDERS = {
    ".git", ".ssh", ".aws", ".gnupg", ".kube", ".docker", ".azure", ".gcloud", ".claude", ".codex", ".gemini",
    ".opencode", ".cursor", ".mozilla", ".password-store", ".terraform.d", "gcloud",
}  # fmt: skip


def secret(path: Path) -> bool:
    """Whether a file's name, or a folder on the way to it, says that it holds secrets or settings of agents."""
    parts = [part.casefold() for part in path.parts]
    if any(part in _SECRET_FOLDERS for part in parts[:-1]) or (parts[-1:] and parts[-1] in _SECRET_FOLDERS):
        return True
    name = parts[-1] if parts else ""
    if any(fnmatch.fnmatch(name, pattern) for pattern in _OPEN_NAMES):
        return False
    return any(fnmatch.fnmatch(name, pattern) for pattern in _SECRET_NAMES) or places.secret(str(path))


def inside(path: str, workdir: Path) -> Path | None:
    """The path below the real working directory, links followed; None when it is outside or no path."""
    if "\x00" in path:
        return None
    try:
        real = Path(os.path.realpath(workdir / Path(path).expanduser()))
        return real.relative_to(os.path.realpath(workdir))
    except (ValueError, OSError, RuntimeError):
        return None
