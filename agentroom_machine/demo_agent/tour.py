"""What the demo agent does for the words in a request."""

from __future__ import annotations

import asyncio
import re
import shutil
import sys
from collections.abc import Awaitable, Callable

from agentroom_machine.demo_agent.hands import Hands, Refused
from agentroom_machine.demo_agent.memory import Memory
from agentroom_machine.demo_agent.picture import chart, png

Step = Callable[[Hands], Awaitable[None]]
_DAYS = [("Mon", 8), ("Tue", 6), ("Wed", 12), ("Thu", 4), ("Fri", 14)]
_RUN = re.compile(r"\brun `([^`]+)`", re.IGNORECASE)
_REMEMBER = re.compile(r"\bremember\b[:,]?\s+(?:that\s+|the word\s+)?(.+)", re.IGNORECASE)


async def respond(words: str, hands: Hands, memory: Memory) -> None:
    """Does what the words ask for; without a word that it knows, the whole tour."""
    text = words.replace("\u2060", "").lower()
    told = _REMEMBER.search(words.replace("\u2060", ""))
    command = _RUN.search(words)
    if "did i tell you" in text or "what do you remember" in text or "which word" in text:
        await recall(hands, memory)
    elif command:
        await run(hands, command[1])
    elif told:
        memory.told.append(told[1].strip().rstrip(".!"))
        memory.keep()
        await hands.say(f"I shall remember: {memory.told[-1]}.")
    elif steps := [step for pattern, step in _WORDS if re.search(pattern, text, re.DOTALL)]:
        if len(steps) > 1:
            await follow(hands, steps)
        else:
            await steps[0](hands)
    else:
        await tour(hands)


async def run(hands: Hands, command: str) -> None:
    """Runs whatever command stands between backticks."""
    done = await _try(hands, lambda: hands.run(command))
    if done is not None:
        await hands.say("Done." if done[0] == 0 else f"It ended with {done[0]}.")


async def recall(hands: Hands, memory: Memory) -> None:
    if memory.told:
        await hands.say("You told me: " + "; ".join(memory.told) + ".")
    else:
        await hands.say("You told me nothing in this room yet.")


async def tour(hands: Hands) -> None:
    """Everything once: a plan, a look, a mended test, a picture, a push and a deletion."""
    await hands.say("I look after a small shop's program. Let me show you what I can do here.")
    await follow(hands, [look, fix, picture, push, delete])
    await hands.say("That is the tour. I asked before what can't be taken back.")


async def follow(hands: Hands, steps: list[Step]) -> None:
    """Takes the steps one after the other, under a plan that says which one is on."""
    names = [_NAMES[step] for step in steps]
    for now, step in enumerate(steps):
        states = ["completed"] * now + ["in_progress"] + ["pending"] * (len(names) - now - 1)
        await hands.plan(*zip(names, states, strict=True))
        await step(hands)
    await hands.plan(*((name, "completed") for name in names))


async def look(hands: Hands) -> None:
    await hands.say("First I look at what is here.")
    found = await hands.look()
    readme = await hands.read("README.md")
    listed = ", ".join(f"`{name}`" for name in found if not name.startswith("."))
    await hands.say(f"Here are {listed}. The README says: {readme.splitlines()[-1]}")


async def test(hands: Hands) -> bool:
    """Runs the tests; whether they pass."""
    await hands.say("I run the tests.")
    python = "python3" if shutil.which("python3") else sys.executable
    done = await _try(hands, lambda: hands.run(f"{python} -m unittest -v"))
    if done is None:
        return False
    await hands.say("All tests pass." if done[0] == 0 else "A test fails: `total` forgets how many of each thing.")
    return done[0] == 0


async def just_test(hands: Hands) -> None:
    await test(hands)


async def fix(hands: Hands) -> None:
    if await test(hands):
        await hands.say("There is nothing to mend.")
        return
    await edit(hands)
    await test(hands)


async def edit(hands: Hands) -> None:
    old = await hands.read("shop.py")
    wrong, right = "sum(price for _, _, price in basket)", "sum(count * price for _, count, price in basket)"
    if wrong in old:
        await hands.say("I multiply each price by how many there are.")
        new = old.replace(wrong, right)
    else:
        await hands.say("I note at the end of `shop.py` that I was here.")
        new = old + f"# Looked after, visit {old.count('# Looked after') + 1}.\n"
    await _try(hands, lambda: hands.write("shop.py", new))


async def picture(hands: Hands) -> None:
    await hands.say("I draw what the shop sold each day.")
    await _try(hands, lambda: hands.write("sales.png", png([value for _, value in _DAYS])))


async def draw(hands: Hands) -> None:
    await hands.say("I draw it as a chart with words.")
    await _try(hands, lambda: hands.write("sales.svg", chart("Sold by day", _DAYS)))


async def push(hands: Hands) -> None:
    await hands.say("I commit what changed and push it, if I may.")
    await _try(
        hands,
        lambda: hands.run(
            "git add -A && git commit -q --allow-empty -m 'Count how many of each thing' && git log --oneline -1"
        ),
    )
    await _try(hands, lambda: hands.run("git push origin main"))


async def delete(hands: Hands) -> None:
    await hands.say("I clear the old build folder, if I may.")
    await _try(hands, lambda: hands.run("rm -rf build"))


async def ask(hands: Hands) -> None:
    answer = await hands.ask("Shall the shop sell sweet or savoury pancakes today?", ["Sweet", "Savoury"])
    await hands.say(f"{answer} it is." if answer else "No answer; I take both.")


async def slow(hands: Hands) -> None:
    """Works long enough to be watched, stopped or killed."""
    for n in range(1, 61):
        await hands.say(f"Stirring, {n} of 60.")
        await asyncio.sleep(0.5)


async def _try[Result](hands: Hands, act: Callable[[], Awaitable[Result]]) -> Result | None:
    """Does it, or goes on without it and says so."""
    try:
        return await act()
    except Refused as no:
        await hands.say(f"My owner declined{f': “{no.note}”' if no.note else ''}. I go on without it.")
        return None


_WORDS: list[tuple[str, Step]] = [
    (r"\bask me\b", ask),
    (r"\bslow(ly)?\b", slow),
    (r"\blook\b|\blist\b|\bwhat is in\b|\bwhat's in\b", look),
    (r"\bfix\b|\bmend\b|\brepair\b", fix),
    (r"\bedit\b|\bchange\b", edit),
    (r"^(?!.*\b(fix|mend|repair)\b).*\btests?\b", just_test),
    (r"\bpicture\b|\bdraw\b|\bimage\b", picture),
    (r"\bchart\b|\bsvg\b", draw),
    (r"\bpush\b", push),
    (r"\bdelete\b|\bremove\b|\bclean\b|\bclear\b", delete),
]
_NAMES: dict[Step, str] = {
    ask: "Ask a question",
    slow: "Work slowly",
    look: "Look around",
    fix: "Mend the test that fails",
    edit: "Edit the program",
    just_test: "Run the tests",
    picture: "Draw a picture",
    draw: "Draw a chart",
    push: "Push the change",
    delete: "Clear old builds",
}
