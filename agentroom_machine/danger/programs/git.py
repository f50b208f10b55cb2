"""git: what each of its commands sends, deletes, shows or runs."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

from agentroom_machine.danger import places
from agentroom_machine.danger.programs import git_settings
from agentroom_machine.danger.programs.arguments import Arguments, matches, split
from agentroom_machine.danger.programs.table import touches_secrets
from agentroom_machine.danger.reader import Program, Reader
from agentroom_machine.danger.unknown import UNKNOWN, open_ended, plain, shown

_GLOBAL_TAKES = {"-C", "-c", "--git-dir", "--work-tree", "--namespace", "--exec-path", "--super-prefix", "--config-env",
                 "--attr-source", "--list-cmds"}  # fmt: skip
_FILE = re.compile(r"(^|/)[^/]*\.[A-Za-z][A-Za-z0-9]{0,5}$|/$|^\.{1,2}(/|$)")

_KEEP_PASSWORDS = ("http.https://x.y/.extraheader", "credential.helper", "url.https://x:y@z/.insteadof")
_TALKS = {"fetch", "clone", "pull", "ls-remote", "fetch-pack", "archive", "push", "send-pack"}

type Judge = Callable[[Reader, list[str], str | None], None]

_HARMLESS = frozenset(
    [
        "add", "annotate", "archive", "blame", "bugreport", "bundle", "cat-file", "check-attr", "check-ignore",
        "check-mailmap", "check-ref-format", "cherry", "cherry-pick", "commit", "commit-graph", "commit-tree",
        "count-objects", "describe", "diff", "diff-files", "diff-index", "diff-tree", "difftool", "fetch-pack",
        "fmt-merge-msg", "for-each-ref", "format-patch", "fsck", "get-tar-commit-id", "grep", "hash-object", "help",
        "index-pack", "init", "log", "ls-files", "ls-remote", "ls-tree", "mailinfo", "mailsplit", "maintenance",
        "merge", "merge-base", "merge-file", "merge-tree", "mktag", "mktree", "mv", "name-rev", "pack-objects",
        "pack-refs", "patch-id", "range-diff", "request-pull", "rev-list", "rev-parse", "revert", "shortlog", "show",
        "show-branch", "show-index", "show-ref", "status", "stripspace", "unpack-file", "unpack-objects", "var",
        "verify-commit", "verify-pack", "verify-tag", "version", "whatchanged", "write-tree", "sparse-checkout",
        "apply", "am", "fetch", "pull", "clone", "column", "interpret-trailers", "update-index", "update-server-info",
        "diagnose", "backfill", "last-modified",
    ]
)  # fmt: skip


def _git(reader: Reader, argv: list[str], stdin: str | None) -> str:
    directory = reader.scope.directory
    try:
        return _called(reader, argv, stdin)
    finally:
        reader.scope.directory = directory


def _called(reader: Reader, argv: list[str], stdin: str | None) -> str:
    args = argv[1:]
    while args and args[0].startswith("-"):
        word = args[0]
        name, equals, value = word.partition("=")
        if word in {"--version", "--help", "-h", "-v", "--html-path", "--man-path", "--info-path", "--exec-path"}:
            return UNKNOWN
        if word in _GLOBAL_TAKES:
            value = args[1] if len(args) > 1 else ""
            args = args[2:]
            _global(reader, word, value)
        else:
            args = args[1:]
            _global(reader, name, value if equals else "")
    if not args:
        return UNKNOWN
    name, rest = args[0], args[1:]
    if open_ended(name):
        reader.unreadable("which command of git it is is only known when it runs")
        if "push" in argv:
            reader.find("push", "it may push")
        return UNKNOWN
    if rest[:1] in (["--help"], ["-h"]):
        return UNKNOWN
    judge = JUDGES.get(name)
    if judge is not None:
        judge(reader, rest, stdin)
    if name in _HARMLESS or judge is not None:
        _runs_programs(reader, name, rest)
        if name not in {"commit", "push", "tag", "config", "log", "grep", "branch", "remote"} and judge is None:
            touches_secrets(reader, [word for word in rest if not word.startswith(":(exclude")])
        if name in {"fetch", "pull"}:
            touches_secrets(reader, [word for word in rest if "://" in word])
        if "--" in rest:
            touches_secrets(reader, rest[rest.index("--") + 1 :])
        if name in {"diff", "log", "show"}:
            touches_secrets(reader, [word for word in rest if not word.startswith("-") and " " not in word])
        return UNKNOWN
    _alias(reader, name, rest, stdin)
    return UNKNOWN


def _global(reader: Reader, name: str, value: str) -> None:
    if name == "-c":
        key, _, setting = value.partition("=")
        git_settings.judge(reader, key, setting)
        if key.casefold().startswith("alias."):
            reader.scope.git_aliases.setdefault(key[6:].casefold(), []).append(setting)
            del reader.scope.git_aliases[key[6:].casefold()][4:]
    elif name == "--config-env":
        reader.unreadable("it takes git's settings from a variable")
    elif name in {"--exec-path", "--git-dir"} and value:
        reader.project("it points git somewhere else")
    elif name in {"-C", "--work-tree"} and value and not value.startswith(UNKNOWN):
        before = reader.scope.directory
        reader.scope.directory = "" if places.place(value, before) == "." else places.place(value, before)


def _alias(reader: Reader, name: str, rest: list[str], stdin: str | None) -> None:
    """A word that is no command of git's own: an alias said here, in the settings, or a program git-name."""
    said = list(reader.scope.git_aliases.get(name.casefold(), []))
    kept = git_settings.kept_alias(reader, name)
    said += [kept] if kept is not None else []
    for value in dict.fromkeys(said):
        if value.startswith("!"):
            reader.text(" ".join([value[1:], *map(_quoted, rest)]), stdin=stdin)
        else:
            words = value.split()
            reader.run(["git", *[word.strip("'\"") for word in words], *rest], stdin)
    if not said:
        reader.unreadable(f"git {shown(name)} is no command of git's own")


