"""Alarms inside: git refuses to push and says why, the repository's own hooks still run, an approved push is answered.

They catch mistakes, not malice: whoever clears the environment gets around them, and meets the box.
"""

from __future__ import annotations

import contextlib
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path

from agentroom_machine.daemon.push import PushPlan, PushResult

_HOOKS = (
    "applypatch-msg", "pre-applypatch", "post-applypatch", "pre-commit", "pre-merge-commit", "prepare-commit-msg",
    "commit-msg", "post-commit", "pre-rebase", "post-checkout", "post-merge", "pre-push", "post-rewrite",
    "pre-auto-gc", "reference-transaction", "sendemail-validate", "post-index-change",
)  # fmt: skip
_SCHEMES = ("https://", "http://", "ssh://", "git://", "git@", "file://", "/", "./", "../")
"""How addresses begin; a longer rule of the repository's own wins, and then its pre-push hook still says no."""
WORDS = (
    "Agentroom: nothing is pushed from here. Ask with a lone command, such as: git push origin main. "
    "If the owner says yes, Agentroom does it."
)

_HOOK = """#!/bin/sh
# Runs the repository's own hook of this name, wherever its settings have them; a push goes no further.
name=$(basename "$0")
own=$(git config --local --type=path core.hooksPath 2>/dev/null)
if [ -z "$own" ]; then
    own=$(git rev-parse --git-common-dir 2>/dev/null)/hooks
else
    case "$own" in
        /*) ;;
        *) own=$(git rev-parse --show-toplevel 2>/dev/null)/$own ;;
    esac
fi
if [ "$name" = pre-push ]; then
    case "$2" in
        agentroom::*) ;;
        *) echo "{words}" >&2; exit 1 ;;
    esac
fi
if [ -f "$own/$name" ] && [ -x "$own/$name" ]; then
    exec "$own/$name" "$@"
fi
exit 0
"""

_HELPER = """#!/bin/sh
# Git's way to a remote that only Agentroom can reach: says what became of an approved push, refuses every other.
address=$2
pushed=$(dirname "$0")/../pushed
pushing=
while read -r line; do
    case "$line" in
        capabilities) printf 'push\\n\\n' ;;
        'list'*)
            while IFS='\t' read -r url there sha why; do
                if [ "$url" = "$address" ] && [ -z "$sha" ]; then
                    printf '%s %s\\n' 0000000000000000000000000000000000000001 "$there"
                fi
            done < "$pushed"
            printf '\\n' ;;
        'push '*)
            spec=${line#push }
            spec=${spec#+}
            source=${spec%%:*}
            name=${spec#*:}
            wanted=
            if [ -n "$source" ]; then wanted=$(git rev-parse --verify -q "$source"); fi
            answer="error $name {words}"
            while IFS='\t' read -r url there sha why; do
                if [ "$url" = "$address" ] && [ "$there" = "$name" ] && [ "$sha" = "$wanted" ]; then
                    if [ -z "$why" ]; then answer="ok $name"; else answer="error $name $why"; fi
                fi
            done < "$pushed"
            pushing=yes
            printf '%s\\n' "$answer" ;;
        '')
            # After a batch: that is all. Otherwise git has no more to ask, and reads no more either.
            if [ -z "$pushing" ]; then exit 0; fi
            pushing=
            printf '\\n' ;;
    esac
done
"""


class Guards:
    """What one session's git finds; its folder may be shown elsewhere in a box."""

    def __init__(self, within: Path) -> None:
        # Not where everybody writes: who changes a hook has it run with the session's next commit.
        within.mkdir(parents=True, exist_ok=True, mode=0o700)
        self.folder = Path(tempfile.mkdtemp(prefix="ar-guards-", dir=within)).resolve()
        self.folder.chmod(0o755)
        for name in _HOOKS:
            self._program(self.folder / "hooks" / name, _HOOK)
        self._program(self.folder / "bin" / "git-remote-agentroom", _HELPER)
        self._pushed = self.folder / "pushed"
        self._pushed.touch()

    @staticmethod
    def _program(path: Path, text: str) -> None:
        path.parent.mkdir(exist_ok=True)
        path.write_text(text.replace("{words}", WORDS), encoding="utf-8")
        path.chmod(0o755)

    def close(self) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)

    def answer(self, plan: PushPlan, result: PushResult) -> None:
        """Lets the next ``git push`` in there say what became of this one."""
        lines = []
        for ref in plan.refs:
            why = " ".join(result.refs[ref.name].split())
            lines.append("\t".join((plan.address, ref.name, ref.sha, why)))
        # In place: a box shows this very file.
        with contextlib.suppress(FileNotFoundError), self._pushed.open("w", encoding="utf-8") as file:
            file.write("\n".join(lines) + "\n")

    def forget(self) -> None:
        """The next push is a new one."""
        # A session that was stopped took its guards along.
        with contextlib.suppress(FileNotFoundError):
            self._pushed.write_text("", encoding="utf-8")


def clear(within: Path) -> None:
    """Takes away what daemons that were killed left there."""
    shutil.rmtree(within, ignore_errors=True)


def environment(env: Mapping[str, str], folder: Path, runtime: str = "") -> dict[str, str]:
    """The environment with git's alarms on; ``folder`` is where the session sees its guards."""
    settings = {"core.hooksPath": str(folder / "hooks")}
    settings |= {f"url.agentroom::{scheme}.pushInsteadOf": scheme for scheme in _SCHEMES}
    path = f"{folder / 'bin'}:{env.get('PATH', '/usr/bin:/bin')}"
    if runtime == "claude":
        # Its sandbox takes the other variable for itself.
        first = int(env.get("GIT_CONFIG_COUNT") or 0)
        numbered = {"GIT_CONFIG_COUNT": str(first + len(settings))}
        for n, (name, value) in enumerate(settings.items(), first):
            numbered |= {f"GIT_CONFIG_KEY_{n}": name, f"GIT_CONFIG_VALUE_{n}": value}
        return {**env, **numbered, "PATH": path}
    # One variable, in git's own quoting: Codex drops variables with KEY in their names, and git would then fail.
    words = " ".join(f"'{name}'='{value}'" for name, value in settings.items())
    before = env.get("GIT_CONFIG_PARAMETERS")
    return {**env, "GIT_CONFIG_PARAMETERS": f"{before} {words}" if before else words, "PATH": path}
