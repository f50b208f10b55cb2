"""Decides about one tool call: harmless, or the owner is asked. What can't be read is never harmless."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from agentroom_machine import wire
from agentroom_machine.daemon import showing
from agentroom_machine.daemon.call import PLACES, Call, is_shell, patch_of, patched
from agentroom_machine.danger import (
    Finding,
    Policy,
    Reading,
    classify,
    classify_file,
    classify_mcp,
    classify_url,
    places,
)
from agentroom_machine.danger.reading import verdict
from agentroom_machine.danger.tools import OWN_SERVER

_LOOK_AT = 20_000
"""Files that a search for secret names looks at before it gives up, which counts as having found one."""
_SHELLS = {"Bash", "exec_command", "shell", "local_shell", "bash", "run_shell_command", ""}
"""Tools that give a command to a shell; a runtime that names none has said so by the kind of its call."""
_PLAIN = {
    "command", "cmd", "description", "timeout", "timeout_ms", "run_in_background", "yield_time_ms",
    "max_output_tokens", "login", "tty", "justification", "is_background",
}  # fmt: skip
"""Arguments of a shell tool that don't change what its command does."""
_OWN_WORK = {"BashOutput", "KillShell", "TaskOutput", "TaskStop"}
"""Tools for commands that the agent itself began, each of which came by here."""
_HELPERS = {"Agent", "Task"}
_WORD_OF_SERVER = "mcp__"


@dataclass(frozen=True)
class Harmless:
    """It may run unasked."""


@dataclass(frozen=True)
class Ask:
    """The owner decides. ``action`` is the whole truth; None when it can't be shown whole."""

    subject: wire.Subject
    title: str
    action: str | None
    short: str
    releasable: bool = False
    """A command that was understood whole, and would fail in its confinement."""


@dataclass(frozen=True)
class Gate:
    """One agent's gate for one turn."""

    policy: Policy = field(default_factory=Policy)
    confined: Literal["nothing", "commands", "everything"] = "nothing"
    """What can reach neither the network nor secrets: the runtime's commands alone, or its whole process."""
    walled: bool = False
    """The runtime keeps its commands from the network by itself, where nothing of ours confines them."""
    mail: bool = False
    """Whether the session has our own tools."""

    def judge(self, call: Call) -> Harmless | Ask:
        """The one decision about a tool call; everything that is not surely harmless goes to the owner."""
        if call.name.startswith(_WORD_OF_SERVER):
            server, _, tool = call.name.removeprefix(_WORD_OF_SERVER).partition("__")
            if server == OWN_SERVER and not self.mail:
                return _ask(call, "unreadable", "it uses the name of Agentroom's own tools")
            return self._decided(call, classify_mcp(server, tool, policy=self.policy))
        if call.command is not None:
            return self._command(call, call.command)
        if call.name in _OWN_WORK or (call.tool == "think" and not call.paths):
            return Harmless()
        if call.tool == "fetch" and isinstance(url := _of(call.raw, "url"), str):
            reading = classify_url(url, self.policy, confined=self.confined == "everything")
            return self._decided(call, reading)
        if call.tool == "fetch" or call.name in _HELPERS:
            # It searches the web, or starts a helper whose calls come by here one by one.
            return _ask(call, "tool", "")
        if call.tool in {"read", "search", "edit", "move", "delete"}:
            return self._decided(call, self._files(call))
        return _ask(call, "unreadable", "what this tool does is not known")

    def stays(self, call: Call, asked: Ask) -> str:
        """Where a command runs, and what the owner should know of that before a yes."""
        if call.command is None:
            return ""
        if self.confined == "nothing":
            return self._fails_unconfined(call, asked)
        if self._leaves(call):
            return "It asks to run outside of its confinement, with the network and with your secrets."
        fails = asked.subject in {"push", "spend", "credentials"}
        confined = "It runs in its confinement, which keeps it from the network and from secrets"
        return f"{confined}; it may fail for that." if fails else f"{confined}."

    def _fails_unconfined(self, call: Call, asked: Ask) -> str:
        if self.walled and not self._leaves(call):
            fails = asked.subject in {"push", "spend"}
            return "It runs where its runtime lets nothing reach the network; it may fail for that." if fails else ""
        if asked.subject == "push" and "git" in (call.command or ""):
            return "Agentroom does a git push only where it is the whole command; this one may be refused."
        return ""

    def _decided(self, call: Call, reading: Reading) -> Harmless | Ask:
        return Harmless() if reading.kind is None else _ask(call, reading.kind, reading.why)

    # --- commands

    def _command(self, call: Call, command: str) -> Harmless | Ask:
        confined = self.confined != "nothing" and not self._leaves(call)
        odd = self._odd(call)
        reading = odd or classify(_placed(call, command), cwd=call.workdir, confined=confined, policy=self.policy)
        if reading.kind is None:
            return Harmless()
        whole = all(finding.kind != "unreadable" and not finding.confinable for finding in reading.findings)
        fails = confined and self.confined == "commands" and reading.kind in {"push", "spend", "credentials"}
        if self.walled and self.confined == "nothing" and not self._leaves(call):
            fails = reading.kind in {"push", "spend"}
        return _ask(call, reading.kind, reading.why, releasable=fails and whole and odd is None)

    def _odd(self, call: Call) -> Reading | None:
        """Why the command's text is not all that counts."""
        if call.name == "write_stdin":
            return _unread("it types into a command that runs already")
        if call.name not in _SHELLS and call.name != "Monitor":
            return _unread("what this tool does with a command is not known")
        if isinstance(call.raw, Mapping):
            shell = _of(call.raw, "shell")
            if shell is not None and (not isinstance(shell, str) or not is_shell(shell)):
                return _unread("it names another shell")
            named = [value for key in PLACES if (value := call.raw.get(key))]
            if len(set(map(str, named))) > 1 or not all(isinstance(value, str) for value in named):
                return _unread("where it would run can't be told")
            known = _PLAIN | (set() if call.name == "Bash" else set(PLACES))  # that one knows no such word
            known |= {"shell", "sandbox_permissions", "dangerouslyDisableSandbox", "timeout_seconds"}
            more = sorted(
                key for key, value in call.raw.items() if key not in known and value not in (None, "", {}, [])
            )
            if more and call.name:
                return _unread(f"it says more than a command: {', '.join(map(str, more[:5]))}")
        return None

    def _leaves(self, call: Call) -> bool:
        """Whether the command asks to run outside of the confinement that the others have."""
        if self.confined == "everything":
            return False
        if call.escalates or call.name == "Monitor" or _of(call.raw, "dangerouslyDisableSandbox"):
            return True
        return _of(call.raw, "sandbox_permissions") not in (None, "", "use_default")

    # --- files

    def _files(self, call: Call) -> Reading:
        findings: list[Finding] = []
        gone = _deleted(call.raw)
        if patched(patch_of(call.raw)) is None:
            findings.append(Finding("unreadable", "a line of its patch can't be read"))
        if gone:
            findings += self._read("delete", gone, call)
        stay = [path for path in call.paths if path not in gone]
        if call.name.casefold() == "glob" and isinstance(names := _of(call.raw, "pattern"), str):
            stay += [names] if names.startswith(("/", "~")) or ".." in names else []
        if stay or not gone:
            findings += self._read(call.tool, stay, call)
        if call.tool == "search" and call.contents:
            for path in call.paths or ("",):
                if _holds_secrets(call.workdir / Path(path).expanduser(), self.policy):
                    findings.append(Finding("credentials", "it shows what is in files, and some there hold secrets"))
        return verdict(findings, confined=self.confined == "everything")

    def _read(self, tool: str, paths: list[str], call: Call) -> tuple[Finding, ...]:
        return classify_file(tool, paths, call.workdir, confined=False, policy=self.policy).findings


