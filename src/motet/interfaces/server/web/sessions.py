"""Who has signed in: a cookie that names a token, and that the server's own token signs."""

from __future__ import annotations

import hashlib
import hmac
import time

from motet.live.accounts.account_store import AccountStore
from motet.live.accounts.roles import Caller

COOKIE = "motet_session"
LIFETIME_S = 7 * 24 * 3600


class Sessions:
    """Issues and checks cookies. They outlive a restart of the server, but not their token, nor a
    new token of the server."""

    def __init__(self, accounts: AccountStore, key: str) -> None:
        """`key`: signs; the token of the state folder."""
        self._accounts, self._key = accounts, key

    def issued(self, token_id: str, now_s: float | None = None) -> str:
        """A cookie for who has this token."""
        ends_s = int((time.time() if now_s is None else now_s) + LIFETIME_S)
        return f"{ends_s}.{token_id}.{self._seal(ends_s, token_id)}"

    def caller_of(self, cookie: str, now_s: float | None = None) -> Caller | None:
        """Whose cookie it is; None: it was not issued here, or has expired, as its token may."""
        ends, _, rest = cookie.partition(".")
        token_id, _, seal = rest.partition(".")
        if not (ends.isascii() and ends.isdecimal() and len(ends) < 20):
            return None
        wanted = self._seal(int(ends), token_id).encode()
        is_ours = hmac.compare_digest(seal.encode(errors="replace"), wanted)
        if not is_ours or (time.time() if now_s is None else now_s) >= int(ends):
            return None
        return self._accounts.caller_with(token_id)

    def _seal(self, ends_s: int, token_id: str) -> str:
        digest = self._accounts.digest_with(token_id)
        message = f"motet web session until {ends_s} of {token_id} {digest}"
        return hmac.new(self._key.encode(), message.encode(), hashlib.sha256).hexdigest()
