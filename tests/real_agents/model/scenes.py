"""What the model says and does, by the sentence that somebody wrote to the agent."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from tests.real_agents.model.conversation import Asked, Conversation

PIXEL = "iVBORw0KGgoAAAANSUhEUgAAABAAAAAQCAIAAACQkWg2AAAAFklEQVR42mNgaPhPGhrVMKph1NCgAQBc/n+QpJ6kEgAAAABJRU5ErkJggg=="


@dataclass(frozen=True)
class Shell:
    command: str


@dataclass(frozen=True)
class Edit:
    path: str
    old: str
    new: str


@dataclass(frozen=True)
class Write:
    """A new file, made by the tool that the agent program has for it."""

    path: str
    text: str


@dataclass(frozen=True)
class Other:
    """Any tool by its name, where the agent program has it."""

    tool: str
    arguments: dict[str, Any]


@dataclass(frozen=True)
class Room:
    """One of the tools that the daemon gives to a session."""

    tool: str
    arguments: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Question:
    text: str
    options: tuple[str, ...]


Action = Shell | Edit | Write | Other | Room | Question


@dataclass(frozen=True)
class Step:
    """One answer of the model: words, and perhaps one call of a tool."""

    say: str = ""
    do: Action | None = None
    hold: bool = False
    """Not answered before the test lets go."""


@dataclass(frozen=True)
class Prompt:
    """A sentence that a scene knows, and what the conversation holds before and after it."""

    words: re.Match[str]
    results: list[str]
    said_before: list[str]

    @property
    def last_result(self) -> str:
        return self.results[-1].strip() if self.results else ""


def run(prompt: Prompt) -> list[Step]:
    return [
        Step("I will run that.", Shell(prompt.words["command"])),
        Step(f"It printed: {prompt.last_result}"),
    ]


def edit(prompt: Prompt) -> list[Step]:
    path, old, new = prompt.words["path"], prompt.words["old"], prompt.words["new"]
    return [
        Step("I look at it first.", Shell(f"cat {path}")),
        Step("Now I change it.", Edit(path, old, new)),
        Step(f"{path} now says {new}."),
    ]


def draw(prompt: Prompt) -> list[Step]:
    path = prompt.words["path"]
    return [
        Step("I draw it.", Shell(f"printf %s '{PIXEL}' | base64 -d > {path}")),
        Step(f"The picture is in {path}."),
    ]


def remember(prompt: Prompt) -> list[Step]:
    return [Step(f"I keep the word {prompt.words['word']} in mind.")]


def recall(prompt: Prompt) -> list[Step]:
    """Answers from the model's own earlier words: they are there only when the agent resumed its session."""
    kept = re.findall(r"I keep the word (\w+) in mind", "\n".join(prompt.said_before))
    return [Step(f"The word was {kept[-1]}." if kept else "I remember no word.")]


def say(prompt: Prompt) -> list[Step]:
    return [Step(prompt.words["text"])]


def ask(prompt: Prompt) -> list[Step]:
    options = tuple(option.strip() for option in prompt.words["options"].split(","))
    return [
        Step("I need to know something.", Question(prompt.words["question"], options)),
        Step(f"The answer: {prompt.last_result}"),
    ]


def attempt(prompt: Prompt) -> list[Step]:
    """One call after the other, whatever became of the one before; says in the end what came back of each."""
    calls: list[Action] = [_called(call) for call in json.loads(base64.b64decode(prompt.words["calls"]))]
    last = Step(json.dumps(prompt.results), None)
    return [*(Step("", call) for call in calls), last]


def _called(call: dict[str, Any]) -> Action:
    match call:
        case {"command": command}:
            return Shell(command)
        case {"path": path, "text": text}:
            return Write(path, text)
        case {"path": path, "old": old, "new": new}:
            return Edit(path, old, new)
        case {"tool": tool, "with": arguments}:
            return Other(tool, arguments)
        case _:
            raise AssertionError(call)


def attempts(*calls: dict[str, Any]) -> str:
    """The words that make the model make these calls."""
    return f"Attempt {base64.b64encode(json.dumps(calls).encode()).decode()}."


