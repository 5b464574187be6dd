"""Agents of jobs with any name, on Aggregators of the test process."""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray

from motet.aggregation.agent.numpy_agent import NumpyAgent
from motet.aggregation.agent.routes import FixedRoutes
from motet.aggregation.agent.tensor_bucket import BucketMemory
from motet.aggregation.aggregator.aggregator import Aggregator
from motet.aggregation.control.remote_aggregator import RemoteAggregator
from motet.aggregation.wire.aggregator_control import JobAccess
from motet.transport import Endpoint, new_secret

QUOTA_BYTES = 1 << 30


class RecordingAgent(NumpyAgent):
    """Remembers what was sent."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.sent: list[tuple[str, int]] = []

    def push(self, tensor: int, gradient: NDArray[Any]) -> None:
        self.sent.append(("push", tensor))
        super().push(tensor, gradient)

    def push_bucket(self, memory: BucketMemory, tensors: tuple[int, ...]) -> None:
        self.sent += [("push", tensor) for tensor in tensors]
        super().push_bucket(memory, tensors)


@dataclass(frozen=True)
class PoolAgents:
    """Makes Agents; the first of a job opens it."""

    endpoints: tuple[Endpoint, ...]
    pool_secret: bytes

    def __call__(self, job: str, rank: int, workers: int) -> RecordingAgent:
        number = zlib.crc32(job.encode()) >> 1
        secret = hashlib.sha256(self.pool_secret + job.encode()).digest()
        for endpoint in self.endpoints:
            RemoteAggregator(endpoint, self.pool_secret).open_job(
                JobAccess(number, job, secret, QUOTA_BYTES)
            )
        return RecordingAgent(FixedRoutes(number, secret, self.endpoints), rank, workers)


@contextmanager
def aggregators(count: int) -> Iterator[PoolAgents]:
    """So many Aggregators, as long as it lasts."""
    secret = new_secret()
    with ExitStack() as stack:
        found = [Aggregator(secret) for _ in range(count)]
        for each in found:
            stack.callback(each.close)
        yield PoolAgents(tuple(each.endpoint for each in found), secret)
