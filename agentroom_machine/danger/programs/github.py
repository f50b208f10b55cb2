"""gh: GitHub's command line, whose ``api`` says with a method what it does."""

from __future__ import annotations

import re

from agentroom_machine.danger.addresses import judge as judge_address
from agentroom_machine.danger.programs.arguments import split
from agentroom_machine.danger.programs.table import Entry, judge, touches_secrets
from agentroom_machine.danger.reader import Program, Reader
from agentroom_machine.danger.unknown import UNKNOWN, plain

_GH = Entry.model_validate(
    {
        "credentials": """
            auth token|login|logout|refresh|setup-git|switch
            auth status --show-token|-t
            secret|secrets
            ssh-key|gpg-key add|delete
            repo deploy-key add|delete
            codespace|cs ssh|cp
            variable set|delete
            attestation trusted-root
            config set ** *token*
        """,
        "delete": """
            repo|release|gist|issue|label|cache|codespace|cs|run|project|ruleset|variable delete|delete-asset
            run cancel
            project item-delete|field-delete|item-archive
            codespace|cs stop
            extension|ext remove
            alias delete
            repo deploy-key delete
            pr checkout --force
        """,
        "push": """
            pr create|new|merge|close|comment|edit|ready|reopen|review|lock|unlock|update-branch|revert
            issue create|new|close|comment|edit|reopen|transfer|pin|unpin|lock|unlock|develop
            repo create|new|fork|edit|rename|archive|unarchive|sync|autolink|set-default-remote
            release create|new|upload|edit
            gist create|new|edit|rename
            label create|clone|edit
            project create|edit|close|copy|link|unlink|item-add|item-create|item-edit|field-create|mark-template
            workflow enable|disable
            discussion
            copilot agent-task
            agent-task create
        """,
        "spend": """
            codespace|cs create|rebuild|edit
            workflow run
            run rerun
            models
        """,
        "unreadable": """
            alias set|import
            extension|ext install|exec|upgrade|create
            copilot
            preview
            config set ** editor|browser|pager|http_unix_socket
            config set editor|browser|pager
        """,
        "harmless": """
            pr view|list|ls|status|checks|diff|checkout|co
            issue view|list|ls|status
            repo view|list|ls|clone|set-default|gitignore|license
            release view|list|ls|download|verify|verify-asset
            run view|list|ls|watch|download
            workflow view|list|ls
            gist view|list|ls|clone
            codespace|cs list|ls|logs|ports|view
            label list|ls
            project view|list|ls|item-list|field-list
            ruleset view|list|ls|check
            cache list|ls
            auth status
            config get|list|ls|set|clear-cache
            alias list|ls
            extension|ext list|ls|search|browse
            ssh-key|gpg-key list|ls
            variable list|ls|get
            org list|ls
            attestation verify|download
            search|status|browse|help|version|completion|search *
            accessibility|environment|exit-codes|formatting|reference
        """,
        "otherwise": "unreadable",
        "text_after": ["-t", "--title", "-b", "--body", "-m", "--subject", "-q", "--jq", "-S", "--search"],
    }
)


def _gh(reader: Reader, argv: list[str], stdin: str | None) -> str:
    words = [word for word in argv[1:] if not word.startswith("-")]
    if words[:1] == ["api"]:
        _api(reader, argv[argv.index("api") + 1 :], stdin)
        return UNKNOWN
    return judge(reader, "gh", _GH, argv[1:])


def _api(reader: Reader, args: list[str], stdin: str | None) -> None:
    takes = ("-X", "--method", "-f", "-F", "--field", "--raw-field", "--input", "-H", "--header", "-q", "--jq", "-t",
             "--template", "--hostname", "--cache", "-p", "--preview")  # fmt: skip
    found = split(args, takes)
    sends = any(True for _ in found.values("-f", "-F", "--field", "--raw-field", "--input"))
    method = (found.value("-X", "--method") or ("POST" if sends else "GET")).upper()
    touches_secrets(reader, [*found.values("-F", "--field", "--input")])
    path = plain(found.words[0]) if found.words else UNKNOWN
    if path == "graphql":
        query = " ".join(found.values("-f", "-F", "--field", "--raw-field"))
        if UNKNOWN in query or found.value("--input") is not None or "@" in query.partition("=")[2][:1]:
            reader.unreadable("what it asks GitHub is only known when it runs")
        elif re.search(r"\bmutation\b", query):
            reader.find("delete" if re.search(r"\bdelete\w*\s*\(", query) else "push", "it changes something at GitHub")
        return
    if (
        re.search(r"secrets/|/keys|installations/.+/access_tokens|registration-token|/secrets", path)
        and method != "GET"
    ):
        reader.find("credentials", "it handles GitHub's secrets")
        return
    if "codespaces" in path and method != "GET":
        reader.find("spend", "it asks GitHub for something that may cost money")
    for finding in judge_address(
        f"https://api.github.com/{path}", method, reader.policy, sends=sends and method != "GET"
    ):
        reader.find(finding.kind, finding.why)


PROGRAMS: dict[str, Program] = {"gh": _gh}
