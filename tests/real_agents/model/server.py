"""The scripted model on loopback."""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import ModuleType
from uuid import uuid4

from tests.real_agents.model import anthropic, responses
from tests.real_agents.model.conversation import Conversation, Json
from tests.real_agents.model.scenes import Step, next_step
from tests.real_agents.model.tools import Call, NotOffered, call_for

HOLD_FOR = 120
MODELS = ["claude-sonnet-4-6", "claude-haiku-4-5", "gpt-5.5", "gpt-6.1-sol"]


@dataclass
class Model:
    """What the test sees of it."""

    url: str
    go: threading.Event = field(default_factory=threading.Event)
    """Set it, and held steps are answered."""
    held: threading.Event = field(default_factory=threading.Event)
    """Set once a step is held."""
    failures: list[str] = field(default_factory=list)
    """What was asked of it that it can't play; a test that ends with one has failed."""
    played: list[Step] = field(default_factory=list)
    makers: list[str] = field(default_factory=list)
    """In whose words each request came: anthropic or responses."""
    listens_for: Callable[[str], bool] = lambda said: False
    """What a test wants to know of: the requests are all that the agent's maker gets to see."""
    overheard: list[str] = field(default_factory=list)

    def think(self, conversation: Conversation) -> tuple[str, Call | None, str]:
        """What to say, which tool to call, and the call's id."""
        found = next_step(conversation) if conversation.tools and conversation.schema is None else None
        if found is None:
            # The agent program asks for itself: a title, a summary.
            return "{}" if conversation.schema is not None else "OK", None, ""
        number, step = found
        if step.hold:
            self.held.set()
            self.go.wait(HOLD_FOR)
        try:
            call = call_for(step.do, conversation) if step.do else None
        except NotOffered as gap:
            self.failures.append(str(gap))
            return str(gap), None, ""
        if call and call.again:
            # The step itself is still to be played.
            return "", call, f"again{uuid4().hex[:12]}"
        self.played.append(step)
        return step.say, call, f"step{number}x{uuid4().hex[:12]}"


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    model: Model

    def log_message(self, format: str, *args: object) -> None:
        """Says nothing: a test's output is the test's."""

    def do_HEAD(self) -> None:
        self.answer({})

    def do_GET(self) -> None:
        if self.path.split("?")[0].endswith("/models"):
            self.answer({"object": "list", "data": [{"id": name, "object": "model"} for name in MODELS]})
        else:
            self.not_known()

    def do_POST(self) -> None:
        raw = self.rfile.read(int(self.headers.get("Content-Length") or 0)) or b"{}"
        if self.model.listens_for(said := raw.decode(errors="replace")):
            self.model.overheard.append(said)
        body: Json = json.loads(raw)
        path = self.path.split("?")[0]
        if path.endswith("/messages/count_tokens"):
            self.answer({"input_tokens": 1200})
        elif path.endswith("/messages"):
            self.play(anthropic, body)
        elif path.endswith("/responses"):
            self.play(responses, body)
        else:
            self.not_known()

    def not_known(self) -> None:
        self.model.failures.append(f"{self.command} {self.path}")
        self.answer({"error": {"type": "not_found_error", "message": "not a path of the scripted model"}}, 404)

    def answer(self, body: Json, status: int = 200) -> None:
        data = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)

    def play(self, maker: ModuleType, body: Json) -> None:
        self.model.makers.append(maker.__name__.rpartition(".")[2])
        conversation = maker.read(body)
        say, call, call_id = self.model.think(conversation)
        if not conversation.stream:
            if call:
                self.model.failures.append("asked for a call without a stream")
            self.answer(maker.whole(conversation.model, say))
            return
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        for number, (name, event) in enumerate(maker.stream(conversation.model, say, call, call_id)):
            data = json.dumps({"type": name, "sequence_number": number} | event)
            self.send_chunk(f"event: {name}\ndata: {data}\n\n".encode())
        self.send_chunk(b"")

    def send_chunk(self, data: bytes) -> None:
        self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))
        self.wfile.flush()


class Server(ThreadingHTTPServer):
    daemon_threads = True
    model: Model

    def handle_error(self, request: object, client_address: object) -> None:
        """An agent that is killed hangs up in the middle, which is no failure."""
        error = sys.exception()
        if not isinstance(error, ConnectionError):
            self.model.failures.append(repr(error))


@contextmanager
def scripted_model() -> Iterator[Model]:
    model = Model("")
    server = Server(("127.0.0.1", 0), type("Handler", (Handler,), {"model": model}))
    server.model = model
    model.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    try:
        yield model
    finally:
        model.go.set()
        server.shutdown()
        server.server_close()
        thread.join()
