"""A lone ``git push``: read without running what its repository names, shown whole, done outside exactly so."""

from __future__ import annotations

import hashlib
import os
import re
import shlex
import signal
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal
from urllib.parse import urlsplit

from agentroom_machine.confine.repository import borrows, common_folder
from agentroom_machine.daemon.git import GitFailed, git

TIME = 120.0
"""Seconds for a push; after that its outcome is not known."""
_SHELL = re.compile(r"[;&|<>()$`\\*?\[\]{}!#~\n\r\x00]")
"""Whatever a shell would read as more than words."""
_FLAGS = {"-f": "--force", "--force": "--force", "-u": "", "--set-upstream": "", "-q": "", "--quiet": "", "-v": "",
          "--verbose": "", "--progress": "", "--no-progress": "", "--porcelain": "", "--no-verify": "",
          "-d": "--delete", "--delete": "--delete", "--force-with-lease": "--force-with-lease"}  # fmt: skip
"""What is understood; what is empty changes nothing about the push itself."""
_ADDRESS = re.compile(
    r"(https?|ssh)://[\w.~%:@\[\]/+-]+|[\w.-]+@[\w.-]+:[\w./~+-]+|/[^\x00-\x1f]*|file:///[^\x00-\x1f]*"
)
_SHA = re.compile(r"[0-9a-f]{40}([0-9a-f]{24})?")


@dataclass(frozen=True)
class Ref:
    """One branch or tag: ``sha`` goes to ``name``; without one, ``name`` is removed over there."""

    name: str
    sha: str = ""
    force: bool = False
    expected: str | None = None
    """What must still stand over there for a forced push that takes care; empty: nothing."""
    subject: str = ""
    """First line of the commit's message, for the owner to recognise it."""

    @property
    def spec(self) -> str:
        return f"{self.sha}:{self.name}"


@dataclass(frozen=True)
class PushPlan:
    command: str
    url: str
    refs: tuple[Ref, ...]
    git_folder: Path
    """Where the commits are."""
    address: str = ""
    """The address as the repository names it."""
    remote: str = ""
    """The remote's name in the repository, when its own branches are to be brought up to date afterwards."""

    def shown(self) -> str:
        """What will happen, whole: to be shown to the owner, and bound by the question's digest."""
        lines = [f"git push {without_password(self.url)} {' '.join(ref.spec for ref in self.refs)}", ""]
        for ref in self.refs:
            if not ref.sha:
                lines.append(f"removes {ref.name} there")
                continue
            how = " (forced: what is there may be lost)" if ref.force else ""
            lines.append(f"commit {ref.sha} to {ref.name}{how}")
            if ref.expected is not None:
                lines.append(f"  only while {ref.expected or 'nothing'} stands there")
            if ref.subject:
                lines.append(f"  “{ref.subject}”")
        return "\n".join([*lines, "", "Agentroom does this itself, outside of the agent's box, exactly so and once."])

    def short(self) -> str:
        """The same in one line, for the room."""
        parts = [f"{ref.sha[:10]} to {ref.name}" if ref.sha else f"removal of {ref.name}" for ref in self.refs]
        return f"{', '.join(parts)} at {without_password(self.url)}"


@dataclass(frozen=True)
class PushResult:
    state: Literal["done", "failed", "unknown"]
    output: str
    refs: dict[str, str]
    """For each ref, nothing when it arrived, else why not."""


def resolve(command: str, cwd: Path, within: Sequence[Path] = ()) -> PushPlan | None:
    """What a lone ``git push`` would push where; None for anything else, which then stays confined. Blocks.

    ``within``: folders that may hold the repository; the folder itself when none is given. Nothing that the repository
    names is run: no hook, no helper, no program for ssh.
    """
    words = _words(command)
    if words is None:
        return None
    try:
        return _Reader(command, Path(os.path.realpath(cwd)), [*within] or [cwd]).plan(words)
    except (_Unclear, GitFailed, OSError):
        return None


class _Unclear(Exception):
    """It can't be said for sure what this push would do."""


def _words(command: str) -> list[str] | None:
    text = command.strip()
    if _SHELL.search(text):
        return None
    try:
        words = shlex.split(text)
    except ValueError:
        return None
    return words[2:] if words[:2] == ["git", "push"] else None


