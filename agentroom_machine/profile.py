"""The folder in which a machine keeps who it is: server, name, tokens, journal and lock."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

import platformdirs
from pydantic import BaseModel, ValidationError

from agentroom_machine.errors import Trouble


class Settings(BaseModel):
    """What is not secret: profile.json."""

    server: str
    name: str = ""
    machine_id: int | None = None
    owner: str = ""


@dataclass(frozen=True)
class Profile:
    folder: Path

    @classmethod
    def named(cls, name: str | None = None) -> Profile:
        """The profile of that name, below AGENTROOM_HOME or where this system keeps a user's data."""
        home = os.environ.get("AGENTROOM_HOME")
        base = Path(home).expanduser().absolute() if home else platformdirs.user_data_path("agentroom", appauthor=False)
        name = name or "default"
        if not name.replace("-", "").replace("_", "").isalnum():
            raise Trouble(f"“{name}” can't name a profile: use letters, digits, - and _.")
        return cls(base / name)

    def make(self) -> Profile:
        self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        self.folder.chmod(0o700)
        return self

    @property
    def settings_file(self) -> Path:
        return self.folder / "profile.json"

    @property
    def journal_file(self) -> Path:
        return self.folder / "journal.sqlite3"

    @property
    def worktrees(self) -> Path:
        return self.folder / "worktrees"

    @property
    def scratch(self) -> Path:
        """Where runtimes get files of their own, such as the demo agent's memory."""
        return self.folder / "agents"

    def policy_file(self, handle: str) -> Path:
        """What the owner wrote about one agent, see danger.policy; absent unless they did."""
        return self.folder / "policies" / f"{handle}.toml"

    def paired(self) -> bool:
        return self.settings_file.exists()

    def settings(self) -> Settings:
        """Who this machine is; Trouble when it was never paired, or when that can't be read."""
        try:
            return Settings.model_validate_json(self.settings_file.read_text(encoding="utf-8"))
        except FileNotFoundError:
            raise Trouble("This machine is not paired with a server yet. Pair it: agentroom login URL") from None
        except OSError as error:
            raise Trouble(f"{self.settings_file} can't be read ({type(error).__name__}).") from None
        except (ValidationError, UnicodeDecodeError):
            raise Trouble(f"{self.settings_file} is damaged. Pair again: agentroom login URL") from None

    def keep(self, settings: Settings) -> None:
        self.make()
        write_private(self.settings_file, settings.model_dump_json(indent=2))


def write_private(path: Path, text: str) -> None:
    """Writes a file that only its owner can read, whole or not at all."""
    draft = path.with_name(path.name + ".new")
    draft.unlink(missing_ok=True)
    with open(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    draft.replace(path)
