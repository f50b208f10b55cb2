"""What a request to an address may do: where money is spent, secrets are handed out, or only this machine is asked."""

from __future__ import annotations

import ipaddress
import re
from urllib.parse import urlsplit

from agentroom_machine.danger.policy import Policy
from agentroom_machine.danger.reading import Finding
from agentroom_machine.danger.unknown import UNKNOWN, plain, shown

_SPENDS = re.compile(
    r"(^|\.)(stripe\.com|paypal\.com|braintreegateway\.com|adyen\.com|squareup\.com|chargebee\.com|recurly\.com"
    r"|paddle\.com|razorpay\.com|mollie\.com|twilio\.com|nexmo\.com|vonage\.com|plivo\.com|sendgrid\.com|mailgun\.net"
    r"|postmarkapp\.com|digitalocean\.com|hetzner\.cloud|linode\.com|vultr\.com|ovh\.com|scaleway\.com|fly\.io"
    r"|heroku\.com|vercel\.com|netlify\.com|render\.com|railway\.app|amazonaws\.com|googleapis\.com|azure\.com"
    r"|cloudflare\.com|godaddy\.com|namecheap\.com|gandi\.net|dnsimple\.com|porkbun\.com|openai\.com|anthropic\.com"
    r"|replicate\.com|runpod\.io|coinbase\.com|binance\.com|kraken\.com|shopify\.com|plaid\.com|wise\.com|revolut\.com"
    r"|lemonsqueezy\.com|gumroad\.com|printful\.com|lob\.com|easypost\.com|shippo\.com|mturk\.com|together\.xyz"
    r"|openrouter\.ai|cohere\.ai|mistral\.ai|stability\.ai|elevenlabs\.io|messagebird\.com|telnyx\.com)$"
)
_PUSHES = re.compile(
    r"(^|\.)(github\.com|gitlab\.com|bitbucket\.org|codeberg\.org|gitea\.com|npmjs\.org|npmjs\.com|pypi\.org|crates\.io"
    r"|rubygems\.org|docker\.io|docker\.com|quay\.io|ghcr\.io|packagist\.org|nuget\.org|maven\.org|sonatype\.org"
    r"|slack\.com|discord\.com|discordapp\.com|telegram\.org|atlassian\.net|linear\.app|notion\.com|trello\.com"
    r"|hooks\.zapier\.com|ifttt\.com|pastebin\.com|transfer\.sh|file\.io|0x0\.st|ix\.io|termbin\.com|webhook\.site"
    r"|requestbin\.com|pipedream\.net|twitter\.com|x\.com|mastodon\.social|huggingface\.co)$"
)
_METADATA = re.compile(
    r"(^|\.)(169\.254\.169\.254|169\.254\.170\.2|metadata\.google\.internal|metadata\.azure\.com|100\.100\.100\.200)$|^\[?fd00:ec2::254\]?$"
)
_READS = {"GET", "HEAD", "OPTIONS", "TRACE", "PROPFIND"}
_METHODS = _READS | {"POST", "PUT", "PATCH", "DELETE", "PURGE", "COPY", "MOVE", "MKCOL", "LOCK", "UNLOCK", "CONNECT"}
_DELETING = re.compile(
    r"/(delete|destroy|remove|purge|drop|wipe|truncate|flush)([-_]\w+)*(/|$|\?)|_method=delete|/_delete_by_query",
    re.I,
)
_BUYING = re.compile(
    r"/(charges?|payments?|payment_intents|orders?|purchases?|checkout|subscriptions?|invoices?|payouts?|transfers?|refunds?)(/|$|\?)",
    re.I,
)
_SECRET_QUERY = re.compile(
    r"[?&](api_?key|access_?token|token|secret|password|auth|key|sig|signature)=[^&\s]{6,}", re.I
)

_AMBIGUOUS = re.compile(r"[\\\s\x00-\x1f\x7f]|%[^@]*$|[^@]\[|\][^:]")
"""Where programs differ about the host: a browser ends it at a backslash, leaves blanks out and decodes the rest."""


def host_of(address: str) -> str:
    """The host, in lower case; empty when the address has none that can be read, or that all programs read alike."""
    text = address if "://" in address else f"http://{address}"
    if _ambiguous(text):
        return ""
    try:
        return (urlsplit(text.replace(UNKNOWN, "…")).hostname or "").rstrip(".").casefold()
    except ValueError:
        return ""


def _ambiguous(address: str) -> bool:
    return bool(_AMBIGUOUS.search(re.split(r"[/?#]", address.partition("://")[2], maxsplit=1)[0]))


def loopback(host: str) -> bool:
    """Whether the host is this machine, whatever way it is written."""
    if host in {"localhost", "ip6-localhost", "host.docker.internal", ""} or host.endswith((".localhost",)):
        return host != ""
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return False
    return address.is_loopback or address.is_unspecified


def private(host: str) -> bool:
    """Whether the host is an address of a network at home or at work."""
    try:
        return ipaddress.ip_address(host).is_private
    except ValueError:
        return host.endswith((".local", ".internal", ".lan", ".home.arpa"))


def judge(address: str, method: str, policy: Policy, *, sends: bool = False) -> list[Finding]:
    """Reasons to pause before a request; ``sends`` says that it carries data along."""
    host = host_of(address)
    asked = method.upper()
    where = shown(host) or "an address that is only known when it runs"
    path = plain(address)
    if _METADATA.search(host):
        return [Finding("credentials", f"it asks {where}, which hands out the machine's credentials")]
    if address.casefold().startswith(
        ("file:", "ftp:", "ftps:", "sftp:", "scp:", "smb:", "dict:", "gopher:", "ldap:", "telnet:", "smtp:", "imap:")
    ):
        if address.casefold().startswith("file:") or (asked in _READS and not sends):
            return []
        return [Finding("push", f"it sends to {where}")]
    found: list[Finding] = []
    if _ambiguous(address if "://" in address else f"http://{address}"):
        found.append(Finding("unreadable", "which host it asks can't be told, because programs read it differently"))
    if (
        "@" in address.partition("://")[2].partition("/")[0]
        and ":" in address.partition("://")[2].partition("@")[0]
        and not loopback(host)
    ):
        found.append(Finding("credentials", f"its address to {where} holds a password"))
    if _SECRET_QUERY.search(path) and not loopback(host):
        found.append(Finding("credentials", f"its address to {where} holds a secret"))
    if UNKNOWN in method or asked not in _METHODS:
        return [*found, Finding("unreadable", f"how it asks {where} is only known when it runs")]
    if asked in {"DELETE", "PURGE"} or (asked not in _READS and _DELETING.search(path)):
        return [*found, Finding("delete", f"it asks {where} to delete")]
    if asked in _READS and not sends:
        return found
    if loopback(host):
        return found
    if _SPENDS.search(host) or _BUYING.search(path):
        return [*found, Finding("spend", f"it asks {where} for something that may cost money")]
    if _PUSHES.search(host) or asked in {"PUT", "PATCH"}:
        return [*found, Finding("push", f"it changes something at {where}")]
    if host and UNKNOWN not in host and "…" not in host and policy.host_is_fine(host):
        return found
    return [*found, Finding("unreadable", f"it sends something to {where}, and what that does can't be told")]
