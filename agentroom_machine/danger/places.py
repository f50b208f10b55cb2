"""Which paths hold secrets, run code when they change, or lie outside of the working directory."""

from __future__ import annotations

import fnmatch
import os
import posixpath
import re
from functools import lru_cache
from pathlib import Path

from agentroom_machine.danger.unknown import UNKNOWN, open_ended, pattern, plain

_NAMES = (
    ".env", ".env.*", "*.env", ".env-*", ".envrc", "*.pem", "*.key", "*.p12", "*.pfx", "*.p8", "*.jks", "*.keystore",
    "*.kdbx", "*.kdb", "*.ppk", "*.ovpn", "*.keytab", "*.gpg", "*.pgp", "*.agekey", "*.tfstate", "*.tfstate.backup",
    "*.tfvars", "*.token", "*.secret", "*.secrets", "*.credentials", "*.mobileprovision", "*.htpasswd",
    "id_rsa*", "id_dsa*", "id_ecdsa*", "id_ed25519*", "id_xmss*", "ssh_host_*_key", "identity",
    ".netrc", "_netrc", ".npmrc", ".pypirc", ".pgpass", ".my.cnf", ".mylogin.cnf", ".htpasswd", ".git-credentials",
    ".dockercfg", ".dockerconfigjson", ".boto", ".s3cfg", ".vault-token", ".terraformrc", ".mcp.json", ".claude.json",
    ".gem_credentials", ".rpmmacros_key", ".authinfo", ".authinfo.gpg", ".fetchmailrc", ".msmtprc", ".lftprc",
    ".bash_history", ".zsh_history", ".python_history", ".psql_history", ".mysql_history", ".node_repl_history",
    ".sqlite_history", ".rediscli_history", ".xauthority", ".kshrc_history", ".esmtprc", ".wgetrc", ".curlrc",
    "shadow", "shadow-", "gshadow", "sudoers", "master.passwd", "environ", "kubeconfig", "kubeconfig.*",
    "*.kubeconfig", "wallet.dat", "cookies", "cookies.sqlite", "cookies.binarycookies", "login data", "key3.db",
    "key4.db", "logins.json", "signons.sqlite", "web data", "local state", "keychain", "*.keychain",
    "*.keychain-db", "auth.json", "service-account*.json", "service_account*.json", "serviceaccount*.json",
    "*-service-account.json", "client_secret*.json", "application_default_credentials.json", "gcp-key*.json",
    "*-key.json", "*_key.json", "firebase-adminsdk*.json", "*-firebase-adminsdk-*.json", "secring.*", "htpasswd",
    "accesstokens.json", "access_tokens.db", "credentials.db", "vault.yml", "vault.yaml", "*.vault", "vault-pass*",
    ".vault_pass*", "vault_pass*", "private-key*", "private_key*", "privatekey*", "privkey*", "*.sops.yaml",
    "local.settings.json", "appsettings.secrets.json", "secrets.enc.*", "master.key",
    ".oci_api_key", "hosts.yml.gh", "*.asc.key", "*.private", "deploy_key", "deploy-key", "*_rsa", "*_ed25519",
)  # fmt: skip
_OPEN = (
    ".env.example", ".env.*.example", ".env.sample", ".env.template", ".env.tmpl", ".env.dist", ".env.defaults",
    ".env.schema", "example.env", "sample.env", "template.env", "*.example", "*.pub", "*.sample", "*.template",
)  # fmt: skip
_WORDS = re.compile(
    r"[\w.-]*(credential|secret|passwd|password|passphrase|api[_-]?key|access[_-]?key|private[_-]?key"
    r"|^tokens?$|^\.?tokens?\.|[_-]tokens?$|[_-]tokens?\.)[\w-]*",
    re.I,
)
_DATA = re.compile(
    r"(^[^.]*|^\.[^.]*|\.(ya?ml|json|toml|ini|cfg|conf|config|txt|csv|properties|props|xml|enc|plist|db|sqlite3?|dat|bak"
    r"|old|env|gpg|asc|age|zip|tar|gz|tgz|b64|base64|crypt|kdbx|local|prod|dev))$",
    re.I,
)
"""Names with a secret's word in them are secrets when they hold data, not code or text about it."""
_TOKENS = re.compile(
    r"tokens\.json"
    r"|(design|theme|style|colou?r|figma|added|special|stop|bad)[_-]tokens?\.(json|ya?ml|toml|txt|csv)"
)
"""Tokens of a design or of a language model, which sign nobody in."""
_TEXTS = {"locale", "locales", "i18n", "l10n", "lang", "translations", "vocab", "tokenizer", "tokenizers"}
"""Folders whose files about tokens are words, too."""

