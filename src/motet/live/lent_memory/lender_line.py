"""The server's connection to one lender: tells the terms, and hears how the lender stands."""

from __future__ import annotations

import logging
import os
import time
from contextlib import suppress

from motet.domain.errors import MotetError, Unreachable
from motet.remote_memory.wire.memory_views import LenderView, LendingTerms, MemoryCommand
from motet.transport import Connection, Endpoint

_LOG = logging.getLogger("motet.server")
_ANSWER_WITHIN_S = 2.0
_REST_S = 5.0


class LenderLine:
    """Used by one thread at a time, but for `end`, and for what the lender has said last: `view`,
    None: it does not answer, and `failure` says why."""

    def __init__(self, endpoint: Endpoint, secret: bytes) -> None:
        """`secret`: of the lenders of the cluster."""
        self.endpoint, self._secret = endpoint, secret
        self._connection: Connection | None = None
        self._not_before_s = 0.0
        self._has_ended = False
        self.view: LenderView | None = None
        self.failure = ""

    def tell(self, terms: LendingTerms) -> None:
        """A lender that does not answer is left alone for a while; it is told then."""
        if time.monotonic() < self._not_before_s:
            return
        try:
            self.view, self.failure = self._ask(terms), ""
        except (MotetError, OSError) as error:  # TimeoutError is one.
            self._fail(str(error))
        except Exception as error:
            _LOG.exception("lender_failed", extra={"fields": {"lender": str(self.endpoint)}})
            self._fail(repr(error))

    def end(self) -> None:
        """The lender keeps its terms. A `tell` that begins later or is in progress on another
        thread fails, also while it connects: another lender may have the port by then."""
        self._has_ended = True
        self._close()

    def _close(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            with suppress(OSError):
                connection.close()

    def _fail(self, reason: str) -> None:
        self.failure, self.view = reason, None
        self._not_before_s = time.monotonic() + _REST_S
        self._close()

    def _ask(self, terms: LendingTerms) -> LenderView:
        self._require_use()
        connection = self._connection
        if connection is None:
            name = f"server/{os.urandom(4).hex()}"
            connection = self._connection = Connection(
                self.endpoint, self._secret, client_id=name, retry_for_s=0.0
            )
            self._require_use()
        try:
            reply = connection.request(
                MemoryCommand.USE_TERMS, terms.encode(), timeout_s=_ANSWER_WITHIN_S
            )
        except TimeoutError as error:
            raise Unreachable(f"no answer within {_ANSWER_WITHIN_S:g} s") from error
        return LenderView.decode(reply.meta)

    def _require_use(self) -> None:
        if self._has_ended:
            raise Unreachable("the line has ended")
