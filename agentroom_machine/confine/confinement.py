"""Puts a runtime into its box: its own sandbox where it has one, a box around the whole process otherwise."""

from __future__ import annotations

import asyncio
import copy
import dataclasses
import os
import shutil
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from agentroom_machine import wire
from agentroom_machine.confine import own, room_home, secrets, support
from agentroom_machine.confine.box import INSIDE, Box, programs
from agentroom_machine.confine.choice import Choice
from agentroom_machine.confine.environment import KEYS, environment, logins, proxied
from agentroom_machine.confine.hosts import Allowed, allowed
from agentroom_machine.confine.proxy import Proxy
from agentroom_machine.danger.policy import Policy, load
from agentroom_machine.errors import Trouble
from agentroom_machine.profile import Profile
from agentroom_machine.runtimes.launch import Launch

SWITCHED_OFF = "its owner switched confinement off on this machine"
_DOOR = 3128
_BRIDGE = Path(__file__).with_name("bridge.py")


@dataclass
class Confined:
    """A launch in its box, with what must live as long as the process."""

    launch: Launch
    found: secrets.Found
    guards: Path
    """Where the process sees git's alarms."""
    box: Box | None = None
    proxy: Proxy | None = None

    def still_fits(self, found: secrets.Found) -> bool:
        """Whether the box hides what lies in the working directory now."""
        return {*found.files, *found.folders, *found.repositories} <= {
            *self.found.files, *self.found.folders, *self.found.repositories,
        }  # fmt: skip

    async def close(self) -> None:
        if self.proxy:
            await self.proxy.close()
        if self.box:
            await asyncio.to_thread(self.box.close)


