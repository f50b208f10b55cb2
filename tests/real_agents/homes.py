"""What makes a real agent ask the scripted model, from a home of its own: nothing of the user's is read."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

PROGRAMS = Path(__file__).parent / "node_modules" / ".bin"

CODEX_SETTINGS = """\
model = "{model}"
model_provider = "scripted"

[model_providers.scripted]
name = "Scripted"
base_url = "{url}/v1"
wire_api = "responses"
env_key = "SCRIPTED_MODEL_KEY"
"""
PLAIN_TOOLS = "gpt-5.5"
"""Codex offers this model plain tools."""
JAVASCRIPT = "gpt-6.1-sol"
"""Codex offers this model one tool, which runs JavaScript."""


def surroundings(home: Path) -> dict[str, str]:
    # Not the home's parent: Codex makes no helper programs below the temporary folder.
    temporary = home / "tmp"
    temporary.mkdir(parents=True, exist_ok=True)
    path = os.pathsep.join([str(PROGRAMS), os.environ["PATH"]])
    return {"HOME": str(home), "TMPDIR": str(temporary), "PATH": path}


def claude(home: Path, url: str) -> Mapping[str, str]:
    """The variables that Claude Code's process gets."""
    settings = home / ".claude"
    settings.mkdir(parents=True, exist_ok=True)
    return surroundings(home) | {
        "CLAUDE_CONFIG_DIR": str(settings),
        "ANTHROPIC_BASE_URL": url,
        "ANTHROPIC_API_KEY": "not-a-key",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "DISABLE_AUTOUPDATER": "1",
    }


def codex(home: Path, url: str, *, model: str = PLAIN_TOOLS) -> Mapping[str, str]:
    """The variables that Codex's process gets."""
    settings = home / ".codex"
    settings.mkdir(parents=True, exist_ok=True)
    (settings / "config.toml").write_text(CODEX_SETTINGS.format(model=model, url=url))
    return surroundings(home) | {
        "CODEX_HOME": str(settings),
        "SCRIPTED_MODEL_KEY": "not-a-key",
        "NO_BROWSER": "1",
    }
