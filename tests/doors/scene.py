"""The kitchen with one of everything in it that a URL can name."""

from __future__ import annotations

import hashlib
import re
import struct
import zlib
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from allauth.idp.oidc.models import Client
from django.apps import apps
from django.utils import timezone

from agentroom_machine import wire
from approvals import control, turns
from messaging import files, mail
from messaging.models import Attachment, Entry
from rooms import membership, tokens
from rooms.models import Machine, Pairing, User
from tests.approvals.kitchen import Kitchen, key, make_kitchen

APPS = ("rooms", "messaging", "approvals", "allauth_idp_oidc")
PARAMETER = re.compile(r"<(?:\w+:)?(\w+)>")
ABSENT = 987_654_321
CSRF = re.compile(rb'name="csrfmiddlewaretoken" value="[^"]*"')
PICTURE = b"produced by codex"


@dataclass
class Scene:
    kitchen: Kitchen
    things: dict[str, Any]
    """What the parameters of URLs and fields of forms stand for, by name."""

    def people(self) -> dict[str, User | None]:
        """The columns of the table of pages, in order."""
        k = self.kitchen
        return {"nobody": None, "charlie": k.charlie, "vera": k.vera, "bob": k.bob, "dana": k.dana, "alice": k.alice}

    def path(self, route: str, stands_for: dict[str, str], *, absent: bool = False) -> str:
        """The route with its parameters filled in; ``absent`` puts ids of nothing in their places."""

        def fill(found: re.Match[str]) -> str:
            thing = self.things[stands_for.get(found[1], found[1])]
            return str(ABSENT if absent and isinstance(thing, int) else thing)

        return "/" + PARAMETER.sub(fill, route)

    def fields(self, data: dict[str, str]) -> dict[str, str]:
        """A form's fields; ``{name}`` in a value stands for a thing of the scene."""
        return {name: value.format(**self.things) for name, value in data.items()}


def make_scene() -> Scene:
    k = make_kitchen()
    [sha256, size] = files.store(f"room-{k.room.pk}", [b"a recipe"])
    attached = [mail.File(f"room-{k.room.pk}", sha256, "recipe.txt", "text/plain", size)]

    failed = k.turn(k.ask(k.bob, "@codex fail"))
    turns.answer(k.alice, k.question(failed).pk, verdict="once")
    k.daemon.run()
    k.daemon.tell(failed.pk, wire.UndoableFact(changed=["cake.txt"]))
    k.daemon.end(failed.pk, "failed", "it could not")

    asking = turns.ask(k.bob, k.room.pk, body="@codex draw the recipe", client_id=key(), files=attached)
    running = k.turn(asking)
    turns.answer(k.alice, k.question(running).pk, verdict="once")
    k.daemon.run()
    produced = hashlib.sha256(PICTURE).hexdigest()
    files.store(f"machine-{k.daemon.machine.pk}", [PICTURE], expected=produced)
    k.daemon.tell(
        running.pk,
        wire.TextFact(part="1", text="I look at the recipe."),
        wire.ToolCallFact(call="c1", tool="execute", title="cat recipe.txt", state="done", output="eggs"),
        wire.ArtifactFact(sha256=produced, name="cake.png", content_type="image/png", size=len(PICTURE)),
        wire.QuestionFact(key="q1", subject="tool", title="Bake", action="bake --hot", short="bake"),
    )
    waiting = k.turn(k.ask(k.bob, "@claude bake it"))
    # Whoever closes a turn does so because its machine is away.
    Machine.objects.update(last_seen_at=timezone.now() - timedelta(hours=1))

    grant = control.set_grant(k.alice, agent_id=k.claude.pk, member_id=k.seat(k.dana).pk, level="always")
    direct = membership.direct_room(k.bob, k.claude.pk)
    invite, invite_token = membership.invite(k.alice, k.room.pk, role="member", days=7, max_uses=20)
    connection, connection_token = membership.connect(k.alice, agent=k.claude.pk, room=k.room.pk, name="by hand")
    membership.set_avatar(k.alice, k.claude.pk, png())
    spare = membership.register_agent(
        k.daemon.machine, wire.AgentNew(handle="spare", runtime="demo", workdir="/tmp/kitchen")
    )
    entries = Entry.objects.filter(room=k.room)
    things = {
        "room_id": k.room.pk,
        "direct": direct.pk,
        "agent_id": k.claude.pk,
        "spare": spare.pk,
        "gemini": k.gemini.pk,
        "machine_id": k.daemon.machine.pk,
        "member_id": k.seat(k.bob).pk,
        "claudes_seat": k.seat(k.claude).pk,
        "bobs_seat": k.seat(k.bob).pk,
        "invite_id": invite.pk,
        "invite_token": invite_token,
        "grant_id": grant.pk,
        "connection_id": connection.pk,
        "connection_token": connection_token,
        "sign_in_token": membership.sign_in_link(k.bob),
        "unknown_token": tokens.new(tokens.SIGN_IN),
        "approval_id": k.question(waiting).pk,
        "digest": k.question(waiting).action_digest,
        "asks_to_bake": k.question(running, "tool").pk,
        "asking": asking.seq,
        "bob": k.bob.pk,
        "waiting": waiting.pk,
        "running": running.pk,
        "failed": failed.pk,
        "attachment_id": Attachment.objects.get(entry=asking).pk,
        "name": "recipe.txt",
        "sha256": sha256,
        "produced_sha256": produced,
        "produced": entries.get(kind="artifact").seq,
        "step": entries.get(kind="tool_call").seq,
        "text": entries.get(kind="text").seq,
        "number": waiting.entry.seq,
        "rest": "nothing/here",
        "handle": "claude",
        "code": waiting_machine().user_code,
        "program": program(),
    }
    return Scene(k, things)


def program() -> str:
    """The id of a program that introduced itself."""
    client = Client(name="A program", type=Client.Type.PUBLIC, data={"dcr": True}, secret="!")
    client.set_redirect_uris(["http://127.0.0.1:5/callback"])
    client.set_response_types(["code"])
    client.set_scopes(["agentroom"])
    client.set_default_scopes(["agentroom"])
    client.save()
    return str(client.pk)


def waiting_machine() -> Pairing:
    request = wire.PairRequest(name="new laptop", token_hash="a" * 64, connection_hash="b" * 64)
    return membership.start_pairing(request, "127.0.0.1")


def named_machine(owner: User, name: str, *, revoked: timedelta | None = None) -> str:
    """A machine of this owner whose token we know; ``revoked`` says how long ago."""
    token = tokens.new(tokens.MACHINE)
    revoked_at = None if revoked is None else timezone.now() - revoked
    Machine.objects.create(owner=owner, name=name, token_hash=tokens.digest(token), revoked_at=revoked_at)
    return token


def stored() -> dict[str, list[tuple[Any, ...]]]:
    """Every row that the rules keep, to see that a refused door left nothing behind. Signing in isn't at the door."""
    models = [model for app in APPS for model in apps.get_app_config(app).get_models()]
    columns = {
        model: [field.attname for field in model._meta.concrete_fields if field.name != "last_login"]
        for model in models
    }
    return {
        model._meta.db_table: list(model._default_manager.order_by("pk").values_list(*columns[model]))
        for model in models
    }


def same_words(content: bytes, id_: object) -> bytes:
    """A page without what differs between any two answers."""
    return CSRF.sub(b"", content).replace(str(id_).encode(), b"ID")


def png() -> bytes:
    """One black pixel."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = struct.pack(">IIBBBBB", 1, 1, 8, 0, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(b"\0\0")) + chunk(b"IEND", b"")