def hold(prompt: Prompt) -> list[Step]:
    return [Step("I waited.", hold=True)]


AT_LENGTH = "stir the soup, " * 40 + "and never salt it twice"
"""What *(at length)* in a letter stands for, so that nobody but its writer says it."""


def use(prompt: Prompt) -> list[Step]:
    """Any tool by its name, with the arguments that stand behind it as JSON."""
    return [
        Step("", Other(prompt.words["tool"], json.loads(prompt.words["arguments"] or "{}"))),
        Step(f"It gave: {prompt.last_result}"),
    ]


def write(prompt: Prompt) -> list[Step]:
    """Looks who is there, and writes to one of them."""
    body = prompt.words["body"].replace("(at length)", AT_LENGTH)
    letter = {"to": [prompt.words["to"]], "subject": prompt.words["subject"], "body": body}
    return [
        Step("I look who is here.", Room("agents_list_live")),
        Step("I write.", Room("agents_send", letter)),
        Step(f"It went out: {prompt.last_result}"),
    ]


def answer(prompt: Prompt) -> list[Step]:
    """Reads its inbox; accepts and answers each letter that begins with *Please*, and only takes note of the others."""
    steps = [Step("Mail is there.", Room("agents_read_inbox"))]
    for letter in letters_in(prompt.results[0]) if prompt.results else []:
        if letter["kind"] == "message" and letter["body"].startswith("Please"):
            said = f"Done as you asked: {letter['body']}"
            steps += [
                Step("", Room("agents_ack", {"message": letter["number"], "status": "accepted"})),
                Step("", Room("agents_reply", {"message": letter["number"], "body": said})),
            ]
    return [*steps, Step("I have read my mail.")]


def letters_in(result: str) -> list[dict[str, Any]]:
    """The letters in what the inbox gave, whatever the agent program wraps around it."""
    decoder = json.JSONDecoder()
    for start in (found.start() for found in re.finditer(r"\{", result)):
        try:
            read, _ = decoder.raw_decode(result, start)
        except ValueError:
            continue
        if "messages" in read:
            letters: list[dict[str, Any]] = read["messages"]
            return letters
    raise AssertionError(f"no letters in {result!r}")


SCENES: dict[re.Pattern[str], Callable[[Prompt], list[Step]]] = {
    re.compile(r"Run `(?P<command>[^`]+)`"): run,
    re.compile(r"Change `(?P<old>[^`]+)` to `(?P<new>[^`]+)` in `(?P<path>[^`]+)`"): edit,
    re.compile(r"Draw `(?P<path>[^`]+)`"): draw,
    re.compile(r"Remember the word (?P<word>\w+)"): remember,
    re.compile(r"Which word was it\?"): recall,
    re.compile(r"Say `(?P<text>[^`]+)`"): say,
    re.compile(r"Ask `(?P<question>[^`]+)` with `(?P<options>[^`]+)`"): ask,
    re.compile(r"Attempt (?P<calls>[A-Za-z0-9+/=]+)\."): attempt,
    re.compile(r"Wait for me"): hold,
    re.compile(r"Use `(?P<tool>\w+)`(?: with `(?P<arguments>[^`]+)`)?"): use,
    re.compile(r"Write `(?P<body>[^`]+)` to (?P<to>[a-z]+) about `(?P<subject>[^`]+)`"): write,
    re.compile(r"^Message (?P<number>\d+) from (?P<who>[^\n]+)\n> ", re.MULTILINE): answer,
}


def next_step(conversation: Conversation) -> tuple[int, Step] | None:
    """The step to play and its number; None when nobody wrote a sentence that a scene knows."""
    for at in reversed(range(len(conversation.events))):
        event = conversation.events[at]
        if not isinstance(event, Asked):
            continue
        # A prompt may quote what was said before; the request itself stands last.
        known = [(found.start(), found, scene) for when, scene in SCENES.items() for found in when.finditer(event.text)]
        if known:
            _, words, scene = max(known, key=lambda match: match[0])
            number = conversation.step_after(at)
            steps = scene(Prompt(words, conversation.results_after(at), conversation.said_before(at)))
            return number, steps[number] if number < len(steps) else Step("Done.")
    return None
