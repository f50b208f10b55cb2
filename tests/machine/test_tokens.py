from pathlib import Path

import keyring
import pytest
from keyring.backend import KeyringBackend

from agentroom_machine import tokens
from agentroom_machine.errors import Trouble
from agentroom_machine.profile import Profile, Settings
from agentroom_machine.tokens import Tokens


class Drawer(KeyringBackend):
    """A keyring in memory."""

    priority = 5

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.kept: dict[tuple[str, str], str] = {}

    def get_password(self, service: str, username: str) -> str | None:
        return self.kept.get((service, username))

    def set_password(self, service: str, username: str, password: str) -> None:
        self.kept[service, username] = password

    def delete_password(self, service: str, username: str) -> None:
        del self.kept[service, username]


def test_without_a_keyring_the_tokens_are_in_a_file_that_only_their_owner_reads(no_home: Path) -> None:
    profile, made = Profile.named(), Tokens.make()
    assert tokens.keep(profile, made) == str(profile.folder / "tokens.json")
    assert (profile.folder / "tokens.json").stat().st_mode & 0o777 == 0o600
    assert profile.folder.stat().st_mode & 0o777 == 0o700
    assert tokens.load(profile) == made
    tokens.forget(profile)
    assert tokens.load(profile) is None


def test_with_a_keyring_no_file_holds_them(no_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AGENTROOM_NO_KEYRING")
    drawer = Drawer()
    monkeypatch.setattr(keyring, "get_keyring", lambda: drawer)
    monkeypatch.setattr(keyring, "set_password", drawer.set_password)
    monkeypatch.setattr(keyring, "get_password", drawer.get_password)
    monkeypatch.setattr(keyring, "delete_password", drawer.delete_password)
    profile, made = Profile.named(), Tokens.make()
    assert tokens.keep(profile, made) == "the system keyring"
    assert not (profile.folder / "tokens.json").exists()
    assert tokens.load(profile) == made


def test_the_two_secrets_say_what_they_are_and_differ() -> None:
    made = Tokens.make()
    assert made.machine.startswith("arm_")
    assert made.connection.startswith("arc_")
    assert made.machine[4:] != made.connection[4:]
    assert len(made.machine) > 40


def test_each_profile_is_a_folder_of_its_own(no_home: Path) -> None:
    home, work = Profile.named(), Profile.named("work")
    home.keep(Settings(server="https://a.example.com"))
    assert not work.paired()
    assert home.settings().server == "https://a.example.com"
    with pytest.raises(Trouble, match="can't name a profile"):
        Profile.named("../elsewhere")


def test_a_damaged_profile_says_what_mends_it(no_home: Path) -> None:
    profile = Profile.named().make()
    profile.settings_file.write_text("{")
    with pytest.raises(Trouble, match="agentroom login URL"):
        profile.settings()
