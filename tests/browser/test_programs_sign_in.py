"""A program sends a person to the browser: the consent page in a real one, to the end of the way back."""

from __future__ import annotations

import secrets
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

import httpx
import pytest
from playwright.sync_api import expect

from tests.browser.conftest import Open
from tests.live import HandMachine, Live, Person

pytestmark = pytest.mark.browser
SIZES = [(1280, 800, "light"), (1280, 800, "dark"), (390, 844, "light"), (390, 844, "dark"), (320, 640, "light")]


class Listener(HTTPServer):
    """Where a program on the person's computer waits for its answer."""

    said: dict[str, str]

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Answer)
        self.said = {}
        self.callback = f"http://127.0.0.1:{self.server_port}/callback"


class _Answer(BaseHTTPRequestHandler):
    server: Listener

    def do_GET(self) -> None:
        to = urlsplit(self.path)
        if to.path == "/callback":
            self.server.said |= {name: values[0] for name, values in parse_qs(to.query).items()}
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.end_headers()
        self.wfile.write(b"<title>Back</title><h1>Back in the terminal</h1>")

    def log_message(self, *_: Any) -> None:
        """Silent."""


@pytest.fixture
def listener() -> Iterator[Listener]:
    with Listener() as listening:
        thread = threading.Thread(target=listening.serve_forever, args=(0.05,))
        thread.start()
        yield listening
        listening.shutdown()
        thread.join()


def introduced(live: Live, callback: str, name: str = "Claude Code") -> str:
    made = httpx.post(
        f"{live.url}/identity/o/api/clients",
        json={
            "client_name": name,
            "redirect_uris": [callback],
            "token_endpoint_auth_method": "none",
            "grant_types": ["authorization_code", "urn:ietf:params:oauth:grant-type:device_code"],
        },
        trust_env=False,
    )
    return str(made.json()["client_id"])


def authorization(live: Live, callback: str, **more: str) -> str:
    asked = {
        "response_type": "code",
        "client_id": introduced(live, callback, **more),
        "redirect_uri": callback,
        "state": "terminal",
        "code_challenge": secrets.token_urlsafe(32),
        "code_challenge_method": "S256",
        "resource": f"{live.url}/mcp",
    }
    return f"/identity/o/authorize?{urlencode(asked)}"


def device_page(live: Live) -> str:
    client = introduced(live, "http://127.0.0.1/callback")
    asked = httpx.post(f"{live.url}/identity/o/api/device/code", data={"client_id": client}, trust_env=False)
    to = urlsplit(asked.json()["verification_uri_complete"])
    return f"{to.path}?{to.query}"


@pytest.fixture
def alice(live: Live) -> Iterator[Person]:
    """With an agent of a long name in a room of a long name."""
    alice = live.person("alice")
    room = alice.make_room("a kitchen with an unreasonably long name that wraps")
    handle = f"claude-{secrets.token_hex(10)}"
    machine = HandMachine(alice, f"laptop {secrets.token_hex(3)}")
    machine.client.post(
        "/api/machine/agents", json={"handle": handle, "runtime": "demo", "workdir": "/tmp/kitchen"}
    ).raise_for_status()
    alice.seat_agent(room, handle)
    yield alice
    machine.close()


@pytest.mark.parametrize("script", [True, False], ids=["with-script", "without"])
@pytest.mark.parametrize(("button", "told"), [("Let it in", "code"), ("Not now", "error")])
def test_the_answer_reaches_the_program(
    script: bool, button: str, told: str, open_page: Open, live: Live, alice: Person, listener: Listener
) -> None:
    """The policy of our pages holds forms to this site; this one may lead back to the program, and nowhere else."""
    page = open_page(alice, authorization(live, listener.callback), java_script_enabled=script)
    expect(page.get_by_role("heading", name="Claude Code wants to sign in")).to_be_visible()
    if told == "code":
        page.get_by_label("It speaks as").select_option(label="my account, in its private chat")
    page.get_by_role("button", name=button).click()
    expect(page.get_by_role("heading", name="Back in the terminal")).to_be_visible()
    assert (told in listener.said, listener.said["state"], listener.said["iss"]) == (True, "terminal", live.url)


def test_nothing_is_chosen_for_the_person(open_page: Open, live: Live, alice: Person, listener: Listener) -> None:
    page = open_page(alice, authorization(live, listener.callback))
    page.get_by_role("button", name="Let it in").click()
    assert page.url.startswith(live.url), "the browser asks for a choice first"
    assert listener.said == {}


@pytest.mark.parametrize(("width", "height", "scheme"), SIZES)
def test_the_pages_fit_and_are_whole(
    width: int, height: int, scheme: str, open_page: Open, live: Live, alice: Person
) -> None:
    far = authorization(live, "https://" + "long." * 20 + "agents.example/cb", name="P" * 100)
    for path in (far, device_page(live), "/identity/o/device", "/identity/o/device/done", "/connections/"):
        page = open_page(alice, path, width=width, height=height, color_scheme=scheme)
        assert page.evaluate("document.documentElement.scrollWidth") <= width, path
        page.context.close()
