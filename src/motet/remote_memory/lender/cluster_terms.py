"""What a live cluster tells its lenders: what jobs of the machine have requested, and which jobs
may borrow."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Collection, Iterable, Mapping

from motet.remote_memory.core.requested_memory import RequestedMemory
from motet.remote_memory.wire.borrower_names import job_of_borrower, job_secret
from motet.remote_memory.wire.memory_views import LendingTerms

UsedBy = Callable[[Collection[str]], Mapping[str, int]]
"""Bytes that processes use, by the names in `LendingTerms.requests`."""
_SECRET_BYTES = 32


class ClusterTerms:
    """Until the cluster has told its terms, no job may borrow. Thread-safe."""

    def __init__(self, secret: bytes, used_by: UsedBy) -> None:
        """`secret`: of the lenders of the cluster."""
        self._secret, self._used_by = secret, used_by
        self._lock = threading.Lock()
        self._requested = RequestedMemory()
        self._jobs: frozenset[str] = frozenset()
        self._told = "", frozenset[str]()

    def secret_of(self, client_id: str) -> bytes:
        """The secret that a client has to prove; at random for a job that may not borrow."""
        job = job_of_borrower(client_id)
        if job is None:
            return self._secret
        return job_secret(self._secret, job) if job in self._jobs else os.urandom(_SECRET_BYTES)

    def admits(self, client_id: str) -> bool:
        """Whether a client that was let in may stay."""
        job = job_of_borrower(client_id)
        return job is None or job in self._jobs

    def may_command(self, client_id: str) -> bool:
        """Whether a client has the secret of the cluster, not that of a job."""
        return job_of_borrower(client_id) is None

    def use(self, terms: LendingTerms) -> None:
        """From now on."""
        with self._lock:
            self._requested.replace(terms.requests)
            self._jobs = frozenset(terms.jobs)

    def heard_accounts(self, client_id: str, last: Iterable[str]) -> Collection[str]:
        """The reply to this client, which the caller sends next, tells the accounts of the
        borrowers `last` for the last time; returns those of them that the client has heard.

        A client id is of one connection, and a client sends its next terms once it has the reply.
        """
        with self._lock:
            told_to, told = self._told
            self._told = client_id, frozenset(last)
            return self._told[1] & told if told_to == client_id else ()

    @property
    def requested_bytes(self) -> int:
        """That jobs do not use yet, as it was measured last."""
        with self._lock:
            return self._requested.unused_bytes

    def measured_bytes(self) -> int:
        """The same, measured now."""
        with self._lock:
            names = list(self._requested.names)
        used_bytes = self._used_by(names) if names else {}
        with self._lock:
            self._requested.measured(used_bytes)
            return self._requested.unused_bytes
