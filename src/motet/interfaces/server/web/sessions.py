"""Who has signed in: a cookie that the server's token signs."""

from __future__ import annotations

import hashlib
import hmac
import time

COOKIE = "motet_session"
LIFETIME_S = 7 * 24 * 3600


class Sessions:
    """Issues and checks cookies. They outlive a restart of the server, but not a new token."""

    def __init__(self, token: str) -> None:
        self._token = token

    def issued(self, now_s: float | None = None) -> str:
        """A cookie for who knows the token."""
        ends_s = int((time.time() if now_s is None else now_s) + LIFETIME_S)
        return f"{ends_s}.{self._seal(ends_s)}"

    def is_valid(self, cookie: str, now_s: float | None = None) -> bool:
        """Whether a cookie was issued here and has not expired."""
        ends, _, seal = cookie.partition(".")
        if not (ends.isascii() and ends.isdecimal() and len(ends) < 20):
            return False
        is_ours = hmac.compare_digest(seal.encode(), self._seal(int(ends)).encode())
        return is_ours and (time.time() if now_s is None else now_s) < int(ends)

    def knows(self, token: str) -> bool:
        """Whether this is the server's token."""
        return hmac.compare_digest(token.strip().encode(), self._token.encode())

    def _seal(self, ends_s: int) -> str:
        message = f"motet web session until {ends_s}".encode()
        return hmac.new(self._token.encode(), message, hashlib.sha256).hexdigest()
