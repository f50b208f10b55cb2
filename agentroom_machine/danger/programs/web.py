"""Programs that talk to hosts: curl, wget, HTTPie and raw connections."""

from __future__ import annotations

import re

from agentroom_machine.danger.addresses import host_of, judge, loopback
from agentroom_machine.danger.programs.arguments import Arguments, asks_for_help, split
from agentroom_machine.danger.programs.table import pieces
from agentroom_machine.danger.reader import Program, Reader
from agentroom_machine.danger.reading import Finding
from agentroom_machine.danger.unknown import UNKNOWN, globbed, plain

_CURL_TAKES = tuple("-" + letter for letter in "AbcCdDeEFhHKmoPQrTtuUwxXyYz") + tuple(
    "--" + name
    for name in [
        "request", "data", "data-raw", "data-binary", "data-ascii", "data-urlencode", "json", "form", "form-string",
        "header", "user", "user-agent", "output", "output-dir", "cookie", "cookie-jar", "dump-header", "referer",
        "cert", "cert-type", "key", "key-type", "cacert", "capath", "config", "max-time", "connect-timeout", "retry",
        "retry-delay", "retry-max-time", "upload-file", "proxy", "proxy-user", "proxy-header", "resolve",
        "connect-to", "interface", "limit-rate", "range", "write-out", "url", "url-query", "oauth2-bearer",
        "aws-sigv4", "netrc-file", "unix-socket", "abstract-unix-socket", "quote", "ciphers", "tls-max", "pass",
        "proto", "proto-default", "proto-redir", "dns-servers", "doh-url", "engine", "max-filesize", "max-redirs",
        "noproxy", "stderr", "trace", "trace-ascii", "time-cond", "socks5", "socks5-hostname", "socks4", "socks4a",
        "preproxy", "hostpubmd5", "pubkey", "local-port", "speed-limit", "speed-time", "keepalive-time",
        "create-file-mode", "rate", "parallel-max", "variable", "expand-url", "expand-data", "etag-save",
        "etag-compare", "hsts", "alt-svc", "libcurl", "mail-from", "mail-rcpt", "mail-auth", "telnet-option", "krb",
        "service-name", "login-options", "curves", "pinnedpubkey", "crlfile", "random-file", "egd-file",
        "request-target",
    ]
)  # fmt: skip
_DATA = (
    "-d", "--data", "--data-raw", "--data-binary", "--data-ascii", "--data-urlencode", "--json", "-F", "--form",
    "--form-string",
)  # fmt: skip
_AUTH = re.compile(
    r"^\s*(proxy-)?authorization\s*:|^\s*(x-)?(api-?key|auth-token|access-token|token)\s*:|^\s*private-token\s*:|^\s*cookie\s*:",
    re.I,
)


def _add(reader: Reader, findings: list[Finding]) -> None:
    for finding in findings:
        reader.find(finding.kind, finding.why, confinable=finding.confinable)


def _curl(reader: Reader, argv: list[str], stdin: str | None) -> str:
    if asks_for_help(argv[1:]):
        return UNKNOWN
    found = split(argv[1:], _CURL_TAKES)
    sends = any(True for _ in found.values(*_DATA)) and not found.has("-G", "--get")
    uploads = list(found.values("-T", "--upload-file"))
    if found.has("-K", "--config", "-:", "--next", "--variable"):
        for path in found.values("-K", "--config"):
            reader.reads(path)
        reader.unreadable("a part of the request is in a file, or it is more than one")
    method = found.value("-X", "--request")
    if method is None:
        method = "PUT" if uploads else "HEAD" if found.has("-I", "--head") else "POST" if sends else "GET"
    addresses = [*found.words, *found.values("--url")]
    local = bool(addresses) and all(loopback(host_of(address)) for address in addresses)
    for value in found.values(*_DATA, "-H", "--header"):
        _attached(reader, value, text=local)
    for value in found.values("-T", "--upload-file", "-b", "--cookie"):
        _attached(reader, value)
    for path in found.values("-E", "--cert", "--key", "--netrc-file"):
        reader.find("credentials", f"it signs in with {plain(path)}")
    for path in found.values("-o", "--output", "-D", "--dump-header", "-c", "--cookie-jar", "--output-dir", "--trace",
                             "--trace-ascii", "--stderr", "--libcurl", "--etag-save"):  # fmt: skip
        if path != "-":
            reader.writes(path)
            reader.wrote(path, UNKNOWN)
    if found.has("-O", "--remote-name"):
        for address in addresses:
            reader.wrote(plain(address).rpartition("/")[2], UNKNOWN)
    if found.has("-n", "--netrc", "--netrc-optional") or (
        not local
        and (
            any(True for _ in found.values("-u", "--user", "--oauth2-bearer", "--aws-sigv4", "-U", "--proxy-user"))
            or any(_AUTH.match(value) for value in found.values("-H", "--header"))
        )
    ):
        _signs_in(reader, found, addresses, method, sends=sends)
    for text in found.values("-Q", "--quote"):
        if re.match(r"[-+*]?\s*(dele|rmd|rm|rmdir|rename|rnfr)\b", text, re.I):
            reader.find("delete", "it deletes on a file server")
    for address in addresses or [UNKNOWN]:
        if address.casefold().startswith("file:"):
            reader.reads(re.sub(r"^file:/*", "/", address, flags=re.I))
        _add(reader, judge(address, method, reader.policy, sends=sends or bool(uploads)))
    for value in [*found.values("-x", "--proxy", "--preproxy", "--socks5", "--connect-to", "--resolve")]:
        if UNKNOWN in value:
            reader.project("it goes through a proxy that is only known when it runs")
    return UNKNOWN


