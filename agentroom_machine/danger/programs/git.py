"""git: what each of its commands sends, deletes, shows or runs."""

from __future__ import annotations

import re
from collections.abc import Callable

from agentroom_machine.danger.programs import git_settings
from agentroom_machine.danger.programs.arguments import Arguments, split
from agentroom_machine.danger.programs.table import touches_secrets
from agentroom_machine.danger.reader import Program, Reader
from agentroom_machine.danger.unknown import UNKNOWN, open_ended, plain, shown

_GLOBAL_TAKES = {"-C", "-c", "--git-dir", "--work-tree", "--namespace", "--exec-path", "--super-prefix", "--config-env",
                 "--attr-source", "--list-cmds"}  # fmt: skip
_FILE = re.compile(r"(^|/)[^/]*\.[A-Za-z][A-Za-z0-9]{0,5}$|/$|^\.{1,2}(/|$)")

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
    if option in {"-x", "--extcmd"}:
        return name in {"difftool", "rebase"}
    if name == "clone" and option == "-u":
        return True
    return name in _TALKS and option.startswith(("--upload-p", "--exec", "--receive-p"))


def _runs_programs(reader: Reader, name: str, rest: list[str]) -> None:
    """Options by which a harmless command of git runs something, or writes somewhere."""
    for position, word in enumerate(rest):
        if word == "--":
            break
        option, equals, value = word.partition("=")
        value = value if equals else rest[position + 1] if position + 1 < len(rest) else ""
        if _runs(name, option):
            reader.text(value)
        elif (
            name == "grep"
            and (option.startswith("-O") or option == "--open-files-in-pager")
            and (word[2:] if word.startswith("-O") else value)
        ):
            reader.text((word[2:] if word.startswith("-O") else value).lstrip("="))
        elif option in {"-o", "--output", "--output-directory"} and name in {
            "diff",
            "log",
            "show",
            "format-patch",
            "archive",
            "whatchanged",
        }:
            reader.writes(value)
        elif name in {"clone", "init"} and option in {"-c", "--config"}:
            git_settings.judge(reader, *_setting(value))
        elif name in {"clone", "init"} and option == "--template":
            reader.project("it takes hooks from a template")
        elif name == "commit" and option in {"-F", "--file", "-t", "--template"} and value != "-":
            reader.reads(value)
        elif option == "--ext-diff":
            reader.project("it runs the repository's own program to compare")
    if any(word.startswith(("ext::", "-oProxyCommand", "ssh://-")) for word in rest):
        reader.unreadable("its address runs a program")


def _setting(value: str) -> tuple[str, str]:
    key, _, setting = value.partition("=")
    return key, setting


def _push(reader: Reader, args: list[str], stdin: str | None) -> None:
    found = split(args, ("-o", "--push-option", "--repo", "--receive-pack", "--exec", "--recurse-submodules"))
    rehearses = [name for name, _ in found.options if name in {"-n", "--dry-run", "--no-dry-run"}]
    if rehearses and "--no-dry-run" not in rehearses and "--" not in args[: len(args)]:
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
        found = split(args)
        if found.has(*names) or (found.words and found.words[0] in words):
            reader.find("delete", why)
        elif found.words and open_ended(found.words[0]) and words:
            reader.unreadable("what git does here is only known when it runs")

    return judge


def _rehearsed(why: str) -> Judge:
    def judge(reader: Reader, args: list[str], stdin: str | None) -> None:
        if not split(args).has("-n", "--dry-run"):
            reader.find("delete", why)

    return judge


def _checkout(reader: Reader, args: list[str], stdin: str | None) -> None:
    found = split(args, ("-b", "-B", "--orphan", "--conflict", "--pathspec-from-file"))
    if found.has("-f", "--force", "-B", "-p", "--patch", "--ours", "--theirs", "-m", "--merge", "--pathspec-from-file"):
        reader.find("delete", "git checkout throws changes away")
        return
    makes = found.has("-b", "--orphan", "-t", "--track", "--detach", "-d")
    if "--" in args:
        if args[args.index("--") + 1 :]:
            reader.find("delete", "git checkout throws changes to files away")
        return
    words = found.words
    if makes:
        return
    if len(words) > 1 or (words and (_FILE.search(plain(words[0])) or _exists(reader, words[0]))):
        reader.find("delete", "git checkout throws changes to files away")


