"""Programs that nobody has listed: what their words say, and what they might carry."""

from __future__ import annotations

import re

from agentroom_machine.danger.programs.arguments import asks_for_help
from agentroom_machine.danger.programs.shells import is_shell, script
from agentroom_machine.danger.programs.table import touches_secrets
from agentroom_machine.danger.reader import Reader
from agentroom_machine.danger.reading import Kind
from agentroom_machine.danger.unknown import UNKNOWN, open_ended, plain, shown

_SAYS: tuple[tuple[Kind, re.Pattern[str]], ...] = (
    (
        "credentials",
        re.compile(
            r"login|logout|signin|auth|tokens?|secrets?|credentials?|password|passwd|keychain|api-?keys?|access-keys?"
            r"|(get|print)-token"
        ),
    ),
    (
        "delete",
        re.compile(
            r"delete|del|destroy|remove|rm|purge|wipe|drop|terminate|erase|prune|uninstall|unpublish|flush|flushall|truncate"
            r"|nuke|teardown|reset|clear|clean|cleanup|trash|shred|obliterate|expunge|rmi|rb|yank"
            r"|(delete|remove|destroy|drop)-.*|.*:(delete|destroy|drop|reset|wipe|purge|clear|remove)"
        ),
    ),
    (
        "push",
        re.compile(
            r"push|publish|deploy|release|upload|submit|send|merge|promote|ship|force-push|pull-request"
            r"|.*:(publish|deploy|push)"
        ),
    ),
    (
        "spend",
        re.compile(
            r"buy|purchase|pay|charges?|order|subscribe|provision|scale|launch|rent|topup|invoice|payments?|transfer|bid"
            r"|mint|withdraw|apply|create-(server|instance|vm|cluster|database|droplet).*|run-instances"
        ),
    ),
)
_CARRIED = {
    "git", "rm", "rmdir", "unlink", "shred", "truncate", "dd", "gh", "env", "printenv", "cat", "npm", "find", "xargs",
    "sudo", "kubectl", "docker", "aws", "terraform", "curl", "psql", "mysql", "python", "python3", "node", "perl",
    "eval",
}  # fmt: skip


def judge(reader: Reader, argv: list[str], stdin: str | None) -> str:
    """Pauses for what an unlisted program's words say it does; else it is code that nobody has read."""
    name, args = argv[0], argv[1:]
    if name.startswith(("./", "../", "/", "~")) or name.endswith((".sh", ".bash", ".zsh")):
        script(reader, name, args, stdin=stdin)
    if asks_for_help(args):
        return UNKNOWN
    words = [plain(arg).casefold() for arg in args if not arg.startswith("-")]
    for kind, pattern in _SAYS:
        said = next((word for word in words[:3] if pattern.fullmatch(word)), None)
        if said:
            reader.find(kind, f"{shown(name.rpartition('/')[2])} is not known, and is told to {said}")
            break
    touches_secrets(reader, args)
    for position, word in enumerate(args[:8]):
        if plain(word).rpartition("/")[2] in _CARRIED or is_shell(word):
            since = len(reader.findings)
            reader.run(args[position:], stdin)
            reader.soften(since, "a program that is not known may run another")
            break
    if args and args[0] == UNKNOWN and not open_ended(name):
        reader.project(f"what {shown(name)} is told is only known when it runs")
    reader.project(f"{shown(name.rpartition('/')[2])} is a program that is not known")
    return UNKNOWN
