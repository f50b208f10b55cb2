"""Python, given as text: its calls are read from the syntax tree, and what computes them is unreadable."""

from __future__ import annotations

import ast
import re
import warnings
from typing import TYPE_CHECKING

from agentroom_machine.danger.addresses import judge as judge_address
from agentroom_machine.danger.scope import secret_name
from agentroom_machine.danger.unknown import UNKNOWN, activate, plain

if TYPE_CHECKING:
    from agentroom_machine.danger.reader import Reader

_DELETES = {
    "rmtree", "unlink", "rmdir", "removedirs", "truncate", "ftruncate", "send2trash", "remove_tree", "dropdb",
    "drop_all", "drop_table", "drop_database", "drop_collection", "delete_many", "delete_one", "flushall", "flushdb",
    "delete_object", "delete_objects", "delete_bucket", "terminate_instances", "delete_repo", "rmtree_p", "remove_p",
    "rmdir_p", "unlink_p",
}  # fmt: skip
_RUNS = {
    "system", "popen", "run", "call", "check_call", "check_output", "Popen", "getoutput", "getstatusoutput", "spawn",
    "create_subprocess_shell", "create_subprocess_exec", "subprocess_exec", "subprocess_shell", "popen2", "popen3",
    "popen4", "startfile", "posix_spawn", "posix_spawnp", "run_command", "sh", "cmd",
}  # fmt: skip
_RUN_MODULES = {
    "os", "subprocess", "pty", "commands", "sh", "pexpect", "plumbum", "fabric", "invoke", "delegator", "popen2",
    "posix", "nt", "_posixsubprocess", "distutils", "ptyprocess",
}  # fmt: skip
_COMPUTES = {
    "eval", "exec", "compile", "__import__", "globals", "locals", "vars", "getattr", "setattr", "delattr",
    "breakpoint", "execfile", "runpy", "run_path", "run_module", "import_module", "attrgetter", "methodcaller",
    "exec_module", "load_module", "run_code", "ctypes", "cffi", "loads_pickle", "InteractiveConsole", "interact",
    "exec_command", "runsource", "literal_exec",
}  # fmt: skip
_HIDES = {"__builtins__", "__dict__", "__class__", "__subclasses__", "__globals__", "__getattribute__", "__code__",
          "__mro__", "__base__", "__bases__", "__loader__", "__spec__", "b64decode", "fromhex", "unhexlify", "rot13",
          "marshal", "codecs", "decompress", "a85decode", "b85decode", "b32decode", "b16decode", "f_globals",
          "f_builtins", "f_locals"}  # fmt: skip
