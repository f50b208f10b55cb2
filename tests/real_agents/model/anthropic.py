"""Claude Code's side: Anthropic Messages, streamed."""

from __future__ import annotations

import json
from collections.abc import Iterator
from uuid import uuid4

from tests.real_agents.model.conversation import Answered, Asked, Called, Conversation, Json, Returned, Tool, text_of
from tests.real_agents.model.tools import Call

Sent = tuple[str, Json]


def read(body: Json) -> Conversation:
    conversation = Conversation(body.get("model", ""), bool(body.get("stream")))
    for tool in body.get("tools") or []:
        if name := tool.get("name"):
            conversation.tools[name] = Tool(name)
    form = (body.get("output_config") or {}).get("format") or body.get("output_format") or {}
    conversation.schema = form.get("schema")
    for message in body.get("messages") or []:
        content = message.get("content") or []
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
        # Text beside a tool's result is the program's own note, never a person's request.
        has_result = any(block.get("type") == "tool_result" for block in blocks)
        for block in blocks:
            match message.get("role"), block.get("type"):
                case "user", "text" if not has_result:
                    conversation.events.append(Asked(block["text"]))
                case "assistant", "text":
                    conversation.events.append(Answered(block["text"]))
                case _, "tool_use":
                    conversation.events.append(Called(block["id"]))
                case _, "tool_result":
                    conversation.events.append(Returned(text_of(block.get("content"))))
    return conversation


def whole(model: str, say: str) -> Json:
    """An answer in one piece, for a request that does not stream."""
    return _message(model) | {"content": [{"type": "text", "text": say}], "stop_reason": "end_turn"}


def stream(model: str, say: str, call: Call | None, call_id: str) -> Iterator[Sent]:
    yield "message_start", {"message": _message(model)}
    index = 0
    if say or not call:
        yield "content_block_start", {"index": 0, "content_block": {"type": "text", "text": ""}}
        for word in say.splitlines(keepends=True):
            yield "content_block_delta", {"index": 0, "delta": {"type": "text_delta", "text": word}}
        yield "content_block_stop", {"index": 0}
        index = 1
    if call:
        block = {"type": "tool_use", "id": f"toolu_{call_id}", "name": call.tool.name, "input": {}}
        delta = {"type": "input_json_delta", "partial_json": json.dumps(call.arguments)}
        yield "content_block_start", {"index": index, "content_block": block}
        yield "content_block_delta", {"index": index, "delta": delta}
        yield "content_block_stop", {"index": index}
    stop = {"stop_reason": "tool_use" if call else "end_turn", "stop_sequence": None}
    yield "message_delta", {"delta": stop, "usage": {"input_tokens": 1200, "output_tokens": 40}}
    yield "message_stop", {}


def _message(model: str) -> Json:
    return {
        "id": f"msg_{uuid4().hex}",
        "type": "message",
        "role": "assistant",
        "model": model,
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": {
            "input_tokens": 1200,
            "output_tokens": 40,
            "cache_creation_input_tokens": 0,
            "cache_read_input_tokens": 0,
        },
    }
