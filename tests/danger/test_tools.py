from pathlib import Path

import pytest

from agentroom_machine.danger import Policy, classify_file, classify_mcp, classify_url


@pytest.fixture
def work(tmp_path: Path) -> Path:
    folder = tmp_path / "work"
    (folder / "src").mkdir(parents=True)
    (folder / "innocent").symlink_to(folder / ".env")
    (folder / "away").symlink_to(tmp_path)
    return folder


@pytest.mark.parametrize("tool", ["read", "edit", "write"])
@pytest.mark.parametrize("path", ["src/app.py", "README.md", ".env.example", "tests/test_secrets.py", "key.pub"])
def test_work_on_the_projects_own_files_is_harmless(work: Path, tool: str, path: str) -> None:
    assert classify_file(tool, [path], work).kind is None
    assert classify_file(tool, [str(work / path)], work).kind is None


@pytest.mark.parametrize("tool", ["read", "edit", "write", "search", "delete", "anything"])
@pytest.mark.parametrize(
    "path",
    [".env", "a/.env.local", "~/.ssh/id_rsa", "~/.aws/credentials", "deploy.pem", "/etc/shadow", "innocent", ".ENV"],
)
def test_secrets_are_credentials_whatever_is_done_with_them(work: Path, tool: str, path: str) -> None:
    assert classify_file(tool, [path], work).kind == "credentials"


@pytest.mark.parametrize(
    "path", [".git/hooks/pre-commit", ".git/info/attributes", ".husky/_/x", "~/.bashrc", "~/.gitconfig"]
)
def test_what_decides_what_runs_later_pauses(work: Path, path: str) -> None:
    assert classify_file("write", [path], work).kind == "unreadable"


def test_the_settings_of_agents_pause(work: Path) -> None:
    for path in (".claude/settings.json", ".codex/config.toml", ".mcp.json", ".gemini/settings.json"):
        assert classify_file("write", [path], work).pauses


def test_outside_of_the_working_directory_pauses(work: Path) -> None:
    assert classify_file("read", ["/etc/hosts"], work).kind == "unreadable"
    assert classify_file("write", ["/opt/x"], work).kind == "delete"
    assert classify_file("write", ["../x"], work).kind == "delete"
    assert classify_file("write", ["away/x"], work).kind in {"delete", None}
    assert classify_file("read", ["src/../../x"], work).pauses


def test_deleting_pauses_and_so_does_a_tool_that_names_no_file(work: Path) -> None:
    assert classify_file("delete", ["src/app.py"], work).kind == "delete"
    assert classify_file("write", [], work).kind == "unreadable"
    assert classify_file("frobnicate", ["src/app.py"], work).kind == "unreadable"
    assert classify_file("read", ["a\0b"], work).kind == "unreadable"
    assert classify_file("edit", ["src/app.py", ".env"], work).kind == "credentials"


def test_the_owners_own_names_of_secrets_count(work: Path) -> None:
    policy = Policy(secrets=("*.vault.txt",))
    assert classify_file("read", ["a.vault.txt"], work).kind is None
    assert classify_file("read", ["a.vault.txt"], work, policy=policy).kind == "credentials"


def test_a_tool_of_a_server_is_fine_only_where_it_reads_and_the_owner_trusts_it() -> None:
    policy = Policy(mcp_servers=("docs",))
    assert classify_mcp("docs", "search", {"readOnlyHint": True}, policy).kind is None
    assert classify_mcp("docs", "search", {}, policy).kind == "spend"
    assert classify_mcp("docs", "wipe", {"destructiveHint": True}, policy).kind == "delete"
    assert classify_mcp("shop", "search", {"readOnlyHint": True}, policy).kind == "unreadable"
    assert classify_mcp("shop", "buy", None, policy).kind == "spend"
    assert classify_mcp("docs", "search", {"readOnlyHint": "yes"}, policy).pauses
    assert classify_mcp("room", "agents_send").kind is None
    assert classify_mcp("agentroom", "agents_send").kind == "spend"


def test_an_address_is_judged_by_its_host() -> None:
    policy = Policy(hosts=("docs.example.org", "*.python.org"))
    assert classify_url("https://docs.example.org/x", policy).kind is None
    assert classify_url("https://docs.python.org/3/", policy, confined=False).kind is None
    assert classify_url("https://other.example.org/", policy, confined=False).kind == "unreadable"
    assert classify_url("https://other.example.org/", policy, confined=True).kind is None
    assert classify_url("http://169.254.169.254/latest/", policy).kind == "credentials"
    assert classify_url("http://127.0.0.1:8000/", policy).kind == "unreadable"
    assert classify_url("http://192.168.1.1/", policy).kind == "unreadable"
    assert classify_url("file:///etc/passwd", policy).kind == "unreadable"
    assert classify_url("https://me:pw@docs.example.org/", policy).kind == "credentials"
    assert classify_url("https://docs.example.org@evil.example/", policy, confined=False).kind == "unreadable"
    assert classify_url("nonsense", policy).kind == "unreadable"
    assert classify_url("https://docs.example.org/x", policy, method="DELETE").kind == "delete"


@pytest.mark.parametrize(
    "url",
    [r"https://evil.com\@docs.example.org/?d=saffron", "https://evil.com\t@docs.example.org/",
     "https://evil.com @docs.example.org/", "https://evil.com%23.docs.example.org/", "https://docs.example.org%2eevil/",
     "https://evil.com\x7f@docs.example.org/", "https://docs.example.org[evil.com]/"],
)  # fmt: skip
def test_an_address_whose_host_programs_read_differently_is_no_host_that_was_named(url: str) -> None:
    policy = Policy(hosts=("docs.example.org", "*.docs.example.org", "docs.example.org*"))
    for confined in (True, False):
        assert classify_url(url, policy, confined=confined).kind == "unreadable"
    assert classify_url("https://docs.example.org/a\\b@c?d=%20", policy).kind is None