def _quoted(word: str) -> str:
    return "'" + word.replace("'", "'\\''") + "'"


def _runs(name: str, option: str) -> bool:
    """Whether the value of an option is a program."""
    if option in {"-x", "--extcmd"} or matches(option, "--extcmd"):
        return name == "difftool" or (name == "rebase" and option == "-x")
    if name == "clone" and option == "-u":
        return True
    return name in _TALKS and any(matches(option, one) for one in ("--upload-pack", "--exec", "--receive-pack"))


def _option(rest: list[str], position: int) -> tuple[str, str]:
    """An option and its value: after ``=``, glued to a letter, or the next word."""
    word = rest[position]
    if re.match(r"-[OFotuxc][^=]", word):
        return word[:2], word[2:]
    option, equals, value = word.partition("=")
    return option, value if equals else rest[position + 1] if position + 1 < len(rest) else ""


def _runs_programs(reader: Reader, name: str, rest: list[str]) -> None:
    """Options by which a harmless command of git runs something, or writes somewhere."""
    for position, word in enumerate(rest):
        if word == "--":
            break
        option, value = _option(rest, position)
        if _runs(name, option):
            reader.text(value)
        elif name == "grep" and (option == "-O" or matches(option, "--open-files-in-pager")):
            if word != option:
                reader.text(value.lstrip("="))
        elif (option == "-o" or matches(option, "--output") or matches(option, "--output-directory")) and name in {
            "diff", "log", "show", "format-patch", "archive", "whatchanged",
        }:  # fmt: skip
            reader.writes(value)
        elif name in {"clone", "init"} and (option == "-c" or matches(option, "--config")):
            git_settings.judge(reader, *_setting(value))
        elif name in {"clone", "init"} and matches(option, "--template"):
            reader.project("it takes hooks from a template")
        elif (
            name == "commit"
            and (option in {"-F", "-t"} or matches(option, "--file") or matches(option, "--template"))
            and value != "-"
        ):
            reader.reads(value)
        elif matches(option, "--ext-diff"):
            reader.project("it runs the repository's own program to compare")
    if any(word.startswith(("ext::", "-oProxyCommand", "ssh://-")) for word in rest):
        reader.unreadable("its address runs a program")


