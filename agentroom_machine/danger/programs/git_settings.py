"""Settings of git that run programs, send elsewhere, or hold passwords; and the aliases that are already kept."""

from __future__ import annotations

import re
from pathlib import Path

from agentroom_machine.danger.reader import Reader
from agentroom_machine.danger.unknown import UNKNOWN, plain

_COMMANDS = re.compile(
    r"core\.(pager|editor|sshcommand|askpass|gitproxy|fsmonitor|alternaterefscommand)|pager\..+|sequence\.editor"
    r"|diff\.external|diff\..+\.(command|textconv)|merge\..+\.driver|filter\..+\.(clean|smudge|process)|gpg\.(.+\.)?program"
    r"|difftool\..+\.(cmd|path)|mergetool\..+\.(cmd|path)|man\..+\.(cmd|path)|browser\..+\.(cmd|path)|interactive\.difffilter"
    r"|sendemail\.(smtpserver|tocmd|cccmd|sendmailcmd)|uploadpack\.packobjectshook|remote\..+\.(uploadpack|receivepack)"
    r"|trailer\..+\.(command|cmd)|submodule\..+\.update|web\.browser|http\.(.+\.)?sslcert.*|instaweb\..+|tar\..+\.command"
    r"|hook\..+\.command|core\.gitproxy|ssh\.variant|receive\..+|gpg\.ssh\.defaultkeycommand|blame\..+\.command",
    re.I,
)
_PLANTS = re.compile(
    r"core\.(hookspath|worktree|attributesfile)|include(if)?\..+|init\.templatedir|protocol\..+|safe\..+", re.I
)
_ELSEWHERE = re.compile(
    r"url\..+\.(insteadof|pushinsteadof)|remote\..+\.(url|pushurl|push|mirror)|branch\..+\.pushremote|push\..+|remote\.pushdefault",
    re.I,
)
_EXPIRES = re.compile(r"gc\.((.+\.)?reflogexpire(unreachable)?|(worktree)?pruneexpire|rerere\w+)", re.I)
_PLAIN = {
    "", "true", "false", "1", "0", "yes", "no", "cat", "less", "more", "delta", "diff-so-fancy", "vim", "vi", "nano",
    "emacs", "code --wait", "less -R", "less -FRX", "less -FX", "less -F", ":", "gpg", "gpg2", "ssh", "rebase",
    "merge", "checkout", "none",
}  # fmt: skip


def judge(reader: Reader, key: str, value: str, *, kept: bool = False) -> None:
    """Notes what a setting makes git do: now with ``-c``, later when it is kept."""
    if key == UNKNOWN or UNKNOWN in key:
        reader.unreadable("which of git's settings it changes is only known when it runs")
    elif key.casefold().startswith("credential") or re.search(r"extraheader|cookiefile|password|token", key, re.I):
        reader.find("credentials", "it changes how git keeps passwords")
    elif key.casefold().startswith("alias."):
        if value.startswith("!"):
            reader.text(value[1:])
        elif value.split() and value.split()[0] != key[6:]:
            reader.run(["git", *value.split()], "")
    elif _COMMANDS.fullmatch(key):
        if plain(value).strip() not in _PLAIN:
            found = len(reader.findings)
            reader.text(value.lstrip("!"))
            if kept and not any(not one.confinable for one in reader.findings[found:]):
                reader.unreadable(f"git will run what {key} says")
    elif _EXPIRES.fullmatch(key) and plain(value).casefold() not in {"never", "false"}:
        reader.find("delete", f"{key} lets git delete what brings lost commits back")
    elif re.fullmatch(r"remote\..+\.fetch", key, re.I) and not re.search(r":refs/remotes/|^[^:]*$", value):
        reader.find("delete", f"{key} makes each fetch overwrite branches")
    elif _PLANTS.fullmatch(key):
        reader.unreadable(f"{key} decides which programs git runs")
    elif _ELSEWHERE.fullmatch(key) and kept and re.search(r"insteadof|pushurl|remote\..+\.push|mirror", key, re.I):
        reader.unreadable(f"{key} changes where git sends commits")


def kept_alias(reader: Reader, name: str) -> str | None:
    """An alias from the repository's settings or the owner's own."""
    if reader.cwd is None:
        return None
    places = [Path.home() / ".gitconfig", Path.home() / ".config/git/config"]
    folder = reader.cwd / reader.scope.directory
    places += [above / ".git/config" for above in (folder, *folder.parents)]
    for place in places:
        found = _aliases(place).get(name.casefold())
        if found is not None:
            return found
    return None


def _aliases(place: Path) -> dict[str, str]:
    try:
        if not place.is_file() or place.stat().st_size > 256_000:
            return {}
        text = place.read_text().replace("\\\n", "")
    except (OSError, ValueError):
        return {}
    found: dict[str, str] = {}
    section = ""
    for line in map(str.strip, text.splitlines()):
        if line.startswith("["):
            section = line.strip("[] ").casefold()
        key, equals, value = line.partition("=")
        if section == "alias" and equals:
            found[key.strip().casefold()] = re.sub(r'\\(.)|"', r"\1", value.strip())
    return found
