"""pMaster's access to an Aggregator in another process."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from motet.aggregation.wire.aggregator_control import CycleShare, JobAccess, JobMeasurement
from motet.aggregation.wire.client_names import pool_member_name
from motet.aggregation.wire.control_requests import (
    CloseJob,
    ControlMessage,
    ForgetReplicas,
    Measure,
    Measured,
    MoveTensors,
    OpenJob,
    PromoteTensors,
    ReplicateTensors,
    SetCycle,
    SetJobWorkers,
)
from motet.runtime.wire.codec import decode, encode
from motet.transport import Connection, Endpoint, Reply


class RemoteAggregator:
    """Implements `AggregatorControl`. Thread-safe; every method raises what the Aggregator raises.

    Raises Unreachable, AuthenticationFailed.
    """

    def __init__(self, endpoint: Endpoint, pool_secret: bytes, retry_for_s: float = 2.0) -> None:
        self.endpoint = endpoint
        self._connection = Connection(
            endpoint, pool_secret, client_id=pool_member_name(), retry_for_s=retry_for_s
        )

    def open_job(self, access: JobAccess) -> None:
        """See AggregatorControl."""
        self._ask(OpenJob(access.job, access.name, access.secret.hex(), access.memory_bytes))

    def close_job(self, job: int) -> None:
        """See AggregatorControl."""
        self._ask(CloseJob(job))

    def set_workers(self, job: int, ranks: Sequence[int], from_step: int) -> None:
        """See AggregatorControl."""
        self._ask(SetJobWorkers(job, tuple(ranks), from_step))

    def set_cycle(self, cycle_ns: int, shares: Sequence[CycleShare]) -> None:
        """See AggregatorControl."""
        self._ask(SetCycle(cycle_ns, tuple(shares)))

    def replicate(self, job: int, tensors: Sequence[int], peer: str) -> None:
        """See AggregatorControl."""
        self._ask(ReplicateTensors(job, tuple(tensors), peer))

    def forget_replicas(self, job: int, peer: str) -> None:
        """See AggregatorControl."""
        self._ask(ForgetReplicas(job, peer))

    def promote(self, job: int, tensors: Sequence[int]) -> None:
        """See AggregatorControl."""
        self._ask(PromoteTensors(job, tuple(tensors)))

    def move(self, job: int, tensors: Sequence[int], peer: str) -> None:
        """See AggregatorControl."""
        self._ask(MoveTensors(job, tuple(tensors), peer))

    def measurements(self) -> Sequence[JobMeasurement]:
        """See AggregatorControl."""
        return decode(Measured, self._ask(Measure()).meta).jobs

    def close(self) -> None:
        """Disconnect; the Aggregator goes on."""
        self._connection.close()

    def _ask(self, message: ControlMessage) -> Reply:
        head, arrays = encode(message)
        buffers: list[Any] = list(arrays)
        return self._connection.request(message.kind, head, buffers)
