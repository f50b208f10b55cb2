"""Which hosts a runtime needs for its model, and what its owner added."""

from __future__ import annotations

import fnmatch
import ipaddress
import json
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import urlsplit

_KNOWN = {
    "claude": ("api.anthropic.com", "platform.claude.com", "console.anthropic.com", "claude.ai"),
    "codex": ("api.openai.com", "chatgpt.com", "auth.openai.com"),
    "gemini": (
        "generativelanguage.googleapis.com", "cloudcode-pa.googleapis.com", "oauth2.googleapis.com",
        "accounts.google.com", "aiplatform.googleapis.com", "*-aiplatform.googleapis.com",
    ),
    "opencode": (
        "opencode.ai", "models.dev", "api.anthropic.com", "api.openai.com", "openrouter.ai", "api.mistral.ai",
        "generativelanguage.googleapis.com", "api.groq.com", "api.deepseek.com", "api.x.ai", "api.githubcopilot.com",
    ),
    "demo": (),
}  # fmt: skip
_ADDRESSES = {
    "claude": ("ANTHROPIC_BASE_URL",),
    "codex": ("OPENAI_BASE_URL",),
    "gemini": ("GOOGLE_GEMINI_BASE_URL", "GOOGLE_VERTEX_BASE_URL", "CODE_ASSIST_ENDPOINT"),
    "opencode": ("ANTHROPIC_BASE_URL", "OPENAI_BASE_URL"),
}
"""Variables by which an owner points a runtime at another model."""


@dataclass(frozen=True)
class Target:
    host: str
    port: int

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"

    @property
    def local(self) -> bool:
        """On this machine: reachable from the box only by a door of its own."""
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return self.host == "localhost" or self.host.endswith(".localhost")


@dataclass(frozen=True)
class Allowed:
    """What may be reached. Names stand for port 443; a model's own address for its own port."""

    names: tuple[str, ...] = ()
    targets: frozenset[Target] = frozenset()

    def __bool__(self) -> bool:
        return bool(self.names or self.targets)

    def permits(self, host: str, port: int) -> bool:
        host = host.casefold().rstrip(".")
        if Target(host, port) in self.targets:
            return True
        return port == 443 and any(fnmatch.fnmatchcase(host, name.casefold()) for name in self.names)

    def doors(self) -> list[Target]:
        """Targets on this machine itself."""
        return sorted((target for target in self.targets if target.local), key=str)


def allowed(runtime: str, environ: Mapping[str, str], more: tuple[str, ...] = ()) -> Allowed:
    """The runtime's known hosts, the model that its environment names, and the owner's."""
    addresses = [environ[name] for name in _ADDRESSES.get(runtime, ()) if environ.get(name)]
    if runtime == "opencode":
        addresses += _base_urls(environ.get("OPENCODE_CONFIG_CONTENT", ""))
    targets = frozenset(target for address in addresses if (target := _target(address)))
    return Allowed((*_KNOWN.get(runtime, ()), *more), targets)


def _target(address: str) -> Target | None:
    try:
        parts = urlsplit(address)
        port = parts.port or (80 if parts.scheme == "http" else 443)
        return Target(parts.hostname, port) if parts.hostname else None
    except ValueError:
        return None


def _base_urls(text: str) -> list[str]:
    """Every ``baseURL`` in OpenCode's configuration."""
    found: list[str] = []

    def walk(value: object) -> None:
        if isinstance(value, dict):
            found.extend(str(inner) for key, inner in value.items() if key == "baseURL")
            for inner in value.values():
                walk(inner)

    try:
        walk(json.loads(text or "{}"))
    except ValueError:
        return []
    return found