def _setting(value: str) -> tuple[str, str]:
    key, _, setting = value.partition("=")
    return key, setting


def _only(found: Arguments, *names: str) -> bool:
    """Whether one of these options surely holds: no ``--no-…`` takes it back, shortened as git allows."""
    backs = [f"--no-{name[2:]}" for name in names if name.startswith("--")]
    undone = any(option.startswith("--n") and back.startswith(option) for option, _ in found.options for back in backs)
    return found.has(*names) and not undone


def _push(reader: Reader, args: list[str], stdin: str | None) -> None:
    found = split(args, ("-o", "--push-option", "--repo", "--receive-pack", "--exec", "--recurse-submodules"))
    if _only(found, "-n", "--dry-run") and "--" not in args:
        return
    words = [shown(word) for word in found.words]
    branches = [word.rpartition(":")[2].removeprefix("+").removeprefix("refs/heads/") for word in words[1:]]
    private = branches and all(reader.policy.private(branch) for branch in branches)
    where = f" to {words[0]}" if words else ""
    reader.find("push", f"git push{where}" + (", to a branch that is nobody else's" if private else ""))


def _find(kind: str, why: str) -> Judge:
    return lambda reader, args, stdin: reader.find(kind, why)  # type: ignore[arg-type]


def _deletes_if(why: str, *names: str, words: tuple[str, ...] = ()) -> Judge:
    def judge(reader: Reader, args: list[str], stdin: str | None) -> None:
        found = split(args, ("--ref", "--object-dir") if words else ())
        if found.has(*names) or (found.words and found.words[0] in words):
            reader.find("delete", why)
        elif found.words and open_ended(found.words[0]) and words:
            reader.unreadable("what git does here is only known when it runs")

    return judge


def _rehearsed(why: str) -> Judge:
    def judge(reader: Reader, args: list[str], stdin: str | None) -> None:
        if not _only(split(args, ("-e", "--exclude", "--expire")), "-n", "--dry-run"):
            reader.find("delete", why)

    return judge


def _checkout(reader: Reader, args: list[str], stdin: str | None) -> None:
    found = split(args, ("-b", "-B", "--orphan", "--conflict", "--pathspec-from-file"))
    if found.has("-f", "--force", "-B", "-p", "--patch", "--ours", "--theirs", "-m", "--merge", "--conflict",
                 "--pathspec-from-file"):  # fmt: skip
        reader.find("delete", "git checkout throws changes away")
        return
    makes = _only(found, "-b", "--orphan", "-t", "--track", "--detach", "-d")
    if "--" in args:
        if args[args.index("--") + 1 :]:
            reader.find("delete", "git checkout throws changes to files away")
        return
    words = found.words
    if makes:
        return
    if len(words) > 1 or (words and (_pathspec(plain(words[0])) or _exists(reader, words[0]))):
        reader.find("delete", "git checkout throws changes to files away")


def _pathspec(word: str) -> bool:
    """Whether a word looks like files: no branch has these letters in its name."""
    return word.startswith(":") or bool(re.search(r"[*?\[]", word) or _FILE.search(word))


def _exists(reader: Reader, word: str) -> bool:
    if reader.cwd is None or open_ended(word) or len(word) > 500 or "\0" in word:
        return open_ended(word) and word != UNKNOWN and not word.startswith(UNKNOWN)
    try:
        folder = reader.cwd / Path(reader.scope.directory).expanduser()
        return (folder / word).exists() and not (folder / ".git/refs/heads" / word).exists()
    except (OSError, RuntimeError):
        return False


def _switch(reader: Reader, args: list[str], stdin: str | None) -> None:
    if split(args, ("-c", "-C", "--create")).has(
        "-f", "--force", "--discard-changes", "-C", "--force-create", "-m", "--merge", "--conflict"
    ):
        reader.find("delete", "git switch throws changes away")


def _restore(reader: Reader, args: list[str], stdin: str | None) -> None:
    found = split(args, ("-s", "--source"))
    if not _only(found, "-S", "--staged") or found.has("-W", "--worktree"):
        reader.find("delete", "git restore throws changes to files away")


