"""Users and tokens: who is known, for how long, and what is kept on the disk."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from motet.domain.errors import BadInput, NotFound
from motet.live.accounts import account_store
from motet.live.accounts.account_store import PREFIX, AccountStore
from motet.live.accounts.roles import OWNER_TOKEN, Caller, RoleBound, UserRole

OWNER = Caller("ann", UserRole.ADMIN, OWNER_TOKEN)


def opened(folder: Path) -> AccountStore:
    store = AccountStore("ann", "the token of the state folder")
    store.open(str(folder / "journal.db"))
    return store


@pytest.fixture
def store(tmp_path: Path) -> Iterator[AccountStore]:
    found = opened(tmp_path)
    yield found
    found.close()


def test_the_owner_is_known_before_the_database_is_open() -> None:
    store = AccountStore("ann", "secret")
    assert store.caller_of(" secret\n") == OWNER
    assert store.caller_of("secre") is None
    assert store.caller_of("") is None


def test_users_and_tokens_survive_a_restart(store: AccountStore, tmp_path: Path) -> None:
    store.create_user("bob", UserRole.USER, "ann")
    token, text = store.create_token("bob", None, "laptop", None, "ann")
    gone, gone_text = store.create_token("bob", None, "lost", None, "ann")
    store.revoke_token(gone.id, OWNER)
    again = opened(tmp_path)
    assert again.caller_of(text) == Caller("bob", UserRole.USER, token.id)
    assert again.caller_of(gone_text) is None
    assert [each.label for each in again.tokens()] == ["laptop", "lost"]
    assert [each.name for each in again.users()] == ["ann", "bob"]
    again.close()


def test_no_token_is_on_the_disk(store: AccountStore, tmp_path: Path) -> None:
    store.create_user("bob", UserRole.USER, "ann")
    token, text = store.create_token("bob", None, "", None, "ann")
    store.close()
    content = b"".join(path.read_bytes() for path in tmp_path.iterdir())
    assert token.digest.encode() in content
    assert text.encode() not in content
    assert text.removeprefix(PREFIX).encode() not in content


@pytest.mark.parametrize(
    ("of_user", "asked", "allowed"),
    [
        (UserRole.VIEWER, None, UserRole.VIEWER),
        (UserRole.VIEWER, UserRole.ADMIN, UserRole.VIEWER),
        (UserRole.USER, UserRole.VIEWER, UserRole.VIEWER),
        (UserRole.ADMIN, None, UserRole.ADMIN),
        (UserRole.ADMIN, UserRole.USER, UserRole.USER),
    ],
)
def test_a_token_allows_at_most_what_its_user_may(
    store: AccountStore, of_user: UserRole, asked: UserRole | None, allowed: UserRole
) -> None:
    store.create_user("bob", of_user, "ann")
    _, text = store.create_token("bob", asked, "", None, "ann")
    caller = store.caller_of(text)
    assert caller is not None
    assert caller.role is allowed
    assert caller.bound is (RoleBound.USER if allowed is of_user else RoleBound.TOKEN)


def test_a_server_may_allow_less_than_its_users_have(tmp_path: Path) -> None:
    with closing(AccountStore("ann", "secret", UserRole.ADMIN)) as store:
        store.open(str(tmp_path / "journal.db"))
        store.create_user("bob", UserRole.USER, "ann")
        token, text = store.create_token("bob", None, "", None, "ann")
    with closing(AccountStore("ann", "secret", UserRole.VIEWER)) as store:
        store.open(str(tmp_path / "journal.db"))
        expected = Caller("bob", UserRole.VIEWER, token.id, RoleBound.SERVER)
        assert store.caller_of(text) == expected


def test_a_revoked_user_is_unknown_until_created_again_with_new_tokens(
    store: AccountStore,
) -> None:
    store.create_user("bob", UserRole.ADMIN, "ann")
    _, old = store.create_token("bob", None, "", None, "ann")
    store.revoke_user("bob")
    assert store.caller_of(old) is None
    with pytest.raises(NotFound):
        store.create_token("bob", None, "", None, "ann")
    store.create_user("bob", UserRole.VIEWER, "ann")
    assert store.caller_of(old) is None
    token, new = store.create_token("bob", None, "", None, "ann")
    assert store.caller_of(new) == Caller("bob", UserRole.VIEWER, token.id)


def test_a_token_expires(store: AccountStore, monkeypatch: pytest.MonkeyPatch) -> None:
    store.create_user("bob", UserRole.USER, "ann")
    _, text = store.create_token("bob", None, "", 2, "ann")
    now_us = time.time_ns() // 1000
    for days, is_known in ((1.99, True), (2.01, False)):
        later_us = now_us + int(days * 24 * 3600e6)
        monkeypatch.setattr(account_store, "_now_us", lambda later_us=later_us: later_us)
        assert (store.caller_of(text) is not None) is is_known


def test_users_revoke_their_own_tokens_only(store: AccountStore) -> None:
    for name in ("bob", "eve"):
        store.create_user(name, UserRole.USER, "ann")
    token, text = store.create_token("bob", None, "", None, "ann")
    with pytest.raises(NotFound):
        store.revoke_token(token.id, Caller("eve", UserRole.USER, "x"))
    assert store.caller_of(text) is not None
    store.revoke_token(token.id, Caller("bob", UserRole.VIEWER, token.id))
    assert store.caller_of(text) is None


@pytest.mark.parametrize("name", ["", "-bob", "a b", "x" * 64, "bob\n", "o'brien", "böb"])
def test_an_odd_name_is_refused(store: AccountStore, name: str) -> None:
    with pytest.raises(BadInput, match="give 1 to 63 letters"):
        store.create_user(name, UserRole.USER, "ann")


def test_names_are_unique_and_the_owner_stays(store: AccountStore) -> None:
    store.create_user("bob", UserRole.USER, "ann")
    for name in ("bob", "ann"):
        with pytest.raises(BadInput, match="already"):
            store.create_user(name, UserRole.USER, "ann")
    with pytest.raises(BadInput, match="runs the server"):
        store.revoke_user("ann")
    with pytest.raises(BadInput, match="server's token"):
        store.revoke_token(OWNER_TOKEN, OWNER)
    with pytest.raises(NotFound):
        store.revoke_user("carl")
