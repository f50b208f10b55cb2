"""What the demo agent remembers: one file for each session, so that it is there after a restart."""

from __future__ import annotations

import json
import os
import secrets
import tempfile
from dataclasses import asdict, dataclass, field
from pathlib import Path


@dataclass
class Memory:
    session_id: str
    cwd: str
    told: list[str] = field(default_factory=list)
    prompts: int = 0

    @staticmethod
    def folder() -> Path:
        default = Path(tempfile.gettempdir()) / f"agentroom-demo-{os.getuid()}"
        return Path(os.environ.get("AGENTROOM_DEMO_STATE") or default)

    @classmethod
    def begin(cls, cwd: str) -> Memory:
        memory = cls(secrets.token_hex(8), cwd)
        memory.keep()
        return memory

    @classmethod
    def find(cls, session_id: str) -> Memory | None:
        """The session's memory; None when there is none."""
        if not session_id.isalnum():
            return None
        try:
            return cls(**json.loads((cls.folder() / f"{session_id}.json").read_text(encoding="utf-8")))
        except (OSError, ValueError, TypeError):
            return None

    def keep(self) -> None:
        folder = self.folder()
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        draft = folder / f"{self.session_id}.new"
        draft.write_text(json.dumps(asdict(self)), encoding="utf-8")
        draft.replace(folder / f"{self.session_id}.json")
