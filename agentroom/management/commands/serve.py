"""What bin/up starts: the database made ready, then the web server and the background work as one small tree."""

from __future__ import annotations

import argparse
import errno
import fcntl
import http.client
import os
import socket
import sys
from typing import IO, Any

from django.conf import settings
from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandError
from django.db import connections
from django.urls import reverse

from agentroom.supervisor import Failed, Program, Tree
from rooms import membership
from rooms.management.told import SERVED_AT

READY_WITHIN = 60


class Command(BaseCommand):
    help = "Starts the web server and the background work; one Ctrl-C ends them. Settings come from the environment."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("--host", default="127.0.0.1")
        parser.add_argument("--port", type=int, default=8000)
        parser.add_argument("--demo", action="store_true", help="Also make a room with a working demo agent.")

    def handle(self, *args: Any, host: str, port: int, demo: bool, **options: Any) -> None:
        # What is written from here on, by the children too, is the server's alone.
        os.umask(0o077)
        settings.DATA.mkdir(parents=True, exist_ok=True, mode=0o700)
        settings.STATIC_ROOT.mkdir(exist_ok=True)
        lock = alone(settings.DATA / "serving.lock")
        listener = listen(host, port)
        call_command("migrate", verbosity=0, interactive=False)
        try:
            with Tree() as tree, lock:
                for program in web(listener):
                    tree.start(program)
                if not tree.wait_until(lambda: ready(host, port), seconds=READY_WITHIN):
                    if tree.stopping:
                        return
                    raise CommandError(f"The server was not ready within {READY_WITHIN} s; its words are above.")
                # Only now: while they start they would take the processor from who is waited for.
                for program in background():
                    tree.start(program)
                (settings.DATA / SERVED_AT).write_text(settings.PUBLIC_URL, encoding="utf-8")
                self.say(f"Ready: {settings.PUBLIC_URL}")
                if demo:
                    # The demo brings the owner's side with it, which a server does without.
                    from agentroom.demo import Demo

                    Demo(tree, self.say, f"http://{local(host)}:{port}").begin()
                else:
                    self.first_steps()
                connections.close_all()
                tree.watch()
                # Whoever calls now is refused at once instead of waiting for an answer that can't come.
                listener.close()
                self.say("Stopping …")
        except Failed as failure:
            raise CommandError(str(failure)) from None

    def first_steps(self) -> None:
        if not membership.everybody().exists():
            link = settings.PUBLIC_URL + reverse("first", args=[membership.first_link()])
            self.say(f"Nobody is here yet. This link makes the first owner and administrator, once: {link}")

    def say(self, text: str) -> None:
        self.stdout.write(text)
        self.stdout.flush()


def alone(path: os.PathLike[str]) -> IO[str]:
    """Hold the data folder: two servers on one SQLite file would not hear each other's nudges."""
    lock = open(path, "a", encoding="utf-8")  # noqa: SIM115 - it is held as long as the server runs
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise CommandError(
            f"Another Agentroom already serves from {settings.DATA}. End it, or give this one a folder of its own "
            "with --data DIR."
        ) from None
    return lock


def listen(host: str, port: int) -> socket.socket:
    """Open here, once, and handed to the web process: while it starts again, callers wait instead of being refused."""
    try:
        return socket.create_server((host, port), backlog=2048)
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            raise CommandError(
                f"Port {port} is taken by another program. Choose another one: --port {port + 1}"
            ) from None
        raise CommandError(f"Cannot listen on {host}, port {port}: {error.strerror}.") from None


def web(listener: socket.socket) -> list[Program]:
    count, fd = web_processes(), listener.fileno()
    command = [sys.executable, "-m", "agentroom.web", str(fd)]
    names = [f"Web server {n}" for n in range(1, count + 1)] if count > 1 else ["The web server"]
    return [Program(name, command, (fd,), surroundings()) for name in names]


def background() -> list[Program]:
    """Celery's worker and scheduler; without Redis a thread of the web process does their work."""
    if not settings.SCALED:
        return []
    celery = [sys.executable, "-m", "celery", "--app", "agentroom.celery", "--quiet"]
    calm = ["--loglevel", "WARNING"]
    # Threads: the work is short and waits for the database.
    worker = ["worker", "--pool", "threads", "--concurrency", "2", "--without-gossip", "--without-mingle", *calm]
    beat = ["beat", "--schedule", str(settings.DATA / "celery-beat"), "--pidfile", "", *calm]
    return [
        Program("The worker", [*celery, *worker], environment=surroundings()),
        Program("The scheduler", [*celery, *beat], environment=surroundings()),
    ]


def surroundings() -> dict[str, str]:
    return {"PYTHONPATH": str(settings.BASE_DIR)}


def web_processes() -> int:
    """How many share the listening socket; more than one only with Redis, which carries nudges between them."""
    asked = os.environ.get("WEB_PROCESSES", "1")
    if not asked.isdigit() or not 1 <= int(asked) <= 64:
        raise CommandError(f"WEB_PROCESSES is {asked!r}: say a number from 1 to 64.")
    if int(asked) > 1 and not settings.SCALED:
        raise CommandError("WEB_PROCESSES: more than one wants Redis (REDIS_URL), so that they hear of each other.")
    return int(asked)


def ready(host: str, port: int) -> bool:
    connection = http.client.HTTPConnection(local(host), port, timeout=1)
    try:
        connection.request("GET", "/readyz")
        return connection.getresponse().status == 200
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()


def local(host: str) -> str:
    """Where a server that listens on ``host`` is reached from this computer."""
    return "127.0.0.1" if host in {"", "0.0.0.0"} else host  # noqa: S104
