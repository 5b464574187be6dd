"""Cookies that were not issued here, or have expired, are not accepted."""

from __future__ import annotations

import pytest

from motet.interfaces.server.web.sessions import LIFETIME_S, Sessions

SESSIONS = Sessions("a token")


def test_a_cookie_is_valid_until_it_expires() -> None:
    cookie = SESSIONS.issued(1000.0)
    assert SESSIONS.is_valid(cookie, 1000.0)
    assert Sessions("a token").is_valid(cookie, 999.0 + LIFETIME_S)
    assert not SESSIONS.is_valid(cookie, 1000.0 + LIFETIME_S)


def test_a_cookie_of_another_token_is_not_valid() -> None:
    assert not Sessions("another token").is_valid(SESSIONS.issued(1000.0), 1000.0)


@pytest.mark.parametrize("cookie", ["", ".", "9" * 30 + ".", "1e9.x", "²³.x", "x", "9999999999.é"])
def test_other_texts_are_no_cookies(cookie: str) -> None:
    assert not SESSIONS.is_valid(cookie, 0.0)


def test_a_longer_life_needs_another_seal() -> None:
    ends, _, seal = SESSIONS.issued(1000.0).partition(".")
    assert not SESSIONS.is_valid(f"{int(ends) + 1}.{seal}", 1000.0)


def test_the_token_is_known() -> None:
    assert SESSIONS.knows(" a token\n")
    assert not SESSIONS.knows("")
