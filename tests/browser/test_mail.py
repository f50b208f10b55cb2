"""Two agents write to each other by their tokens, and people see what becomes of it, live and after a reload."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

import httpx
import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.conftest import Open
from tests.browser.kitchen import Kitchen, django
from tests.browser.test_extremes import HEBREW, WORD, photograph, too_wide, unfold
from tests.browser.wire_machine import WireMachine

pytestmark = pytest.mark.browser
SIZES = ((1280, 900), (390, 844))


class ByToken:
    """An agent that somebody runs by hand, at the REST door."""

    def __init__(self, kitchen: Kitchen, agent: int) -> None:
        made = kitchen.alice.post("/connections/", {"identity": f"{agent}:{kitchen.room}", "name": f"by hand {agent}"})
        found = re.search(r"arc_[\w-]+", made.html)
        assert found, made.text
        self.client = httpx.Client(
            base_url=f"{kitchen.live.url}/api/", headers={"Authorization": f"Bearer {found[0]}"}, timeout=30,
            trust_env=False,
        )  # fmt: skip

    def call(self, method: str, path: str, body: object = None) -> dict[str, object]:
        answer = self.client.request(method, path, json=body)
        assert answer.is_success, answer.text
        told: dict[str, object] = answer.json()
        return told

    def send(self, to: list[str], body: str, **more: str) -> int:
        return int(str(self.call("POST", "messages", {"to": to, "body": body} | more)["number"]))

    def read(self) -> None:
        self.call("GET", "inbox")

    def say(self, number: int, status: str, note: str = "") -> None:
        self.call("POST", f"messages/{number}/acknowledgements", {"status": status, "note": note})

    def reply(self, number: int, body: str) -> int:
        return int(str(self.call("POST", f"messages/{number}/replies", {"body": body})["number"]))


@dataclass
class Two:
    kitchen: Kitchen
    claude: ByToken
    codex: ByToken


@pytest.fixture(scope="module")
def second(household: Kitchen) -> Iterator[WireMachine]:
    machine = WireMachine(household.live.url, household.alice, "codex")
    yield machine
    machine.close()


@pytest.fixture
def two(kitchen: Kitchen, second: WireMachine) -> Iterator[Two]:
    kitchen.alice.seat_agent(kitchen.room, "codex")
    made = Two(kitchen, ByToken(kitchen, kitchen.claude.agent.id), ByToken(kitchen, second.agent.id))
    yield made
    made.claude.client.close()
    made.codex.client.close()


def words(part: Page | Locator) -> str:
    shown = part.locator("#entries") if isinstance(part, Page) else part
    return re.sub(r"\s+", " ", shown.inner_text()).replace("Last read here ", "").strip()


def test_everybody_sees_each_fact_arrive_and_a_reload_shows_the_same(two: Two, open_page: Open) -> None:
    kitchen = two.kitchen
    bob, vera = open_page(kitchen.bob, kitchen.path), open_page(kitchen.vera, kitchen.path, width=390, height=844)
    number = two.claude.send(["codex"], "How much of it?", subject="Salt", topic="menu", ticket="K-7")
    for page in (bob, vera):
        entry = page.locator(f"#e{number}")
        expect(entry.locator("header").first).to_contain_text("claude to codex")
        expect(entry.locator("h3").first).to_have_text("Salt")
        expect(entry.locator(".mail summary")).to_contain_text("waiting: alice is asked whether it may start")

    newest = [page.locator(f"#e{number}-mail .newest") for page in (bob, vera)]
    bob.locator(f"#e{number}-mail summary").click()
    two.codex.read()
    for line in newest:
        expect(line).to_have_text("read")
    two.codex.say(number, "accepted", "after the soup")
    for line in newest:
        expect(line).to_have_text("accepted: “after the soup”")
    answer = two.codex.reply(number, "A pinch.")
    for line in newest:
        expect(line).to_have_text("answered")
    two.codex.say(number, "done")
    for line in newest:
        expect(line).to_have_text("done")
    # What was open stays open, and tells everything in order.
    facts = bob.locator(f"#e{number}-mail ol > li")
    expect(facts).to_contain_text(["stored", "read", "accepted: “after the soup”", "answered", "done"])
    expect(facts.first).to_be_visible()
    expect(bob.locator(f"#e{answer} header").first).to_contain_text("codex to claude answers this")
    # Receipts are lines of their message, and of nothing else.
    expect(bob.locator("#entries > .entry")).to_have_count(2)
    expect(bob.locator("#entries > .event")).to_have_count(vera.locator("#entries > .event").count())

    for page in (bob, vera):
        unfold(page)
        live = words(page)
        page.reload()
        page.wait_for_selector("#timeline[data-connection=open]")
        unfold(page)
        assert words(page) == live


def test_an_agent_says_how_it_stands_and_asks_its_owner(two: Two, open_page: Open) -> None:
    kitchen = two.kitchen
    bob = open_page(kitchen.bob, kitchen.path)
    two.codex.call(
        "PUT", "status", {"status": "blocked", "note": "waits for the key of the test database", "ticket": "K-7"}
    )
    line = bob.locator(".event[data-kind=status]")
    expect(line).to_contain_text("codex is blocked: waits for the key of the test database, ticket K-7")
    two.codex.call("POST", "questions", {"action": "May I use the key of the test database?", "kind": "credentials"})
    asked = bob.locator(".entry", has_text="A question about credentials")
    expect(asked.locator("header").first).to_contain_text("codex to alice")
    alice = open_page(kitchen.alice, kitchen.path)
    photograph(alice.locator("#entries"), "asked")
    question = alice.locator(".card.question")
    question.get_by_role("button", name="Decline").click()
    answer = bob.locator(".entry", has_text="No.").last
    expect(answer.locator("header").first).to_contain_text("alice to codex answers this")
    expect(asked.locator(".decided > summary").first).to_contain_text("declined by alice")
    expect(asked.locator(".card.turn").first).to_be_hidden()
    photograph(bob.locator("#entries"), "answered")


def test_a_filter_shows_its_own_and_counts_the_rest(two: Two, open_page: Open) -> None:
    kitchen = two.kitchen
    salt = two.claude.send(["codex"], "How much?", subject="Salt", topic="menu", ticket="K-7")
    wine = two.claude.send(["codex"], "Which one?", subject="Wine", topic="cellar")
    bob = open_page(kitchen.bob, kitchen.path)
    bob.locator(f"#e{salt} .about a", has_text="menu").click()
    bob.wait_for_selector("#timeline[data-connection=open]")
    expect(bob.locator(f"#e{salt}")).to_be_visible()
    expect(bob.locator(f"#e{wine}")).to_have_count(0)
    expect(bob.locator(".banner.only")).to_contain_text("Only topic menu")
    two.codex.say(salt, "accepted", "now")
    expect(bob.locator(f"#e{salt}-mail .newest")).to_have_text("accepted: “now”")
    expect(bob.locator("#below")).to_be_hidden()
    two.claude.send(["codex"], "And which glass?", topic="cellar")
    expect(bob.locator("#below")).to_contain_text("1 new entry in the room")
    expect(bob.locator("#entries > .entry")).to_have_count(1)
    bob.locator("#below a").click()
    expect(bob.locator("#entries > .entry")).to_have_count(3)

    plain = open_page(kitchen.bob, kitchen.path, java_script_enabled=False)
    plain.get_by_role("button", name="Filter").click()
    plain.locator("#only-agent").select_option("codex")
    plain.locator("#only-ticket").fill("K-7")
    plain.get_by_role("button", name="Show", exact=True).click()
    expect(plain.locator("#entries > .entry")).to_have_count(1)
    expect(plain.locator(".banner.only")).to_contain_text("Only what codex wrote or got, ticket K-7")
    plain.goto(f"{kitchen.live.url}{kitchen.path}?ticket=none")
    expect(plain.get_by_text("Nothing here")).to_be_visible()


def test_home_says_what_mail_waits_and_why(two: Two, open_page: Open) -> None:
    home = open_page(two.kitchen.alice, "/")
    two.claude.send(["codex"], "How much?")
    line = home.locator(".waits")
    expect(line).to_contain_text("1 message waits in kitchen")
    expect(line).to_contain_text("alice is asked whether it may start")
    photograph(home.locator("section[aria-labelledby=agents]"), "home")
    two.codex.read()
    expect(line).to_have_count(0)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_long_odd_and_many_fit_every_width(two: Two, open_page: Open, scheme: str) -> None:
    kitchen = two.kitchen
    many = f"helper-{scheme}-"
    django(
        kitchen.live,
        "from rooms.models import *; from rooms import membership;"
        f"u = User.objects.get(username='alice'); m = Machine.objects.filter(owner=u).first();"
        f"a = Agent.objects.bulk_create([Agent(owner=u, machine=m, handle=f'{many}{{n}}', runtime='demo',"
        " workdir='/tmp') for n in range(40)]);"
        f"[membership.add_agent(u, {kitchen.room}, one.pk)"
        f" for one in Agent.objects.filter(handle__startswith='{many}')]",
    )
    two.claude.send(["codex", "bob", "alice"], "How much of it?", subject="Salt", topic="menu", ticket="K-7")
    long = two.claude.send(
        ["codex"], "long", subject=WORD * 3, topic="a" * 100, ticket="T" * 200,
    )  # fmt: skip
    two.codex.say(long, "declined", WORD * 8 + " " + HEBREW)
    right = two.claude.send(["codex"], HEBREW, subject=HEBREW[:120], ticket="כרטיס-7")
    two.codex.say(right, "accepted", HEBREW[:60])
    two.claude.send(["codex"], "hidden", subject="pay\u202eyap \u200b now", ticket="K\u20667")
    done = two.claude.send(["codex"], "done?", subject="Dishes")
    two.codex.read()
    two.codex.say(done, "done", "all of them")
    two.codex.reply(done, "They are done.")
    two.codex.call("PUT", "status", {"status": "blocked", "note": HEBREW[:100] + WORD, "ticket": "K-7"})
    two.claude.send(["all"], "Stop, please.", subject="To everybody")
    for width, height in (*SIZES, (320, 568)):
        page = open_page(kitchen.bob, f"{kitchen.path}?agent=claude", width=width, height=height, color_scheme=scheme)
        expect(page.locator(".about h3").first).to_be_visible()
        assert too_wide(page) == []
        # Nobody here decides about them: each has its line, and no card.
        expect(page.locator(".card.turn[data-cause=mail]").first).to_be_hidden()
        assert page.locator(".card.turn[data-cause=mail]:visible").count() == 0
        photograph(page.locator("#entries"), f"mail-{width}-{scheme}")
        page.evaluate("for (const fold of document.querySelectorAll('.mail li > details')) fold.open = true")
        assert too_wide(page) == []
        photograph(page.locator("#entries"), f"mail-open-{width}-{scheme}")
        page.goto(f"{kitchen.live.url}{kitchen.path}")
        unfold(page)
        assert too_wide(page) == []
        expect(page.locator(".banner.only")).to_have_count(0)
        page.goto(f"{kitchen.live.url}{kitchen.path}?agent=codex&topic={'a' * 100}&ticket={'T' * 200}")
        expect(page.locator(".banner.only")).to_be_in_viewport()
        page.get_by_role("button", name="Filter").click()
        expect(page.locator("#filter")).to_be_visible()
        assert too_wide(page) == []
        photograph(page.locator("main"), f"mail-filter-{width}-{scheme}")
