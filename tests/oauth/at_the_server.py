"""A person's browser at the consent page of a running server."""

from __future__ import annotations

from tests.live import Person
from tests.live.forms import Page


def lets_in(person: Person, url: str, identity: str = "account") -> str:
    """Open what a program sent the person to, choose, and press; the address that the browser is sent on to."""
    page = Page(person.client.get(url))
    assert page.status == 200, page.text
    form, button = page.form_with("Let it in")
    answer = person.client.post(
        page.target(form, button),
        data=form.fields | {"identity": identity, button.name: button.value},
        headers={"Referer": page.url, "Origin": person.url},
        follow_redirects=False,
    )
    assert answer.status_code == 302, answer.text
    return answer.headers["Location"]