def _reset(reader: Reader, args: list[str], stdin: str | None) -> None:
    if split(args).has("--hard", "--merge"):
        reader.find("delete", "git reset throws changes away")
    elif any(word.startswith(UNKNOWN) for word in args):
        reader.project("how git resets is only known when it runs")


def _remove(reader: Reader, args: list[str], stdin: str | None) -> None:
    found = split(args, ("--pathspec-from-file",))
    if not _only(found, "-n", "--dry-run") and not _only(found, "--cached"):
        reader.find("delete", "git rm deletes files")


def _rebase(reader: Reader, args: list[str], stdin: str | None) -> None:
    found = split(args, ("--onto", "-x", "--exec", "-s", "--strategy", "-X", "--strategy-option"))
    for text in found.values("-x", "--exec"):
        reader.text(text)
    if not found.has("--continue", "--abort", "--show-current-patch", "--edit-todo", "--quit"):
        reader.find("delete", "git rebase rewrites commits, and may drop some")


def _stash(reader: Reader, args: list[str], stdin: str | None) -> None:
    if args and args[0] in {"drop", "clear"}:
        reader.find("delete", "git stash throws away what was put aside")
    elif args and open_ended(args[0]):
        reader.unreadable("what git stash does is only known when it runs")


def _remote(reader: Reader, args: list[str], stdin: str | None) -> None:
    words = split(args).words
    if words[:1] and words[0] in {"remove", "rm", "prune"}:
        reader.find("delete", "it deletes what is known of a remote")
    elif words[:1] == ["add"] and split(args).has("--mirror"):
        reader.find("delete", "what is fetched from it overwrites branches")
    elif words[:1] and words[0] in {"add", "set-url"} and any(re.search(r"://[^/@]+:[^/@]+@", word) for word in words):
        reader.find("credentials", "it writes a password into git's settings")


def _config(reader: Reader, args: list[str], stdin: str | None) -> None:
    found = split(args, ("-f", "--file", "--blob", "--type", "--default", "--comment", "--value", "--url"))
    words = [word for word in found.words if word not in {"set", "get", "list", "unset", "edit", "get-all"}]
    if "edit" in found.words[:1] or found.has("-e", "--edit"):
        reader.unreadable("it opens git's settings in an editor")
    for path in found.values("-f", "--file"):
        reader.writes(path)
    key = words[0] if words else ""
    if _shows_all(found):
        reader.find("credentials", "it shows git's settings, and passwords are kept in some")
    shows = found.has("--get", "--get-all", "--get-regexp", "-l", "--list", "--get-urlmatch") or found.words[:1] in (
        ["get"],
        ["list"],
    )
    if key.casefold().startswith(("credential", "http.extraheader")) or re.search(
        r"extraheader|token|password|secret", key, re.I
    ):
        reader.find("credentials", "it reads or changes how git keeps passwords")
    elif found.has("--remove-section") or found.words[:1] == ["remove-section"]:
        reader.find("delete", "it deletes a section of git's settings")
    elif len(words) > 1 and not shows:
        git_settings.judge(reader, key, words[1], kept=True)
        if key.casefold().startswith("alias."):
            values = reader.scope.git_aliases.setdefault(key[6:].casefold(), [])
            if words[1] not in values:
                values.append(words[1])
    elif open_ended(key) and not shows:
        reader.unreadable("which of git's settings it changes is only known when it runs")


def _shows_all(found: Arguments) -> bool:
    """Whether settings are shown without being named."""
    if found.has("-l", "--list") or found.words[:1] == ["list"]:
        return True
    pattern = found.value("--get-regexp") or (found.words[:1] if found.has("--get-regexp") else [""])[0]
    if found.words[:1] == ["get"] and found.has("--regexp"):
        pattern = found.words[1] if len(found.words) > 1 else ""
    try:
        return bool(pattern) and any(re.search(plain(pattern), one, re.I) for one in _KEEP_PASSWORDS)
    except re.error:
        return True