_FOLDERS = {
    ".ssh", ".aws", ".gnupg", ".kube", ".docker", ".azure", ".gcloud", "gcloud", ".mozilla", ".password-store",
    ".terraform.d", "keyrings", "keychains", ".claude", ".codex", ".gemini", ".cursor", ".opencode", ".oci",
    ".bluemix", ".fly", ".heroku", ".netlify", ".railway", ".config/gh", ".config/hub", ".config/op", ".config/git",
    ".config/gcloud", ".config/google-chrome", ".config/chromium", ".config/doctl", ".config/hcloud",
    ".config/stripe", ".config/configstore", ".config/rclone", ".config/sops", ".config/age", ".config/glab-cli",
    ".config/vercel", ".config/1password", ".config/bitwarden", ".config/bravesoftware", ".config/microsoft-edge",
    ".config/github-copilot", ".config/anthropic", ".config/openai", "run/secrets", ".cargo/credentials",
    ".cargo/credentials.toml", ".docker/config.json", ".m2/settings.xml", ".m2/settings-security.xml",
    ".gem/credentials", ".gradle/gradle.properties", ".local/share/keyrings", "google/chrome",
    "application support/firefox", ".git/config", ".git/credentials", ".config/wrangler", ".wrangler/config",
    ".config/pulumi", ".pulumi", ".minikube", ".databrickscfg", ".snowflake", ".kaggle", ".huggingface",
    ".cache/huggingface/token", ".config/composer/auth.json", ".composer/auth.json", ".config/containers/auth.json",
    ".config/pip/pip.conf", ".pip/pip.conf", ".config/fish/fish_variables", ".config/nuget", ".nuget/nuget.config",
    ".thunderbird", ".electrum", ".bitcoin", ".ethereum", ".step", ".vault", "etc/ssl/private", "etc/letsencrypt",
    "etc/passwd", "etc/security",
}  # fmt: skip
_SAMPLES = (
    ".env", ".env.local", ".env.production", "\x01.env", "id_rsa", "id_ed25519", "id_ecdsa", "\x01.pem", "\x01.key",
    "\x01.p12", "\x01.pfx", "\x01.jks", "\x01.kdbx", "\x01.tfstate", "\x01.tfvars", ".netrc", ".npmrc", ".pypirc",
    ".pgpass", ".git-credentials", ".envrc", ".bash_history", "credentials", "secrets", ".ssh", ".aws", ".gnupg",
    ".kube", ".docker", ".vault-token", "shadow", "environ", "wallet.dat", "\x01.ppk", "\x01.keystore",
)  # fmt: skip
_NAMED_SAMPLES = (
    "credentials.json", "credentials.yml", "secrets.yml", "secrets.yaml", "secrets.json", "secrets.toml", "token.txt",
    "token.json", "auth.json", "service-account.json", "client_secret.json", "passwords.txt", "password.txt",
)  # fmt: skip
_TREES = {
    "~", "/", "/home", "/root", "/users", "~/.config", "~/.local", "~/.local/share", "~/library", "/etc", "/proc",
    "/proc/self", "/var/run", "/run", "~/.cache",
}  # fmt: skip

_RUNS = {
    ".git", ".hg", ".claude", ".codex", ".gemini", ".cursor", ".opencode", ".husky/_", ".agents",
    ".vscode/tasks.json",
}  # fmt: skip
_RUNS_NAMES = {
    ".bashrc", ".bash_profile", ".bash_login", ".bash_logout", ".profile", ".zshrc", ".zshenv", ".zprofile", ".zlogin",
    ".inputrc", ".gitconfig", ".gitmodules", ".hgrc", ".vimrc", ".mcp.json", ".claude.json", ".kshrc", ".cshrc",
    ".tcshrc", ".xinitrc", ".xprofile", ".pam_environment", ".tmux.conf", ".screenrc", ".curlrc", ".wgetrc",
    "sitecustomize.py", "usercustomize.py",
}  # fmt: skip
_OURS = re.compile(r"/ar-(guards|box|push)-[^/]*/")
"""Folders of the daemon's own, wherever they lie: hooks and settings of sessions, and what a push goes out from."""
_SCRATCH = ("/tmp", "/var/tmp", "/private/tmp", "/dev/shm", "/private/var/folders")  # noqa: S108
_DEVICES = re.compile(r"/dev/(null|zero|full|stdin|stdout|stderr|tty|fd/\d+|u?random|ptmx)")


@lru_cache(maxsize=1)
def home() -> str:
    return str(Path.home())


