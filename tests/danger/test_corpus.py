import pytest

from agentroom_machine.danger import classify
from tests.danger.corpus import ATTACKS, DANGEROUS, HARMLESS, WRAPPERS, closed


def test_the_corpus_is_large_enough_to_mean_something() -> None:
    assert len(DANGEROUS) > 1_000
    assert len(HARMLESS) > 700
    assert {line.expect for line in DANGEROUS} == {"push", "delete", "spend", "credentials", "unreadable"}


def test_every_dangerous_line_pauses() -> None:
    assert [line for line in DANGEROUS if not classify(line.command).pauses] == []


def test_every_attack_pauses() -> None:
    assert len(ATTACKS) > 400
    assert [command for command in ATTACKS if not classify(command).pauses] == []


def test_no_harmless_line_pauses_while_confined() -> None:
    assert [(line.command, classify(line.command).why) for line in HARMLESS if classify(line.command).pauses] == []


def test_nearly_every_named_kind_is_the_right_one() -> None:
    named = [line for line in DANGEROUS if line.expect != "unreadable"]
    assert sum(classify(line.command).kind == line.expect for line in named) > 0.98 * len(named)


@pytest.mark.parametrize("name", WRAPPERS)
def test_a_wrapper_changes_no_verdict(name: str) -> None:
    wrap = WRAPPERS[name]
    changed = [
        line for line in DANGEROUS + HARMLESS
        if closed(line.command) and classify(wrap(line.command)).pauses != (line.expect is not None)
    ]  # fmt: skip
    assert changed == []


@pytest.mark.parametrize(
    "command", ["npm test", "make", "pytest -q", "python manage.py test", "./run.sh", "cargo test"]
)
def test_the_projects_own_code_asks_only_where_nothing_confines_it(command: str) -> None:
    assert classify(command, confined=True).kind is None
    reading = classify(command, confined=False)
    assert reading.kind == "unreadable"
    assert "can't be read" in reading.why


@pytest.mark.parametrize(
    "command",
    [
        "make -n", "make -n clean", "npm publish --dry-run", "cargo publish --dry-run",
        "python manage.py migrate --plan",
        "eslint .", "npx prettier --check .", "stylelint x.css", "commitlint --edit", "mypy .", "pylint src", "rubocop",
        "tailwindcss -i a.css", "typedoc", "flake8", "python manage.py check", "python manage.py makemigrations",
        "python manage.py showmigrations", "alembic history", "docker compose up", "docker compose -f a.yml up -d",
        "docker-compose up", "docker build -t x .", "docker buildx build .", "terraform plan", "pulumi preview",
        "npm pack", "npm init -y", "gem build x.gemspec", "gradle dependencies", "make list", "nx generate x",
        "source .venv/bin/activate", "pandoc --filter ./x.py a.md", "aria2c --on-download-complete=./x.sh URL",
        "jq -f x.jq a.json", "envsubst < t.tpl", "cmake -P x.cmake", "groff -U x", "yt-dlp --downloader ./x.sh URL",
    ],
)  # fmt: skip
def test_what_loads_code_of_the_project_asks_where_nothing_confines_it(command: str) -> None:
    assert classify(command, confined=True).kind is None
    assert classify(command, confined=False).kind == "unreadable"


@pytest.mark.parametrize(
    "command",
    [
        "ruff check .", "ruff format", "black .", "gofmt -l .", "rustfmt x.rs", "shellcheck x.sh", "docker ps",
        "docker compose logs", "docker images", "terraform fmt", "cargo tree", "npm ls", "npm view x", "pip list",
        "make --version", "just --list", "apt-get install -s x", "tsc --noEmit",
        "jq .name package.json", "pandoc a.md -o a.html", "bat x.py", "git fetch -p",
    ],
)  # fmt: skip
def test_what_has_no_code_in_its_settings_asks_nowhere(command: str) -> None:
    assert classify(command, confined=False).kind is None


@pytest.mark.parametrize(
    "command", ["ls -la", "git status", "echo 'git push'", "grep -rn 'rm -rf' .", "git push --help"]
)
def test_what_can_be_read_needs_no_confinement(command: str) -> None:
    assert classify(command, confined=False).kind is None