def _of(raw: Any, key: str) -> Any:
    return raw.get(key) if isinstance(raw, Mapping) else None


def _unread(why: str) -> Reading:
    return verdict([Finding("unreadable", why)], confined=False)


def _placed(call: Call, command: str) -> str:
    """The command as it would have to be given in the working directory."""
    if not call.cwd or os.path.realpath(call.cwd) == os.path.realpath(call.workdir):
        return command
    return f"cd {shlex.quote(call.cwd)}\n{command}"


def _deleted(raw: Any) -> list[str]:
    """The files that a patch takes away."""
    found = [path for what, path in patched(patch_of(raw)) or () if what == "Delete File"]
    changes = _of(raw, "changes")
    if isinstance(changes, Mapping):
        for path, change in changes.items():
            said = (_of(change, "type"), _of(change, "kind"), *(change if isinstance(change, Mapping) else ()))
            if "delete" in said:
                found.append(str(path))
    return found


def _holds_secrets(place: Path, policy: Policy) -> bool:
    return any(found is None or places.secret(str(found)) or policy.secret(str(found)) for found in _names(place))


def _names(folder: Path) -> Iterator[Path | None]:
    seen = 0
    for base, folders, files in os.walk(folder):
        folders[:] = [name for name in folders if name not in {".git", "node_modules", ".venv"}]
        for name in files:
            seen += 1
            if seen > _LOOK_AT:
                yield None
                return
            yield Path(base, name).relative_to(folder)


def _ask(call: Call, subject: wire.Subject, why: str, *, releasable: bool = False) -> Ask:
    action = showing.action(call)
    title, short = showing.words(call)
    return Ask(
        subject=subject,
        title=f"{title}: {why}" if why else title,
        action=action if len(action) <= wire.MAX_TEXT else None,
        short=short,
        releasable=releasable,
    )
