"""One turn from the server's yes to its end: prompt the agent, tell what it does, say how it ended."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import sqlite3
import tempfile
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from pathlib import Path
from typing import Any, Literal

from acp import schema
from acp.exceptions import RequestError

from agentroom_machine import wire
from agentroom_machine.client import Client
from agentroom_machine.confine import repository, secrets
from agentroom_machine.daemon import files, snapshot
from agentroom_machine.daemon.call import Call, as_asked, from_hook, passable
from agentroom_machine.daemon.changes import Changes
from agentroom_machine.daemon.differing import Changed
from agentroom_machine.daemon.gate import Gate
from agentroom_machine.daemon.gatekeeper import Decision, Gatekeeper
from agentroom_machine.daemon.hook import HookAnswer, HookCall
from agentroom_machine.daemon.journal import Journal
from agentroom_machine.daemon.outside import Outside
from agentroom_machine.daemon.owner import Owner
from agentroom_machine.daemon.prompt import compose
from agentroom_machine.daemon.redact import Redactor, clean
from agentroom_machine.daemon.restore import NoSnapshot, Snapshots
from agentroom_machine.daemon.session import Session, Sessions
from agentroom_machine.daemon.translate import Picture, SeenCall, Translator, line
from agentroom_machine.daemon.undoable import undoable
from agentroom_machine.daemon.workspace import prepare
from agentroom_machine.errors import Offline, Rejected, Trouble

GRACE = 3.0
"""Seconds that an agent gets to end by itself after it was told to."""
_TICK = 0.1
_BIG_IMAGE = 5_000_000
_STOP_REASONS = {
    "max_tokens": "the model's answer became too long",
    "max_turn_requests": "the agent made too many model requests",
    "refusal": "the model refused to go on",
    "cancelled": "the agent ended its turn by itself",
}
_HOOKED = {"execute", "edit", "delete", "move", "fetch"}


class Stopped(Exception):
    """The turn was told to end before it had come to an end."""


class TurnRun:
    """Runs one turn. ``write`` journals a fact; nothing else leaves."""

    def __init__(
        self,
        offer: wire.Offer,
        *,
        journal: Journal,
        write: Callable[[int, wire.Fact, Path | None], None],
        owner: Owner,
        sessions: Sessions,
        client: Client,
        redact: Redactor,
        worktrees: Path,
        snapshots: Snapshots,
    ) -> None:
        self.offer = offer
        self._snapshots = snapshots
        self._journal, self._write, self._owner = journal, write, owner
        self._sessions, self._client, self._redact, self._worktrees = sessions, client, redact, worktrees
        self._ending: tuple[Literal["stopped", "failed"], str] | None = None
        self._told_to_end = asyncio.Event()
        self._dropped = False
        self._translator: Translator | None = None
        self._gatekeeper: Gatekeeper | None = None
        self._outside: Outside | None = None
        self._hooked: set[str] = set()
        self._said: dict[str, str] = {}
        """Commands in the words that Codex takes, and as the owner saw them."""
        self._session: Session | None = None
        self._pictures = 0
        self._questions: set[asyncio.Future[wire.Verdict]] = set()

    # --- from outside

    def end(self, state: Literal["stopped", "failed"], reason: str) -> bool:
        """Tells the turn to end; the first reason counts. False when it was told before."""
        first = self._ending is None
        self._ending = self._ending or (state, reason)
        self._told_to_end.set()
        return first

    def drop(self) -> bool:
        """The server has ended the turn: kill what runs, say nothing more about it. False when it was told before."""
        first, self._dropped = not self._dropped, True
        self.end("stopped", "")
        return first

    async def run(self) -> None:
        """Runs the turn to its end, which is journaled, whatever happens."""
        try:
            end = await self._work()
        except Stopped:
            end = self._end_as_told()
        except Trouble as trouble:
            end = wire.EndFact(state="failed", reason=self._words(str(trouble)))
        except asyncio.CancelledError:
            raise
        except Exception as error:  # noqa: BLE001 - whatever broke, the room must see the turn end
            end = wire.EndFact(state="failed", reason=self._words(f"Agentroom itself failed: {error!r}"))
        finally:
            if self._session:
                self._session.runtime.turn = None
                self._sessions.release(self._session)
        if self._dropped:
            self._journal.drop_turn(self.offer.turn_id)
        else:
            self._say(end)

    # --- the turn

    async def _work(self) -> wire.EndFact:
        offer = self.offer
        cwd = await self._unless_ended(asyncio.to_thread(prepare, offer.agent, offer.room_id, self._worktrees))
        session = self._session = await self._unless_ended(self._sessions.open(offer, cwd))
        policy = await self._unless_ended(asyncio.to_thread(self._sessions.policy, offer.agent))
        attached, images, notices = await self._unless_ended(self._attachments(cwd))
        before = await self._unless_ended(asyncio.to_thread(snapshot.take, cwd))
        notices += await self._unless_ended(asyncio.to_thread(self._take_snapshot, cwd))
        if self._told_to_end.is_set():
            raise Stopped
        # From here on something may have been done, and the turn never runs again by itself.
        self._journal.mark_running(offer.turn_id)
        for notice in [*session.notices, *notices]:
            self._notice(notice)
        session.notices.clear()
        changes = Changes(emit=self._say, redact=self._redact, workdir=cwd, share_diffs=offer.agent.share_diffs)
        translator = self._translator = Translator(
            offer.turn_id,
            emit=self._say,
            picture=self._on_picture,
            redact=self._redact,
            workdir=cwd,
            changes=changes,
        )
        self._outside = Outside(
            offer.turn_id,
            journal=self._journal,
            notice=self._notice,
            did=self._did,
            guards=session.guards,
            by_hook=session.runtime.launch.hook,
            within=[cwd, Path(offer.agent.workdir)],
        )
        self._gatekeeper = Gatekeeper(
            handle=offer.agent.handle,
            gate=Gate(
                policy,
                session.part_confined(),
                walled=session.runtime.launch.runtime == "codex",
                mail=session.mail is not None,
            ),
            ask=self._ask_owner,
            redact=self._redact,
            key=translator.key,
            on_refused=lambda call: translator.refused(call.id, call.name, call.raw, call.title),
            before_asking=translator.flush_text,
            outside=self._outside,
        )
        new = session.opened is not None and session.opened.how == "new"
        session.runtime.turn = self
        try:
            end = await self._prompt(session, compose(offer, attached, new_session=new), images)
        finally:
            session.runtime.turn = None
            await self._take_back_questions()
            await self._outside.settle()
            await asyncio.to_thread(self._unplant, cwd)
        session.opened = None  # the next turn continues it
        if self._dropped:
            return end
        translator.finish(completed=end.state == "done")
        await self._tell_changes(before, changes, cwd)
        if fact := undoable(await asyncio.to_thread(self._settle_snapshot), self._redact):
            changes.removed(fact.deleted)
            self._say(fact)
        return end

    def _unplant(self, cwd: Path) -> None:
        """Looks at every repository in the working directory: none may lead its owner's git elsewhere."""
        for git in secrets.look(cwd).repositories:
            with contextlib.suppress(OSError):
                if repository.unplant(git):
                    where = git.parent.relative_to(cwd)
                    self._notice(f"A file that would have made git read settings from elsewhere was removed: {where}.")

    def _take_snapshot(self, cwd: Path) -> list[str]:
        try:
            whole = self._snapshots.take(self.offer.turn_id, cwd)
        except OSError as error:
            return [f"No snapshot could be made, so this request can't be undone: {error.strerror or error}."]
        large = "The working directory is too large to be kept whole; what is left out can't be put back by an undo."
        return [] if whole else [large]

    def _settle_snapshot(self) -> list[Changed]:
        try:
            return self._snapshots.settle(self.offer.turn_id)
        except (NoSnapshot, OSError):
            return []

    async def _prompt(self, session: Session, text: str, images: list[tuple[str, str]]) -> wire.EndFact:
        runtime = session.runtime
        assert runtime.tree is not None
        prompting = asyncio.ensure_future(runtime.prompt(text, images))
        died = asyncio.ensure_future(runtime.tree.ended())
        told = asyncio.ensure_future(self._told_to_end.wait())
        try:
            done: set[asyncio.Future[Any]] = set()
            while not done:
                done, _ = await asyncio.wait(
                    {prompting, died, told}, timeout=_TICK, return_when=asyncio.FIRST_COMPLETED
                )
                if self._translator:
                    self._translator.tick()
            if told in done and prompting not in done:
                await self._wind_up(session, prompting)
                return self._end_as_told()
            if prompting not in done:
                with contextlib.suppress(TimeoutError):  # what it said last may still be on the way
                    await asyncio.wait_for(asyncio.shield(prompting), 0.5)
            if not prompting.done():
                raise ConnectionError
            return self._ended(await prompting)
        except (ConnectionError, OSError):
            words = runtime.last_words()
            await self._sessions.discard(session)
            if self._ending:
                return self._end_as_told()
            return wire.EndFact(state="failed", reason=self._words(f"The agent's process ended.{words}"))
        except RequestError as error:
            words = runtime.last_words()
            await self._sessions.discard(session)
            if self._ending:
                return self._end_as_told()
            detail = error.data if isinstance(error.data, str) else (error.data or {}).get("details", "")
            return wire.EndFact(state="failed", reason=self._words(f"The agent failed: {error} {detail}{words}"))
        finally:
            for task in (prompting, died, told):
                task.cancel()
            await asyncio.gather(prompting, died, told, return_exceptions=True)

    async def _wind_up(self, session: Session, prompting: asyncio.Future[Any]) -> None:
        """Cancels, waits a little, then ends every process: a cancelled command may go on in a session of its own."""
        await session.runtime.cancel()
        await self._take_back_questions()
        with contextlib.suppress(Exception):
            async with asyncio.timeout(GRACE):
                await asyncio.shield(prompting)
        await self._sessions.discard(session)

    async def _take_back_questions(self) -> None:
        if self._gatekeeper:
            await self._gatekeeper.close()
        asking = list(self._questions)
        for question in asking:
            question.cancel()
        await asyncio.gather(*asking, return_exceptions=True)

    def _ended(self, reply: schema.PromptResponse) -> wire.EndFact:
        if self._ending:
            return self._end_as_told()
        usage = self._usage(reply)
        if reply.stop_reason == "end_turn":
            return wire.EndFact(state="done", usage=usage)
        reason = _STOP_REASONS.get(reply.stop_reason, reply.stop_reason)
        if reply.stop_reason == "cancelled" and self._gatekeeper and self._gatekeeper.refusals:
            reason = "the agent ended its turn because the owner declined"
        return wire.EndFact(state="failed", reason=self._words(reason), usage=usage)

    def _usage(self, reply: schema.PromptResponse) -> wire.Usage | None:
        cost = self._translator.cost if self._translator else ""
        if reply.usage is None:
            return wire.Usage(cost_usd=cost) if cost else None
        return wire.Usage(input_tokens=reply.usage.input_tokens, output_tokens=reply.usage.output_tokens, cost_usd=cost)

    def _end_as_told(self) -> wire.EndFact:
        state, reason = self._ending or ("failed", "it ended without a reason")
        return wire.EndFact(state=state, reason=self._words(reason))

    async def _unless_ended[Result](self, work: Coroutine[Any, Any, Result]) -> Result:
        """The result, unless the turn is told to end meanwhile."""
        task = asyncio.ensure_future(work)
        told = asyncio.ensure_future(self._told_to_end.wait())
        try:
            await asyncio.wait({task, told}, return_when=asyncio.FIRST_COMPLETED)
            if not task.done():
                raise Stopped
            return await task
        finally:
            task.cancel()
            told.cancel()
            await asyncio.gather(task, told, return_exceptions=True)

    # --- files

    async def _attachments(self, cwd: Path) -> tuple[list[str], list[tuple[str, str]], list[str]]:
        """Saves what is attached; gives relative paths, images as base64 with type, and words about failures."""
        paths: list[str] = []
        images: list[tuple[str, str]] = []
        notices: list[str] = []
        for attached in self.offer.attachments:
            name = line(attached.name, 100)
            try:
                content = await self._fetch(attached.sha256)
                folder = await asyncio.to_thread(files.place_for, cwd, self.offer.turn_id)
                saved = await asyncio.to_thread(files.save, folder, clean(attached.name), content)
            except Rejected as refusal:
                notices.append(f"The attached file {name} could not be fetched: {refusal}")
                continue
            except OSError as error:
                notices.append(f"The attached file {name} could not be saved: {error.strerror or error}")
                continue
            paths.append(saved.relative_to(cwd).as_posix())
            if attached.content_type.startswith("image/") and len(content) <= _BIG_IMAGE:
                images.append((base64.b64encode(content).decode(), attached.content_type))
        return paths, images, notices

    async def _fetch(self, sha256: str) -> bytes:
        delay = 0.5
        while True:
            try:
                return await self._client.attachment(self.offer.turn_id, sha256)
            except Offline:
                await asyncio.sleep(delay)
                delay = min(delay * 2, 10)

    async def _tell_changes(self, before: snapshot.Snapshot, changes: Changes, cwd: Path) -> None:
        found = await asyncio.to_thread(snapshot.differences, before)
        for item in found[:1000]:
            changes.total(item.path, item.change, item.old, item.new)
        if len(found) > 1000:
            self._notice(f"{len(found) - 1000} more files changed; they are not listed.")
        if not before.complete:
            self._notice("The working directory is too large to look at whole; some changed files may not be listed.")
        produced, words = await asyncio.to_thread(files.produced, cwd, found, self._redact)
        for file in produced:
            try:
                self._write(self.offer.turn_id, file.fact, file.path)
            except OSError:
                words.append(f"{file.fact.name} was still being written; it is not shown.")
        for text in words:
            self._notice(text)

    def _did(self, call: Call, *, done: bool, output: str) -> None:
        assert self._translator is not None
        self._translator.did(call.id, call.name, call.raw, call.title, done=done, output=output)

    def _on_picture(self, picture: Picture) -> None:
        if self._pictures >= files.MOST_FILES:
            return
        self._pictures += 1
        with tempfile.TemporaryDirectory() as folder:
            kept = files.picture(picture.data, picture.content_type, f"image-{self._pictures}", Path(folder))
            if kept:
                self._write(self.offer.turn_id, kept.fact, kept.path)

    # --- what the runtime says and asks (see runtime.Turn)

    def on_update(self, update: Mapping[str, Any]) -> None:
        assert self._translator is not None
        try:
            self._translator.take(as_asked(update, self._said))
        except (OSError, sqlite3.Error) as error:
            self.end("failed", f"the journal can't be written: {error}")
            return
        if self._session and self._session.runtime.launch.hook:
            self._watch(update, self._translator.calls.get(str(update.get("toolCallId"))))

    def _watch(self, update: Mapping[str, Any], seen: SeenCall | None) -> None:
        """Sees what a runtime did without putting it to its hook first: too late for that call, not for the next."""
        meta = update.get("_meta")
        typed = meta.get("terminal_input") if isinstance(meta, Mapping) else None
        data = typed.get("data") if isinstance(typed, Mapping) else None
        if isinstance(data, str) and data.strip("\x03\x04\r\n "):
            # Codex asks nobody before it types into a command that runs; only breaking it off is harmless.
            self.on_alarm("The agent typed into a running command, which the owner can't be asked about.")
        elif (
            seen
            and update.get("status") == "completed"
            and seen.tool in _HOOKED
            and seen.name != "write_stdin"
            and seen.id not in self._hooked
        ):
            self.on_alarm("A tool call ran that was never put to the owner's gate.")

    def on_alarm(self, words: str) -> None:
        self.end("failed", words)

    def known(self, call_id: str) -> tuple[str, str, Any]:
        seen = self._translator.calls.get(call_id) if self._translator else None
        return (seen.name, seen.title, seen.raw) if seen else ("", "", None)

    async def on_hook(self, call: HookCall) -> HookAnswer:
        assert self._session is not None
        assert self._gatekeeper is not None
        self._hooked.add(call.id)
        put = from_hook(call.id, call.name, call.input, call.cwd, self._session.cwd)
        decision = await self._decide(self._gatekeeper, put)
        approved = self._session.runtime.launch.codex_hook and decision.allow and not decision.unasked
        instead = passable(put) if approved else ""
        if instead:
            self._said[instead] = put.command or ""
        return HookAnswer(decision.allow, decision.reason, instead)

    async def on_permission(self, call: Call) -> Decision:
        assert self._gatekeeper is not None
        return await self._decide(self._gatekeeper, call)

    @staticmethod
    async def _decide(gatekeeper: Gatekeeper, call: Call) -> Decision:
        try:
            return await gatekeeper.decide(call)
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if task and task.cancelling():
                raise
            return Decision(False, "The request ended.")

    async def on_question(self, text: str, options: list[str], call: str) -> str | None:
        assert self._translator is not None
        self._translator.flush_text()
        words = self._redact(text)
        asking = asyncio.ensure_future(
            self._ask_owner(
                subject="question",
                title=line(f"{self.offer.agent.handle} asks: {words}"),
                action=words[: wire.MAX_TEXT],
                short=line(words, 300),
                options=[line(self._redact(option)) for option in options[:20]],
                call=self._translator.key(call) if call else "",
            )
        )
        self._questions.add(asking)
        try:
            verdict = await asking
        except asyncio.CancelledError:
            return None
        finally:
            self._questions.discard(asking)
        return verdict.answer if verdict.verdict == "once" else None

    def _ask_owner(
        self, *, subject: wire.Subject, title: str, action: str, short: str, options: list[str], call: str
    ) -> Awaitable[wire.Verdict]:
        return self._owner.ask(
            self.offer.turn_id,
            subject=subject,
            title=title,
            action=action,
            short=short,
            options=options,
            call=call,
        )

    # --- words

    def _say(self, fact: wire.Fact) -> None:
        self._write(self.offer.turn_id, fact, None)

    def _notice(self, text: str) -> None:
        self._say(wire.NoticeFact(text=self._words(text)))

    def _words(self, text: str) -> str:
        return line(self._redact(text), 1900)