class _Reader:
    def __init__(self, command: str, cwd: Path, within: list[Path]) -> None:
        self._command, self._cwd = command, cwd
        self._top = Path(os.fsdecode(git(cwd, "rev-parse", "--show-toplevel").rstrip(b"\n"))).resolve()
        found = common_folder(self._top / ".git")
        # A pointer that an agent wrote could lead to a repository that is none of its business.
        if found is None or not any(found.resolve().is_relative_to(folder.resolve()) for folder in within):
            raise _Unclear
        self._folder = found.resolve()
        self._check()
        listed = git(cwd, "config", "--local", "--no-includes", "--list", "-z")
        self._config: dict[str, list[str]] = {}
        for entry in listed.decode(errors="surrogateescape").split("\0"):
            name, _, value = entry.partition("\n")
            if name:
                self._config.setdefault(name, []).append(value)

    def _check(self) -> None:
        """Git looks where we do, and finds nothing there but this repository's own."""
        common = os.fsdecode(git(self._cwd, "rev-parse", "--git-common-dir").rstrip(b"\n"))
        if (self._cwd / common).resolve() != self._folder or borrows(self._folder):
            raise _Unclear

    def plan(self, words: list[str]) -> PushPlan:
        flags, lease, rest = self._flags(words)
        branch = self._branch()
        remote = rest[0] if rest else self._remote(branch)
        url, address, name = self._url(remote)
        force, delete = "--force" in flags, "--delete" in flags
        specs = rest[1:] or self._default(remote, branch)
        if delete and not rest[1:]:
            raise _Unclear
        refs = tuple(self._ref(spec, force=force, delete=delete) for spec in specs)
        if lease:
            refs = tuple(self._leased(ref, name) for ref in refs)
        if len({ref.name for ref in refs}) != len(refs):
            raise _Unclear
        self._check()  # again: a program that was left running could have changed it meanwhile
        return PushPlan(self._command, url, refs, self._folder, address, name)

    @staticmethod
    def _flags(words: list[str]) -> tuple[set[str], bool, list[str]]:
        flags: set[str] = set()
        rest: list[str] = []
        for word in words:
            if word.startswith("-") and not rest:
                if word not in _FLAGS:
                    raise _Unclear
                flags.add(_FLAGS[word])
            elif word.startswith("-"):
                raise _Unclear
            else:
                rest.append(word)
        return flags, "--force-with-lease" in flags, rest

    def _one(self, name: str) -> str | None:
        values = self._config.get(name)
        return values[-1] if values else None

    def _branch(self) -> str:
        try:
            head = git(self._cwd, "symbolic-ref", "-q", "HEAD").decode().strip()
        except GitFailed:
            return ""
        return head.removeprefix("refs/heads/") if head.startswith("refs/heads/") else ""

    def _remote(self, branch: str) -> str:
        named = self._one(f"branch.{branch}.pushremote") or self._one("remote.pushdefault")
        named = named or self._one(f"branch.{branch}.remote")
        remotes = {key.split(".")[1] for key in self._config if key.startswith("remote.") and key.endswith(".url")}
        return named or (next(iter(remotes)) if len(remotes) == 1 else "origin")

    def _url(self, remote: str) -> tuple[str, str, str]:
        """Where it leads, the address as the repository names it, and the remote's name if it is one."""
        if any(re.fullmatch(r"url\..*\.(push)?insteadof", name, re.DOTALL) for name in self._config):
            raise _Unclear
        key = f"remote.{remote}."
        urls = self._config.get(f"{key}pushurl") or self._config.get(f"{key}url")
        odd = ("mirror", "vcs", "push", "receivepack", "proxy", "promisor")
        if urls:
            if len(urls) != 1 or any(f"{key}{name}" in self._config for name in odd):
                raise _Unclear
            return self._checked(urls[0]), urls[0], remote
        return self._checked(remote), remote, ""

    def _checked(self, address: str) -> str:
        if not _ADDRESS.fullmatch(address):
            raise _Unclear
        if address.startswith(("/", "file://")):
            there = Path(os.path.realpath(address.removeprefix("file://")))
            if there.is_relative_to(self._top) or there.is_relative_to(self._folder):
                raise _Unclear  # what runs over there on arrival could be the agent's own
            return str(there)
        host = urlsplit(address).hostname if "://" in address else address.partition(":")[0].rpartition("@")[2]
        if not host or host.startswith("-"):
            raise _Unclear
        return _rewritten(address)

    def _default(self, remote: str, branch: str) -> list[str]:
        """What ``git push`` pushes by itself: the branch to its namesake, and nothing that would need a guess."""
        if not branch or (self._one("push.default") or "simple") not in {"simple", "current", "upstream"}:
            raise _Unclear
        if self._one(f"branch.{branch}.remote") == remote:
            if self._one(f"branch.{branch}.merge") != f"refs/heads/{branch}":
                raise _Unclear
        elif self._one("push.default") != "current":
            raise _Unclear
        return [f"refs/heads/{branch}"]

    def _ref(self, spec: str, *, force: bool, delete: bool) -> Ref:
        force = force or spec.startswith("+")
        spec = spec.removeprefix("+")
        if delete:
            if ":" in spec:
                raise _Unclear
            return Ref(self._there(spec, ""))
        source, colon, there = spec.partition(":")
        if colon and not source:
            return Ref(self._there(there, ""))
        full = self._full(source)
        sha = git(self._cwd, "rev-parse", "--verify", "--end-of-options", full or source).decode().strip()
        if not _SHA.fullmatch(sha):
            raise _Unclear
        if not there:
            if not full and source not in {"HEAD", "@"}:
                raise _Unclear
            there = full or f"refs/heads/{self._branch()}"
        return Ref(self._there(there, full), sha, force, subject=self._subject(sha))

    def _full(self, name: str) -> str:
        """The full name of a branch or tag; nothing when it is no such name."""
        found = [full for full in (name, f"refs/heads/{name}", f"refs/tags/{name}") if full.startswith("refs/")]
        found = [full for full in found if self._exists(full)]
        if len(found) > 1:
            raise _Unclear
        return found[0] if found else ""

    def _exists(self, full: str) -> bool:
        try:
            git(self._cwd, "show-ref", "--verify", "--quiet", "--", full)
        except GitFailed:
            return False
        return True

    @staticmethod
    def _there(name: str, source: str) -> str:
        """The full name over there. A short one is a branch, or what its source is."""
        if not name.startswith("refs/"):
            name = f"refs/tags/{name}" if source.startswith("refs/tags/") else f"refs/heads/{name}"
        parts = name.split("/")
        if (
            not re.fullmatch(r"refs/(heads|tags)/[\w./@+-]+", name)
            or ".." in name
            or name.endswith((".lock", "/", "."))
        ):
            raise _Unclear
        if any(not part or part.startswith((".", "-")) for part in parts):
            raise _Unclear
        return name

    def _leased(self, ref: Ref, remote: str) -> Ref:
        if not ref.name.startswith("refs/heads/") or not remote:
            raise _Unclear
        seen = f"refs/remotes/{remote}/{ref.name.removeprefix('refs/heads/')}"
        expected = git(self._cwd, "rev-parse", "--verify", "--end-of-options", seen).decode().strip()
        return Ref(ref.name, ref.sha, True, expected, ref.subject)

    def _subject(self, sha: str) -> str:
        kind = git(self._cwd, "cat-file", "-t", sha).strip()
        raw = git(self._cwd, "cat-file", kind.decode(), sha)
        # Git shows what lies under a name as it is; what was written there by hand would be of another name.
        named = hashlib.new("sha1" if len(sha) == 40 else "sha256", b"%s %d\0%s" % (kind, len(raw), raw))
        if named.hexdigest() != sha:
            raise _Unclear
        _, _, message = raw.decode(errors="replace").partition("\n\n")
        return (message.strip().splitlines() or [""])[0][:200]


