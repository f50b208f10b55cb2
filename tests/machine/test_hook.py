import asyncio
import json
import os
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from agentroom_machine.daemon.hook import HookAnswer, HookCall, HookServer, probe
from agentroom_machine.runtimes.launch import HOOK_PROGRAM, codex_hook_command

CALL = json.dumps({"tool_name": "Bash", "tool_use_id": "t1", "tool_input": {"command": "ls"}, "cwd": "/w"})


class Desk:
    def __init__(self) -> None:
        self.calls: list[HookCall] = []
        self.answer = HookAnswer(True)

    async def decide(self, call: HookCall) -> HookAnswer:
        self.calls.append(call)
        return self.answer


@pytest.fixture
async def desk() -> AsyncIterator[tuple[Desk, HookServer]]:
    desk = Desk()
    server = HookServer(desk.decide)
    await server.start()
    yield desk, server
    await server.close()


async def run(socket: str, call: str = CALL) -> tuple[int, str]:
    def program() -> tuple[int, str]:
        done = subprocess.run(
            [sys.executable, "-I", str(HOOK_PROGRAM)],
            input=call,
            env={"AGENTROOM_HOOK": socket},
            capture_output=True,
            text=True,
            timeout=20,
            check=False,
        )
        return done.returncode, done.stderr

    return await asyncio.to_thread(program)


async def test_a_call_is_put_to_the_daemon_and_goes_on_when_it_may(desk: tuple[Desk, HookServer]) -> None:
    assert await run(desk[1].path) == (0, "")
    assert desk[0].calls == [HookCall("t1", "Bash", {"command": "ls"}, "/w")]


async def test_a_command_that_the_runtime_would_refuse_goes_on_in_other_words(desk: tuple[Desk, HookServer]) -> None:
    desk[0].answer = HookAnswer(True, instead="eval 'rm -f x'")
    code, said = await asyncio.to_thread(printed, desk[1].path)
    assert code == 0
    told = json.loads(said)["hookSpecificOutput"]
    assert (told["permissionDecision"], told["updatedInput"]) == ("allow", {"command": "eval 'rm -f x'"})


def printed(socket: str) -> tuple[int, str]:
    words, env = [sys.executable, "-I", str(HOOK_PROGRAM)], {"AGENTROOM_HOOK": socket}
    done = subprocess.run(words, input=CALL, env=env, capture_output=True, text=True, timeout=20, check=False)
    return done.returncode, done.stdout


async def test_a_no_reaches_the_agent_with_its_reason(desk: tuple[Desk, HookServer]) -> None:
    desk[0].answer = HookAnswer(False, "The owner declined: not now; go on without it.")
    assert await run(desk[1].path) == (2, "The owner declined: not now; go on without it.\n")


@pytest.mark.parametrize("call", ["", "not json", "[]", '{"tool_input": {}}'])
async def test_what_can_not_be_read_is_refused(desk: tuple[Desk, HookServer], call: str) -> None:
    assert (await run(desk[1].path, call))[0] == 2
    assert desk[0].calls == []


@pytest.mark.parametrize("socket", ["", "/nowhere/hook"])
async def test_without_a_daemon_nothing_goes_on(socket: str) -> None:
    assert (await run(socket))[0] == 2


async def test_a_daemon_that_goes_away_while_it_is_asked_is_a_no() -> None:
    asked = asyncio.Event()

    async def never(call: HookCall) -> HookAnswer:
        asked.set()
        await asyncio.Event().wait()
        raise AssertionError

    server = HookServer(never)
    await server.start()
    running = asyncio.create_task(run(server.path))
    await asked.wait()
    await server.close()
    assert (await running)[0] == 2
    assert not Path(server.path).parent.exists()


async def test_only_this_person_reaches_the_socket(desk: tuple[Desk, HookServer]) -> None:
    path = Path(desk[1].path)
    assert path.stat().st_mode & 0o077 == 0
    assert path.parent.stat().st_mode & 0o077 == 0


async def test_the_probe_says_whether_the_hook_can_run(desk: tuple[Desk, HookServer]) -> None:
    assert await probe(desk[1].path) == ""
    assert "can't run" in await probe("/nowhere/hook")
    assert desk[0].calls == []


def test_codex_takes_a_hook_that_can_not_start_for_a_no() -> None:
    command = codex_hook_command().replace(str(HOOK_PROGRAM), "/nowhere/hook.py")
    done = subprocess.run(
        ["sh", "-c", command], input=CALL, text=True, capture_output=True, env=dict(os.environ), check=False
    )
    assert done.returncode == 2
