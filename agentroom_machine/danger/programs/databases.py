"""Databases: the statements that their tools are given are read."""

from __future__ import annotations

import re

from agentroom_machine.danger import environment
from agentroom_machine.danger.programs.arguments import Arguments, split
from agentroom_machine.danger.reader import Program, Reader
from agentroom_machine.danger.unknown import UNKNOWN, plain

_STRINGS = re.compile(r"'(?:[^']|'')*'")
_COMMENTS = re.compile(r"--[^\n]*|/\*(?!!).*?\*/", re.S)
_DELETES = re.compile(
    r"\b(drop\s+(?!behavior)\w+|truncate\b|delete\s+from|delete\s+(top|low_priority|quick|ignore|\w+\s+from)\b|lo_unlink"
    r"|pg_drop_\w+|alter\s+\w+[^;]{0,300}\bdrop\b|drop_chunks|detach\s+delete|detach\s+partition|remove\s+\w|flush\s+\w|purge\s+\w|optimize\s+\w[^;]{0,100}final"
    r"|merge\s+[^;]{0,600}\bthen\s+delete\b|reset\s+(master|slave)|pg_truncate\w*|vacuum\s+[^;]{0,100}retain\s+0|undrop|delete\s*;|delete\s+\w+$)",
    re.I | re.S,
)
_SECRET = re.compile(
    r"\b(pg_shadow|pg_authid|pg_user_mapping|mysql\.user|sys\.sql_logins|sys\.user\$|dba_users|(create|alter)\s+(user|role|login)"
    r"|set\s+password|identified\s+by|grant\s+|password\s+for|system\.users|current_setting\(|show\s+grants|revoke\s+)",
    re.I,
)
_RUNS = re.compile(
    r"\bprogram\s*$|\bedit\s*\(|\b(copy\b[^;]{0,600}\bprogram|xp_cmdshell|sys_exec|sys_eval|load_extension|dblink_exec|system\s*\(|do\s+\$|do\s+language|execute\s+(immediate|format|\(|@)|prepare\s+\w+\s+from|sp_executesql|exec\s*\(|pg_execute_server_program|pg_read_file|load_file|lo_import|lo_export|into\s+(outfile|dumpfile)|plpython|plperlu)",
    re.I | re.S,
)
_ESCAPES = re.compile(r"(?:\\!|(?:^|[\n;])\s*(?:\\\s*!|!!?|system\s|\\sh\s))\s*([^\n]+)", re.I)
"""A command for the shell; what begins with a backslash may follow a statement on its line."""
_META = re.compile(
    r"(?:^|[\n;])\s*((?i:source|tee|pager)(?=[ \t])|(?i:edit)(?=\s*(?:[;\n]|$)))[ \t]*([^\n;]*)"
    r"|(\\(?:include_relative|include|ir|i|out|o|gx|g|write|w|s|copy|\.|P|T|edit|ef|ev|e|gexec|password|cd))"
    r"(?:[ \t]*(\|[^\n;]*)|\s([^\n;]*)|(?=[\n;\\]|$))"
)
_DOTTED = re.compile(r"(?:^|\n)\s*\.(\w{2,})[ \t]*([^\n]*)")
_DOT_COMMANDS = (
    "shell", "system", "read", "output", "once", "backup", "save", "clone", "log", "trace", "import", "load", "restore",
    "open", "excel", "www", "archive", "ar", "cd",
)  # fmt: skip
"""What sqlite's shell does beside statements; it takes each shortened."""
_FILES = re.compile(
    r"\b(readfile|read_\w+|fsdir|lsdir|file|infile|parquet_scan|sniff_csv|glob)\s*(\(|'')|\b(from|attach|database|copy)\s*''",
    re.I,
)
_WRITES = re.compile(r"\b(copy\b[^;]{0,600}\bto|export\s+database|vacuum\s+into|attach(\s+database)?)\s*''", re.I)
_MONGO = re.compile(
    r"\.(drop|dropDatabase|dropIndex|dropIndexes|deleteOne|deleteMany|remove|findOneAndDelete|findAndModify|dropUser|dropRole|bulkWrite|renameCollection|dropAllUsersFromDatabase)\s*\(|\[['\"](drop|delete|remove)|runCommand\s*\(\s*\{\s*['\"]?(drop|delete)|\$out|\$merge",
    re.I,
)
_REDIS = re.compile(
    r"(flushall|flushdb|del|unlink|hdel|lrem|ltrim|lpop|rpop|spop|srem|zrem\w*|zpop\w*|xdel|xtrim|getdel|expire\w*|pexpire\w*|json\.del|ft\.drop\w*|graph\.delete|script|function|swapdb|shutdown|debug|move|migrate|rename|restore|cluster|reset|replicaof|slaveof|failover|module|smove|blpop|brpop|hgetdel)",
    re.I,
)


