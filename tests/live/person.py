"""Somebody with a browser and no JavaScript: they open pages and press buttons. With a socket, if they watch a room."""

from __future__ import annotations

import re
import secrets
from collections.abc import Mapping, Sequence

import httpx

from tests.live.forms import Page
from tests.live.stored import Stored
from tests.live.waiting import until
from tests.live.watching import Watch

Files = Sequence[tuple[str, bytes, str]]
"""Name, bytes, content type."""
Given = Mapping[str, str]
"""What somebody typed, by the field's name."""
NOTHING: Given = {}


class Person:
    def __init__(self, url: str, stored: Stored, handle: str = "") -> None:
        self.url = url
        self.handle = handle
        self.stored = stored
        self.client = httpx.Client(base_url=url, follow_redirects=True, timeout=30, trust_env=False)

    def close(self) -> None:
        self.client.close()

    @property
    def chat(self) -> int:
        """The room of their programs' chat."""
        [(found,)] = self.stored.rows(
            "SELECT r.id FROM rooms_room r JOIN rooms_user u ON u.id = r.owner_id"
            " WHERE r.kind = 'account' AND u.username = ?",
            self.handle,
        )
        return int(found)

    # --- pages -------------------------------------------------------------------------------------------------------

    def get(self, path: str, *, status: int = 200) -> Page:
        page = Page(self.client.get(path))
        assert page.status == status, f"GET {path}: {page.status} instead of {status}\n{page.text[:1500]}"
        return page

    def press(
        self,
        page: Page | str,
        button: str,
        given: Given = NOTHING,
        *,
        to: str = "",
        status: int = 200,
        files: Files = (),
    ) -> Page:
        """Fill in what the button's form asks for, and press it; the page after that."""
        shown = self.get(page) if isinstance(page, str) else page
        form, pressed = shown.form_with(button, to=to)
        unknown = given.keys() - form.fields.keys()
        assert not unknown, f"The form of “{button}” has no {unknown}, but {sorted(form.fields)}"
        data = form.fields | dict(given) | ({pressed.name: pressed.value} if pressed.name else {})
        return self.post(shown.target(form, pressed), data, status=status, files=files, referer=shown.url)

    def post(
        self, path: str, data: dict[str, str] | None = None, *, status: int = 200, files: Files = (), referer: str = ""
    ) -> Page:
        """Send a form past its page, with this browser's CSRF token."""
        token = self.client.cookies.get("csrftoken", "")
        page = Page(
            self.client.post(
                path,
                data={"csrfmiddlewaretoken": token} | (data or {}),
                files=[("files", file) for file in files] or None,
                headers={"Referer": referer or f"{self.url}/", "Origin": self.url},
            )
        )
        assert page.status == status, f"POST {path}: {page.status} instead of {status}\n{page.text[:1500]}"
        return page

    # --- coming in ---------------------------------------------------------------------------------------------------

    def sign_in(self, link: str) -> None:
        page = self.get(link)
        form, button = page.form_to(link)
        self.press(page, button.text, to=form.action)
        assert "sessionid" in self.client.cookies

    def join(self, link: str, *, handle: str = "", password: str = "") -> int:
        """Take a seat by an invite's URL: with an account by its button, without one by name and password."""
        page = self.get(link)
        form, button = page.form_to(link)
        given = {"handle": handle, "password": password} if password else {}
        self.handle = handle or self.handle
        return room_of(self.press(page, button.text, given, to=form.action).url)

    # --- rooms -------------------------------------------------------------------------------------------------------

    def make_room(self, name: str, about: str = "") -> int:
        return room_of(self.press("/rooms/new/", "Make the room", {"name": name, "about": about}).url)

    def room(self, room_id: int) -> Page:
        return self.get(f"/rooms/{room_id}/")

    def invite(self, room_id: int, *, role: str = "member", max_uses: int = 5, **more: str) -> str:
        """The URL of a new link; ``more`` is what else the form asks: days, seat_days."""
        given = {"role": role, "max_uses": str(max_uses)} | more
        page = self.press(f"/rooms/{room_id}/settings/", "Make an invite link", given)
        found = re.search(r"https?://[^\s\"'<]+/join/[^\s\"'<]+", page.html)
        assert found, page.text
        return found[0]

    def ask(self, room_id: int, body: str, *, client_id: str = "", status: int = 200, files: Files = ()) -> Page:
        data = {"body": body, "client_id": client_id or secrets.token_hex(8)}
        return self.post(f"/rooms/{room_id}/messages/", data, status=status, files=files)

    def seat_agent(self, room_id: int, handle: str) -> None:
        """Put one's own agent into a room."""
        [(agent_id,)] = self.stored.rows(
            "SELECT a.id FROM rooms_agent a JOIN rooms_user u ON u.id = a.owner_id"
            " WHERE a.handle = ? AND u.username = ?",
            handle,
            self.handle,
        )
        self.post(f"/rooms/{room_id}/agents/", {"agent": str(agent_id)})

    def watch(self, room_id: int, *, after: int = 0) -> Watch:
        return Watch(self.client, self.url, room_id, after)

    # --- decisions ---------------------------------------------------------------------------------------------------

    def controls(self, turn_id: int) -> Page:
        return self.get(f"/turns/{turn_id}/controls/")

    def answer(self, question_id: int, given: Given, *, status: int = 200) -> Page:
        """Send the form of a question's own page, with these fields instead of a button."""
        page = self.get(f"/questions/{question_id}/")
        form, button = page.form_to(f"/questions/{question_id}/answer/")
        return self.post(page.target(form, button), form.fields | dict(given), status=status, referer=page.url)

    def approve(self, question_id: int) -> Page:
        """Press the yes of a question's own page, which names what it allows."""
        page = self.get(f"/questions/{question_id}/")
        [yes] = [button for button in page.buttons() if button.startswith("Approve ")]
        return self.press(page, yes)

    def decide(self, turn_id: int, button: str, given: Given = NOTHING) -> Page:
        """Press one of the buttons on a turn's card, as soon as it is there."""
        page = until(
            lambda: shown if button in (shown := self.controls(turn_id)).buttons() else None,
            what=lambda: f"a button “{button}” for {self.handle}; there are {self.controls(turn_id).buttons()}",
        )
        return self.press(page, button, given)


def room_of(url: str) -> int:
    found = re.search(r"/rooms/(\d+)/", url)
    assert found, url
    return int(found[1])
