"""What the owner chose on this machine for each agent: confined, which is the default, or not."""

from __future__ import annotations

import json
from pathlib import Path

from agentroom_machine.profile import Profile, write_private


class Choice:
    """Kept on the machine alone, so that nothing on the server can open the box. Read anew at each look."""

    def __init__(self, profile: Profile) -> None:
        self._profile = profile
        self._file: Path = profile.folder / "unconfined.json"

    def unconfined(self) -> set[int]:
        """Ids of the agents that run without confinement."""
        try:
            kept = json.loads(self._file.read_text(encoding="utf-8"))
            return {int(agent) for agent in kept}
        except (OSError, ValueError, TypeError):
            return set()

    def choose(self, agent_id: int, *, confined: bool) -> None:
        chosen = self.unconfined() - {agent_id} if confined else self.unconfined() | {agent_id}
        self._profile.make()
        write_private(self._file, json.dumps(sorted(chosen)))
