"""Tools of a project that run another program inside of its environment, a container or a machine."""

from __future__ import annotations

import json
import re

from agentroom_machine.danger.programs import code, table
from agentroom_machine.danger.programs.arguments import asks_for_help, split
from agentroom_machine.danger.programs.shells import opened
from agentroom_machine.danger.programs.wrappers import run
from agentroom_machine.danger.reader import Program, Reader, quote
from agentroom_machine.danger.unknown import UNKNOWN, open_ended, plain, shown

_CARRIES: dict[str, tuple[str, ...]] = {
    # The words after which a command follows; what comes before them is the table's.
    "uv": ("run", "tool run", "x"),
    "poetry": ("run",),
    "pdm": ("run",),
    "pipenv": ("run",),
    "hatch": ("run", "env run", "shell -c"),
    "rye": ("run",),
    "pixi": ("run",),
    "conda": ("run",),
    "mamba": ("run",),
    "micromamba": ("run",),
    "pipx": ("run",),
    "bundle": ("exec",),
    "bundler": ("exec",),
    "rbenv": ("exec",),
    "pyenv": ("exec",),
    "nodenv": ("exec",),
    "asdf": ("exec",),
    "mise": ("exec", "x"),
    "rtx": ("exec", "x"),
    "nvm": ("exec",),
    "volta": ("run",),
    "fnm": ("exec",),
    "composer": ("exec",),
    "rustup": ("run",),
    "stack": ("exec",),
    "cabal": ("exec",),
    "opam": ("exec",),
    "dune": ("exec",),
    "nix": ("run", "shell -c", "develop -c", "develop --command", "shell --command"),
    "devbox": ("run",),
    "heroku": ("run", "run:detached", "ps:exec"),
    "railway": ("run",),
    "doppler": ("run",),
    "infisical": ("run",),
    "op": ("run",),
    "aws-vault": ("exec",),
    "chamber": ("exec",),
    "vagrant": ("ssh -c", "ssh --command"),
    "multipass": ("exec",),
    "lxc": ("exec",),
    "incus": ("exec",),
    "toolbox": ("run",),
    "distrobox": ("enter",),
    "devcontainer": ("exec",),
    "minikube": ("ssh", "kubectl"),
    "colima": ("ssh",),
    "limactl": ("shell",),
    "kubectl": ("exec",),
    "oc": ("exec", "rsh"),
    "k": ("exec",),
    "docker": ("exec", "run", "container exec", "container run", "compose exec", "compose run"),
    "podman": ("exec", "run", "container exec", "container run", "compose exec", "compose run"),
    "nerdctl": ("exec", "run", "compose exec", "compose run"),
    "docker-compose": ("exec", "run"),
    "podman-compose": ("exec", "run"),
    "crictl": ("exec",),
    "ddev": ("exec",),
    "lando": ("ssh -c",),
    "sail": ("exec",),
    "dotenv": ("run", ""),
    "envchain": ("",),
    "coverage": ("run",),
    "lerna": ("exec",),
    "nx": ("exec",),
    "rush": ("exec",),
    "pnpm": ("exec", "dlx"),
    "npm": ("exec", "x"),
    "yarn": ("exec", "dlx"),
    "bun": ("x",),
    "direnv": ("exec",),
    "tox": ("exec",),
    "flutter": ("pub run",),
    "dart": ("run",),
    "deno": ("task",),
    "wp": ("shell",),
    "pm2": ("start",),
    "snap": ("run",),
    "flatpak": ("run", "run --command"),
    "swift": ("run",),
    "gcloud": ("compute ssh --command",),
}
_NAMED_FIRST = {"exec", "run", "enter", "container exec", "container run", "compose exec", "compose run", "rsh"}
_IN_SOMETHING = {
    "docker", "podman", "nerdctl", "docker-compose", "podman-compose", "kubectl", "oc", "k", "multipass", "lxc",
    "incus", "distrobox", "crictl", "conda", "mamba", "aws-vault", "chamber", "rustup", "limactl", "direnv",
    "toolbox",
}  # fmt: skip
_TAKES = (
    "-e", "--env", "-v", "--volume", "--mount", "-w", "--workdir", "--name", "-p", "--publish", "-u", "--user",
    "--network", "--net", "-n", "--namespace", "-c", "--container", "--context", "--env-file", "-l", "--label",
    "--entrypoint", "--cpus", "-m", "--memory", "--platform", "-f", "--file", "--index", "--with", "--python",
    "--extra", "--group", "--project", "--directory", "--package", "--cwd", "-a", "--app", "--from", "-h",
    "--hostname", "--add-host", "--gpus", "--ulimit", "--restart", "--shm-size", "--tmpfs", "--device",
    "--security-opt", "--cap-add", "--cap-drop", "--link", "--pod", "--with-requirements", "--env-from", "--config",
    "--prefix", "--filter", "--workspace", "--kubeconfig", "--profile", "--index-url", "--size", "--env-file",
    "--attach", "--pull", "--runtime", "--uidmap", "--group-add", "--dns", "--log-driver", "--health-cmd", "--image",
    "-L", "--rcfile",
)  # fmt: skip
_DANGEROUS_TARGETS = re.compile(r"(^|[-:_/])(deploy|publish|release|push|upload|ship|promote)([-:_]|$)", re.I)