def place(path: str, directory: str = "") -> str:
    """The path as it is written, from the working directory on, with the home folder as ``~``."""
    text = plain(path).removeprefix("file://").replace("\\", "/") if "://" in path else plain(path)
    for prefix in ("${HOME}", "$HOME", home()):
        if text == prefix or text.startswith(prefix + "/"):
            text = "~" + text[len(prefix) :]
    if directory and not text.startswith(("/", "~")):
        text = f"{directory}/{text}"
    found = re.match(r"~[\w.-]+(?=/|$)", text)
    if found:
        text = "~" + text[found.end() :]
    if text.startswith("//"):
        text = text[1:]
    normal = posixpath.normpath(text) if text else "."
    for top in ("/root", "/home/*", "/users/*"):
        # Whoever's home it is, what lies in it is as secret as in one's own.
        depth = top.count("/")
        parts = normal.split("/")
        if fnmatch.fnmatch("/".join(parts[: depth + 1]).casefold(), top) and len(parts) > depth + 1:
            inner = "/".join(parts[depth + 1 :])
            if inner.startswith("."):
                return f"~/{inner}"
    return normal


def secret(path: str, directory: str = "") -> bool:
    """Whether a path's name, or a folder on the way to it, says that it holds credentials."""
    if not path:
        return False
    if len(path) > 4_096:
        return open_ended(path)
    text = place(path, directory).casefold()
    if open_ended(path):
        return _may_be_secret(path, text)
    return _secret(text)


def _secret(text: str) -> bool:
    parts = [part for part in text.split("/") if part not in {"", "."}]
    if not parts:
        return False
    name = parts[-1]
    if any(fnmatch.fnmatchcase(name, one) for one in _OPEN):
        return False
    if any(fnmatch.fnmatchcase(name, one) for one in _NAMES):
        return True
    if _WORDS.match(name) and _DATA.search(name) and not _signs_nobody_in(parts):
        return True
    wrapped = "/" + "/".join(parts) + "/"
    return any(f"/{folder}/" in wrapped for folder in _FOLDERS) and name != "known_hosts"


def _signs_nobody_in(parts: list[str]) -> bool:
    """Whether a file about tokens is a project's own text; in a home folder, or a hidden one, it may be a sign-in."""
    *folders, name = parts
    if folders == ["~"] or any(part.startswith(".") or part == "agentroom" for part in folders):
        return False
    ours = os.environ.get("AGENTROOM_HOME")
    if ours and "/".join(parts).startswith(place(str(Path(ours).expanduser().absolute())).casefold().strip("/") + "/"):
        return False
    text = bool(_TEXTS.intersection(folders)) and re.fullmatch(r"tokens?\.(json|ya?ml|toml|txt|csv)", name)
    return bool(text or _TOKENS.fullmatch(name))


def _may_be_secret(path: str, text: str) -> bool:
    fixed = "/".join(part for part in text.split("/"))
    if _secret(fixed.replace(UNKNOWN, "")) and not text.endswith(UNKNOWN):
        return True
    parts = pattern(path).casefold().split("/")
    for position, part in enumerate(parts):
        if "*" not in part and "?" not in part and "[" not in part:
            continue
        literal = re.sub(r"\[[^]]*\]|[*?]", "", part)
        if not re.search(r"\w", literal) and not part.startswith((".", "[")):
            continue
        samples = _SAMPLES if part[0] in "*?[" else _SAMPLES + _NAMED_SAMPLES
        last = position == len(parts) - 1
        if any(fnmatch.fnmatchcase(sample, part) for sample in samples if last or sample.startswith(".")):
            return True
    folders = list(text.split("/")[:-1])
    return _secret("/".join(folders) + "/x") if folders else False


def tree_of_secrets(path: str, directory: str = "") -> bool:
    """Whether reading everything below a path reads the owner's own settings and keys."""
    text = place(path, directory).casefold()
    return text in _TREES or (text.startswith("..") and set(text.split("/")) == {".."}) or secret(path, directory)


def runs_code(path: str, directory: str = "") -> bool:
    """Whether changing this file makes git, a shell or an agent run something later."""
    parts = [part for part in place(path, directory).casefold().split("/") if part]
    wrapped = "/" + "/".join(parts) + "/"
    named = any(f"/{folder}/" in wrapped for folder in _RUNS) or bool(_OURS.search(wrapped))
    return bool(parts) and (parts[-1] in _RUNS_NAMES or named)


def device(path: str) -> bool:
    """A disk, or something like it: writing there destroys what is on it."""
    text = plain(path)
    return text.startswith("/dev/") and not _DEVICES.fullmatch(text) and not text.startswith(("/dev/shm/", "/dev/tcp"))  # noqa: S108


def outside(path: str, directory: str, cwd: Path | None) -> bool:
    """Whether a path surely or possibly leaves the working directory; scratch folders and /dev/null are no place."""
    text = place(path, directory)
    if text.startswith(UNKNOWN):
        return False
    if _DEVICES.fullmatch(text) or any(text.startswith(f"{folder}/") for folder in _SCRATCH) or text in _SCRATCH:
        return False
    if text.startswith("~"):
        text = home() + text[1:]
    if cwd is None:
        return text.startswith(("/", "../")) or text == ".."
    real = os.path.realpath(cwd)
    target = os.path.realpath(os.path.join(real, text))  # noqa: PTH118
    return target != real and not target.startswith(real.rstrip("/") + "/")