def judge(reader: Reader, text: str, *, what: str = "a statement") -> None:
    """Notes what statements of SQL delete, show or run."""
    if UNKNOWN in text:
        reader.unreadable(f"a part of {what} is only known when it runs")
    said = plain(text)
    for call in _ESCAPES.finditer(said):
        reader.text(call[1])
        reader.unreadable("a database's tool runs a command")
    for meta in _META.finditer(said):
        _meta(reader, said, meta[1] or meta[3], meta[2] or meta[4] or meta[5] or "")
    for meta in _DOTTED.finditer(said):
        _dotted(reader, meta[1].casefold(), meta[2].strip())
    for line in said.splitlines():
        # psql runs what stands in backticks among the arguments of its own commands.
        for call in re.findall(r"`([^`]+)`", line[line.find("\\") :] if re.search(r"\\[a-z]", line) else ""):
            reader.text(call)
            reader.unreadable("a database's tool runs a command")
    bare = _COMMENTS.sub(" ", _STRINGS.sub("''", said))
    for name, value in re.findall(r"\\set(?:env)?\s+(\w+)[ \t]+([^\n]+)", said):
        bare = bare.replace(f":{name}", value.replace("'", " "))
        environment.judge(reader, name, value.strip().strip("'\""))
    if re.search(r"\\gset\b", said) and re.search(r"(?<![:\w]):[A-Za-z_]\w*", bare):
        reader.unreadable(f"a part of {what} is in a variable")
    if re.search(r"\bwritefile\s*\(", bare, re.I):
        reader.find("delete", f"{what} overwrites a file")
    if _FILES.search(bare) or _WRITES.search(bare):
        for literal in _STRINGS.findall(said):
            (reader.writes if _WRITES.search(bare) else reader.reads)(literal[1:-1])
    if _RUNS.search(bare):
        reader.unreadable(f"{what} builds or runs something that can't be read")
        if _DELETES.search(said):
            reader.find("delete", f"{what} deletes")
    if _DELETES.search(bare) or (re.search(r"/\*!", said) and _DELETES.search(said)):
        reader.find("delete", f"{what} deletes")
    if re.search(r"\b(create|alter)\s+(or\s+replace\s+)?(warehouse|compute\s+pool)\b", bare, re.I):
        reader.find("spend", f"{what} may cost money")
    if _SECRET.search(bare):
        reader.find("credentials", f"{what} handles who may sign in")


def _meta(reader: Reader, said: str, word: str, rest: str) -> None:
    """A command of psql's or mysql's own."""
    path = rest.strip().strip("'\"")
    word = word.casefold() if word not in {"\\T", "\\P"} else word
    if path.startswith("|"):
        reader.text(path.lstrip("| "))
        reader.unreadable("a database's tool runs a command")
    elif word in {"pager", "\\P"}:
        reader.text(path)
    elif word in {"\\i", "\\ir", "\\include", "\\include_relative", "source", "\\."}:
        judge_file(reader, path)
    elif word in {"\\o", "\\out", "\\w", "\\write", "\\g", "\\gx", "\\s", "tee", "\\T"}:
        reader.writes(path.split()[-1] if path else "")
    elif word == "\\gexec":
        reader.unreadable("it runs statements that the database makes")
        if _DELETES.search(said):
            reader.find("delete", "it makes statements that delete")
    elif word == "\\password":
        reader.find("credentials", "it sets a password")
    elif word in {"edit", "\\edit", "\\e", "\\ef", "\\ev"}:
        reader.unreadable("it opens an editor")
    elif word == "\\cd":
        reader.project("where its files are is only known when it runs")


def _dotted(reader: Reader, word: str, rest: str) -> None:
    """A command of sqlite's shell, which may be shortened."""
    path = rest.strip("'\"")
    name = next((one for one in _DOT_COMMANDS if one.startswith(word)), "")
    if name in {"shell", "system"}:
        reader.text(rest)
        reader.unreadable("a database's tool runs a command")
    elif path.startswith("|"):
        reader.text(path.lstrip("| "))
        reader.unreadable("a database's tool runs a command")
    elif name == "read":
        judge_file(reader, path)
    elif name in {"excel", "www"} or (name in {"once", "output"} and path.startswith("-")):
        reader.unreadable("a database's tool opens another program")
    elif name in {"output", "once", "backup", "save", "clone", "log", "trace"}:
        reader.writes(path.split()[-1] if path else "")
    elif name in {"load", "restore", "open", "archive", "ar", "cd"}:
        reader.unreadable("a database's tool loads what can't be read")