def _submodule(reader: Reader, args: list[str], stdin: str | None) -> None:
    found = split(args, (), posix=True)
    words = found.words
    if words[:1] == ["foreach"]:
        rest = split(words[1:], (), posix=True).words
        reader.text(rest[0] if len(rest) == 1 else " ".join(map(_quoted, rest)))
    elif words[:1] == ["deinit"]:
        reader.find("delete", "it deletes a submodule's files")
    elif words[:1] == ["update"] and split(words[1:]).has("-f", "--force"):
        reader.find("delete", "it throws changes in submodules away")
    elif words[:1] and open_ended(words[0]):
        reader.unreadable("what git submodule does is only known when it runs")


def _bisect(reader: Reader, args: list[str], stdin: str | None) -> None:
    if args[:1] == ["run"]:
        reader.run(args[1:], "") if args[1:] else None


def _worktree(reader: Reader, args: list[str], stdin: str | None) -> None:
    if args[:1] == ["remove"] or (
        args[:1] == ["prune"] and not _only(split(args[1:], ("--expire",)), "-n", "--dry-run")
    ):
        reader.find("delete", "it deletes a working tree")
    elif args[:1] == ["add"]:
        found = split(args[1:], ("-b", "-B", "--reason"))
        if found.has("-B"):
            reader.find("delete", "it moves a branch")
        for path in found.words[:1]:
            reader.writes(path)


def _lfs(reader: Reader, args: list[str], stdin: str | None) -> None:
    if args[:1] == ["push"] and [value for name, value in split(args).options if name == "--dry-run"] != [None]:
        reader.find("push", "git lfs sends files")
    elif args[:1] and args[0] in {"prune", "migrate", "uninstall", "dedup", "unlock"}:
        reader.find("delete", f"git lfs {args[0]} deletes or rewrites")


def _subtree(reader: Reader, args: list[str], stdin: str | None) -> None:
    if any(word == "push" for word in args):
        reader.find("push", "git subtree push")


def _svn(reader: Reader, args: list[str], stdin: str | None) -> None:
    if args[:1] and args[0] in {"dcommit", "submit", "commit-diff", "set-tree", "branch", "tag"}:
        reader.find("push", f"git svn {args[0]} sends commits")
    elif args[:1] and args[0] in {"reset", "gc"}:
        reader.find("delete", f"git svn {args[0]}")


def _gc(reader: Reader, args: list[str], stdin: str | None) -> None:
    if split(args).has("--prune", "--aggressive"):
        reader.find("delete", "it deletes objects that nothing names")


def _reflog(reader: Reader, args: list[str], stdin: str | None) -> None:
    found = split(args, ("--expire", "--expire-unreachable"))
    if args[:1] and args[0] in {"expire", "delete", "drop"} and not _only(found, "-n", "--dry-run"):
        reader.find("delete", "it deletes what brings lost commits back")


def _update_ref(reader: Reader, args: list[str], stdin: str | None) -> None:
    reader.find("delete", "it moves or deletes a branch under git's feet")


def _flow(reader: Reader, args: list[str], stdin: str | None) -> None:
    if len(args) > 1 and args[1] in {"publish", "finish"}:
        reader.find("push", "git flow publishes or merges a branch")
    elif len(args) > 1 and args[1] == "delete":
        reader.find("delete", "git flow deletes a branch")


def _fetch(reader: Reader, args: list[str], stdin: str | None) -> None:
    """fetch, and pull, which fetches first: into branches by force, or leaving out what the other side lacks."""
    found = split(args, (
        "-o", "--server-option", "--depth", "--deepen", "--shallow-since", "--shallow-exclude", "--refmap",
        "--upload-pack", "-j", "--jobs", "--negotiation-tip", "--filter", "-s", "--strategy", "-X", "--strategy-option",
    ))  # fmt: skip
    refspecs = [*found.words[1:], *found.values("--refmap")]
    if found.has("--stdin"):
        refspecs += (stdin or "").split()
        if UNKNOWN in (stdin or UNKNOWN):
            reader.project("what it fetches is only known when it runs")
    forced, prunes = found.has("-f", "--force"), found.has("-p", "--prune")
    for word in refspecs:
        branch = ":" in word and "://" not in word and not word.rpartition(":")[2].startswith("refs/remotes/")
        if branch and (forced or prunes or word.startswith("+")):
            reader.find("delete", "it overwrites or deletes a branch")
    if prunes and any(option == "-P" or option.startswith("--prune-") for option, _ in found.options):
        reader.find("delete", "it deletes tags that the other side does not have")