def _signs_in(reader: Reader, found: Arguments, addresses: list[str], method: str, *, sends: bool) -> None:
    # What such a request does counts before the fact that it signs in: a charge is a charge.
    for address in addresses:
        said = judge(address, method, reader.policy, sends=sends)
        _add(reader, [one for one in said if one.kind in {"spend", "delete", "push"}])
    reader.find("credentials", "it signs in with a secret")


def _attached(reader: Reader, value: str, *, text: bool = False) -> None:
    """Notes the files that go along; ``text`` says that a value without a mark is none, whatever it looks like."""
    for piece in re.split(r"[;&]", value):
        for mark in ("@", "<"):
            if mark in piece:
                path = piece.partition(mark)[2]
                if path and path not in {"-", UNKNOWN}:
                    reader.reads(path)
    if not text and not re.search(r"[@<:{]", value):
        reader.reads(value)


def _wget(reader: Reader, argv: list[str], stdin: str | None) -> str:
    if asks_for_help(argv[1:]):
        return UNKNOWN
    takes = ("-O", "-o", "-a", "-i", "-P", "-e", "-t", "-T", "-w", "-U", "-l", "-A", "-R", "-D", "-B", "-Q", "--method",
             "--body-data", "--body-file", "--post-data", "--post-file", "--header", "--user", "--password",
             "--output-document", "--output-file", "--directory-prefix", "--input-file", "--execute", "--user-agent",
             "--load-cookies", "--save-cookies", "--certificate", "--private-key", "--use-askpass", "--http-user",
             "--http-password", "--referer", "--tries", "--timeout", "--config")  # fmt: skip
    found = split(argv[1:], takes)
    sends = found.has("--post-data", "--post-file", "--body-data", "--body-file")
    method = found.value("--method") or ("POST" if sends else "GET")
    for path in found.values(
        "--post-file",
        "--body-file",
        "--load-cookies",
        "--certificate",
        "--private-key",
        "-i",
        "--input-file",
        "--config",
    ):
        reader.reads(path)
    for path in found.values(
        "-O", "--output-document", "-o", "--output-file", "-a", "-P", "--directory-prefix", "--save-cookies"
    ):
        if path != "-":
            reader.writes(path)
            reader.wrote(path, UNKNOWN)
    for program in found.values("--use-askpass"):
        reader.run([program], "")
    for text in found.values("-e", "--execute"):
        if re.match(r"\s*(use_askpass|http_password|password|header|post|body|output|input)", text, re.I):
            reader.project("a part of the request is in a setting")
    for address in found.words:
        _add(reader, judge(address, method, reader.policy, sends=sends))
        reader.wrote(plain(address).rpartition("/")[2], UNKNOWN)
    signs = found.has("--password", "--http-password", "--ftp-password") or any(
        _AUTH.match(value) for value in found.values("--header")
    )
    if signs and not all(loopback(host_of(address)) for address in found.words):
        reader.find("credentials", "it signs in with a secret")
    return UNKNOWN


