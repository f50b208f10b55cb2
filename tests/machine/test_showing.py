"""How a call is put into words: for the owner who decides, and for the others in the room."""

from __future__ import annotations

from pathlib import Path

import pytest

from agentroom_machine.daemon import showing
from agentroom_machine.daemon.call import Call
from agentroom_machine.daemon.push import PushPlan, Ref

MAIN, TAG = Ref("refs/heads/main", "a" * 40), Ref("refs/tags/v2", "b" * 40)
FORCED = Ref("refs/heads/main", "a" * 40, force=True)


BOOKING = "git.example.com/kitchen/booking"


def call(command: str) -> Call:
    return Call("1", "execute", "Bash", "", command, (), {"command": command}, Path("/tmp"))


def plan(url: str, *refs: Ref) -> PushPlan:
    return PushPlan("git push", url, refs, Path("/tmp/kitchen/.git"))


@pytest.mark.parametrize(
    ("plan", "words"),
    [
        (plan("ssh://git@git.example.com/kitchen/booking.git", MAIN), f"push main to {BOOKING}"),
        (plan("git@git.example.com:kitchen/booking.git", MAIN, TAG), f"push main, tag v2 to {BOOKING}"),
        (plan("https://bob:secret@git.example.com/booking", MAIN), "push main to git.example.com/booking"),
        (plan("/home/alice/shop-remote.git", FORCED), "push main to shop-remote.git by force"),
        (plan("/home/alice/shop", Ref("refs/heads/old")), "remove old at shop"),
        (plan("/home/alice/shop", MAIN, Ref("refs/heads/old")), "push main to shop and remove old there"),
        (plan("/x/y", *(Ref(f"refs/heads/{n}", "a" * 40) for n in range(5))), "push 0, 1, 2 and 2 more to y"),
    ],
)  # fmt: skip
def test_a_push_that_is_known_whole_says_what_goes_where(plan: PushPlan, words: str) -> None:
    assert showing.push(plan) == words


@pytest.mark.parametrize(
    ("command", "short"),
    [("rm -rf build", "run `rm -rf build`"), ("rm `cat old`", "run rm `cat old`"), ("a\n b", "run `a b`")],
)
def test_the_room_sees_a_command_in_one_line_as_code(command: str, short: str) -> None:
    assert showing.words(call(command)) == ("run a command", short)


def test_a_long_command_is_cut_for_the_room() -> None:
    assert showing.words(call("x" * 500))[1] == f"run `{'x' * 119}…`"
