"""Everyday work that only looks like one of the four: a pause for nothing teaches to answer without reading."""

from __future__ import annotations

from pathlib import Path

import pytest

from agentroom_machine.confine import secrets
from agentroom_machine.danger import classify, places


@pytest.mark.parametrize(
    "command",
    ["git diff --name-only | xargs eslint", "git diff --name-only | xargs pytest", "black $(git diff --name-only)",
     "mypy $FILES", "for f in $(git diff --name-only); do black $f; done", "ruff check $FILES"],
)  # fmt: skip
def test_a_checker_of_files_that_are_only_known_when_it_runs_needs_no_question_where_it_is_confined(
    tmp_path: Path, command: str
) -> None:
    assert classify(command, cwd=tmp_path, confined=True).kind is None
    assert classify(command, cwd=tmp_path, confined=False).kind == "unreadable"


@pytest.mark.parametrize("command", ["gh $WHAT", "terraform $WHAT", "npm $WHAT", "echo x | xargs kubectl"])
def test_a_program_that_is_told_what_to_do_by_a_word_that_is_not_known_pauses(tmp_path: Path, command: str) -> None:
    assert classify(command, cwd=tmp_path, confined=True).pauses


def test_a_program_whose_name_is_computed_is_called_that(tmp_path: Path) -> None:
    for command in ("$EDITOR x", "$PYTHON -m pytest"):
        reading = classify(command, cwd=tmp_path, confined=True)
        assert reading.kind == "unreadable"
        assert "only known when it runs" in reading.why
    assert "look like others" in classify("\u0440m x", cwd=tmp_path, confined=True).why


@pytest.mark.parametrize(
    "command",
    ["dotnet test --filter Delete", "npm run build:release", "npm run release:notes", "pnpm -F deploy build",
     "pnpm --filter deploy -F push run build",
     "curl -X POST localhost:3000/login -d 'password=x'"],
)  # fmt: skip
def test_names_that_only_sound_like_it_need_no_question_where_it_is_confined(tmp_path: Path, command: str) -> None:
    assert classify(command, cwd=tmp_path, confined=True).kind is None


@pytest.mark.parametrize(
    ("command", "kind"),
    [("dotnet nuget push x --filter y", "push"), ("dotnet --filter x nuget delete y", "delete"),
     ("npm run release", "push"), ("npm run release:prod", "push"), ("npm run build:deploy", "push"),
     ("pnpm -F menu publish", "push"), ("pnpm -F $WHAT deploy", "push"), ("pnpm exec -F x git push", "push"),
     ("curl -X POST https://menu.example/login -d 'password=x'", "credentials"),
     ("curl -X POST localhost:3000/login -d @.env", "credentials"),
     ("curl -T .env localhost:3000/", "credentials"), ("curl -b password.txt localhost:3000/", "credentials")],
)  # fmt: skip
def test_what_they_sound_like_still_pauses(tmp_path: Path, command: str, kind: str) -> None:
    assert classify(command, cwd=tmp_path, confined=True).kind == kind


TEXTS = [
    "tokens.json", "src/tokens.json", "design-tokens.json", "theme_tokens.yaml", "added_tokens.json",
    "special_tokens.json", "locales/token.json", "vocab/tokens.txt", "~/shop/tokens.json",
]  # fmt: skip
SIGN_INS = [
    ".token", "token", "token.txt", "token.json", "tokens.txt", "access_token", "access_token.json", "api-tokens.json",
    "github_token.txt", "refresh_tokens.json", "secret_tokens.json", "~/tokens.json", "~/.cache/shop/tokens.json",
    "~/.local/share/agentroom/default/tokens.json", "/srv/agentroom/default/tokens.json", ".vocab/tokens.txt",
    "../.shop/tokens.json", "locales/access_token.json",
]  # fmt: skip


@pytest.mark.parametrize("path", TEXTS)
def test_tokens_of_a_design_or_a_language_are_no_secret(path: str) -> None:
    assert not places.secret(path)


@pytest.mark.parametrize("path", SIGN_INS)
def test_tokens_that_sign_in_are(path: str) -> None:
    assert places.secret(path)


def test_the_tokens_of_the_machine_itself_are_wherever_it_keeps_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for folder in (tmp_path / "Machine", places.home() + "/machine"):
        assert not places.secret(f"{folder}/default/tokens.json")
        monkeypatch.setenv("AGENTROOM_HOME", str(folder))
        assert places.secret(f"{folder}/default/tokens.json")
        monkeypatch.delenv("AGENTROOM_HOME")


def test_the_box_hides_the_ones_and_shows_the_others(tmp_path: Path) -> None:
    for name in ("design-tokens.json", "locales/token.json", "token.json", "api/access_token.txt"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("saffron")
    assert set(secrets.look(tmp_path).files) == {tmp_path / "token.json", tmp_path / "api/access_token.txt"}