def _rewritten(address: str) -> str:
    """The address as the owner's own settings would have it; the repository's are not asked."""
    listed = git(Path("/"), "config", "--list", "-z").decode(errors="surrogateescape")
    for kind in ("pushinsteadof", "insteadof"):
        found = [
            (value, name[4 : -len(kind) - 1])
            for name, _, value in (entry.partition("\n") for entry in listed.split("\0"))
            if name.startswith("url.") and name.endswith(f".{kind}") and value and address.startswith(value)
        ]
        if found:
            prefix, instead = max(found, key=lambda pair: len(pair[0]))
            address = instead + address.removeprefix(prefix)
            break
    if not _ADDRESS.fullmatch(address):
        raise _Unclear
    return address


def without_password(url: str) -> str:
    """The address without a password in it."""
    return re.sub(r"(://[^/@:\s]*):[^/@\s]*@", r"\1:…@", url)


def run(plan: PushPlan, environ: Mapping[str, str] | None = None) -> PushResult:
    """Pushes what the plan says, from a fresh repository of our own that borrows the commits. Blocks; call it once.

    The owner's own settings and sign-in count (global configuration, ssh agent); nothing of the agent's repository.
    """
    env = {name: value for name, value in (environ or os.environ).items() if _passes(name)}
    env |= {"GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C", "GIT_ALLOW_PROTOCOL": "https:http:ssh:file"}
    with tempfile.TemporaryDirectory(prefix="ar-push-") as folder:
        try:
            if borrows(plan.git_folder):
                return _failed(plan, "Nothing was pushed: the repository has since been made to lead elsewhere.")
            bare = Path(folder) / "push.git"
            subprocess.run(
                ["git", "init", "-q", "--bare", "--template=", str(bare)], env=env, check=True, capture_output=True,
                stdin=subprocess.DEVNULL, timeout=TIME,
            )  # fmt: skip
            (bare / "objects/info").mkdir(exist_ok=True)
            (bare / "objects/info/alternates").write_text(f"{plan.git_folder / 'objects'}\n", encoding="utf-8")
        except (OSError, subprocess.SubprocessError) as error:
            return _failed(plan, f"Nothing was pushed: {error}")
        return _push(plan, bare, env)


