"""What of the owner's environment goes into a box: no secret but the runtime's own login."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from agentroom_machine.daemon.redact import secret_values

KEYS = {
    "ANTHROPIC_API_KEY": "api.anthropic.com", "OPENAI_API_KEY": "api.openai.com",
    "GEMINI_API_KEY": "generativelanguage.googleapis.com", "GOOGLE_API_KEY": "generativelanguage.googleapis.com",
    "MISTRAL_API_KEY": "api.mistral.ai", "GROQ_API_KEY": "api.groq.com", "DEEPSEEK_API_KEY": "api.deepseek.com",
    "XAI_API_KEY": "api.x.ai", "OPENROUTER_API_KEY": "openrouter.ai",
}  # fmt: skip
"""Models' keys, and where each is good for something."""
_LOGINS = {
    "demo": (),
    "gemini": ("GEMINI_API_KEY", "GOOGLE_API_KEY"),
}
_LEADS_OUT = ("DBUS_", "XDG_RUNTIME_DIR", "DISPLAY", "WAYLAND_DISPLAY", "XAUTHORITY", "SESSION_MANAGER", "DOCKER_HOST")
"""Ways to programs outside, which are not there inside."""


def logins(runtime: str) -> tuple[str, ...]:
    """The variables by which this runtime may be signed in."""
    return _LOGINS.get(runtime, tuple(KEYS))


def environment(environ: Mapping[str, str], runtime: str, home: Path) -> dict[str, str]:
    own = logins(runtime)
    kept = {
        name: value
        for name, value in environ.items()
        if not name.startswith(_LEADS_OUT) and (name in own or not any(secret_values({name: value})))
    }
    return kept | {"HOME": str(home), "TMPDIR": "/tmp"}  # noqa: S108 - the box's own


def proxied(port: int) -> dict[str, str]:
    """What tells programs to ask the proxy."""
    address = f"http://127.0.0.1:{port}"
    names = ("HTTPS_PROXY", "HTTP_PROXY", "ALL_PROXY")
    found = dict.fromkeys(names, address) | {name.lower(): address for name in names}
    nobody = "localhost,127.0.0.1,::1"
    return found | {"NO_PROXY": nobody, "no_proxy": nobody, "NODE_USE_ENV_PROXY": "1"}