JUDGES: dict[str, Judge] = {
    "push": _push,
    "send-pack": _find("push", "git send-pack"),
    "http-push": _find("push", "git http-push"),
    "imap-send": _find("push", "it sends patches by mail"),
    "send-email": _find("push", "it sends patches by mail"),
    "p4": _find("push", "git p4 may submit"),
    "cvsexportcommit": _find("push", "it sends commits to CVS"),
    "svn": _svn,
    "lfs": _lfs,
    "subtree": _subtree,
    "flow": _flow,
    "annex": _find("push", "git annex moves files between machines"),
    "receive-pack": _find("unreadable", "it takes commits from its input"),
    "upload-pack": _find("unreadable", "it talks git's own language"),
    "daemon": _find("push", "it serves repositories to the network"),
    "instaweb": _find("unreadable", "it serves the repository"),
    "http-backend": _find("unreadable", "it serves the repository"),
    "fast-import": _find("unreadable", "it writes whatever its input says into the repository"),
    "shell": _find("unreadable", "it opens a shell"),
    "gui": _find("unreadable", "it opens a window in which anything may be done"),
    "citool": _find("unreadable", "it opens a window in which anything may be done"),
    "mergetool": _find("unreadable", "it runs the program that the settings name"),
    "clean": _rehearsed("git clean deletes files"),
    "prune": _rehearsed("it deletes objects that nothing names"),
    "filter-branch": _find("delete", "it rewrites the history"),
    "filter-repo": _find("delete", "it rewrites the history"),
    "replace": _deletes_if("it deletes a replacement", "-d", "--delete", "-f", "--force"),
    "branch": _deletes_if("it deletes or moves a branch", "-d", "-D", "--delete", "-f", "--force", "-M", "-C"),
    "tag": _deletes_if("it deletes a tag, or moves one by force", "-d", "--delete", "-f", "--force"),
    "notes": _deletes_if("it deletes notes", "-f", "--force", words=("remove", "prune")),
    "symbolic-ref": _deletes_if("it deletes a name", "-d", "--delete"),
    "read-tree": _deletes_if("it overwrites files", "--reset", "-u"),
    "checkout-index": _deletes_if("it overwrites files", "-f", "--force", "-a", "--all"),
    "rerere": _deletes_if("it forgets how conflicts were solved", words=("clear", "forget", "gc")),
    "refs": _deletes_if("it rewrites how branches are kept", words=("migrate",)),
    "repack": _deletes_if("it deletes objects that nothing names", "-d", "-D", "-A"),
    "multi-pack-index": _deletes_if("it deletes packs", words=("expire",)),
    "prune-packed": _rehearsed("it deletes objects that are packed too"),
    "checkout": _checkout,
    "switch": _switch,
    "restore": _restore,
    "reset": _reset,
    "rm": _remove,
    "rebase": _rebase,
    "stash": _stash,
    "remote": _remote,
    "config": _config,
    "submodule": _submodule,
    "bisect": _bisect,
    "worktree": _worktree,
    "gc": _gc,
    "reflog": _reflog,
    "update-ref": _update_ref,
    "fetch": _fetch,
    "pull": _fetch,
    **dict.fromkeys(
        (
            "credential", "credential-store", "credential-cache", "credential-manager", "credential-osxkeychain",
            "credential-libsecret", "credential-netrc", "credential-wincred", "credential-gnome-keyring", "crypt",
            "secret",
        ),
        _find("credentials", "it reads or keeps the passwords of git"),
    ),
}  # fmt: skip

PROGRAMS: dict[str, Program] = {"git": _git, "yadm": _git, "ggit": _git}
