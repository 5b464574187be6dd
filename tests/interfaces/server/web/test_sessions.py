"""Cookies that were not issued here, or have expired, are not accepted."""

from __future__ import annotations

from pathlib import Path

import pytest

from motet.interfaces.server.web.sessions import LIFETIME_S, Sessions
from motet.live.accounts.account_store import AccountStore
from motet.live.accounts.roles import OWNER_TOKEN, Caller, UserRole

OWNER = Caller("ann", UserRole.ADMIN, OWNER_TOKEN)


def sessions(token: str = "a token") -> Sessions:
    return Sessions(AccountStore("ann", token), token)


SESSIONS = sessions()


def test_a_cookie_is_valid_until_it_expires() -> None:
    cookie = SESSIONS.issued(OWNER_TOKEN, 1000.0)
    assert SESSIONS.caller_of(cookie, 1000.0) == OWNER
    assert sessions().caller_of(cookie, 999.0 + LIFETIME_S) == OWNER
    assert SESSIONS.caller_of(cookie, 1000.0 + LIFETIME_S) is None


def test_a_cookie_of_another_token_is_not_valid() -> None:
    cookie = SESSIONS.issued(OWNER_TOKEN, 1000.0)
    assert sessions("another token").caller_of(cookie, 1000.0) is None


@pytest.mark.parametrize(
    "cookie", ["", ".", "9" * 30 + ".", "1e9.x", "²³.x", "x", "9999999999.é", "1.owner.\ud800"]
)
def test_other_texts_are_no_cookies(cookie: str) -> None:
    assert SESSIONS.caller_of(cookie, 0.0) is None


def test_a_longer_life_needs_another_seal() -> None:
    ends, _, rest = SESSIONS.issued(OWNER_TOKEN, 1000.0).partition(".")
    assert SESSIONS.caller_of(f"{int(ends) + 1}.{rest}", 1000.0) is None


def test_a_session_ends_with_its_token(tmp_path: Path) -> None:
    accounts = AccountStore("ann", "a token")
    accounts.open(str(tmp_path / "journal.db"))
    accounts.create_user("bob", UserRole.USER, "ann")
    mine, _ = accounts.create_token("bob", None, "", None, "ann")
    other, _ = accounts.create_token("bob", None, "", None, "ann")
    found = Sessions(accounts, "a token")
    cookie = found.issued(mine.id)
    assert found.caller_of(cookie) == Caller("bob", UserRole.USER, mine.id)
    assert found.caller_of(cookie.replace(mine.id, other.id)) is None
    assert found.caller_of(cookie.replace(mine.id, OWNER_TOKEN)) is None
    accounts.revoke_token(mine.id, OWNER)
    assert found.caller_of(cookie) is None
    accounts.close()