def judge_file(reader: Reader, path: str) -> None:
    text = reader.content(path)
    if text == UNKNOWN:
        reader.unreadable("it runs a file of statements that can't be opened")
    else:
        judge(reader, text, what=f"a statement in {plain(path)}")


def _statements(
    reader: Reader, found: Arguments, stdin: str | None, *names: str, files: tuple[str, ...] = (), shows: bool = False
) -> None:
    texts = list(found.values(*names))
    for text in texts:
        judge(reader, text)
    paths = list(found.values(*files)) if files else []
    for path in paths:
        if path in {"-", "/dev/stdin"}:
            judge(reader, stdin or UNKNOWN)
        else:
            judge_file(reader, path)
    if not texts and not paths and not shows:
        _typed(reader, stdin)


def _typed(reader: Reader, stdin: str | None) -> None:
    if stdin is None:
        reader.unreadable("it opens a database's own prompt, and what is typed there can't be read")
    elif stdin == UNKNOWN:
        reader.unreadable("it runs statements that are only known when it runs")
    else:
        judge(reader, stdin)


def _addresses(reader: Reader, found: Arguments, *names: str) -> None:
    for word in [*found.words, *found.values(*names)]:
        if re.search(r"://[^/@\s:]+:[^/@\s]+@", word) and not re.search(r"@(localhost|127\.0\.0\.1|\[::1\])[:/]", word):
            reader.find("credentials", "its address holds a password")


def _psql(reader: Reader, argv: list[str], stdin: str | None) -> str:
    takes = (
        "-c", "-d", "-f", "-h", "-p", "-U", "-v", "-o", "-P", "-F", "-R", "-T", "-L", "--command", "--dbname",
        "--file", "--host", "--port", "--username", "--set", "--variable", "--output", "--pset", "--log-file",
    )  # fmt: skip
    found = split(argv[1:], takes)
    shows = found.has("-l", "--list", "-V", "--version", "--help", "-?")
    _addresses(reader, found, "-d", "--dbname")
    for path in found.values("-o", "--output", "-L"):
        reader.text(path[1:]) if path.startswith("|") else reader.writes(path)
    _statements(reader, found, stdin, "-c", "--command", files=("-f", "--file"), shows=shows)
    return UNKNOWN


def _mysql(reader: Reader, argv: list[str], stdin: str | None) -> str:
    takes = ("-e", "-u", "-h", "-P", "-D", "-S", "--execute", "--user", "--host", "--port", "--database", "--socket",
             "--init-command", "--defaults-file", "--defaults-extra-file", "--pager", "--tee")  # fmt: skip
    args = [word for word in argv[1:] if not re.match(r"-p.+|--password=", word)]
    found = split(args, takes)
    for path in found.values("--defaults-file", "--defaults-extra-file"):
        reader.reads(path)
    for program in found.values("--pager"):
        reader.text(program)
    _statements(
        reader, found, stdin, "-e", "--execute", "--init-command", shows=found.has("-V", "--version", "--help", "-?")
    )
    return UNKNOWN


def _sqlite(reader: Reader, argv: list[str], stdin: str | None) -> str:
    args = [word if not re.match(r"-\w{2,}$", word) else f"-{word}" for word in argv[1:]]
    found = split(
        args,
        (
            "--cmd", "--init", "--separator", "--newline", "--nullvalue", "--vfs", "--mmap", "-c", "-s", "-f",
            "--maxsize",
        ),
    )  # fmt: skip
    for word in found.words[:1]:
        reader.reads(word)
    texts = [*found.words[1:], *found.values("--cmd", "-c", "-s")]
    for path in found.values("--init", "-f"):
        judge_file(reader, path)
    for text in texts:
        judge(reader, text)
    if found.has("-A", "--archive"):
        reader.project("it packs or unpacks files")
    elif not texts and not found.has("--version", "--help"):
        _typed(reader, stdin)
    return UNKNOWN


