"""An action as a call of a tool that the agent program offers."""

from __future__ import annotations

import json
from dataclasses import dataclass

from tests.real_agents.model.conversation import Conversation, Json, Tool
from tests.real_agents.model.scenes import Action, Edit, Other, Question, Room, Shell, Write

SEARCH = "tool_search"
"""Tells a model of the tools of Codex's servers, which are offered from then on."""


class NotOffered(Exception):
    """The agent program has no tool for this action."""


@dataclass(frozen=True)
class Call:
    tool: Tool
    arguments: Json | str
    again: bool = False
    """It only makes ready for the step, which is played again after it."""


def call_for(action: Action, conversation: Conversation) -> Call:
    tools = conversation.tools
    program = tools.get("exec")
    if program and program.free_text and not isinstance(action, Question | Other):
        return _in_javascript(action, program)
    match action:
        case Shell(command) if tool := tools.get("Bash"):
            return Call(tool, {"command": command, "description": "Run what was asked"})
        case Shell(command) if tool := tools.get("exec_command"):
            return Call(tool, {"cmd": command})
        case Edit(path, old, new) if tool := tools.get("Edit"):
            return Call(tool, {"file_path": path, "old_string": old, "new_string": new})
        case Edit() if tool := tools.get("apply_patch"):
            return Call(tool, _patch(action) if tool.free_text else {"input": _patch(action)})
        case Write(path, text) if tool := tools.get("Write"):
            return Call(tool, {"file_path": path, "content": text})
        case Write() if tool := tools.get("apply_patch"):
            return Call(tool, _patch(action) if tool.free_text else {"input": _patch(action)})
        case Other(name, arguments) if tool := tools.get(name):
            return Call(tool, arguments)
        case Room(name, arguments) if tool := tools.get(f"mcp__room__{name}") or tools.get(name):
            return Call(tool, arguments)
        case Room(name) if tool := tools.get(SEARCH):
            return Call(tool, {"query": name, "limit": 8}, again=True)
        case Question(text, options) if tool := tools.get("AskUserQuestion"):
            choices = [{"label": option, "description": option} for option in options]
            question = {"question": text, "header": "Choice", "options": choices, "multiSelect": False}
            return Call(tool, {"questions": [question]})
        case _:
            raise NotOffered(f"no tool for {action} among {sorted(tools)}")


def _in_javascript(action: Shell | Edit | Write | Room, program: Tool) -> Call:
    """Newer models give Codex one tool that runs JavaScript, which calls the others."""
    if isinstance(action, Shell):
        inner = f"tools.exec_command({json.dumps({'cmd': action.command})})"
    elif isinstance(action, Room):
        inner = f"tools.mcp__room__{action.tool}({json.dumps(action.arguments)})"
    else:
        inner = f"tools.apply_patch({json.dumps(_patch(action))})"
    return Call(
        program, f"const done = await {inner};\ntext(typeof done === 'string' ? done : JSON.stringify(done));\n"
    )


def _patch(edit: Edit | Write) -> str:
    if isinstance(edit, Write):
        lines = "\n".join(f"+{line}" for line in edit.text.splitlines())
        return f"*** Begin Patch\n*** Add File: {edit.path}\n{lines}\n*** End Patch"
    return f"*** Begin Patch\n*** Update File: {edit.path}\n@@\n-{edit.old}\n+{edit.new}\n*** End Patch"
