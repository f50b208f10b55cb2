"""The box in which a process runs: an empty machine with the system, the tools and the working directory in it."""

from __future__ import annotations

import os
import shutil
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

from agentroom_machine.confine import repository, secrets
from agentroom_machine.confine.support import BWRAP

SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/etc", "/opt", "/nix", "/gnu")
TOOLS = (
    ".local/bin", ".local/lib", ".local/share/uv", ".local/share/pipx", ".local/share/pnpm", ".local/share/mise",
    ".local/share/fnm", ".local/state/nix/profiles", ".cargo/bin", ".cargo/registry", ".cargo/git", ".cargo/env",
    ".rustup", ".nvm", ".fnm", ".volta", ".asdf", ".pyenv", ".rbenv", ".rvm", ".goenv", ".nodenv", ".jenv", ".sdkman",
    ".bun", ".deno", ".npm-global", "go/bin", "go/pkg", ".ghcup", ".opam", ".elan", ".juliaup", ".dotnet",
    ".nix-profile", ".linuxbrew", ".m2/repository", ".cache/ms-playwright", ".config/git/ignore",
    ".config/git/attributes",
)  # fmt: skip
"""What of the home folder programs are made of; the rest of it is not there."""
INSIDE = Path("/run/agentroom")
"""Where the box keeps what is ours."""


@dataclass
class Box:
    """What one process may see. Paths are real ones."""

    workdir: Path
    home: Path
    """The owner's home folder: what is there inside is ``room_home`` and the tools."""
    room_home: Path
    read: list[Path] = field(default_factory=list)
    """Shown beyond system and tools, read-only."""
    write: list[tuple[Path, Path]] = field(default_factory=list)
    """Beyond the working directory: what, and where inside."""
    show: list[tuple[Path, Path]] = field(default_factory=list)
    """Read-only at another place: what, and where inside."""
    hide: list[Path] = field(default_factory=list)
    """Never readable, wherever it lies: the daemon's own profile."""
    network: bool = False
    """Whether it stays in the machine's network; only for trying out what confinement is worth."""
    complete: bool = True
    """Whether the whole working directory could be looked through for secrets."""

    def __post_init__(self) -> None:
        self._folder = Path(tempfile.mkdtemp(prefix="ar-box-"))
        self._unreadable = self._folder / "unreadable"
        self._unreadable.touch(mode=0o000)

    def close(self) -> None:
        """Forgets what the box needed on disk."""
        shutil.rmtree(self._folder, ignore_errors=True)

    def command(self, inner: list[str], found: secrets.Found) -> list[str]:
        """The command line that runs ``inner`` in the box. Blocks: it looks at the disk."""
        mounts = [*self._base(), *self._home(), *self._more(), *self._hidden(*self.read)]
        for what, where in self.write:
            mounts += ["--bind", str(what), str(where)]
        mounts += [*self._working_directory(found), *self._hidden(self.workdir)]
        self.complete = found.complete
        spaces = ["--unshare-user", "--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try"]
        spaces += [] if self.network else ["--unshare-net"]
        return [
            BWRAP,
            *spaces,
            "--die-with-parent",
            "--cap-drop",
            "ALL",
            *mounts,
            "--chdir",
            str(self.workdir),
            "--",
            *inner,
        ]

    def _base(self) -> list[str]:
        mounts: list[str] = []
        for name in SYSTEM:
            path = Path(name)
            if path.is_symlink():
                mounts += ["--symlink", str(path.readlink()), name]
            elif path.is_dir():
                mounts += ["--ro-bind", name, name]
        for path in secrets.closed(Path("/etc")):
            mounts += self._masked(path)
        mounts += ["--proc", "/proc", "--dev", "/dev"]
        for own in ("/tmp", "/var/tmp", "/run"):  # noqa: S108 - empty ones, of the box's own
            mounts += ["--tmpfs", own]
        return mounts

    def _home(self) -> list[str]:
        mounts = ["--bind", str(self.room_home), str(self.home)]
        tools = [self.home / name for name in TOOLS] + [Path("/home/linuxbrew/.linuxbrew")]
        for path in tools:
            if path.exists():
                mounts += ["--ro-bind", str(path), str(path)]
        return mounts

    def _more(self) -> list[str]:
        mounts: list[str] = []
        for path in _topmost(self.read):
            mounts += ["--ro-bind", str(path), str(path)]
        for what, where in self.show:
            mounts += ["--ro-bind", str(what), str(where)]
        return mounts

    def _hidden(self, *shown: Path) -> list[str]:
        hidden = [path for path in self.hide if path.is_dir() and any(path.is_relative_to(one) for one in shown)]
        return [word for path in hidden for word in ("--tmpfs", str(path))]

    def _working_directory(self, found: secrets.Found) -> list[str]:
        mounts = ["--bind", str(self.workdir), str(self.workdir)]
        for git in found.repositories:
            kept = repository.keep(git, self.workdir)
            for path in kept.write:
                mounts += ["--bind", str(path), str(path)]
            for path in kept.read:
                shown = self._written(kept.replace[path]) if path in kept.replace else path
                mounts += ["--ro-bind", str(shown), str(path)]
        for path in [*found.folders, *found.files]:
            mounts += self._masked(path)
        return mounts

    def _masked(self, path: Path) -> list[str]:
        if path.is_symlink():
            real = path.resolve()
            return self._masked(real) if real.is_relative_to(self.workdir) and not real.is_symlink() else []
        if path.is_dir():
            return ["--perms", "0000", "--tmpfs", str(path)]
        return ["--ro-bind", str(self._unreadable), str(path)] if path.is_file() else []

    def _written(self, text: str) -> Path:
        handle, name = tempfile.mkstemp(dir=self._folder)
        with os.fdopen(handle, "w", encoding="utf-8", errors="surrogateescape") as file:
            file.write(text)
        return Path(name)


def _topmost(paths: list[Path]) -> list[Path]:
    """The paths without those that another one, or the system, shows already."""
    shown = [Path(name) for name in SYSTEM]
    kept: list[Path] = []
    for path in sorted(set(paths)):
        if not any(path.is_relative_to(one) for one in [*shown, *kept]):
            kept.append(path)
    return kept


def programs(environ_path: str, home: Path) -> list[Path]:
    """Folders of programs in the search path that the box would not show: below home, or in odd places."""
    shown = [Path(name) for name in SYSTEM]
    found: list[Path] = []
    for entry in environ_path.split(os.pathsep):
        folder = Path(entry)
        if not entry or not folder.is_absolute() or not folder.is_dir():
            continue
        real = folder.resolve()
        if home.is_relative_to(real):
            continue
        if any(real.is_relative_to(system) for system in shown):
            continue
        whole = real.parent
        installed = real.name in {"bin", "shims"} and ((whole / "lib").is_dir() or (whole / "libexec").is_dir())
        installed = installed and whole not in {home, home / ".local"}
        found.append(whole if installed else real)
    return found
