"""Variables that make other programs run something, or change what their names mean."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from agentroom_machine.danger.unknown import UNKNOWN, plain

if TYPE_CHECKING:
    from agentroom_machine.danger.reader import Reader

_COMMANDS = re.compile(
    r"(GIT_)?(PAGER|EDITOR|ASKPASS)|VISUAL|MANPAGER|BROWSER|GIT_SEQUENCE_EDITOR|GIT_SSH(_COMMAND)?|GIT_EXTERNAL_DIFF"
    r"|SSH_ASKPASS|SUDO_ASKPASS|PROMPT_COMMAND|LESSOPEN|LESSCLOSE|GIT_PROXY_COMMAND|FCEDIT|RSYNC_RSH|CVS_RSH|SVN_SSH"
    r"|GH_PAGER|GH_EDITOR|GH_BROWSER|BAT_PAGER|DELTA_PAGER|KUBE_EDITOR|HGEDITOR|SVN_EDITOR|RIPGREP_PREPROCESSOR"
)
_LOADERS = re.compile(
    r"BASH_ENV|ENV|LD_\w+|DYLD_\w+|PERL5(OPT|DB|LIB)|PERLLIB|RUBYOPT|RUBYLIB|PYTHON(STARTUP|HOME|BREAKPOINT)|BASH_FUNC_.*"
    r"|GIT_CONFIG\w*|GIT_DIR|GIT_EXEC_PATH|GIT_TEMPLATE_DIR|JAVA_TOOL_OPTIONS|_JAVA_OPTIONS|MAVEN_OPTS|ZDOTDIR|PS4"
    r"|RIPGREP_CONFIG_PATH|AWS_CONFIG_FILE|SHELLOPTS|BASHOPTS|CDPATH|GCONV_PATH|NODE_PATH|LUA_INIT\w*|PHPRC"
    r"|PHP_INI_SCAN_DIR|XDG_CONFIG_HOME|GNUPGHOME|MAKEFLAGS|MAKEFILES|CARGO_BUILD_RUSTC_WRAPPER|RUSTC_WRAPPER|DOCKER_HOST"
)
_NODE = re.compile(r"--?(r|require|import|loader|experimental-loader|eval|e)\b")
_WORDS = {"1", "0", "true", "false", ""}


def judge(reader: Reader, name: str, value: str) -> None:
    """Notes what setting a variable may lead to."""
    if name == "BASH_ENV" or (name == "ENV" and re.search(r"\$\(|`", value)) or name.startswith("BASH_FUNC_"):
        reader.unreadable(f"${name} makes every shell run something first")
    elif _COMMANDS.fullmatch(name):
        if value == UNKNOWN:
            reader.project(f"${name} names a program that is only known when it runs")
        elif plain(value) not in _WORDS:
            reader.text(value, alone=True)
    elif name == "NODE_OPTIONS" and _NODE.search(plain(value)):
        reader.project("$NODE_OPTIONS loads code that nobody has read")
    elif name in {"GIT_CONFIG_COUNT", "GIT_CONFIG_PARAMETERS"} or name.startswith(
        ("GIT_CONFIG_KEY", "GIT_CONFIG_VALUE")
    ):
        reader.unreadable(f"${name} changes what git does")
    elif name == "PS4":
        if "$(" in value or "`" in value:
            reader.unreadable("$PS4 runs a command")
    elif _LOADERS.fullmatch(name):
        reader.project(f"${name} changes what other programs do")
