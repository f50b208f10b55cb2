"""What the demo agent does with its hands: says, plans, asks, edits and runs, each told over the protocol."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import acp
from acp import schema
from acp.interfaces import Client

OPTIONS = [
    schema.PermissionOption(option_id="allow-once", name="Allow once", kind="allow_once"),
    schema.PermissionOption(option_id="reject", name="Decline", kind="reject_once"),
]


class Refused(Exception):
    """The owner said no; ``note`` is what they wrote."""

    def __init__(self, note: str) -> None:
        super().__init__(note)
        self.note = note


@dataclass
class Hands:
    client: Client
    session_id: str
    cwd: Path
    pause: float = 0.0
    """Seconds between words, so that a person can watch them come."""
    _calls: int = 0
    _prefix: str = field(default_factory=lambda: f"{os.getpid():x}-{time.monotonic_ns():x}")
    _running: asyncio.subprocess.Process | None = None

    def note(self, what: str, **facts: object) -> None:
        """Writes down what was really done, for tests that compare it with what the room shows."""
        if log := os.environ.get("AGENTROOM_DEMO_LOG"):
            line = json.dumps({"did": what, **facts}) + "\n"
            descriptor = os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
            try:
                os.write(descriptor, line.encode())
                os.fsync(descriptor)
            finally:
                os.close(descriptor)

    async def say(self, text: str) -> None:
        self.note("say", text=text)
        for word in text.split(" "):
            await self._update(acp.update_agent_message_text(word + " "))
            await asyncio.sleep(self.pause)
        await self._update(acp.update_agent_message_text("\n\n"))

    async def plan(self, *items: tuple[str, Any]) -> None:
        self.note("plan", items=[text for text, _ in items])
        await self._update(acp.update_plan([acp.plan_entry(text, status=state) for text, state in items]))

    async def read(self, name: str) -> str:
        call = await self._begin(f"Read {name}", "read", path=name)
        content = (self.cwd / name).read_text(encoding="utf-8")
        self.note("read", path=name)
        await self._update(acp.update_tool_call(call, status="completed"))
        return content

    async def look(self, name: str = ".") -> list[str]:
        """What a folder holds."""
        call = await self._begin(f"List {name}", "search", path=name)
        found = sorted(path.name for path in (self.cwd / name).iterdir())
        self.note("look", path=name)
        await self._update(acp.update_tool_call(call, status="completed"))
        return found

    async def write(self, name: str, content: str | bytes) -> None:
        """Changes or makes a file, once it is allowed."""
        file = self.cwd / name
        diff: list[Any] = []
        raw: dict[str, Any] = {"path": name}
        if isinstance(content, str):
            old = file.read_text(encoding="utf-8") if file.exists() else None
            diff = [acp.tool_diff_content(path=str(file), new_text=content, old_text=old)]
            raw["content"] = content
        else:
            raw["bytes"] = len(content)
        call = await self._begin(f"Write {name}", "edit", path=name, content=diff)
        await self._may(call, "edit", f"Write {name}", raw, content=diff, path=name)
        file.write_bytes(content.encode() if isinstance(content, str) else content)
        self.note("write", path=name)
        await self._update(acp.update_tool_call(call, status="completed", content=diff))

    async def run(self, command: str) -> tuple[int, str]:
        """Runs a command in the shell, once it is allowed; gives its exit code and output."""
        call = await self._begin(command, "execute", raw={"command": command})
        await self._may(call, "execute", command, {"command": command})
        await self._update(acp.update_tool_call(call, status="in_progress"))
        self.note("run", command=command)
        self._running = await asyncio.create_subprocess_shell(
            command,
            cwd=self.cwd,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
            env={**os.environ, "GIT_TERMINAL_PROMPT": "0", "PYTHONDONTWRITEBYTECODE": "1"},
            start_new_session=True,
        )
        assert self._running.stdout is not None
        output = ""
        try:
            async for line in self._running.stdout:
                output = (output + line.decode(errors="replace"))[-100_000:]
                block = acp.tool_content(acp.text_block(output))
                await self._update(acp.update_tool_call(call, status="in_progress", content=[block]))
            code = await self._running.wait()
        except asyncio.CancelledError:
            self.kill()
            raise
        finally:
            self._running = None
        self.note("ran", command=command, code=code)
        block = acp.tool_content(acp.text_block(output or "(no output)\n"))
        await self._update(acp.update_tool_call(call, status="failed" if code else "completed", content=[block]))
        return code, output

    async def ask(self, question: str, options: list[str]) -> str | None:
        """A plain question; None when it was not answered."""
        self.note("ask", question=question)
        choices = [schema.EnumOption(const=option, title=option) for option in options]
        answer = await self.client.create_elicitation(
            message=question,
            mode=schema.ElicitationFormSessionMode(
                session_id=self.session_id,
                requested_schema=schema.ElicitationSchema(
                    properties={
                        "answer": schema.ElicitationStringPropertySchema(type="string", one_of=choices),
                        "answer_own": schema.ElicitationStringPropertySchema(type="string", title="Other"),
                    }
                ),
            ),
        )
        if not isinstance(answer, schema.AcceptElicitationResponse):
            return None
        given: dict[str, Any] = {
            name: getattr(value, "root", value) for name, value in dict(answer.content or {}).items()
        }
        said = given.get("answer") or given.get("answer_own")
        self.note("answered", answer=said)
        return str(said) if said else None

    def kill(self) -> None:
        """Ends the command that runs, with what it started."""
        if self._running and self._running.returncode is None:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self._running.pid, signal.SIGKILL)

    async def _begin(
        self,
        title: str,
        kind: schema.ToolKind,
        *,
        path: str | None = None,
        raw: dict[str, Any] | None = None,
        content: list[Any] | None = None,
    ) -> str:
        self._calls += 1
        call = f"demo-{self._prefix}-{self._calls}"
        await self._update(
            acp.start_tool_call(
                call,
                title,
                kind=kind,
                status="pending",
                raw_input=raw or ({"path": path} if path else None),
                locations=[schema.ToolCallLocation(path=str(self.cwd / path))] if path else None,
                content=content,
            )
        )
        return call

    async def _may(
        self,
        call_id: str,
        kind: schema.ToolKind,
        title: str,
        raw: dict[str, Any],
        *,
        content: list[Any] | None = None,
        path: str | None = None,
    ) -> None:
        spots = [schema.ToolCallLocation(path=str(self.cwd / path))] if path else None
        asked = schema.ToolCallUpdate(
            tool_call_id=call_id,
            title=title,
            kind=kind,
            status="pending",
            raw_input=raw,
            content=content,
            locations=spots,
        )
        reply = await self.client.request_permission(session_id=self.session_id, tool_call=asked, options=OPTIONS)
        if reply.outcome.outcome == "selected" and reply.outcome.option_id == "allow-once":
            return
        self.note("refused", title=title)
        await self._update(acp.update_tool_call(call_id, status="failed"))
        said = (reply.field_meta or {}).get("agentroom", {})
        raise Refused(str(said.get("note") or "") if isinstance(said, dict) else "")

    async def _update(self, update: Any) -> None:
        await self.client.session_update(session_id=self.session_id, update=update)
