"""The port between pMaster and one Aggregator."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True)
class JobAccess:
    """A job on an Aggregator. `secret`: its Agents', of no other job. `memory_bytes`: its quota."""

    job: int
    name: str
    secret: bytes
    memory_bytes: int


@dataclass(frozen=True)
class CycleShare:
    """What a job may use of an Aggregator's cycle (`AggregationProfile`, `cyclic_execution`).

    `runs`: r_j, iterations in a cycle. `work_ns`: CPU time of its tensors here in one iteration.
    """

    job: int
    iteration_ns: int
    runs: int
    work_ns: int


@dataclass(frozen=True)
class JobMeasurement:
    """Of a job on one Aggregator, since it was opened.

    `steps`: how many ended. `last_step`: the last one of them; 0: none. `iteration_ns`: the median
    duration of the latest iterations. `tensor_ns`: by tensor, mean CPU time of its aggregation in
    an iteration. `skew_ns`: by rank, how long after the first worker its gradients were complete,
    on average. `late`: iterations that were moved to the next cycle. `memory_bytes`: of tensors,
    replicas and gradients. `lost_replicas`: endpoints of Aggregators that do not answer, but have
    the replicas of tensors whose steps wait for that.
    """

    job: int
    steps: int
    last_step: int
    iteration_ns: int
    tensor_ns: Mapping[int, int]
    skew_ns: Mapping[int, int]
    late: int
    memory_bytes: int
    lost_replicas: tuple[str, ...] = ()


class AggregatorControl(Protocol):
    """What pMaster asks of an Aggregator. `peer`: the endpoint of another, encoded."""

    def open_job(self, access: JobAccess) -> None:
        """Accept the job's Agents. Again for an open job: change its quota."""
        ...

    def close_job(self, job: int) -> None:
        """Free the job's memory and refuse its Agents."""
        ...

    def set_workers(self, job: int, ranks: Sequence[int], from_step: int) -> None:
        """The job's workers from a step on; gradients of others are not waited for."""
        ...

    def set_cycle(self, cycle_ns: int, shares: Sequence[CycleShare]) -> None:
        """Enforce this cycle from the next one on."""
        ...

    def replicate(self, job: int, tensors: Sequence[int], peer: str) -> None:
        """Keep a replica of these tensors on a peer; returns once it is complete."""
        ...

    def forget_replicas(self, job: int, peer: str) -> None:
        """Go on without the replicas on a peer: none of them will be promoted."""
        ...

    def promote(self, job: int, tensors: Sequence[int]) -> None:
        """Serve tensors of which this Aggregator has the replica; their Aggregator is dead."""
        ...

    def move(self, job: int, tensors: Sequence[int], peer: str) -> None:
        """Migrate tensors to a peer without a pause of the job; returns once it is complete."""
        ...

    def measurements(self) -> Sequence[JobMeasurement]:
        """Of all jobs."""
        ...
