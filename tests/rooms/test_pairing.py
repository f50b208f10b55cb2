from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone

from agentroom_machine import wire
from rooms import membership, tokens
from rooms.errors import Conflict, NotFound, Refused
from rooms.membership import pairing as rules
from rooms.models import Connection, Machine, Pairing, User


class Terminal:
    """A machine before it is anybody's: it makes its own secrets and shows only their hashes."""

    def __init__(self, name: str = "laptop") -> None:
        self.token, self.other = tokens.new(tokens.MACHINE), tokens.new(tokens.CONNECTION)
        self.request = wire.PairRequest(
            name=name, token_hash=tokens.digest(self.token), connection_hash=tokens.digest(self.other)
        )

    def asks(self, address: str = "10.0.0.7") -> Pairing:
        return membership.start_pairing(self.request, address)

    @property
    def state(self) -> str:
        return membership.pairing_state(self.token).state


@pytest.fixture
def alice(db: None) -> User:
    return membership.make_person("alice")


def test_a_confirmed_machine_has_its_token_and_a_connection(alice: User) -> None:
    terminal = Terminal()
    pairing = terminal.asks()
    assert terminal.state == "waiting"
    machine = membership.confirm_pairing(alice, pairing.user_code)
    assert (machine.owner, machine.name, machine.token_hash) == (alice, "laptop", tokens.digest(terminal.token))
    connection = Connection.objects.get(machine=machine)
    assert (connection.kind, connection.user, connection.token_hash) == (
        "account",
        alice,
        tokens.digest(terminal.other),
    )
    state = membership.pairing_state(terminal.token)
    assert (state.state, state.machine_id, state.owner) == ("paired", machine.pk, "alice")


def test_the_code_may_be_typed_in_any_way(alice: User) -> None:
    code = Terminal().asks().user_code
    assert membership.waiting_pairing(f" {code.lower().replace('-', ' ')} ").user_code == code
    for wrong in ("", "ABCD", "ABCD-EFGH-IJKL", "🙂"):
        with pytest.raises(NotFound):
            membership.waiting_pairing(wrong)


def test_a_machine_is_confirmed_once(alice: User) -> None:
    code = Terminal().asks().user_code
    membership.confirm_pairing(alice, code)
    with pytest.raises(NotFound):
        membership.confirm_pairing(membership.make_person("charlie"), code)
    with pytest.raises(NotFound):
        membership.decline_pairing(alice, code)
    assert Machine.objects.get().owner == alice


def test_a_declined_machine_is_told(alice: User) -> None:
    terminal = Terminal()
    code = terminal.asks().user_code
    membership.decline_pairing(alice, code)
    assert terminal.state == "declined"
    with pytest.raises(NotFound):
        membership.confirm_pairing(alice, code)
    assert not Machine.objects.exists()


def test_a_code_is_good_for_a_quarter_of_an_hour(alice: User) -> None:
    terminal = Terminal()
    code = terminal.asks().user_code
    Pairing.objects.update(expires_at=timezone.now() - timedelta(seconds=1))
    assert terminal.state == "expired"
    with pytest.raises(NotFound):
        membership.confirm_pairing(alice, code)


def test_asking_again_after_a_lost_answer_is_the_same_pairing(alice: User) -> None:
    terminal = Terminal()
    assert terminal.asks().pk == terminal.asks().pk
    membership.confirm_pairing(alice, terminal.asks().user_code)
    with pytest.raises(Conflict):
        terminal.asks()


def test_secrets_of_another_machine_are_refused(alice: User) -> None:
    first, second = Terminal(), Terminal()
    membership.confirm_pairing(alice, first.asks().user_code)
    for token_hash, connection_hash in (
        (first.request.connection_hash, second.request.connection_hash),
        (second.request.token_hash, first.request.connection_hash),
        (second.request.token_hash, first.request.token_hash),
    ):
        with pytest.raises(Conflict):
            membership.start_pairing(
                wire.PairRequest(name="x", token_hash=token_hash, connection_hash=connection_hash), "10.0.0.7"
            )


def test_names_of_machines_differ(alice: User) -> None:
    names = [membership.confirm_pairing(alice, Terminal(name).asks().user_code).name for name in ("box", "Box", "box")]
    assert names == ["box", "Box-2", "box-3"]
    assert membership.confirm_pairing(membership.make_person("dana"), Terminal("box").asks().user_code).name == "box"


def test_a_machines_name_hides_nothing(alice: User) -> None:
    assert Terminal("lap\u202etop\x1b[2J").asks().name == "laptop[2J"


def test_a_machine_that_never_asked_is_unknown(alice: User) -> None:
    with pytest.raises(NotFound):
        membership.pairing_state(tokens.new(tokens.MACHINE))


def test_one_address_cannot_fill_the_waiting_room(alice: User, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rules, "MOST_PER_ADDRESS", 2)
    Terminal().asks()
    Terminal().asks()
    with pytest.raises(Refused):
        Terminal().asks()
    assert Terminal().asks("10.0.0.8").address == "10.0.0.8"
    monkeypatch.setattr(rules, "MOST", 3)
    with pytest.raises(Refused):
        Terminal().asks("10.0.0.9")
