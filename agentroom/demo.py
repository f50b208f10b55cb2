"""The demo: a room with an agent that really works, on a machine of its own, for somebody who has none installed.

Everything is made the way people make it: rules for people and room, the owner's own command line for the machine.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from django.conf import settings
from django.core.management.base import CommandError
from django.urls import reverse

from agentroom.supervisor import Program, Tree
from agentroom_machine.demo_agent import prepare_demo_repository
from agentroom_machine.profile import Profile
from approvals import turns
from rooms import membership
from rooms.models import Agent, Room, User
from rooms.rules import rule

OWNER, GUEST, AGENT, ROOM = "alice", "bob", "robo", "kitchen"
FIRST = f"@{AGENT} What is in this repository?"
"""The owner's own request: it runs at once, so that the room shows a finished turn."""
SECOND = (
    f"@{AGENT} I am new here. Could you show me around: list the files, fix the test that fails, draw a picture of "
    "the shop, then push the fix and clean up the build folder?"
)
"""Somebody else's: it waits for the owner, and on the way asks again before it pushes and deletes."""


class Demo:
    def __init__(self, tree: Tree, say: Callable[[str], None], url: str) -> None:
        """``url`` is where this server answers on this computer."""
        self.tree = tree
        self.say = say
        self.url = url
        self.home: Path = settings.DATA / "demo"
        self.profile = Profile(self.home / "machine" / "default")
        self.environment = {
            "AGENTROOM_HOME": str(self.home / "machine"),
            "AGENTROOM_NO_KEYRING": "1",
            "PYTHONPATH": str(settings.BASE_DIR),
            # The code that login prints has to come through the pipe at once.
            "PYTHONUNBUFFERED": "1",
        }

    def begin(self) -> None:
        """Make what is missing, start the machine, and say how to come in. Once more, it makes nothing."""
        if not self.home.exists() and User.objects.exists():
            raise CommandError(
                f"People live in {settings.DATA} already, and the demo would mix with them. Give it a folder of its "
                "own: bin/up --demo --data DIR"
            )
        owner, room_id = self.furnish()
        self.tree.start(Program("The demo's machine", self.agentroom("up"), environment=self.environment))
        link = settings.PUBLIC_URL + reverse("sign_in_link", args=[membership.sign_in_link(owner)])
        self.say(f"You are {OWNER}, and {AGENT} is your agent. This link lets you in, once: {link}")
        self.say(f"Then look into the kitchen, where {GUEST} waits for you: {room_address(room_id)}")

    def furnish(self) -> tuple[User, int]:
        self.home.mkdir(mode=0o700, exist_ok=True)
        shop = self.home / "shop"
        if not shop.exists():
            prepare_demo_repository(shop)
        owner, guest, room_id = people_and_room()
        if not self.profile.paired():
            self.pair(owner)
        elif self.profile.settings().server != self.url:
            # The same server on another port.
            self.profile.keep(self.profile.settings().model_copy(update={"server": self.url}))
        if not Agent.objects.filter(owner=owner).exists():
            self.run("agents", "add", AGENT, "--runtime", "demo", "--workdir", str(shop))
            membership.add_agent(owner, room_id, Agent.objects.get(owner=owner).pk)
            turns.ask(owner, room_id, body=FIRST, client_id="demo-1")
            turns.ask(guest, room_id, body=SECOND, client_id="demo-2")
        return owner, room_id

    def pair(self, owner: User) -> None:
        """The command line asks and prints its code; the owner, who would compare it in a browser, confirms it."""
        login = subprocess.Popen(
            self.agentroom("login", self.url, "--name", "demo machine", "--no-browser"),
            env=os.environ | self.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        assert login.stdout is not None
        said = []
        for line in login.stdout:
            said.append(line)
            if code := re.search(r"\b[B-Z]{4}-[B-Z]{4}\b", line):
                membership.confirm_pairing(owner, code[0])
                break
        said.append(login.communicate(timeout=60)[0])
        if login.returncode != 0:
            raise CommandError("The demo's machine could not be paired:\n" + "".join(said))

    def run(self, *args: str) -> None:
        done = subprocess.run(
            self.agentroom(*args),
            env=os.environ | self.environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        if done.returncode != 0:
            raise CommandError(f"agentroom {args[0]} ended with {done.returncode}:\n{done.stdout}{done.stderr}")

    def agentroom(self, *args: str) -> list[str]:
        return [sys.executable, "-m", "agentroom_machine.cli", *args]


@rule
def people_and_room() -> tuple[User, User, int]:
    """Owner, guest and their kitchen."""
    if owner := User.objects.filter(username=OWNER).first():
        return owner, User.objects.get(username=GUEST), owner.owned_rooms.get(kind=Room.Kind.ROOM, name=ROOM).pk
    owner = membership.make_person(OWNER, admin=True)
    guest = membership.make_person(GUEST)
    room = membership.create_room(owner, name=ROOM, about="Where the demo's shop is built.")
    _, token = membership.invite(owner, room.pk, role="member", days=1, max_uses=1)
    membership.accept_invite(guest, token)
    return owner, guest, room.pk


def room_address(room_id: int) -> str:
    return settings.PUBLIC_URL + reverse("room", args=[room_id])
