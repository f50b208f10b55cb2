"""Codex's side: OpenAI Responses, streamed."""

from __future__ import annotations

import json
from collections.abc import Iterator
from uuid import uuid4

from tests.real_agents.model.conversation import Answered, Asked, Called, Conversation, Json, Returned, Tool, text_of
from tests.real_agents.model.tools import SEARCH, Call

Sent = tuple[str, Json]


def read(body: Json) -> Conversation:
    conversation = Conversation(body.get("model", ""), bool(body.get("stream")))
    conversation.schema = ((body.get("text") or {}).get("format") or {}).get("schema")
    _offer(conversation, body.get("tools") or [])
    for item in body.get("input") or []:
        kind = item.get("type") or "message"
        match kind, item.get("role"):
            case "message", "user":
                content = item.get("content") or []
                blocks = [content] if isinstance(content, str) else content
                conversation.events.extend(Asked(text) for text in map(text_of, blocks) if text)
            case "message", "assistant":
                conversation.events.append(Answered(text_of(item.get("content"))))
            case "additional_tools", _:
                _offer(conversation, item.get("tools") or [])
            case (("function_call" | "custom_tool_call"), _):
                conversation.events.append(Called(item["call_id"]))
            case "tool_search_output", _:
                _offer(conversation, item.get("tools") or [])
            case (("function_call_output" | "custom_tool_call_output"), _):
                conversation.events.append(Returned(text_of(item.get("output"))))
    return conversation


def _offer(conversation: Conversation, tools: list[Json], namespace: str = "") -> None:
    for tool in tools:
        kind, name = tool.get("type"), tool.get("name")
        if kind == "namespace":
            _offer(conversation, tool.get("tools") or [], tool["name"])
        elif kind == SEARCH:
            conversation.tools[kind] = Tool(kind)
        elif name:
            conversation.tools[name] = Tool(name, free_text=kind == "custom", namespace=namespace)


def whole(model: str, say: str) -> Json:
    """An answer in one piece, for a request that does not stream."""
    return _response(model, [_words(say)])


def stream(model: str, say: str, call: Call | None, call_id: str) -> Iterator[Sent]:
    items: list[Json] = []
    yield "response.created", {"response": _response(model, []) | {"status": "in_progress"}}
    if say or not call:
        words = _words(say)
        place = {"item_id": words["id"], "output_index": 0, "content_index": 0}
        yield "response.output_item.added", {"output_index": 0, "item": words | {"content": []}}
        yield "response.content_part.added", place | {"part": {"type": "output_text", "text": "", "annotations": []}}
        for piece in say.splitlines(keepends=True):
            yield "response.output_text.delta", place | {"delta": piece}
        yield "response.output_text.done", place | {"text": say}
        yield "response.output_item.done", {"output_index": 0, "item": words}
        items.append(words)
    if call:
        item = _called(call, call_id)
        yield "response.output_item.added", {"output_index": len(items), "item": item}
        yield "response.output_item.done", {"output_index": len(items), "item": item}
        items.append(item)
    yield "response.completed", {"response": _response(model, items)}


def _words(say: str) -> Json:
    part = {"type": "output_text", "text": say, "annotations": []}
    return {
        "type": "message",
        "id": f"msg_{uuid4().hex}",
        "role": "assistant",
        "status": "completed",
        "content": [part],
    }


def _called(call: Call, call_id: str) -> Json:
    if call.tool.name == SEARCH:
        searched = {"type": "tool_search_call", "execution": "client", "arguments": call.arguments}
        return searched | {"id": f"tsc_{uuid4().hex}", "status": "completed", "call_id": f"call_{call_id}"}
    item = {"id": f"call_{uuid4().hex}", "status": "completed", "call_id": f"call_{call_id}", "name": call.tool.name}
    if call.tool.namespace:
        item["namespace"] = call.tool.namespace
    if call.tool.free_text:
        return item | {"type": "custom_tool_call", "input": call.arguments}
    return item | {"type": "function_call", "arguments": json.dumps(call.arguments)}


def _response(model: str, output: list[Json]) -> Json:
    return {
        "id": f"resp_{uuid4().hex}",
        "object": "response",
        "status": "completed",
        "model": model,
        "output": output,
        "usage": {
            "input_tokens": 1200,
            "input_tokens_details": {"cached_tokens": 0},
            "output_tokens": 40,
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": 1240,
        },
    }
