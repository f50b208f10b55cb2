"""aws: the verb of an operation says whether it reads, deletes or costs."""

from __future__ import annotations

import re

from agentroom_machine.danger.programs.arguments import asks_for_help, split
from agentroom_machine.danger.programs.table import touches_secrets
from agentroom_machine.danger.reader import Program, Reader
from agentroom_machine.danger.unknown import UNKNOWN, open_ended, plain

_TAKES = (
    "--profile", "--region", "--output", "--endpoint-url", "--query", "--color", "--ca-bundle", "--cli-read-timeout",
    "--cli-connect-timeout", "--cli-binary-format", "--exclude", "--include", "--acl", "--storage-class",
    "--page-size", "--max-items", "--starting-token",
)  # fmt: skip
_SECRET = re.compile(
    r"get-secret-value|batch-get-secret-value|get-session-token|get-federation-token|assume-role.*|get-login(-password)?"
    r"|get-authorization-token|get-credentials.*|get-role-credentials|create-access-key|create-login-profile|get-token"
    r"|export-credentials|create-key-pair|get-password-data|generate-data-key.*|decrypt|get-random-password|create-secret"
    r"|put-secret-value|update-secret|create-service-specific-credential|presign|generate-db-auth-token|import-key-pair"
    r"|update-login-profile|change-password|get-cluster-credentials.*|login|logout|get-access-key-info|create-token"
    r"|get-open-id-token.*|get-api-keys?|create-api-key|update-access-key|get-bearer-token|update-kubeconfig|rotate-secret"
    r"|get-workload-access-token.*|sign|export-certificate|configure-sso"
)
_DELETES = re.compile(
    r"(batch-)?(delete|terminate|destroy|purge|deregister|remove|revoke|detach|disassociate|release|reset|cancel|stop|abort"
    r"|disable|unregister|untag|unsubscribe|empty|expire|retire|schedule-key-deletion|reject|drop|unassign|rm|rb|force-delete)"
    r"(-.*)?|schedule-key-deletion"
)
_READS = re.compile(
    r"(describe|list|get|head|lookup|search|view|check|scan|query|batch-get|filter|test|validate|simulate|estimate|preview"
    r"|wait|ls|help|generate-cli-skeleton|tail|select|detect|compare|count|verify|discover|start-query|batch-check|diff)(-.*)?"
)


def _aws(reader: Reader, argv: list[str], stdin: str | None) -> str:
    args = argv[1:]
    if asks_for_help(args) or args[-1:] == ["help"]:
        return UNKNOWN
    found = split(args, _TAKES)
    words = [plain(word).casefold() for word in found.words]
    service, verb = [*words[:2], "", ""][:2]
    touches_secrets(reader, args)
    if service == "configure":
        _configure(reader, words[1:])
    elif service in {"sso", "sso-oidc", "login", "logout"}:
        reader.find("credentials", "it signs in at the cloud")
    elif service == "s3":
        _s3(reader, verb, found.words[2:], args)
    elif not verb or open_ended(args[0]) or any(open_ended(word) for word in found.words[:2]):
        reader.unreadable("which operation of aws it is is only known when it runs")
    elif service == "ssm" and verb.startswith("get-param") and found.has("--with-decryption"):
        reader.find("credentials", f"aws {service} {verb} shows a secret")
    elif service == "ssm" and verb in {"start-session", "send-command"}:
        reader.unreadable("what it does on another machine is neither confined nor seen")
    elif _SECRET.fullmatch(verb) and verb != "get-access-key-info":
        reader.find("credentials", f"aws {service} {verb} handles credentials")
    elif _DELETES.fullmatch(verb):
        reader.find("delete", f"aws {service} {verb} takes something away")
    elif "--dry-run" in args or ("--no-execute-changeset" in args and verb != "deploy"):
        return UNKNOWN
    elif not _READS.fullmatch(verb):
        reader.find("spend", f"aws {service} {verb} may cost money")
    return UNKNOWN


def _configure(reader: Reader, words: list[str]) -> None:
    if words[:1] == ["list"] or words[:1] == ["list-profiles"]:
        return
    if (
        words[:1]
        and words[0] in {"get", "set"}
        and len(words) > 1
        and not re.search(r"secret|token|key|credential|password|…", words[1])
    ):
        return
    reader.find("credentials", "it reads or changes the cloud's credentials")


def _s3(reader: Reader, verb: str, words: list[str], args: list[str]) -> None:
    if "--dryrun" in args or verb in {"ls", "help"}:
        return
    match verb:
        case "rm" | "rb":
            reader.find("delete", f"aws s3 {verb} deletes")
        case "mb":
            reader.find("spend", "a bucket may cost money")
        case "presign":
            reader.find("credentials", "it makes an address that opens a file to everybody")
        case "mv":
            reader.find("delete", "aws s3 mv takes files away")
        case "cp" | "sync":
            if any(word.startswith("--del") for word in args):
                reader.find("delete", "it deletes what the source does not have")
            target = words[1] if len(words) > 1 else ""
            if plain(target).startswith("s3://"):
                reader.find("push", f"it sends files to {plain(target)}")
            elif UNKNOWN in target[:1] or not target:
                reader.unreadable("where it copies to is only known when it runs")
            else:
                reader.writes(target)
        case "website":
            reader.find("push", "it publishes a bucket")
        case _:
            reader.unreadable("which operation of aws it is is only known when it runs")


PROGRAMS: dict[str, Program] = {"aws": _aws, "awslocal": _aws, "aws2": _aws}