_PREPARES = re.compile(r"(build|compile|bundle|test|lint|check)[-:_]release|release[-:_](notes|check|build|test)", re.I)
"""Scripts that are named after what they make ready."""


def carrier(name: str) -> Program | None:
    """A tool that may carry a command: what its own words do comes from the table, the command is followed."""
    if name not in _CARRIES:
        return None
    return lambda reader, argv, stdin: _carry(reader, name, argv, stdin)


def _carry(reader: Reader, name: str, argv: list[str], stdin: str | None) -> str:
    args = _unfiltered(argv[1:]) if name == "pnpm" else argv[1:]
    carried = _carried(name, args)
    call = split(args, ("-c", "--call")).value("-c", "--call") if name in {"npm", "pnpm", "yarn"} else None
    if call is not None:
        return reader.text(call, stdin=stdin)
    own = args if carried is None else args[: len(args) - len(carried)]
    known = table.entries().get(name)
    if name in {"docker", "podman", "nerdctl"}:
        _mounts(reader, own)
    if carried is None:
        if known is not None:
            table.judge(reader, name, known, args)
        else:
            reader.project(f"{name} runs the project's own code, which can't be read from here")
        if name in {"npm", "pnpm", "yarn", "bun"}:
            _package_script(reader, name, args)
        return UNKNOWN
    table.touches_secrets(reader, own)
    if not carried:
        if name in _IN_SOMETHING and "--help" not in args:
            return UNKNOWN
        reader.project(f"{name} runs the project's own code, which can't be read from here")
        return UNKNOWN
    text = " ".join(carried)
    if len(carried) == 1 and (" " in carried[0] or ";" in carried[0]):
        return reader.text(text, stdin=stdin)
    if name in {"uv", "pipx", "npm", "pnpm", "yarn", "bun"} and re.search(r".@[\w.^~-]+$", carried[0]):
        carried = [carried[0][0] + carried[0][1:].partition("@")[0], *carried[1:]]
    return run(reader, carried, stdin)


def _unfiltered(args: list[str]) -> list[str]:
    """Without the packages for which pnpm is to do it: their names are no commands."""
    while len(args) > 1 and args[0] in {"-F", "--filter"} and not open_ended(args[1]) and not args[1].startswith("-"):
        args = args[2:]
    return args


def _carried(name: str, args: list[str]) -> list[str] | None:
    """The command after a tool's own words; None when these words carry none."""
    if name == "gcloud" or any(one.split()[-1:] and one.split()[-1].startswith("-") for one in _CARRIES[name]):
        for one in _CARRIES[name]:
            option = one.split()[-1] if one else ""
            words = [word for word in args if not word.startswith("-")]
            if option.startswith("-") and words[: len(one.split()) - 1] == one.split()[:-1]:
                for position, word in enumerate(args):
                    if word == option and position + 1 < len(args):
                        return args[position + 1 :] if name == "nix" else [args[position + 1]]
                    if option.startswith("--") and word.startswith(f"{option}="):
                        return [word.partition("=")[2]]
    for one in sorted(_CARRIES[name], key=len, reverse=True):
        found = _after(args, one.split())
        if found is None:
            continue
        if "--" in found and (name in _IN_SOMETHING or found[0].startswith("-") or found[0] == "--"):
            return found[found.index("--") + 1 :]
        rest = split(found, _TAKES, posix=True).words
        if name in _IN_SOMETHING and one in _NAMED_FIRST and not (name in {"conda", "mamba"} or name == "toolbox"):
            entry = split(found, _TAKES, posix=True).value("--entrypoint")
            return [entry, *rest[1:]] if entry else rest[1:]
        return rest
    return None


def _after(args: list[str], words: list[str]) -> list[str] | None:
    position = 0
    for word in words:
        while position < len(args) and args[position].startswith("-"):
            position += 2 if args[position] in _TAKES else 1
        if position >= len(args) or args[position] != word:
            return None
        position += 1
    return args[position:]


