"""What bash itself would run, asked of a bash that finds no program and tells the words of each that it looked for."""

from __future__ import annotations

import subprocess
from pathlib import Path

_TELL = "command_not_found_handle() { local IFS=$'\\x1f'; printf '%s\\x1e' \"$*\" >&9; return 0; }\n"
_TELL += 'cat() { local l; while IFS= read -r l; do printf "%s\\n" "$l"; done; }\n'


def runs(command: str, folder: Path) -> list[list[str]]:
    """The words of each program that bash looked for; a command that it refuses gives what ran before."""
    told = folder / "told"
    told.write_text("")
    with told.open("a") as file:
        subprocess.run(
            ["/bin/bash", "--norc", "-c", f"exec 9>>'{told}'\n{_TELL}{command}"],
            cwd=folder, env={"PATH": "/nowhere", "HOME": "/nowhere", "LC_ALL": "C.UTF-8"}, stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=20, check=False, pass_fds=[file.fileno()],
        )  # fmt: skip
    return [words.split("\x1f") for words in told.read_text().split("\x1e")[:-1]]
