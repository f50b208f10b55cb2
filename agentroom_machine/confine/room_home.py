"""A home folder for each agent in each room: what a runtime writes for one room is not there in another."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

from agentroom_machine.confine.box import Box
from agentroom_machine.errors import Trouble
from agentroom_machine.profile import write_private

_NOT_SHARED = ("mcpServers", "mcp", "hooks", "tools", "toolConfig", "experimental", "memory", "contextFileName")
"""Of a runtime's settings: what starts programs, allows tools or remembers."""


def prepare(box: Box, *, runtime: str, program: str, folder: Path, memory: int) -> Path:
    """Makes the room's home, and shows in it what the runtime's sign-in needs; returns the home. Blocks.

    A new memory begins with an empty home; what the earlier one held is removed.
    """
    home = folder / str(memory)
    for earlier in folder.iterdir() if folder.is_dir() else ():
        if earlier.name != home.name:
            shutil.rmtree(earlier, ignore_errors=True)
    home.mkdir(parents=True, exist_ok=True, mode=0o700)
    owner = box.home
    if runtime == "gemini":
        for name in ("oauth_creds.json", "google_accounts.json", "gemini-credentials.json"):
            _renewable(box, owner / ".gemini" / name)
        _settings(box, owner / ".gemini" / "settings.json", folder / "settings.json")
    elif runtime == "opencode":
        _renewable(box, owner / ".local/share/opencode/auth.json")
    elif runtime != "demo":
        for place in (f".{program}", f".config/{program}", f".local/share/{program}"):
            if program and (owner / place).exists():
                box.read.append(owner / place)
    return home


def _renewable(box: Box, path: Path) -> None:
    """A sign-in that the runtime renews by itself."""
    if path.is_file():
        box.write.append((path, path))


def _settings(box: Box, path: Path, copy: Path) -> None:
    try:
        settings = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return
    except (OSError, ValueError):
        raise Trouble(f"{path} can't be read, so a confined agent can't be given it. Mend it.") from None
    if isinstance(settings, dict):
        copy.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        write_private(copy, json.dumps({key: value for key, value in settings.items() if key not in _NOT_SHARED}))
        box.show.append((copy, path))