_SYSTEM = {"os", "posix", "nt"}
_HANDED = _SYSTEM | {"subprocess", "pty", "builtins", "importlib", "sys"}
"""Modules that must not be had under a name that isn't read here."""
_LOOKS = {
    "print", "dir", "help", "hasattr", "getattr", "repr", "str", "type", "id", "isinstance", "getsource", "getfile",
    "getsourcefile", "getdoc",
}  # fmt: skip
"""Functions that may be given a module, and give none back."""
_TIMES = {"timeit", "cProfile", "profile", "pdb", "bdb", "trace"}
"""Modules that run the code in a text."""
_PLAIN = {
    "sys", "json", "re", "math", "datetime", "time", "collections", "itertools", "functools", "string", "random",
    "statistics", "decimal", "fractions", "textwrap", "pprint", "typing", "dataclasses", "enum", "uuid", "hashlib",
    "csv", "io", "os", "pathlib", "glob", "fnmatch", "platform", "locale", "calendar", "operator", "copy", "struct",
    "array", "bisect", "heapq", "difflib", "unicodedata", "html", "xml", "tomllib", "configparser", "argparse",
    "inspect", "ast", "tokenize", "keyword", "importlib", "sysconfig", "site", "shutil", "subprocess", "zlib",
    "base64", "binascii", "urllib", "socket", "ssl", "ipaddress", "shlex", "stat", "filecmp", "tempfile", "zoneinfo",
    "traceback", "warnings", "types", "abc", "contextlib", "secrets", "numbers", "cmath", "timeit", "dis",
    "py_compile", "compileall", "doctest", "unittest", "logging", "this", "antigravity", "__future__", "errno",
    "signal", "getpass", "gettext", "readline", "codecs", "zipfile", "tarfile", "gzip",
}  # fmt: skip
_NETWORK = {
    "requests", "httpx", "aiohttp", "urllib3", "http", "socket", "smtplib", "ftplib", "paramiko", "telnetlib",
    "websocket", "websockets", "xmlrpc", "poplib", "imaplib", "nntplib", "pycurl", "boto3", "botocore", "stripe",
    "twilio", "openai", "anthropic", "google", "azure", "kubernetes", "docker", "github", "gitlab", "slack_sdk",
}  # fmt: skip
_BUYS = {
    "stripe", "twilio", "boto3", "openai", "anthropic", "azure", "braintree", "paypalrestsdk", "digitalocean",
    "hcloud",
}  # fmt: skip
_DROPS = re.compile(r"\b(DROP\s+(TABLE|DATABASE|SCHEMA|INDEX|VIEW)|TRUNCATE\s+\w|DELETE\s+FROM)\b", re.I)
_DATABASES = {
    "sqlite3", "psycopg", "psycopg2", "pymysql", "MySQLdb", "django", "sqlalchemy", "asyncpg", "duckdb", "mysql",
    "pyodbc", "peewee",
}  # fmt: skip
_KEEPS = {"keyring", "secretstorage", "hvac", "keyrings", "browser_cookie3", "netrc", "getpass4", "onepassword"}