def _redis(reader: Reader, argv: list[str], stdin: str | None) -> str:
    found = split(
        argv[1:],
        (
            "-h", "-p", "-a", "-n", "-u", "-s", "-r", "-i", "-d", "-D", "--user", "--pass", "--eval",
            "--sni", "--cacert", "--cert", "--key", "--pattern",
        ),
        posix=True,
    )  # fmt: skip
    if found.has("--eval", "--pipe", "--cluster", "--rdb", "--functions-rdb"):
        reader.unreadable("it runs a script inside of the database")
    if found.has("-a", "--pass") and found.value("-a", "--pass") not in {"", None}:
        reader.project("it signs in with a password")
    words = found.words
    lines = [" ".join(words)] if words else (stdin or "").splitlines()
    if not words and stdin is None and not found.options:
        reader.unreadable("it opens a database's own prompt, and what is typed there can't be read")
    for line in lines:
        first, _, rest = plain(line).strip().partition(" ")
        if UNKNOWN in first or (not first and UNKNOWN in line):
            reader.unreadable("what it asks the database is only known when it runs")
        elif first.casefold() in {"eval", "evalsha", "fcall", "eval_ro"}:
            if re.search(_REDIS.pattern.join([r"['\"]", r"['\"]"]), rest, re.I):
                reader.find("delete", "a script deletes from the database")
            reader.unreadable("it runs a script inside of the database")
        elif _REDIS.fullmatch(first):
            reader.find("delete", f"redis {first} takes something away")
        elif first.casefold() in {"acl", "auth"} or (
            first.casefold() == "config" and re.search(r"pass|set", rest, re.I)
        ):
            reader.find("credentials", "it handles who may sign in")
    return UNKNOWN


def _mongo(reader: Reader, argv: list[str], stdin: str | None) -> str:
    found = split(
        argv[1:],
        (
            "--eval", "--host", "--port", "-u", "-p", "--username", "--password", "--authenticationDatabase", "-f",
            "--file",
        ),
    )  # fmt: skip
    texts = list(found.values("--eval"))
    scripts = [word for word in found.words if word.endswith((".js", ".mongodb"))] + list(found.values("-f", "--file"))
    for script in scripts:
        text = reader.content(script)
        if text == UNKNOWN:
            reader.unreadable("it runs a file of statements that can't be opened")
        else:
            texts.append(text)
    _addresses(reader, found)
    if not texts and not scripts and not found.has("--version", "--help"):
        if stdin in (None, UNKNOWN):
            reader.unreadable("what it asks the database is only known when it runs")
        else:
            texts.append(stdin or "")
    for text in texts:
        if UNKNOWN in text:
            reader.unreadable("what it asks the database is only known when it runs")
        if _MONGO.search(plain(text)):
            reader.find("delete", "it deletes from the database")
        if re.search(
            r"\.(createUser|updateUser|changeUserPassword|grantRoles\w+|auth)\s*\(|system\.users", plain(text)
        ):
            reader.find("credentials", "it handles who may sign in")
        if re.search(r"\[\s*['\"][^'\"]*['\"]\s*\+|\[\s*['\"]\w+['\"]\s*\]\s*\(", plain(text)):
            reader.unreadable("the code for the database computes what it does")
        if re.search(r"\b(eval|Function|load|require|run|runProgram|process)\b\s*[(.]", plain(text)):
            reader.unreadable("it runs code inside of the database's tool")
    return UNKNOWN


def _query(reader: Reader, argv: list[str], stdin: str | None) -> str:
    """Other tools whose statements come by an option or as a word."""
    takes = (
        "-q", "-Q", "-e", "-c", "-i", "-f", "-S", "-U", "-P", "-d", "-h", "-u", "-p", "-k", "--query", "--execute",
        "--file", "--command", "--database", "--host", "--user", "--password", "--port", "--queries-file", "-o", "-n",
        "--statement",
    )  # fmt: skip
    found = split(argv[1:], takes)
    texts = [
        *found.values("-q", "-Q", "-e", "-c", "--query", "--execute", "--command", "--statement"),
        *[word for word in found.words if " " in word],
    ]
    paths = list(found.values("-f", "-i", "--file", "--queries-file"))
    for text in texts:
        judge(reader, text)
    for path in paths:
        judge_file(reader, path)
    if not texts and not paths and not found.has("--version", "--help", "-V", "-?"):
        _typed(reader, stdin)
    return UNKNOWN


PROGRAMS: dict[str, Program] = {
    **dict.fromkeys(("psql", "pgcli", "gsql", "cockroach-sql", "vsql"), _psql),
    **dict.fromkeys(("mysql", "mariadb", "mycli"), _mysql),
    **dict.fromkeys(("sqlite3", "sqlite", "litecli", "duckdb", "sqlcipher", "libsql"), _sqlite),
    **dict.fromkeys(("redis-cli", "valkey-cli", "keydb-cli", "iredis"), _redis),
    **dict.fromkeys(("mongosh", "mongo"), _mongo),
    **dict.fromkeys(
        ("sqlcmd", "mssql-cli", "bcp", "clickhouse-client", "clickhouse", "cqlsh", "snowsql", "isql", "usql", "sqlplus",
         "trino", "presto", "hive", "beeline", "impala-shell", "spark-sql", "cypher-shell", "osqueryi", "q", "textql",
         "steampipe", "db2", "dbaccess", "nzsql", "ksql", "influxql", "tsql", "fisql", "sqlpad", "csvsql"),
        _query,
    ),
}  # fmt: skip
