from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone

from rooms import membership, tokens
from rooms.errors import Conflict, Invalid, NotFound
from rooms.models import Room, SignInLink, User

LONG = "a long kitchen table"


def test_a_person_gets_a_handle_a_password_and_a_chat(db: None) -> None:
    bob = membership.make_person(" @Bob ", email="bob@example.com", password=LONG)
    assert bob.username == "bob"
    assert bob.check_password(LONG)
    assert (bob.is_staff, bob.is_superuser) == (False, False)
    assert Room.objects.filter(owner=bob, kind="account").exists()


def test_without_a_password_none_opens_the_account(db: None) -> None:
    assert not membership.make_person("bob").has_usable_password()


@pytest.mark.parametrize("handle", ["", "-bob", "bob smith", "b" * 33, "böb", "bob/..", "bob\n", "@"])
def test_a_handle_is_plain(db: None, handle: str) -> None:
    if handle.strip() == "bob":  # what surrounds a name is forgiven
        assert membership.make_person(handle).username == "bob"
        return
    with pytest.raises(Invalid) as refused:
        membership.make_person(handle)
    assert refused.value.field == "handle"
    assert not User.objects.exists()


def test_a_taken_name_is_refused_with_a_free_one(db: None) -> None:
    membership.make_person("bob")
    membership.make_person("bob-2")
    with pytest.raises(Conflict, match="Try bob-3"):
        membership.make_person("BOB")


@pytest.mark.parametrize("password", ["short", "12345678901", "passwordpassword"[:11]])
def test_a_password_has_twelve_characters(db: None, password: str) -> None:
    with pytest.raises(Invalid) as refused:
        membership.make_person("bob", password=password)
    assert refused.value.field == "password"
    assert not User.objects.exists()


def test_an_address_belongs_to_one_person(db: None) -> None:
    membership.make_person("bob", email="bob@example.com")
    with pytest.raises(Conflict):
        membership.make_person("dana", email="BOB@example.com")
    with pytest.raises(Invalid):
        membership.make_person("dana", email="not an address")


def test_a_sign_in_link_works_once(db: None) -> None:
    bob = membership.make_person("bob")
    token = membership.sign_in_link(bob)
    assert membership.link_holder(token) == bob
    assert membership.link_holder(token) == bob  # looking does not use it up
    assert membership.use_sign_in_link(token) == bob
    with pytest.raises(NotFound):
        membership.use_sign_in_link(token)
    with pytest.raises(NotFound):
        membership.link_holder(token)


def test_a_link_is_stored_as_its_hash(db: None) -> None:
    token = membership.sign_in_link(membership.make_person("bob"))
    assert list(SignInLink.objects.values_list("token_hash", flat=True)) == [tokens.digest(token)]


def test_an_old_link_opens_nothing(db: None) -> None:
    token = membership.sign_in_link(membership.make_person("bob"))
    SignInLink.objects.update(expires_at=timezone.now() - timedelta(seconds=1))
    with pytest.raises(NotFound):
        membership.use_sign_in_link(token)


def test_whoever_is_shut_out_gets_in_by_no_link(db: None) -> None:
    bob = membership.make_person("bob")
    token = membership.sign_in_link(bob)
    assert not membership.set_active(bob, active=False).is_active
    with pytest.raises(NotFound):
        membership.use_sign_in_link(token)
    membership.set_active(bob, active=True)
    with pytest.raises(NotFound):  # letting in again brings no old link back
        membership.use_sign_in_link(token)


def test_the_first_link_makes_one_administrator(db: None) -> None:
    token = membership.first_link()
    with pytest.raises(NotFound):
        membership.use_sign_in_link(token)
    with pytest.raises(Invalid):
        membership.use_first_link(token, "alice", "short", "")
    membership.first_link_open(token)  # what was refused did not use it up
    alice = membership.use_first_link(token, "alice", LONG, "alice@example.com")
    assert (alice.is_staff, alice.is_superuser) == (True, True)
    with pytest.raises(NotFound):
        membership.use_first_link(token, "bob", LONG, "")
    with pytest.raises(NotFound):
        membership.first_link_open(token)


def test_a_new_first_link_takes_the_place_of_the_old(db: None) -> None:
    old, new = membership.first_link(), membership.first_link()
    with pytest.raises(NotFound):
        membership.first_link_open(old)
    membership.first_link_open(new)


def test_with_people_there_is_no_first_link(db: None) -> None:
    token = membership.first_link()
    membership.make_person("bob")
    with pytest.raises(Conflict):
        membership.first_link()
    with pytest.raises(NotFound):
        membership.use_first_link(token, "alice", LONG, "")
    assert not User.objects.filter(is_superuser=True).exists()