def _httpie(reader: Reader, argv: list[str], stdin: str | None) -> str:
    if asks_for_help(argv[1:]):
        return UNKNOWN
    takes = (
        "-a", "--auth", "-A", "--auth-type", "-o", "--output", "--session", "--session-read-only", "--proxy",
        "--cert", "--cert-key", "--timeout", "-p", "--print", "-s", "--style", "--verify", "--raw", "--bearer",
    )  # fmt: skip
    found = split(argv[1:], takes)
    words = list(found.words)
    method = ""
    if (words and ((re.fullmatch(r"[A-Za-z]+", words[0]) and words[0].upper() == words[0]) or words[0] == UNKNOWN)) or (
        words and words[0].upper() in {"GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"}
    ):
        method = words.pop(0)
    address, items = (words[0], words[1:]) if words else (UNKNOWN, [])
    sends = (
        any(re.search(r"(?<![=:])(=|:=|@|=@|:=@)", item) and "==" not in item for item in items)
        or found.value("--raw") is not None
    )
    if address.startswith(":"):
        address = f"localhost{address}"
    for item in items:
        for piece in pieces(item):
            reader.reads(piece)
        if _AUTH.match(item) and not loopback(host_of(address)):
            reader.find("credentials", "it signs in with a secret")
    for path in found.values("-o", "--output"):
        reader.writes(path)
    _add(
        reader,
        judge(address, method or ("POST" if sends or stdin not in (None, "") else "GET"), reader.policy, sends=sends),
    )
    if found.value("-a", "--auth") is not None and not loopback(host_of(address)):
        reader.find("credentials", "it signs in with a secret")
    return UNKNOWN


def _raw(reader: Reader, argv: list[str], stdin: str | None) -> str:
    """nc, socat and telnet: a bare connection over which anything may go."""
    if asks_for_help(argv[1:]):
        return UNKNOWN
    for position, word in enumerate(argv):
        if word in {"-e", "-c", "--exec", "--sh-exec", "--lua-exec"} and position + 1 < len(argv):
            reader.text(argv[position + 1])
            reader.unreadable("it gives a program to the network")
        found = re.search(r"(?:exec|system|shell):(.+?)(?:,|$)", word, re.I)
        if found:
            reader.text(found[1].strip("'\""))
            reader.unreadable("it gives a program to the network")
        if re.search(r"(open|file|create|gopen):", word, re.I):
            reader.reads(word.partition(":")[2].partition(",")[0])
    options = "".join(word[1:] for word in argv[1:] if word.startswith("-") and not word.startswith("--"))
    local = any(loopback(word) for word in argv[1:])
    if "z" not in options and "l" not in options and (not local or stdin is not None):
        reader.unreadable("it sends to the network what can't be read")
    return UNKNOWN


def _transfer(reader: Reader, argv: list[str], stdin: str | None) -> str:
    """Downloads that can do nothing else."""
    for word in argv[1:]:
        if not globbed(word):
            for piece in pieces(word):
                reader.reads(piece)
    name = argv[0].rpartition("/")[2]
    if name in {"yt-dlp", "youtube-dl"}:
        _video(reader, argv)
    elif name == "aria2c":
        for position, word in enumerate(argv[1:], start=1):
            option, equals, value = word.partition("=")
            value = value if equals else argv[position + 1] if position + 1 < len(argv) else ""
            if option.startswith("--on-"):
                reader.text(value)
            elif option in {"-d", "--dir", "-o", "--out"}:
                reader.writes(value)
            elif option == "--conf-path":
                reader.project("a part of the request is in a file")
    return UNKNOWN


def _video(reader: Reader, argv: list[str]) -> None:
    runs = ("--exec", "--exec-before-download", "--netrc-cmd")
    plants = ("--config-locations", "--plugin-dirs", "--ffmpeg-location", "--postprocessor-args", "--ppa",
              "--downloader-args", "--external-downloader-args", "--load-info-json")  # fmt: skip
    found = split(argv[1:], (
        *runs, *plants, "--cookies-from-browser", "--cookies", "--downloader", "--external-downloader", "-o",
        "--output", "-P", "--paths", "-f", "--format", "-a", "--batch-file", "-u", "--username", "-p", "--password",
    ))  # fmt: skip
    for text in found.values(*runs):
        reader.text(re.sub(r"^\w+:", "", text))
    for program in found.values("--downloader", "--external-downloader"):
        reader.run([program.rpartition(":")[2] or program, UNKNOWN], "")
    if found.has("--cookies-from-browser", "--netrc", "-n", "--password", "-p"):
        reader.find("credentials", "it signs in with a secret")
    if found.has(*plants):
        reader.project("a part of what it runs is in a setting")
    for path in found.values("-o", "--output", "-P", "--paths"):
        reader.writes(path)


PROGRAMS: dict[str, Program] = {
    **dict.fromkeys(("curl", "curlie", "gcurl"), _curl),
    **dict.fromkeys(("wget", "wget2", "gwget"), _wget),
    **dict.fromkeys(("http", "https", "xh", "xhs", "httpie"), _httpie),
    **dict.fromkeys((
        "nc", "ncat", "netcat", "socat", "telnet", "openbsd-nc", "busybox-nc", "websocat", "wscat", "grpcurl",
    ), _raw),
    **dict.fromkeys(("aria2c", "axel", "lynx", "w3m", "links", "elinks", "youtube-dl", "yt-dlp", "ffmpeg", "convert",
                     "magick", "montage", "gm", "vipsthumbnail"), _transfer),
}  # fmt: skip
