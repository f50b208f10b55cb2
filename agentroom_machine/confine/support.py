"""Whether this machine can confine at all: looked at once, by doing it."""

from __future__ import annotations

import platform
import shutil
import subprocess
from functools import lru_cache

BWRAP = "bwrap"


@lru_cache(maxsize=1)
def missing() -> str:
    """What keeps bubblewrap from working here, in words for the owner; empty when it works."""
    if platform.system() != "Linux":
        return f"confinement needs Linux; this is {platform.system() or 'another system'}"
    program = shutil.which(BWRAP)
    if not program:
        return "bubblewrap is not installed (Debian: sudo apt-get install bubblewrap)"
    try:
        done = subprocess.run(
            [program, "--unshare-user", "--unshare-pid", "--unshare-net", "--ro-bind", "/", "/", "--proc", "/proc",
             "--dev", "/dev", "--die-with-parent", "true"],
            stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=20, check=False,
        )  # fmt: skip
    except (OSError, subprocess.SubprocessError) as error:
        return f"bubblewrap can't be started: {error}"
    if done.returncode == 0:
        return ""
    words = (done.stderr.strip().splitlines() or [f"it ended with {done.returncode}"])[-1][:300]
    return f"bubblewrap does not work here, probably because user namespaces are not allowed: {words}"
