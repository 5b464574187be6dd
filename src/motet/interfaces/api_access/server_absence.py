"""Commands that follow something go on when their server was away."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from contextlib import suppress
from typing import TypeAlias

from motet.domain.errors import Unreachable
from motet.interfaces.api_access.api_requests import ApiRequests

LONGEST_ABSENCE_S = 600.0
"""For which a command waits for a server that has answered it once."""
_LOOK_S = 0.5

AbsenceListener: TypeAlias = Callable[[str], None]


class ServerAbsence:
    """How long a server has not answered, and the search for it: one that was started again may
    have another address."""

    def __init__(self, client: ApiRequests, tell: AbsenceListener | None, effect: str) -> None:
        """`tell`: called once per absence, with its reason and its `effect`; None: an absence is an
        error at once."""
        self._client, self._tell, self._effect = client, tell, effect
        self._since_s = math.inf

    def endure(self, error: Unreachable) -> None:
        """Wait for a moment and look for the server. Raises `error` without `tell`, and when the
        server has been away for LONGEST_ABSENCE_S."""
        if self._tell is None:
            raise error
        if self._since_s == math.inf:
            self._since_s = time.monotonic()
            self._tell(f"{error}; {self._effect}")
        if time.monotonic() > self._since_s + LONGEST_ABSENCE_S:
            raise error
        time.sleep(_LOOK_S)
        with suppress(Unreachable):
            self._client.reconnect()

    def end(self) -> None:
        """The server has answered."""
        self._since_s = math.inf