def _mounts(reader: Reader, args: list[str]) -> None:
    if any(word in {"--privileged", "--pid=host"} or word.startswith("--cap-add=ALL") for word in args):
        reader.unreadable("it runs a container that may do anything to this machine")
    found = split(args, _TAKES)
    for value in [*found.values("-v", "--volume"), *found.values("--mount")]:
        path = (
            value.partition(":")[0]
            if "=" not in value
            else (re.search(r"(?:src|source)=([^,]+)", value) or ["", ""])[1]
        )
        if plain(path) in {"/var/run/docker.sock", "/run/docker.sock"}:
            reader.unreadable("it gives a container the docker of this machine")
        elif path:
            reader.reads(path, tree=True)
    for value in found.values("--env-file"):
        reader.reads(value)


def _package_script(reader: Reader, name: str, args: list[str]) -> None:
    """The text of the script that package.json has under this name, when it can be opened."""
    words = [word for word in args if not word.startswith("-")]
    if words[:1] and words[0] in {"run", "run-script", "rum", "urn"}:
        words = words[1:]
    elif words[:1] not in (["test"], ["t"], ["tst"], ["start"], ["stop"], ["restart"]) and name == "npm":
        return
    if not words:
        return
    script = "test" if words[0] in {"t", "tst"} else words[0]
    if open_ended(script):
        return
    if _DANGEROUS_TARGETS.search(script) and not _PREPARES.fullmatch(script):
        reader.find("push", f"the script {shown(script)} says that it publishes")
    text = opened(reader, "package.json")
    try:
        scripts = json.loads(text or "{}").get("scripts", {})
    except (ValueError, AttributeError):
        return
    if reader.scripts > 2 or not isinstance(scripts, dict):
        return
    reader.scripts += 1
    for found in (f"pre{script}", script, f"post{script}"):
        if isinstance(scripts.get(found), str):
            since = len(reader.findings)
            reader.text(" ".join([scripts[found], *map(quote, words[1:])]))
            reader.soften(since, "package.json has a script of which not all can be read")
    reader.scripts -= 1


def _npx(reader: Reader, argv: list[str], stdin: str | None) -> str:
    if asks_for_help(argv[1:]):
        return UNKNOWN
    found = split(
        argv[1:], ("-p", "--package", "-c", "--call", "-w", "--workspace", "--from", "--with", "--python"), posix=True
    )
    text = found.value("-c", "--call")
    if text is not None and argv[0] != "uvx":
        return reader.text(text, stdin=stdin)
    words = found.words
    if not words:
        return UNKNOWN
    name = words[0]
    name = name[0] + name[1:].partition("@")[0] if name else name
    return reader.run([name.rpartition("/")[2] if name.startswith("@") else name, *words[1:]], stdin)


def _make(reader: Reader, argv: list[str], stdin: str | None) -> str:
    args = argv[1:]
    found = split(
        args,
        ("-C", "-f", "-j", "-I", "-o", "-W", "-l", "--directory", "--file", "--makefile", "--jobs", "--eval", "-E"),
    )
    if found.has("-p", "--print-data-base"):
        reader.find("credentials", "make shows its variables, and the environment is among them")
    for text in found.values("--eval", "-E"):
        reader.unreadable("it gives make a rule of its own")
        for call in re.finditer(r"\$\(shell ([^)]*)\)|(?:^|\n)\t([^\n]+)|;\s*([^\n]+)", plain(text)):
            reader.text(call[1] or call[2] or call[3])
    if found.value("-f", "--file", "--makefile") in {"-", "/dev/stdin"}:
        reader.unreadable("it gives make rules from its input")
        for line in (stdin or "").splitlines():
            recipe = line[1:] if line.startswith("\t") else line.partition(";")[2]
            if recipe and UNKNOWN not in recipe:
                reader.text(recipe.lstrip("@-+"))
    for word in found.words:
        name, equals, value = word.partition("=")
        if equals and name in {"SHELL", ".SHELLFLAGS", "MAKEFLAGS"}:
            reader.project(f"it changes make's {name}")
        if equals and re.search(r"\$\(shell\s+(.+)\)", value):
            reader.text((re.search(r"\$\(shell\s+(.+)\)", value) or ["", ""])[1])
    return table.judge(reader, argv[0], table.entries()["make"], args)


def _bun(reader: Reader, argv: list[str], stdin: str | None) -> str:
    """bun runs code and files like node, and is a package manager besides."""
    args = [word for position, word in enumerate(argv[1:]) if position or word != "run"]
    codes = code.codes_of(args, code.NODE)
    words = [word for word in args if not word.startswith("-")]
    if codes or "-" in args or (words and words[0].endswith((".js", ".mjs", ".cjs", ".ts", ".mts", ".tsx", ".jsx"))):
        return code.PROGRAMS["node"](reader, ["node", *args], stdin)
    return _carry(reader, "bun", argv, stdin)