class Confinement:
    """What this machine can confine, and how."""

    def __init__(self, profile: Profile, environ: Mapping[str, str] | None = None) -> None:
        self._profile, self._choice = profile, Choice(profile)
        self._environ = environ if environ is not None else os.environ

    @property
    def _home(self) -> Path:
        return Path(os.path.realpath(self._environ.get("HOME") or Path.home()))

    def why_not(self, agent: wire.AgentConfig) -> str:
        """Why this agent runs without confinement, in words for the room; empty when it is confined. Blocks."""
        if agent.id in self._choice.unconfined():
            return SWITCHED_OFF
        if missing := support.missing():
            return missing
        if agent.runtime == "claude" and not shutil.which("socat", path=self._environ.get("PATH")):
            return "Claude Code's sandbox needs socat, which is not installed (Debian: sudo apt-get install socat)"
        if self._home.is_relative_to(os.path.realpath(Path(agent.workdir).expanduser())):
            return "its working directory holds the whole home folder; give it a folder of its own"
        return ""

    async def enter(
        self,
        how: Launch,
        agent: wire.AgentConfig,
        *,
        room_id: int,
        memory: int,
        cwd: Path,
        guards: Path,
        mail: Path | None = None,
    ) -> Confined:
        """The launch, confined; raises Trouble when it can't be, so that nothing runs outside unnoticed.

        ``guards`` is the folder of git's alarms, and ``mail`` that of the way to the inbox; both are shown inside.
        """
        policy = await asyncio.to_thread(self.policy, agent)
        found = await asyncio.to_thread(secrets.look, cwd, policy)
        if how.runtime in {"claude", "codex"}:
            launch = await asyncio.to_thread(self._own, how, agent, room_id, cwd, found, policy, guards)
            return Confined(launch, found, guards)
        return await self._boxed(how, agent, room_id, memory, cwd, found, policy, guards, mail)

    def policy(self, agent: wire.AgentConfig) -> Policy:
        """What the owner wrote about this agent; raises Trouble when it can't be read. Blocks."""
        try:
            return load(self._profile.policy_file(agent.handle))
        except ValueError as error:
            raise Trouble(f"{self._profile.policy_file(agent.handle)} can't be read: {error}") from None

    def _folder(self, agent: wire.AgentConfig, room_id: int) -> Path:
        return self._profile.scratch / "rooms" / f"{agent.id}-{room_id}"

    def _own(
        self,
        how: Launch,
        agent: wire.AgentConfig,
        room_id: int,
        cwd: Path,
        found: secrets.Found,
        policy: Policy,
        guards: Path,
    ) -> Launch:
        apart = self._apart(cwd, guards)
        if how.runtime == "claude":
            hide = apart if cwd.is_relative_to(self._profile.folder.resolve()) else [self._profile.folder]
            meta = copy.deepcopy(how.meta)
            options = meta["claudeCode"]["options"]
            own.claude(
                options, workdir=cwd, home=self._home, hide=hide, show=[guards], found=found, hosts=policy.hosts,
                env=how.env,
            )  # fmt: skip
            return dataclasses.replace(how, meta=meta)
        env = dict(how.env)
        read = [*programs(env.get("PATH", ""), self._home), guards]
        wrapper = self._folder(agent, room_id) / "codex"
        own.codex(
            env, program=Path(how.command[0]), workdir=cwd, home=self._home, hide=apart, found=found, read=read,
            wrapper=wrapper, more=how.codex_settings,
        )  # fmt: skip
        return dataclasses.replace(how, env=env, mode=own.CODEX_MODE)

    def loose(self, how: Launch, agent: wire.AgentConfig, *, room_id: int) -> Launch:
        """The launch without a box, with what has to stand on the runtime's own command line. Blocks."""
        if not how.codex_settings:
            return how
        env = dict(how.env)
        binary = own.codex_binary(Path(how.command[0]), env)
        own.codex_wrapper(env, binary, how.codex_settings, self._folder(agent, room_id) / "codex")
        return dataclasses.replace(how, env=env)

    def _apart(self, *shown: Path) -> list[Path]:
        """Everything of the profile but what is shown of it: git's alarms, and a room's worktree if it works there."""
        hidden: list[Path] = []
        waiting = [self._profile.folder.resolve()]
        while waiting:
            for path in waiting.pop().iterdir():
                if path not in shown:
                    inside = any(one.is_relative_to(path) for one in shown)
                    (waiting if inside else hidden).append(path)
        return hidden

    async def _boxed(
        self,
        how: Launch,
        agent: wire.AgentConfig,
        room_id: int,
        memory: int,
        cwd: Path,
        found: secrets.Found,
        policy: Policy,
        guards: Path,
        mail: Path | None,
    ) -> Confined:
        box = Box(cwd, self._home, Path(), hide=[self._profile.folder.resolve()])
        box.show.append((guards, INSIDE / "guards"))
        if mail:
            box.show.append((mail, INSIDE / "mail"))
        ways = self._ways(how, policy)
        proxy = Proxy(ways) if ways else None
        try:
            if proxy:
                await proxy.start()
            launch = await asyncio.to_thread(self._in_box, how, agent, room_id, memory, box, proxy, found)
        except BaseException:
            if proxy:
                await proxy.close()
            box.close()
            raise
        return Confined(launch, found, INSIDE / "guards", box, proxy)

    def _ways(self, how: Launch, policy: Policy) -> Allowed:
        """A runtime that nobody knows reaches the models for which the owner's environment has a key."""
        known = how.runtime in {"demo", "gemini", "opencode"}
        more = () if known else tuple(KEYS[name] for name in logins(how.runtime) if how.env.get(name))
        return allowed(how.runtime, how.env, (*more, *policy.hosts))

    def _in_box(
        self,
        how: Launch,
        agent: wire.AgentConfig,
        room_id: int,
        memory: int,
        box: Box,
        proxy: Proxy | None,
        found: secrets.Found,
    ) -> Launch:
        program = Path(how.command[0]).name
        env = environment(how.env, how.runtime, box.home)
        box.room_home = room_home.prepare(
            box, runtime=how.runtime, program=program, folder=self._folder(agent, room_id) / "home", memory=memory
        )
        box.read += [*programs(env.get("PATH", ""), box.home), *_interpreter(), *_files(how.command)]
        if how.runtime == "demo":
            env["AGENTROOM_DEMO_STATE"] = str(box.home / ".agentroom-demo")
        for path in how.writes:
            path.touch(mode=0o600)
            box.write.append((path, path))
        inner = list(how.command)
        if proxy:
            box.show += [(proxy.path, INSIDE / "proxy"), (_BRIDGE, INSIDE / "bridge.py")]
            doors = [f"{target.port}={target}" for target in proxy.allowed.doors()]
            bridge = [os.path.realpath(sys.executable), "-I", "-S", str(INSIDE / "bridge.py"), str(INSIDE / "proxy")]
            inner = [*bridge, str(_DOOR), *doors, "--", *inner]
            env |= proxied(_DOOR)
        return dataclasses.replace(how, command=box.command(inner, found), env=env)


def _interpreter() -> list[Path]:
    """Where this Python and this package are."""
    package = Path(__file__).parent.parent
    places = [Path(sys.prefix), Path(sys.base_prefix), Path(os.path.realpath(sys.executable)).parent.parent, package]
    return [path.resolve() for path in places if not path.resolve().is_relative_to("/usr")]


def _files(command: list[str]) -> list[Path]:
    """The program itself and the files that its command line names, wherever they lie."""
    places = [Path(word) for word in command if Path(word).is_absolute() and Path(word).is_file()]
    return [path for place in places for path in {place, Path(os.path.realpath(place))}]
