"""A page as somebody without JavaScript has it: words, links, forms, and buttons that send them."""

from __future__ import annotations

from dataclasses import dataclass, field
from html.parser import HTMLParser
from urllib.parse import urljoin, urlsplit

import httpx

SILENT = {"script", "style", "template", "svg", "head"}
VOID = {"area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr"}


@dataclass
class Button:
    text: str
    name: str = ""
    value: str = ""
    action: str = ""


@dataclass
class Form:
    action: str
    method: str
    id: str = ""
    fields: dict[str, str] = field(default_factory=dict)
    buttons: list[Button] = field(default_factory=list)


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.forms: list[Form] = []
        self.links: list[tuple[str, str]] = []
        self.words: list[str] = []
        self._form: Form | None = None
        self._button: tuple[Button, str] | None = None
        self._link: str | None = None
        self._textarea: str | None = None
        self._select: str | None = None
        self._silent = 0
        self._apart: list[tuple[Button, str]] = []

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attributes}
        if tag in SILENT:
            self._silent += 1
        if tag == "form":
            self._form = Form(given.get("action", ""), given.get("method", "get").lower(), given.get("id", ""))
            self.forms.append(self._form)
        elif tag == "a":
            self._link = given.get("href")
            self._mark = len(self.words)
        elif tag == "button" or (tag == "input" and given.get("type") in {"submit", "image"}):
            button = Button(
                given.get("value", ""), given.get("name", ""), given.get("value", ""), given.get("formaction", "")
            )
            if tag == "input":
                self._keep(button, given.get("form", ""))
            else:
                button.text = ""
                self._button = (button, given.get("form", ""))
        elif self._form is not None and given.get("name"):
            self._field(tag, given)
        elif (
            tag == "option"
            and self._form is not None
            and self._select
            and ("selected" in given or self._select not in self._form.fields)
        ):
            self._form.fields[self._select] = given.get("value", "")

    def _field(self, tag: str, given: dict[str, str]) -> None:
        assert self._form is not None
        name = given["name"]
        if tag == "textarea":
            self._textarea = name
            self._form.fields[name] = ""
        elif tag == "select":
            self._select = name
        elif tag == "input":
            kind = given.get("type", "text")
            if kind == "file" or "disabled" in given:
                return
            if kind in {"checkbox", "radio"}:
                if "checked" in given:
                    self._form.fields[name] = given.get("value", "on")
            else:
                self._form.fields[name] = given.get("value", "")

    def handle_endtag(self, tag: str) -> None:
        if tag in SILENT:
            self._silent = max(0, self._silent - 1)
        if tag == "form":
            self._form = None
        elif tag == "textarea":
            self._textarea = None
        elif tag == "select":
            self._select = None
        elif tag == "a" and self._link is not None:
            self.links.append((_plain(self.words[self._mark :]), self._link))
            self._link = None
        elif tag == "button" and self._button is not None:
            button, apart = self._button
            button.text = _plain([button.text])
            self._keep(button, apart)
            self._button = None

    def _keep(self, button: Button, apart: str) -> None:
        if apart:
            self._apart.append((button, apart))
        elif self._form is not None:
            self._form.buttons.append(button)

    def handle_data(self, data: str) -> None:
        if self._textarea is not None and self._form is not None:
            self._form.fields[self._textarea] += data
        elif not self._silent:
            self.words.append(data)
            if self._button is not None:
                self._button[0].text += data

    def close(self) -> None:
        super().close()
        for button, apart in self._apart:
            for form in self.forms:
                if form.id == apart:
                    form.buttons.append(button)


def _plain(words: list[str]) -> str:
    return " ".join("".join(words).split())


class Page:
    """One answer of the server, read."""

    def __init__(self, response: httpx.Response) -> None:
        self.response = response
        self.status = response.status_code
        self.url = str(response.url)
        self.html = response.text
        reader = _Reader()
        reader.feed(self.html)
        reader.close()
        self.text = _plain(reader.words)
        self.forms = reader.forms
        self.links = reader.links

    def __contains__(self, words: str) -> bool:
        return words in self.text

    def buttons(self) -> list[str]:
        return [button.text for form in self.forms for button in form.buttons]

    def form_with(self, button: str, *, to: str = "") -> tuple[Form, Button]:
        """The form that this button sends; ``to`` tells several alike apart by a part of where they go."""
        for form in self.forms:
            for found in form.buttons:
                if found.text == button and to in (found.action or form.action):
                    return form, found
        raise AssertionError(
            f"{self.url} ({self.status}) has no button “{button}”, but {self.buttons()}:\n{self.text[:1500]}"
        )

    def form_to(self, url: str) -> tuple[Form, Button]:
        """The form that is sent to this URL, with its first button."""
        for form in self.forms:
            sent = form.method == "post" and form.buttons
            if sent and urlsplit(self.target(form, form.buttons[0])).path == urlsplit(url).path:
                return form, form.buttons[0]
        raise AssertionError(f"{self.url} ({self.status}) has no form to {url}:\n{self.text[:1500]}")

    def target(self, form: Form, button: Button) -> str:
        return urljoin(self.url, button.action or form.action or self.url)

    def link(self, text: str) -> str:
        """Where the link of these words leads."""
        for words, href in self.links:
            if words == text:
                return urljoin(self.url, href)
        raise AssertionError(f"{self.url} has no link “{text}”, but {[words for words, _ in self.links]}")