def _exists(reader: Reader, word: str) -> bool:
    if reader.cwd is None or open_ended(word) or len(word) > 500 or "\0" in word:
        return open_ended(word) and word != UNKNOWN and not word.startswith(UNKNOWN)
    folder = reader.cwd / reader.scope.directory
    try:
        return (folder / word).exists() and not (folder / ".git/refs/heads" / word).exists()
    except OSError:
        return False


def _switch(reader: Reader, args: list[str], stdin: str | None) -> None:
    if split(args, ("-c", "-C", "--create")).has(
        "-f", "--force", "--discard-changes", "-C", "--force-create", "-m", "--merge"
    ):
        reader.find("delete", "git switch throws changes away")


def _restore(reader: Reader, args: list[str], stdin: str | None) -> None:
    found = split(args, ("-s", "--source"))
    if not found.has("-S", "--staged") or found.has("-W", "--worktree"):
        reader.find("delete", "git restore throws changes to files away")


def _reset(reader: Reader, args: list[str], stdin: str | None) -> None:
    if split(args).has("--hard", "--merge"):
        reader.find("delete", "git reset throws changes away")
    elif any(word.startswith(UNKNOWN) for word in args):
        reader.project("how git resets is only known when it runs")


def _remove(reader: Reader, args: list[str], stdin: str | None) -> None:
    if not split(args).has("-n", "--dry-run", "--cached"):
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


def _submodule(reader: Reader, args: list[str], stdin: str | None) -> None:
    found = split(args, (), posix=True)
    words = found.words
    if words[:1] == ["foreach"]:
        rest = split(words[1:], (), posix=True).words
        reader.text(rest[0] if len(rest) == 1 else " ".join(map(_quoted, rest)))
    elif words[:1] == ["deinit"]:
        reader.find("delete", "it deletes a submodule's files")
    elif words[:1] and open_ended(words[0]):
        reader.unreadable("what git submodule does is only known when it runs")


def _bisect(reader: Reader, args: list[str], stdin: str | None) -> None:
    if args[:1] == ["run"]:
        reader.run(args[1:], "") if args[1:] else None


def _worktree(reader: Reader, args: list[str], stdin: str | None) -> None:
    if args[:1] and args[0] in {"remove", "prune"} and "-n" not in args and "--dry-run" not in args:
        reader.find("delete", "it deletes a working tree")
    elif args[:1] == ["add"]:
        words = split(args[1:], ("-b", "-B", "--reason")).words
        if words:
            reader.writes(words[0])


def _lfs(reader: Reader, args: list[str], stdin: str | None) -> None:
    if args[:1] == ["push"] and "--dry-run" not in args:
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
    if any(word.startswith("--prune") or word == "--aggressive" for word in args):
        reader.find("delete", "it deletes objects that nothing names")


def _reflog(reader: Reader, args: list[str], stdin: str | None) -> None:
    if args[:1] and args[0] in {"expire", "delete", "drop"} and not split(args).has("-n", "--dry-run"):
        reader.find("delete", "it deletes what brings lost commits back")


def _update_ref(reader: Reader, args: list[str], stdin: str | None) -> None:
    reader.find("delete", "it moves or deletes a branch under git's feet")


def _flow(reader: Reader, args: list[str], stdin: str | None) -> None:
    if len(args) > 1 and args[1] in {"publish", "finish"}:
        reader.find("push", "git flow publishes or merges a branch")
    elif len(args) > 1 and args[1] == "delete":
        reader.find("delete", "git flow deletes a branch")


def _fetch(reader: Reader, args: list[str], stdin: str | None) -> None:
    found: Arguments = split(args)
    if any(word.startswith("+") and ":" in word and "refs/remotes" not in word for word in found.words) or (
        found.has("-f", "--force") and any(":" in word and "://" not in word for word in found.words[1:])
    ):
        reader.find("delete", "it overwrites a branch")


JUDGES: dict[str, Judge] = {
    "push": _push,
    "send-pack": _push,
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
