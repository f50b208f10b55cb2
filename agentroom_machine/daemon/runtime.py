"""One runtime over the Agent Client Protocol: its process, its session, its mode, and what it asks."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import Awaitable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, cast

import acp
from acp import schema
from acp.client.connection import ClientSideConnection
from acp.connection import StreamDirection, StreamEvent
from acp.exceptions import RequestError

from agentroom_machine.daemon.call import Call, command_of, paths_of, placed, tool_of
from agentroom_machine.daemon.elicit import fields
from agentroom_machine.daemon.gatekeeper import Decision
from agentroom_machine.daemon.hook import HookAnswer, HookCall, HookServer, probe
from agentroom_machine.daemon.journal import SessionRecord
from agentroom_machine.daemon.mail_door import Tools
from agentroom_machine.daemon.processes import Tree
from agentroom_machine.danger.tools import OWN_SERVER
from agentroom_machine.errors import Trouble
from agentroom_machine.runtimes.launch import Launch, NotReady, codex_hook_command, shown_name
from agentroom_machine.runtimes.notes import notes

_ANSWER_WITHIN = 90
"""Seconds for a runtime to begin or find a session; none of those seen needs five."""
_AUTH_REQUIRED = -32000


class RuntimeFailed(Trouble):
    """The runtime could not be started, or broke."""


class Turn(Protocol):
    """What a runtime needs from the turn that it works on."""

    def on_update(self, update: Mapping[str, Any]) -> None: ...
    def on_alarm(self, words: str) -> None: ...
    async def on_hook(self, call: HookCall) -> HookAnswer: ...
    async def on_permission(self, call: Call) -> Decision: ...
    async def on_question(self, text: str, options: list[str], call: str) -> str | None: ...
    def known(self, call_id: str) -> tuple[str, str, Any]: ...


@dataclass(frozen=True)
class Opened:
    session_id: str
    how: str
    """new, loaded or resumed."""


class Runtime:
    """A started runtime; ``turn`` gets what it says and asks, and without a turn everything is refused."""

    def __init__(self, launch: Launch, cwd: Path, owner: str, tools: Tools | None = None) -> None:
        self.launch, self.cwd, self._owner, self._mail = launch, cwd, owner, tools
        self.turn: Turn | None = None
        self.session_id = ""
        self.hook: HookServer | None = None
        self.tree: Tree | None = None
        self.takes_images = False
        self.warnings: list[str] = []
        self._connection: ClientSideConnection | None = None
        self._mode: str | None = None
        self._mode_holds = False

    # --- start and end

    async def start(self, record: SessionRecord | None, model: str, trusted: dict[str, str]) -> Opened:
        """Starts the process, finds or begins the session and forces its mode; raises RuntimeFailed or NotReady.

        ``trusted`` keeps the hashes by which Codex trusts our hook; what is learned is added to it.
        """
        try:
            if self.launch.hook:
                await self._listen()
            capabilities = await self._connect(trusted)
            if self.launch.codex_hook and not await self._codex_trusts(trusted):
                await self._disconnect()
                capabilities = await self._connect(trusted)
                if not await self._codex_trusts(trusted):
                    raise RuntimeFailed("Codex does not trust the hook that asks the owner, so it does not run.")
            opened = await self._open(record, capabilities, model)
            self.session_id = opened.session_id
            return opened
        except RequestError as error:
            await self.close()
            raise self._refused(error) from None
        except TimeoutError:
            words = self._last_words()
            await self.close()
            raise RuntimeFailed(f"{self._name} does not answer.{words}") from None
        except (ConnectionError, OSError) as error:
            words = self._last_words()
            await self.close()
            raise RuntimeFailed(f"{self._name} could not be started: {error}.{words}") from None
        except BaseException:
            await self.close()
            raise

    async def close(self) -> None:
        """Ends the process with everything that it started."""
        self._mode_holds = False
        await self._disconnect()
        if self.hook:
            await self.hook.close()
            self.hook = None

    @property
    def alive(self) -> bool:
        return self.tree is not None and self.tree.alive

    @property
    def _name(self) -> str:
        return shown_name(self.launch.runtime)

    def _last_words(self) -> str:
        words = self.tree.last_words() if self.tree else ""
        return f" It said: {words}" if words else ""

    def last_words(self) -> str:
        return self._last_words()

    async def _listen(self) -> None:
        self.hook = HookServer(self._on_hook)
        await self.hook.start()
        self.launch.env["AGENTROOM_HOOK"] = self.hook.path
        if wrong := await probe(self.hook.path):
            raise RuntimeFailed(wrong)

    async def _connect(self, trusted: dict[str, str]) -> schema.AgentCapabilities:
        env = dict(self.launch.env)
        if self.launch.codex_hook:
            config = json.loads(env["CODEX_CONFIG"])
            config["hooks"]["state"] = {key: {"trusted_hash": value} for key, value in trusted.items()}
            env["CODEX_CONFIG"] = json.dumps(config)
        self.tree = await Tree.start(self.launch.command, cwd=self.cwd, env=env, owner=self._owner)
        process = self.tree.process
        self._connection = acp.connect_to_agent(
            cast(acp.Client, _Listener(self)),
            process.stdin,
            process.stdout,
            use_unstable_protocol=True,
            observers=[self._observe],
        )
        reply = await self._within(
            self._connection.initialize(
                protocol_version=acp.PROTOCOL_VERSION,
                client_capabilities=schema.ClientCapabilities(
                    fs=schema.FileSystemCapabilities(read_text_file=False, write_text_file=False),
                    terminal=False,
                    elicitation=schema.ElicitationCapabilities(form=schema.ElicitationFormCapabilities()),
                    field_meta={"terminal_output": True},
                ),
                client_info=schema.Implementation(name="agentroom", version="0.1.0"),
            )
        )
        capabilities = reply.agent_capabilities or schema.AgentCapabilities()
        prompts = capabilities.prompt_capabilities
        self.takes_images = bool(prompts and prompts.image)
        return capabilities

    async def _disconnect(self) -> None:
        if self.tree:
            await self.tree.kill()
        if self._connection:
            with contextlib.suppress(OSError, TimeoutError):
                async with asyncio.timeout(5):
                    await self._connection.close()
            self._connection = None

    async def _within[Reply](self, call: Awaitable[Reply]) -> Reply:
        """The reply, unless the process dies first or takes too long."""
        assert self.tree is not None
        asked = asyncio.ensure_future(call)
        ended = asyncio.ensure_future(self.tree.ended())
        try:
            async with asyncio.timeout(_ANSWER_WITHIN):
                await asyncio.wait({asked, ended}, return_when=asyncio.FIRST_COMPLETED)
            if not asked.done():
                raise ConnectionError("its process ended")
            return await asked
        finally:
            asked.cancel()
            ended.cancel()
            await asyncio.gather(asked, ended, return_exceptions=True)

    async def _codex_trusts(self, trusted: dict[str, str]) -> bool:
        """Whether Codex will really run our hook; learns the hash that it wants to see, if not."""
        assert self._connection is not None
        listed = await self._within(self._connection.ext_method("codex/hooks/list", {"cwd": str(self.cwd)}))
        ours = [hook for hook in listed.get("hooks", []) if hook.get("command") == codex_hook_command()]
        if ours and all(hook.get("trustStatus") == "trusted" and hook.get("enabled", True) for hook in ours):
            return True
        trusted.clear()
        trusted.update({str(hook["key"]): str(hook["currentHash"]) for hook in ours})
        return False

    # --- session and mode

    async def _open(self, record: SessionRecord | None, capabilities: schema.AgentCapabilities, model: str) -> Opened:
        assert self._connection is not None
        mail = self._mail
        servers = [schema.McpServerStdio(name=OWN_SERVER, command=mail.command, args=mail.args, env=[])] if mail else []
        at = {"cwd": str(self.cwd), "mcp_servers": cast(Any, servers), **self.launch.meta}
        if self.launch.told_notes and (told := await asyncio.to_thread(notes, self.cwd)):
            at["systemPrompt"] = {"append": told}
        sessions = capabilities.session_capabilities
        if record and sessions and sessions.resume is not None:
            with contextlib.suppress(RequestError):
                resumed = await self._within(self._connection.resume_session(session_id=record.session_id, **at))
                await self._settle(record.session_id, resumed, model)
                return Opened(record.session_id, "resumed")
        if record and capabilities.load_session:
            with contextlib.suppress(RequestError):
                loaded = await self._within(self._connection.load_session(session_id=record.session_id, **at))
                await self._settle(record.session_id, loaded, model)
                return Opened(record.session_id, "loaded")
        begun = await self._within(self._connection.new_session(**at))
        await self._settle(begun.session_id, begun, model)
        return Opened(begun.session_id, "new")

    async def _settle(
        self,
        session_id: str,
        session: schema.NewSessionResponse | schema.LoadSessionResponse | schema.ResumeSessionResponse,
        model: str,
    ) -> None:
        """Forces the asking mode, whatever the session came back in."""
        assert self._connection is not None
        modes = session.modes
        offered = {mode.id for mode in modes.available_modes} if modes else set()
        wanted = self.launch.mode or next((name for name in ("default", "ask") if name in offered), None)
        if wanted is None and not offered:
            self._mode = None
        elif wanted is None or wanted not in offered:
            raise RuntimeFailed(f"{self._name} has no mode in which it asks before it acts, so it does not run.")
        else:
            await self._within(self._connection.set_session_mode(session_id=session_id, mode_id=wanted))
            self._mode = wanted
        self._mode_holds = True
        if model and self.launch.runtime not in {"claude", "codex", "opencode", "gemini"}:
            await self._choose(session_id, session.config_options or [], model)

    async def _choose(self, session_id: str, options: list[Any], model: str) -> None:
        assert self._connection is not None
        option = next((option for option in options if option.category == "model"), None)
        try:
            if option is None:
                raise RequestError.method_not_found("model")
            await self._within(
                self._connection.set_config_option(config_id=option.id, session_id=session_id, value=model)
            )
        except RequestError:
            self.warnings.append(f"{self._name} can't be told to use the model {model}; it uses its own.")

    def _refused(self, error: RequestError) -> Trouble:
        if error.code == _AUTH_REQUIRED:
            how = {
                "claude": "claude, then /login",
                "codex": "codex login",
                "gemini": "gemini",
                "opencode": "opencode auth login",
            }
            mend = how.get(self.launch.runtime, "see its documentation")
            return NotReady(f"{self._name} is not signed in on this machine. Sign in: {mend}")
        detail = error.data.get("details") if isinstance(error.data, dict) else None
        return RuntimeFailed(f"{self._name} refused to begin: {error}{f' ({detail})' if detail else ''}")

    # --- a prompt

    async def prompt(self, text: str, images: list[tuple[str, str]]) -> schema.PromptResponse:
        """Sends the prompt and waits for its end; ``images`` are base64 and content type."""
        assert self._connection is not None
        blocks: list[Any] = [acp.text_block(text)]
        blocks += [acp.image_block(data, content_type) for data, content_type in images if self.takes_images]
        return await self._connection.prompt(session_id=self.session_id, prompt=blocks)

    async def cancel(self) -> None:
        if self._connection:
            with contextlib.suppress(ConnectionError, OSError):
                await self._connection.cancel(session_id=self.session_id)

    # --- what the runtime says and asks

    def _observe(self, event: StreamEvent) -> None:
        """Sees every raw message in order; the typed layer would drop the kinds that it does not know."""
        message = event.message
        if event.direction is not StreamDirection.INCOMING or message.get("method") != "session/update":
            return
        params = message.get("params")
        update = params.get("update") if isinstance(params, dict) else None
        if not isinstance(update, dict):
            return
        self._watch_mode(update)
        if self.turn and isinstance(params, dict) and params.get("sessionId") == self.session_id:
            self.turn.on_update(update)

    def _watch_mode(self, update: Mapping[str, Any]) -> None:
        now: Any = None
        if update.get("sessionUpdate") == "current_mode_update":
            now = update.get("currentModeId")
        elif update.get("sessionUpdate") == "config_option_update":
            options = update.get("configOptions")
            for option in options if isinstance(options, list) else []:
                if isinstance(option, dict) and (option.get("category") == "mode" or option.get("id") == "mode"):
                    now = option.get("currentValue")
        if isinstance(now, str) and self._mode_holds and self._mode and now != self._mode and self.turn:
            self.turn.on_alarm(f"{self._name} left its asking mode for “{now}”.")

    async def _on_hook(self, call: HookCall) -> HookAnswer:
        if self.turn is None:
            return HookAnswer(False, "No request is running; nothing may run.")
        return await self.turn.on_hook(call)

    def call_of(self, asked: schema.ToolCallUpdate) -> Call:
        """The call behind a permission request; some runtimes name only the id of one that came before."""
        name, title, raw = self.turn.known(asked.tool_call_id) if self.turn else ("", "", None)
        meta = asked.field_meta or {}
        claude = meta.get("claudeCode")
        extra = asked.model_extra or {}
        said = extra.get("name") or (claude.get("toolName") if isinstance(claude, dict) else None)
        name = said if isinstance(said, str) else name
        raw = asked.raw_input if asked.raw_input not in (None, {}) else raw
        tool = tool_of(name, asked.kind)
        title = asked.title or title
        command = command_of(raw)
        if command is None and tool == "execute":
            command = title  # Gemini says the command nowhere else
        diffs = tuple(
            (content.path, content.old_text or "", content.new_text)
            for content in asked.content or []
            if isinstance(content, schema.FileEditToolCallContent)
        )
        spots = [spot.path for spot in asked.locations or []] + [path for path, _, _ in diffs]
        return Call(
            id=asked.tool_call_id,
            tool=tool,
            name=name,
            title=title,
            command=command,
            paths=paths_of(raw, spots),
            raw=raw,
            workdir=self.cwd,
            cwd=placed(raw, str(self.cwd)),
            diffs=diffs,
            escalates=self.launch.codex_hook,
        )


class _Listener:
    """The client's side of the protocol: answers what the runtime asks, offers no files and no terminals."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime

    def on_connect(self, conn: object) -> None:
        """Nothing to remember."""

    async def session_update(self, session_id: str, update: object, **more: Any) -> None:
        """Seen raw and in order by the observer."""

    async def request_permission(
        self, session_id: str, tool_call: schema.ToolCallUpdate, options: list[schema.PermissionOption], **more: Any
    ) -> schema.RequestPermissionResponse:
        turn = self._runtime.turn
        decision = Decision(False) if turn is None else await turn.on_permission(self._runtime.call_of(tool_call))
        kind = "allow_once" if decision.allow else "reject_once"
        option = next((option for option in options if option.kind == kind), None)
        meta = {"agentroom": {"note": decision.note, "reason": decision.reason}} if decision.reason else None
        if option is None:
            return schema.RequestPermissionResponse(outcome=schema.DeniedOutcome(outcome="cancelled"), field_meta=meta)
        return schema.RequestPermissionResponse(
            outcome=schema.AllowedOutcome(outcome="selected", option_id=option.option_id), field_meta=meta
        )

    async def create_elicitation(self, message: str, mode: Any, **more: Any) -> Any:
        turn = self._runtime.turn
        if turn is None or getattr(mode, "requested_schema", None) is None:
            return schema.DeclineElicitationResponse(action="decline")
        form = mode.requested_schema.model_dump(by_alias=True, exclude_none=True, mode="json")
        content: dict[str, Any] = {}
        for field in fields(message, form):
            answer = await turn.on_question(field.text, list(field.options), getattr(mode, "tool_call_id", None) or "")
            if answer is None:
                return schema.DeclineElicitationResponse(action="decline")
            content |= field.fill(answer)
        return schema.AcceptElicitationResponse(action="accept", content=cast(Any, content))

    async def complete_elicitation(self, elicitation_id: str, **more: Any) -> None:
        """Only for forms behind links, which we decline."""

    async def ext_method(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        raise RequestError.method_not_found(f"_{method}")

    async def ext_notification(self, method: str, params: dict[str, Any]) -> None:
        """Vendors' own words; none is needed."""
