"""Asks the pMaster of a pool."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Self, TypeVar

from motet.aggregation.wire.pool_address import PoolAddress, address_path
from motet.aggregation.wire.pool_messages import (
    AdmitJobs,
    Admitted,
    DrainAggregator,
    JobAdmission,
    PoolRequest,
)
from motet.aggregation.wire.pool_views import DescribePool, ExplainJob, JobPlacement, PoolView
from motet.domain.errors import Unreachable
from motet.runtime.wire.codec import decode, encode
from motet.transport import Connection

_TIMEOUT_S = 20.0
_LOOK_EVERY_S = 0.2
A = TypeVar("A")


class PoolClient:
    """A connection to pMaster; a context manager."""

    def __init__(self, address: PoolAddress) -> None:
        """Raises Unreachable, AuthenticationFailed."""
        self._endpoint = address.endpoint
        self._connection = Connection(address.endpoint, address.secret, retry_for_s=0.0)

    @classmethod
    def find(cls, given: Path | None, default: Path | None = None) -> Self:
        """The pool of an address file, of MOTET_AGGREGATION, or of the default file.

        Raises BadInput, Unreachable, AuthenticationFailed.
        """
        return cls(PoolAddress.read(address_path(given, default)))

    def describe(self) -> PoolView:
        """All Aggregators and jobs."""
        return self._ask(PoolRequest.DESCRIBE, DescribePool(), PoolView)

    def explain(self, job: str) -> JobPlacement:
        """Where a job's tensors are, and why. Raises NotFound."""
        return self._ask(PoolRequest.EXPLAIN, ExplainJob(job), JobPlacement)

    def admit(self, jobs: tuple[JobAdmission, ...]) -> None:
        """Let the pool take these jobs of a live cluster, and no others."""
        self._ask(PoolRequest.ADMIT, AdmitJobs(jobs), Admitted)

    def begin_drain(self, aggregator: int) -> PoolView:
        """Let an Aggregator leave; it may not have left yet on return. Raises NotFound."""
        return self._ask(PoolRequest.DRAIN, DrainAggregator(aggregator), PoolView)

    def drain(self, aggregators: Sequence[int]) -> Iterator[int]:
        """Let Aggregators leave; their numbers, as soon as they have left. Raises NotFound."""
        views = [self.begin_drain(number) for number in aggregators]
        left, view = set(aggregators), views[-1]
        while True:
            gone = left - {each.number for each in view.aggregators}
            yield from sorted(gone)
            left -= gone
            if not left:
                return
            time.sleep(_LOOK_EVERY_S)
            view = self.describe()

    def close(self) -> None:
        """Disconnect."""
        self._connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.close()

    def _ask(self, kind: PoolRequest, message: Any, expected: type[A]) -> A:
        head, _ = encode(message)
        try:
            reply = self._connection.request(kind, head, timeout_s=_TIMEOUT_S)
        except TimeoutError as error:
            raise Unreachable(f"pMaster at {self._endpoint} does not answer: {error}") from error
        return decode(expected, reply.meta)
