"""Interpreters and the code that they are given in the command itself, or on standard input."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from agentroom_machine.danger.programs import python_code
from agentroom_machine.danger.programs.arguments import asks_for_help, split
from agentroom_machine.danger.programs.shells import opened
from agentroom_machine.danger.reader import Program, Reader
from agentroom_machine.danger.scope import secret_name
from agentroom_machine.danger.unknown import UNKNOWN, open_ended, plain, shown


def _words(text: str) -> re.Pattern[str]:
    return re.compile(text, re.I | re.S)


@dataclass(frozen=True)
class Language:
    """What gives code away in one language; a language that has no entry here is read with all of them."""

    name: str
    code: tuple[str, ...]
    """Options whose value is code."""
    takes: tuple[str, ...] = ()
    deletes: re.Pattern[str] = field(default_factory=lambda: _words(r"(?!)"))
    runs: re.Pattern[str] = field(default_factory=lambda: _words(r"(?!)"))
    environment: re.Pattern[str] = field(default_factory=lambda: _words(r"(?!)"))
    hides: re.Pattern[str] = field(default_factory=lambda: _words(r"(?!)"))


NODE = Language(
    "JavaScript",
    ("-e", "-p", "-pe", "--eval", "--print", "eval"),
    ("-r", "--require", "--import", "--loader", "-C", "--conditions", "--input-type", "--env-file", "--inspect-port"),
    _words(r"\b(rm|rmSync|rmdir|rmdirSync|unlink|unlinkSync|truncate\w*|ftruncate\w*|rimraf|removeSync|emptyDir\w*|fs\.remove|delSync|trash"
           r"|Deno\.remove\w*|dropDatabase|deleteMany|deleteOne|deleteObject\w*|flushall|flushdb|DROP\s+TABLE|DELETE\s+FROM|TRUNCATE\s+TABLE)\b"),
    _words(r"child_process|\b(execSync|execFile\w*|spawn|spawnSync|fork|execa\w*|shelljs|zx|Deno\.(run|Command)|Bun\.(spawn\w*|\$)|cluster)\b|\bexec\s*\("),
    _words(r"process\s*(\.|\?\.)\s*env\b(?!\s*\.\s*\w)|process\s*\.\s*report\b|=\s*process\s*([;,)}\n]|$)|\(\s*process\s*[,)]|Deno\.env\.toObject|Bun\.env\b(?!\s*\.\s*\w)|import\.meta\.env\b(?!\.)"),
    _words(r"\beval\b|\bFunction\s*\(|\bconstructor\b|\[\s*['\"`]\w*['\"`]\s*\+|process\s*\[|globalThis\s*\[|global\s*\[|require\s*\(\s*[^'\"`\s]"
           r"|import\s*\(\s*[^'\"`\s]|require\s*\(\s*(['\"`])[^'\"`]*\1\s*\+|\\x[0-9a-f]{2}|\\u|fromCharCode|\batob\b|base64|\bReflect\b|\bvm\b|process\.binding|dlopen|mainModule|\]\s*\("),
)  # fmt: skip
PERL = Language(
    "Perl",
    ("-e", "-E"),
    ("-I", "-M", "-m", "-F", "-0_"),
    _words(r"\b(unlink|rmdir|rmtree|remove_tree|truncate|File::Path)\b"),
    _words(r"\b(system|exec|qx|fork|IPC::\w+|open3?|popen)\b|`|\|\s*['\"]|['\"]\s*\|"),
    _words(r"%ENV\b|\$ENV\s*\{\s*\$|\bENV\b(?!\s*\{)"),
    _words(
        r"\beval\b|\bdo\s*\$|\brequire\s*\$|\bpack\b|\bunpack\b|\\x|&\s*\$|&\{|->\s*\$|\bDynaLoader\b|\bsyscall\b|MIME::Base64|decode_base64|/e\w*\b[;\s]|\bs([/|,#!])(?:(?!\1).){0,200}\1(?:(?!\1).){0,200}\1\w*e"
    ),
)
_RUBY = Language(
    "Ruby",
    ("-e",),
    ("-r", "-I", "-C", "-E", "-F"),
    _words(
        r"\b(rm|rm_r|rm_f|rm_rf|rmtree|rmdir|unlink|delete|remove_entry\w*|remove_dir|remove_file|truncate|remove|delete_all|destroy_all|destroy|drop_table|safe_unlink)\b"
    ),
    _words(r"\b(system|exec|spawn|popen\w*|fork|Open3|PTY|syscall|capture\w*|sh)\b|`|%x"),
    _words(r"\bENV\b(?!\s*(\[|\.fetch))"),
    _words(
        r"\beval\b|instance_eval|class_eval|module_eval|\bsend\b|public_send|__send__|\bconst_get\b|\bmethod\s*\(|Base64|unpack|\bpack\b|\\x|Kernel\.|\bFiddle\b|\bload\b"
    ),
)
_PHP = Language(
    "PHP",
    ("-r", "-B", "-R", "-E"),
    ("-d", "-c", "-z", "-f", "-S", "-t"),
    _words(
        r"\b(unlink|rmdir|ftruncate|deleteDirectory|File::delete\w*|Storage::delete\w*|truncate|dropIfExists|delete)\b"
    ),
    _words(r"\b(system|exec|shell_exec|passthru|popen|proc_open|pcntl_exec|mail)\b|`"),
    _words(r"\$_ENV\b(?!\s*\[)|\$_SERVER\b(?!\s*\[)|getenv\s*\(\s*\)|phpinfo"),
    _words(
        r"\beval\b|\bassert\b|create_function|call_user_func|base64_decode|\$\w+\s*\(|str_rot13|gzinflate|\\x|preg_replace.*/e|include|require|\bchr\s*\("
    ),
)
_LUA = Language(
    "Lua", ("-e",), ("-l",), _words(r"os\s*\.\s*remove|\brmdir\b|vim\.fn\.delete|lfs\.rmdir"),
    _words(r"os\s*\.\s*execute|io\s*\.\s*popen"),
    _words(r"\benviron\b"), _words(r"\bload(string|file)?\b|dofile|\bos\s*\[|\bio\s*\[|_G|_ENV|string\.char|\\x|\\\d"),
)  # fmt: skip
_AWK = Language(
    "awk", ("-e", "--source"), (
        "-F", "-v", "-f", "-i", "-l", "--field-separator", "--assign", "--file", "--include", "--load",
    ),
    _words(r"(?!)"), _words(r"\bsystem\s*\(|\|\s*getline|\|&|print[^|}]*\|\s*[\"\w$]|printf[^|}]*\|\s*[\"\w$]"),
    _words(r"\bENVIRON\b(?!\s*\[\s*\")"), _words(r"@\w+\s*\(|\bsystem\s*\(\s*[^\"\s)]"),
)  # fmt: skip
_OTHER = Language(
    "code",
    ("-e", "-E", "--eval", "-eval", "--expr", "--execute", "-c", "--exec", "eval", "-s"),
    (),
    _words(r"\b(rm|unlink|rmdir|remove\w*|delete\w*|truncate\w*|rmtree|del|erase)\b"),
    _words(r"\b(system\w*|exec\w*|shell\w*|spawn\w*|popen|process\w*|os\.cmd|cmd|run|sh|call-process)\b|`|%x"),
    _words(r"\b(env|environ\w*|getenv|Sys\.getenv)\b"),
    _words(r"\b(eval|load|send|apply|base64|decode|pack|parse)\b"),
)
_STRING = re.compile(
    r"'((?:[^'\\\n]|\\.)*)'|\"((?:[^\"\\\n]|\\.)*)\"|`((?:[^`\\]|\\.)*)`|%x[({\[]([^)}\]]*)[)}\]]|\bqx?[qwx]?\s*[({/|]([^)}/|]*)[)}/|]"
)


_GLUED = re.compile(r"-[aclnpsStTuUvwWX0-9]*[eEr](.+)", re.S)
"""Code that follows its option without a blank, in a cluster or not."""


def _literals(code: str) -> list[str]:
    found: list[str] = []
    for match in _STRING.finditer(code):
        text = next((group for group in match.groups() if group is not None), "")
        found.append(re.sub(r"\\(.)", r"\1", text))
    return found


def judge(reader: Reader, language: Language, code: str) -> None:
    """Notes what a text of code does, by the words that give it away."""
    if UNKNOWN in code:
        reader.unreadable(f"a part of the {language.name} that it runs is only known when it runs")
    text = plain(code)
    if len(text) > 20_000:
        reader.unreadable(f"the {language.name} that it runs is too long to be read")
        return
    literals = _literals(text)
    for literal in literals:
        if literal and not re.search(r"\s", literal) and len(literal) < 300:
            reader.reads(literal)
    bare = _STRING.sub(lambda found: found[0] if found[0][0] == "`" or found[0][0] in "%q" else '""', text)
    if language.environment.search(bare):
        reader.find("credentials", f"{language.name} code reads the environment, where secrets are kept")
    for name in re.findall(r"env(?:iron)?\b\W{0,12}?[.\[{(]\s*['\"]?(\w+)|getenv\W+(\w+)", text, re.I):
        if any(secret_name(part) for part in name if part):
            reader.find("credentials", f"{language.name} code reads a secret from the environment")
    if language is NODE and re.search(r"['\"`](node:)?process['\"`]", text) and re.search(r"\benv\b", text):
        reader.find("credentials", "JavaScript code reads the environment, where secrets are kept")
    runs = bool(language.runs.search(text))
    if (
        language.deletes.search(bare)
        or (language.hides.search(text) and language.deletes.search(text))
        or (language.deletes.search(text) and re.search(r"\brequire|call_user|array_\w+|import|from|\[['\"`]", text))
    ):
        reader.find("delete", f"{language.name} code deletes")
    if runs:
        _commands(reader, language, text, literals)
    if language.hides.search(text):
        reader.unreadable(f"{language.name} code computes what it does")
    if re.search(r"https?://", text):
        if re.search(r"method\W+DELETE|\.delete\s*\(|\bDELETE\b", text, re.I):
            reader.find("delete", f"{language.name} code asks a host to delete")
        elif re.search(r"\b(POST|PUT|PATCH)\b|\.post\s*\(|\.put\s*\(", text):
            reader.unreadable(f"{language.name} code sends something to a host")
    if re.search(r"require|import|\buse\b|readFile|open|include", text) or language is _OTHER:
        reader.project(f"{language.name} code uses what can't be read from here")


def _commands(reader: Reader, language: Language, text: str, literals: list[str]) -> None:
    found = len(reader.findings)
    said = [literal for literal in literals if literal.strip()]
    for literal in said:
        if re.search(r"[A-Za-z]", literal):
            reader.text(literal)
    joined = [
        literal for literal in said if literal not in {"child_process", "node:child_process", "fs", "utf8", "inherit"}
    ]
    if len(joined) > 1:
        reader.run(joined, UNKNOWN)
    named = [finding for finding in reader.findings[found:] if finding.kind != "unreadable"]
    del reader.findings[found:]
    reader.findings += named
    reader.unreadable(f"{language.name} code runs a command")


def _python(reader: Reader, argv: list[str], stdin: str | None) -> str:
    args = argv[1:]
    position = 0
    while position < len(args):
        word = args[position]
        if word in {"-", ""} or not word.startswith("-") or word == "--":
            break
        letters = word[1:]
        if word.startswith("--"):
            if word in {"--version", "--help"} or word.startswith("--help-"):
                return UNKNOWN
            position += 2 if word == "--check-hash-based-pycs" else 1
            continue
        for at, letter in enumerate(letters):
            rest = letters[at + 1 :]
            if letter == "c":
                code = rest or (args[position + 1] if position + 1 < len(args) else "")
                python_code.judge(reader, code)
                return UNKNOWN
            if letter == "m":
                words = [rest, *args[position + 1 :]] if rest else args[position + 1 :]
                return _module(reader, words, stdin)
            if letter in "WX":
                position += 0 if rest else 1
                break
            if letter in "Vh?":
                return UNKNOWN
            if letter == "i":
                reader.project("it opens Python's own prompt afterwards")
        position += 1
    rest_of = args[position:]
    if rest_of and rest_of[0] not in {"-", "/dev/stdin"}:
        return _python_file(reader, rest_of)
    if stdin is None:
        if not rest_of:
            reader.unreadable("it opens Python's own prompt, and what is typed there can't be read")
        return UNKNOWN
    if stdin == UNKNOWN:
        reader.unreadable("it runs Python that is only known when it runs")
    else:
        python_code.judge(reader, stdin)
    return UNKNOWN


def _python_file(reader: Reader, words: list[str]) -> str:
    path = words[0]
    if path == UNKNOWN or open_ended(path.rpartition("/")[2]):
        reader.unreadable("which script it runs is only known when it runs")
        return UNKNOWN
    name = path.rpartition("/")[2]
    if name in {"manage.py", "setup.py"}:
        return reader.run([name, *words[1:]], UNKNOWN)
    if reader.reads(path):
        return UNKNOWN
    for kept in reader.written(path):
        python_code.judge(reader, kept)
    text = opened(reader, path)
    if text is not None and len(text) < 20_000:
        since = len(reader.findings)
        python_code.judge(reader, text)
        reader.soften(since, f"{shown(path)} is a script of which not all can be read")
    for word in words[1:]:
        reader.reads(word)
    reader.project(f"{shown(path)} is a script that can't be read from here")
    return UNKNOWN


_MODULES = {
    "http.server", "json.tool", "venv", "ensurepip", "this", "antigravity", "site", "sysconfig", "platform",
    "calendar", "tokenize", "ast", "dis", "py_compile", "compileall", "tabnanny", "pyclbr", "gzip", "zipapp", "pydoc",
    "doctest", "unittest", "base64", "quopri", "ftplib", "webbrowser", "cProfile", "profile", "trace", "pdb",
    "virtualenv", "inspect", "symtable", "mimetypes", "uuid", "random", "idlelib", "turtledemo", "test",
}  # fmt: skip


def _module(reader: Reader, words: list[str], stdin: str | None) -> str:
    if not words or open_ended(words[0]):
        reader.unreadable("which module it runs is only known when it runs")
        return UNKNOWN
    name, rest = words[0], words[1:]
    if name == "timeit":
        found = split(rest, ("-n", "-r", "-s", "-u", "--number", "--repeat", "--setup", "--unit"), posix=True)
        for text in [*found.values("-s", "--setup"), "\n".join(found.words)]:
            python_code.judge(reader, text)
    elif name in {"zipfile", "tarfile"}:
        for word in rest:
            reader.reads(word)
            if rest[0] in {"-e", "--extract", "-c", "--create"} and word is not rest[0]:
                reader.writes(word)
    elif name in {"venv", "virtualenv"}:
        found = split(rest, ("--prompt", "-p", "--python"))
        if found.has("--clear"):
            reader.find("delete", f"it empties {', '.join(map(shown, found.words))}")
        for word in found.words:
            reader.writes(word)
    elif name in {
        "cProfile",
        "profile",
        "trace",
        "pdb",
        "coverage",
        "debugpy",
        "memory_profiler",
        "kernprof",
        "viztracer",
    }:
        found = split(rest, ("-o", "-s", "-c", "-m", "--source", "--omit", "--rcfile", "--listen"))
        module = found.value("-m")
        if module:
            _module(reader, [module, *found.words], stdin)
        reader.project("Python runs the project's own code, which can't be read from here")
    elif name in {"code", "asyncio"} or (name in {"IPython", "ptpython", "bpython"} and not rest):
        reader.unreadable("it opens Python's own prompt, and what is typed there can't be read")
    elif name in _MODULES:
        for word in rest:
            reader.reads(word)
        if name in {"unittest", "doctest", "test"}:
            reader.project("Python runs the project's own code, which can't be read from here")
    elif name == "django":
        return reader.run(["django-admin", *rest], stdin)
    else:
        return reader.run([name.partition(".")[0].replace("_", "-") if "." not in name else name, *rest], stdin)
    return UNKNOWN


def _interpreter(language: Language) -> Program:
    def program(reader: Reader, argv: list[str], stdin: str | None) -> str:
        args = argv[1:]
        if asks_for_help(args):
            return UNKNOWN
        if language.name == "PHP" and split(args, language.takes).has("-i", "--info"):
            reader.find("credentials", "PHP shows the environment, where secrets are kept")
        codes = list(codes_of(args, language))
        for word in args:
            if "data:text/javascript" in word:
                codes.append(word.partition("data:text/javascript")[2].lstrip(";,"))
        for code in codes:
            judge(reader, language, code)
        if codes:
            _arguments(reader, args, codes)
            return UNKNOWN
        words = split(args, language.takes).words
        if argv[0].endswith("deno") and words[:1] and words[0] in {"publish", "deploy"}:
            reader.find("push", f"deno {words[0]} publishes")
            return UNKNOWN
        if (
            words
            and words[0] in {"run", "test", "lint", "fmt", "check", "repl", "build", "serve", "compile"}
            and language is NODE
        ):
            words = words[1:]
        if words and words[0] != "-":
            return _file(reader, language, words)
        if stdin is None and not words and not args:
            reader.unreadable(f"it opens a prompt of {language.name}, and what is typed there can't be read")
        elif stdin == UNKNOWN:
            reader.unreadable(f"it runs {language.name} that is only known when it runs")
        elif stdin:
            judge(reader, language, stdin)
        return UNKNOWN

    return program


def codes_of(args: list[str], language: Language) -> list[str]:
    codes: list[str] = []
    letters = {option[1] for option in language.code if len(option) == 2}
    position = 0
    while position < len(args):
        word = args[position]
        position += 1
        name, equals, value = word.partition("=")
        if word in language.code or (
            not word.startswith("--") and re.fullmatch(r"-[A-Za-z0-9]*", word) and len(word) > 1 and word[-1] in letters
        ):
            if position < len(args):
                codes.append(args[position])
                position += 1
        elif equals and name in language.code and name.startswith("--"):
            codes.append(value)
        elif language.name in {"Perl", "Ruby", "PHP"} and (glued := _GLUED.fullmatch(word)):
            codes.append(glued[1])
        elif not word.startswith("-") and not codes:
            break
    return codes


def _arguments(reader: Reader, args: list[str], codes: list[str]) -> None:
    for word in args:
        if word not in codes and not word.startswith("-"):
            reader.reads(word)


def _file(reader: Reader, language: Language, words: list[str]) -> str:
    path = words[0]
    if path == UNKNOWN or open_ended(path.rpartition("/")[2]):
        reader.unreadable("which script it runs is only known when it runs")
        return UNKNOWN
    for word in words:
        reader.reads(word)
    name = path.rpartition("/")[2].removesuffix(".js").removesuffix(".mjs").removesuffix(".phar")
    if name in {"artisan", "rails", "console"}:
        return reader.run([name, *words[1:]], UNKNOWN)
    for kept in reader.written(path):
        judge(reader, language, kept)
    text = opened(reader, path)
    if text is not None and len(text) < 20_000:
        since = len(reader.findings)
        judge(reader, language, text)
        reader.soften(since, f"{shown(path)} is a script of which not all can be read")
    reader.project(f"{shown(path)} is a script that can't be read from here")
    return UNKNOWN


def _awk(reader: Reader, argv: list[str], stdin: str | None) -> str:
    if asks_for_help(argv[1:]):
        return UNKNOWN
    found = split(argv[1:], (*_AWK.takes, *_AWK.code))
    codes, words = list(found.values("-e", "--source")), list(found.words)
    for path in found.values("-f", "--file"):
        reader.reads(path)
        text = stdin if path in {"-", "/dev/stdin"} else "\n".join(reader.written(path)) or opened(reader, path)
        if text is None or UNKNOWN in text:
            reader.project(f"{shown(path)} is a script that can't be read from here")
        else:
            codes.append(text)
    if not codes and not found.has("-f", "--file") and words:
        codes, words = [words[0]], words[1:]
    for code in codes:
        judge(reader, _AWK, code)
        for target in re.finditer(r">>?\s*\"([^\"]+)\"", plain(code)):
            reader.writes(target[1])
        for source in re.finditer(r"getline[^<;}]*<\s*\"([^\"]+)\"", plain(code)):
            reader.reads(source[1])
        if re.search(r"ENVIRON\s*\[\s*\"(\w+)\"", code) and any(
            secret_name(name) for name in re.findall(r"ENVIRON\s*\[\s*\"(\w+)\"", code)
        ):
            reader.find("credentials", "awk code reads a secret from the environment")
    for word in words:
        reader.reads(word.partition("=")[2] if "=" in word else word)
    return UNKNOWN


def _editor(reader: Reader, argv: list[str], stdin: str | None) -> str:
    """vim and its kin: commands given in arguments are read, a bare editor is a prompt."""
    if asks_for_help(argv[1:]):
        return UNKNOWN
    found = split(argv[1:], ("-c", "--cmd", "-S", "-u", "-i", "-w", "-W", "-T", "--eval", "-eval", "-l", "--load"))
    commands = [*found.values("-c", "--cmd", "--eval"), *[word[1:] for word in argv[1:] if word.startswith("+")]]
    for path in found.values("-S", "-u", "--load", "-l"):
        if path not in {"NONE", "NORC", "DEFAULTS"}:
            reader.project(f"{shown(path)} is a script that can't be read from here")
    for command in commands:
        said = plain(command)
        for call in re.finditer(
            r"(?:^|[|:\n])\s*(?:silent!?\s*)?(?:%|\d*,?\d*\$?)?(?:w(?:rite)?|r(?:ead)?|te(?:rminal)?)?\s*!\s*(.+)", said
        ):
            reader.text(call[1])
            reader.unreadable("an editor runs a command")
        for call in re.finditer(
            r"(?:system|shell-command|call-process|systemlist|jobstart|termopen|os\.execute|io\.popen)\W+['\"](.+?)['\"]",
            said,
        ):
            reader.text(call[1])
            reader.unreadable("an editor runs a command")
        if re.search(r"\bdelete(-file|-directory)?\s*\(?|\bcall\s+delete|os\.remove", said) and not re.search(
            r"^g/|^%?g!?/|^v/", said
        ):
            reader.find("delete", "an editor deletes a file")
        if re.search(r"\b(exe(cute)?|eval|py3?(thon)?x?|lua|perl|ruby|source|so|term\w*|call|norm\w*|load)\b", said):
            reader.unreadable("an editor runs code that can't be read")
        for target in re.finditer(r"(?:^|[|:])\s*(?:w|sav|e|r|tabe|sp|vs)\w*!?\s+([^\s|!]+)", said):
            reader.reads(target[1])
    typed = [] if stdin in (None, UNKNOWN) else (stdin or "").splitlines()
    for line in typed:
        shell = re.match(r"\s*:?\s*[\d$,.%]*\s*(?:silent!?\s*)?(?:[rw]\w*\s*)?!\s*(.+)", plain(line))
        if shell:
            reader.text(shell[1])
            reader.unreadable("an editor runs a command")
    for path in found.words:
        if argv[0].rpartition("/")[2] in {"view", "rview"}:
            reader.reads(path)
        elif not path.startswith("+"):
            reader.writes(path)
    return UNKNOWN


def _ed(reader: Reader, argv: list[str], stdin: str | None) -> str:
    for word in argv[1:]:
        if not word.startswith("-"):
            reader.writes(word)
    for line in plain(stdin or "").splitlines():
        found = re.match(r"\s*[\d$,.%]*\s*(?:[rwe]?\s*)!(.+)", line)
        if found:
            reader.text(found[1])
            reader.unreadable("an editor runs a command")
    if stdin == UNKNOWN:
        reader.unreadable("what it tells the editor is only known when it runs")
    return UNKNOWN


def _osascript(reader: Reader, argv: list[str], stdin: str | None) -> str:
    for word in [*argv[1:], stdin or ""]:
        for call in re.finditer(r"do shell script\s+\"((?:[^\"\\]|\\.)*)\"", plain(word)):
            reader.text(re.sub(r"\\(.)", r"\1", call[1]))
        if re.search(r"\bdelete\b|empty (the )?trash", plain(word), re.I):
            reader.find("delete", "a script deletes")
        if re.search(r"keychain|password", plain(word), re.I):
            reader.find("credentials", "a script asks for a password")
    reader.unreadable("it steers other programs")
    return UNKNOWN


PROGRAMS: dict[str, Program] = {
    **dict.fromkeys(("python", "pypy", "pythonw", "py", "ipython", "ptpython", "bpython", "micropython"), _python),
    **dict.fromkeys((
        "node", "nodejs", "deno", "bun-run", "tsx", "ts-node", "qjs", "d8", "jsc", "esno", "babel-node",
    ), _interpreter(NODE)),
    "perl": _interpreter(PERL),
    **dict.fromkeys(("ruby", "jruby", "irb", "truffleruby"), _interpreter(_RUBY)),
    **dict.fromkeys(("php", "hhvm"), _interpreter(_PHP)),
    **dict.fromkeys(("lua", "luajit", "texlua", "luau"), _interpreter(_LUA)),
    **dict.fromkeys(("awk", "gawk", "mawk", "nawk", "goawk", "original-awk"), _awk),
    **dict.fromkeys(
        (
            "rscript", "r", "julia", "elixir", "iex", "erl", "ghc", "runghc", "runhaskell", "ghci", "ocaml", "scala",
            "groovy", "kotlin", "jshell", "clojure", "clj", "bb", "racket", "guile", "sbcl", "clisp", "tclsh", "wish",
            "swift", "crystal", "raku", "janet", "fennel", "csi", "fsi", "octave", "dotnet-script", "nim",
            "v", "red", "rebol", "io", "pike", "jq-run", "bpftrace", "systemtap", "stap",
        ),
        _interpreter(_OTHER),
    ),
    **dict.fromkeys((
        "vim", "vi", "nvim", "view", "ex", "rview", "gvim", "vimdiff", "nano", "emacs", "emacsclient", "pico", "micro",
        "hx", "kak", "joe", "ne", "mcedit", "gedit", "kate", "subl", "zed", "mate", "rvim", "vimx",
    ), _editor),
    **dict.fromkeys(("ed", "red-ed"), _ed),
    "osascript": _osascript,
}  # fmt: skip