def judge(reader: Reader, code: str) -> None:
    """Notes what a text of Python does; what can't be parsed is unreadable."""
    if UNKNOWN in code:
        reader.unreadable("a part of the Python that it runs is only known when it runs")
    text = plain(code).replace(UNKNOWN, "0")
    if len(text) > 20_000:
        reader.unreadable("the Python that it runs is too long to be read")
        return
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(text.strip() if "\n" not in text.strip() else text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        reader.unreadable("the Python that it runs can't be parsed")
        return
    _Code(reader, tree).judge()


def _module(dotted: str) -> str:
    """The module that a dotted name ends in: ``os`` of ``shutil.os`` and of ``tempfile._os``."""
    return dotted.rpartition(".")[2].lstrip("_")


def _starts(module: str, name: str) -> bool:
    """Whether a module's function runs a program."""
    return (name in _RUNS and module in _RUN_MODULES) or (
        name.startswith(("exec", "spawn", "posix_spawn")) and module in _SYSTEM | {"pty"}
    )


class _Code:
    def __init__(self, reader: Reader, tree: ast.Module) -> None:
        self.reader = reader
        self.nodes = list(ast.walk(tree))
        self.modules: set[str] = set()
        self.names: dict[str, str] = {}
        """What a name stands for here, where an import gave it another."""
        self.texts: dict[str, str] = {}
        self.parents: dict[ast.AST, ast.AST] = {
            child: node for node in self.nodes for child in ast.iter_child_nodes(node)
        }

    def judge(self) -> None:
        for node in self.nodes:
            if isinstance(node, ast.Import):
                for alias in node.names:
                    first = alias.name.partition(".")[0]
                    self.modules.add(first)
                    self.names[alias.asname or first] = alias.name if alias.asname else first
            elif isinstance(node, ast.ImportFrom):
                self.modules.add((node.module or ".").partition(".")[0])
                for alias in node.names:
                    if alias.name == "*" and node.module in {"os", "subprocess", "shutil", "pty", "posix"}:
                        self.reader.unreadable(f"Python code takes all names of {node.module}")
                    self.names[alias.asname or alias.name] = f"{node.module}.{alias.name}"
                    self._name(alias.name)
            elif isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
                value = self._text(node.value)
                if value is not None:
                    self.texts[node.targets[0].id] = value
        for node in self.nodes:
            if isinstance(node, ast.Attribute):
                self._attribute(node)
            elif isinstance(node, ast.Name):
                self._bare(node)
            elif isinstance(node, ast.Call):
                self._call(node)
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                self._string(node.value)
            elif isinstance(node, ast.Subscript):
                self._subscript(node)
            elif isinstance(node, ast.BinOp):
                self._string(self._text(node) or "")
        self._imports()

    def _imports(self) -> None:
        if self.modules & _KEEPS:
            self.reader.find("credentials", "Python code uses a keeper of secrets")
        if self.modules & _BUYS:
            self.reader.find("spend", "Python code talks to a service that costs money")
        elif self.modules & _NETWORK:
            self.reader.project("Python code talks to the network")
        elif self.modules - _PLAIN:
            self.reader.project("Python code uses modules that can't be read from here")
        if self.modules & {"ctypes", "cffi", "code", "runpy", "pickle", "marshal", "_winapi"}:
            self.reader.unreadable("Python code uses a module that can run anything")

    def _text(self, node: ast.expr) -> str | None:
        """The text of an expression, where it says itself."""
        if isinstance(node, ast.Constant) and isinstance(node.value, (str, bytes)):
            return node.value if isinstance(node.value, str) else node.value.decode("latin-1")
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
            left, right = self._text(node.left), self._text(node.right)
            return None if left is None or right is None else left + right
        if isinstance(node, ast.Name):
            return self.texts.get(node.id)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "join":
            between = self._text(node.func.value)
            items = self._list(node.args[0]) if node.args else None
            return None if between is None or items is None else between.join(items)
        if (
            isinstance(node, ast.Call)
            and self._dotted(node.func) in {"os.path.expanduser", "pathlib.Path", "Path", "str", "expanduser"}
            and node.args
        ):
            return self._text(node.args[0])
        if isinstance(node, ast.Call) and self._dotted(node.func).endswith("path.join"):
            parts = [self._text(arg) for arg in node.args]
            return "/".join(part or UNKNOWN for part in parts)
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div):
            left, right = self._text(node.left), self._text(node.right)
            return f"{left if left is not None else '~'}/{right}" if right is not None else None
        if isinstance(node, ast.JoinedStr):
            return "".join(
                part.value if isinstance(part, ast.Constant) and isinstance(part.value, str) else UNKNOWN
                for part in node.values
            )
        return None

    def _list(self, node: ast.expr) -> list[str] | None:
        if not isinstance(node, (ast.List, ast.Tuple)):
            return None
        items = [self._text(item) for item in node.elts]
        return None if any(item is None for item in items) else [item or "" for item in items]

    def _dotted(self, node: ast.expr) -> str:
        if isinstance(node, ast.Name):
            return self.names.get(node.id, node.id)
        if isinstance(node, ast.Attribute):
            return f"{self._dotted(node.value)}.{node.attr}"
        return ""

    def _bare(self, node: ast.Name) -> None:
        name = self.names.get(node.id, node.id)
        module, last = _module(name.rpartition(".")[0]), name.rpartition(".")[2]
        if node.id in self.names:
            if last == "remove" and module in _SYSTEM:
                self.reader.find("delete", "Python code deletes files")
            elif last in {"environ", "environb"} and module in _SYSTEM:
                self.reader.find("credentials", "Python code reads the environment, where secrets are kept")
            elif _starts(module, last) or last.lstrip("_") in _HANDED:
                self._handed(node, last)
        self._name(last, bare=True)

    def _handed(self, node: ast.expr, name: str) -> None:
        """What runs something, or has what does, is called or looked at where it stands; else it can't be followed."""
        parent = self.parents.get(node)
        match parent:
            case ast.Call(func=func) if func is node or self._dotted(func).rpartition(".")[2] in _LOOKS:
                return
            case ast.Attribute() if _module(self._dotted(node)) in _HANDED:
                return
            case ast.arg() | ast.Compare():
                return
            case ast.AnnAssign(annotation=said) | ast.FunctionDef(returns=said) | ast.AsyncFunctionDef(returns=said):
                if said is node:
                    return
        self.reader.unreadable(f"Python code hands {name} on, to where it can't be followed")

    def _attribute(self, node: ast.Attribute) -> None:
        base = self._dotted(node.value)
        module = _module(base)
        if node.attr == "remove" and (module in _SYSTEM or (not base and "os" in self.modules)):
            self.reader.find("delete", "Python code deletes files")
        elif node.attr == "modules" and module == "sys":
            parent = self.parents.get(node)
            counted = isinstance(parent, ast.Call) and self._dotted(parent.func) == "len"
            if not counted and not isinstance(parent, (ast.Compare, ast.Subscript)):
                self.reader.unreadable("Python code takes modules by computed names")
        elif module == "builtins" and node.attr in _COMPUTES:
            self.reader.unreadable(f"Python code calls {node.attr}")
        elif _starts(module, node.attr) or node.attr.lstrip("_") in _HANDED - {"sys"}:
            self._handed(node, node.attr)
        elif node.attr in {"environ", "environb"} and module in _SYSTEM:
            parent = self.parents.get(node)
            asked = self._asked(parent if isinstance(parent, ast.expr) else None)
            if asked is None or secret_name(asked):
                self.reader.find("credentials", "Python code reads the environment, where secrets are kept")
        else:
            self._name(node.attr)

    def _asked(self, parent: ast.expr | None) -> str | None:
        """The one variable that is asked for, of the environment; None when it is all of them, or a computed one."""
        if isinstance(parent, ast.Subscript):
            return self._text(parent.slice)
        if isinstance(parent, ast.Attribute) and parent.attr in {"get", "setdefault", "pop"}:
            call = next((one for one in self.nodes if isinstance(one, ast.Call) and one.func is parent), None)
            return self._text(call.args[0]) if call is not None and call.args else None
        return None

    def _name(self, name: str, *, bare: bool = False) -> None:
        if name in _DELETES or name.startswith(("_rmtree", "_unlink", "_rmdir")):
            self.reader.find("delete", f"Python code calls {name}")
        elif name in _HIDES and name not in self.modules:
            self.reader.unreadable(f"Python code hides what it does behind {name}")
        elif (
            (bare and name in _COMPUTES and name not in {"getattr", "vars", "compile", "globals", "locals", "setattr"})
            or (bare and name in _COMPUTES and name in {"globals", "locals", "vars"})
            or (
                not bare
                and name in {"import_module", "exec_module", "run_path", "run_module", "attrgetter", "methodcaller"}
            )
        ):
            self.reader.unreadable(f"Python code calls {name}")

    def _call(self, node: ast.Call) -> None:
        name = self._dotted(node.func)
        last = name.rpartition(".")[2] or (node.func.attr if isinstance(node.func, ast.Attribute) else "")
        base = name.partition(".")[0]
        module = _module(name.rpartition(".")[0])
        if not last and not isinstance(node.func, ast.Lambda):
            self.reader.unreadable("Python code calls what it computes")
        if last in {"getattr", "compile", "setattr"} and base == last:
            self._computed(node, last)
        if last == "remove" and module in _SYSTEM:
            return
        if module in _TIMES or (base in _TIMES and self.names.get(base, base) in _TIMES):
            self._timed(node)
        if last in {"glob", "iglob", "rglob"} and node.args:
            self.reader.reads(activate(self._text(node.args[0]) or ""))
        if last in {"getenv", "getenvb"} and (
            not node.args or (self._text(node.args[0]) is None or secret_name(self._text(node.args[0]) or ""))
        ):
            self.reader.find("credentials", "Python code reads a secret from the environment")
        if _starts(module, last) or "subprocess_" in last or (last in {"system", "popen"} and not module):
            self._runs(node, last)
        if last in {"get", "post", "put", "patch", "delete", "request", "urlopen", "Request", "urlretrieve"} and (
            self.modules & _NETWORK or "urllib" in self.modules
        ):
            self._request(node, last)
        if last in {"move", "rename", "replace", "renames"} and any(
            self._text(arg) == "/dev/null" for arg in node.args
        ):
            self.reader.find("delete", "Python code throws a file away")
        if last == "open" and len(node.args) > 1 and isinstance(node.func, ast.Name):
            mode = self._text(node.args[1]) or ""
            path = self._text(node.args[0])
            if path is not None and set(mode) & set("wax+"):
                self.reader.writes(path)

    def _timed(self, node: ast.Call) -> None:
        """Code that is given as a text, to be timed or traced."""
        for arg in [*node.args, *(keyword.value for keyword in node.keywords)]:
            text = self._text(arg)
            if text is not None:
                judge(self.reader, text)
            elif not isinstance(arg, (ast.Lambda, ast.Constant)):
                self.reader.unreadable("Python code runs a text that is only known when it runs")

    def _computed(self, node: ast.Call, last: str) -> None:
        if last == "getattr" and len(node.args) > 1:
            asked = self._text(node.args[1])
            if asked is not None and asked not in _RUNS:
                if asked == "remove":
                    self.reader.find("delete", "Python code deletes files")
                self._name(asked)
                return
        self.reader.unreadable(f"Python code computes what it uses, by {last}")

    def _runs(self, node: ast.Call, last: str) -> None:
        args = list(node.args)
        if last.startswith(("spawn", "posix_spawn")) and len(args) > 1:
            args = args[1:]
        items = self._list(args[0]) if args else None
        text = self._text(args[0]) if args else None
        if last.startswith("exec") and len(args) > 1:
            items = self._list(args[1]) or [self._text(arg) or UNKNOWN for arg in args]
        elif last in {"create_subprocess_exec", "spawn", "startfile"} or (last.startswith("spawn")):
            items = items or [self._text(arg) or UNKNOWN for arg in args]
        elif items is None and isinstance(args[0] if args else None, (ast.List, ast.Tuple)):
            items = [self._text(item) or UNKNOWN for item in args[0].elts]  # type: ignore[attr-defined]
        if items:
            self.reader.run(items, UNKNOWN)
        elif text is not None:
            self.reader.text(text)
        else:
            self.reader.unreadable("Python code runs a command that is only known when it runs")

    def _request(self, node: ast.Call, last: str) -> None:
        texts = [self._text(arg) for arg in node.args]
        method = {"urlopen": "GET", "Request": "GET", "urlretrieve": "GET"}.get(last, last.upper())
        address = next((text for text in texts if text and "://" in text), None)
        if last == "request" and texts and texts[0]:
            method = texts[0].upper()
        for keyword in node.keywords:
            if keyword.arg == "method":
                method = (self._text(keyword.value) or UNKNOWN).upper()
        sends = any(keyword.arg in {"data", "json", "files"} for keyword in node.keywords) or (
            last in {"urlopen", "Request"} and len(node.args) > 1
        )
        if sends and method == "GET":
            method = "POST"
        if (
            address is None
            and last in {"get", "put", "delete"}
            and not any(text and text.startswith("http") for text in texts)
        ):
            if last == "delete" and self.modules & {"requests", "httpx", "aiohttp"}:
                self.reader.find("delete", "Python code asks a host to delete")
            return
        for finding in judge_address(address or UNKNOWN, method, self.reader.policy, sends=sends):
            self.reader.find(finding.kind, finding.why)

    def _string(self, text: str) -> None:
        if len(text) < 300 and "\n" not in text and re.search(r"[./~]|^[\w-]+$", text) and not re.search(r"\s", text):
            self.reader.reads(text)
        if text in {"rmtree", "unlink", "rmdir"}:
            self.reader.find("delete", f"Python code names {text}")
        if _DROPS.search(text) and self.modules & _DATABASES:
            self.reader.find("delete", "Python code deletes from a database")

    def _subscript(self, node: ast.Subscript) -> None:
        if isinstance(node.value, ast.Attribute) and node.value.attr == "modules":
            self.reader.unreadable("Python code takes a module by a computed name")