def _cmake(reader: Reader, argv: list[str], stdin: str | None) -> str:
    """cmake -E does what the shell's commands do."""
    if argv[1:2] != ["-E"] or len(argv) < 3:
        return table.judge(reader, "cmake", table.entries()["cmake"], argv[1:])
    does, rest = argv[2], argv[3:]
    if does in {"env", "time"}:
        rest = [word for word in rest if not word.startswith("--")]
        return run(reader, rest, stdin) if rest else UNKNOWN
    if does == "chdir":
        return reader.run(rest[1:], stdin) if rest[1:] else UNKNOWN
    if does == "environment":
        reader.find("credentials", "it shows the environment, where secrets are kept")
    same = {"remove": "rm", "rm": "rm", "remove_directory": "rm", "rename": "mv", "cat": "cat", "tar": "tar",
            "touch": "touch", "make_directory": "mkdir", "create_symlink": "ln", "create_hardlink": "ln",
            "copy": "cp", "copy_if_different": "cp", "copy_directory": "cp"}.get(does)  # fmt: skip
    if same:
        return reader.run([same, *rest], stdin)
    if does not in {"echo", "echo_append", "sleep", "true", "false", "compare_files", "md5sum", "sha256sum"}:
        reader.project("cmake runs the project's own code, which can't be read from here")
    return UNKNOWN


def _dotnet(reader: Reader, argv: list[str], stdin: str | None) -> str:
    """The tests that it is to run may be about anything."""
    args = argv[1:]
    if args[:1] == ["test"] and "--" not in args:
        chosen = [at for at, word in enumerate(args) if word == "--filter"]
        args = [word for at, word in enumerate(args) if at - 1 not in chosen or open_ended(word)]
    return table.judge(reader, "dotnet", table.entries()["dotnet"], args)


def _go(reader: Reader, argv: list[str], stdin: str | None) -> str:
    words = [word for word in argv[1:] if not word.startswith("-")]
    if words[:1] == ["clean"]:
        reader.find("delete", "go clean deletes what was built")
    elif words[:1] and words[0] in {
        "run",
        "test",
        "build",
        "install",
        "generate",
        "tool",
        "get",
        "vet",
        "work",
        "mod",
        "bug",
    }:
        for position, word in enumerate(argv):
            if word in {"-exec", "-toolexec"} and position + 1 < len(argv):
                reader.text(argv[position + 1])
        reader.project("go runs the project's own code, which can't be read from here")
    elif words[:1] and open_ended(words[0]):
        reader.unreadable("what go does is only known when it runs")
    return UNKNOWN


def _several(reader: Reader, argv: list[str], stdin: str | None) -> str:
    """Tools of which every argument is a command of its own."""
    takes = (
        "-n", "--names", "-c", "--prefix-colors", "-p", "--prefix", "-l", "--watch", "--exec", "-x", "--ext", "-e",
        "-w", "-i", "--runs", "-r", "--warmup", "--setup", "--prepare", "--cleanup", "-s",
    )  # fmt: skip
    found = split(argv[1:], takes)
    for text in [*found.words, *found.values("--exec", "-x", "--setup", "--prepare", "--cleanup")]:
        if " " in text:
            reader.text(text.strip("'\""))
    if found.has("--exec", "-x") and found.words:
        reader.text(" ".join(found.words))
    reader.project(f"{argv[0]} runs the project's own code, which can't be read from here")
    return UNKNOWN


def _nix_shell(reader: Reader, argv: list[str], stdin: str | None) -> str:
    found = split(argv[1:], ("--run", "--command", "-A", "-I", "-E", "--expr", "--argstr", "--arg"))
    for text in found.values("--run", "--command"):
        reader.text(text)
    reader.project("it builds what the project's own files say")
    return UNKNOWN


PROGRAMS: dict[str, Program] = {
    **dict.fromkeys(("npx", "bunx", "pnpx", "uvx", "dlx", "nlx"), _npx),
    **dict.fromkeys(("make", "gmake", "bmake", "nmake", "mingw32-make"), _make),
    "dotnet": _dotnet,
    "go": _go,
    "bun": _bun,
    "cmake": _cmake,
    **dict.fromkeys(
        ("concurrently", "nodemon", "hyperfine", "npm-run-all", "run-p", "run-s", "wireit", "turbowatch"), _several
    ),
    "nix-shell": _nix_shell,
}