def _passes(name: str) -> bool:
    return not name.startswith(("GIT_", "AGENTROOM_", "LD_")) and name not in {"SSH_ASKPASS", "DISPLAY"}


def _push(plan: PushPlan, bare: Path, env: Mapping[str, str]) -> PushResult:
    leases = [f"--force-with-lease={ref.name}:{ref.expected}" for ref in plan.refs if ref.expected is not None]
    specs = [f"{'+' if ref.force and ref.expected is None else ''}{ref.spec}" for ref in plan.refs]
    command = ["git", "-c", "core.hooksPath=/dev/null", "-c", "push.gpgSign=false", "-c", "push.followTags=false",
               # The repository's list of who descends from whom could let a forced push pass as none.
               "-c", "core.commitGraph=false",
               # Its owner's settings have had their say about the address: it leads where it was shown to lead.
               "-c", f"url.{plan.url}.insteadOf={plan.url}", "-c", f"url.{plan.url}.pushInsteadOf={plan.url}",
               "push", "--porcelain", "--no-recurse-submodules", *leases, "--", plan.url, *specs]  # fmt: skip
    try:
        process = subprocess.Popen(
            command, cwd=bare, env=dict(env), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, start_new_session=True,
        )  # fmt: skip
    except OSError as error:
        return _failed(plan, f"Nothing was pushed: {error}")
    try:
        raw, _ = process.communicate(timeout=TIME)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        words = f"The push was ended after {TIME:.0f} s; whether it arrived is not known."
        return PushResult("unknown", words, {ref.name: words for ref in plan.refs})
    output = without_password(raw.decode(errors="replace"))
    arrived = {
        there.partition(":")[2]: "" if flag in {" ", "+", "*", "-", "="} else summary
        for flag, there, summary in re.findall(r"^(.)\t(\S+)\t(.*)$", output, re.MULTILINE)
    }
    refs = {ref.name: arrived.get(ref.name, output.strip()[-500:] or "git said nothing") for ref in plan.refs}
    ok = process.returncode == 0 and not any(refs.values())
    return PushResult("done" if ok else "failed", output, refs)


def _failed(plan: PushPlan, words: str) -> PushResult:
    return PushResult("failed", words, {ref.name: words for ref in plan.refs})


def note(plan: PushPlan, cwd: Path) -> None:
    """Brings the repository's own idea of the remote up to date, as git does after a push; no harm when it can't."""
    try:
        if not plan.remote or borrows(plan.git_folder):
            return
    except OSError:
        return
    for ref in plan.refs:
        if ref.name.startswith("refs/heads/"):
            known = f"refs/remotes/{plan.remote}/{ref.name.removeprefix('refs/heads/')}"
            try:
                git(cwd, "update-ref", *(["-d", known] if not ref.sha else [known, ref.sha]))
            except GitFailed:
                continue
