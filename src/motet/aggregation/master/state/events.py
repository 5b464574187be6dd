"""What happens to a pool of Aggregators, as values. Times are seconds of one clock."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from motet.aggregation.wire.aggregator_control import JobMeasurement
from motet.aggregation.wire.pool_messages import JobAdmission, JoinJob


@dataclass(frozen=True)
class WorkerJoined:
    """A worker enters a job. `secret`: of the job, if this worker creates it."""

    request: JoinJob
    secret: str


@dataclass(frozen=True)
class WorkerSeen:
    """A worker of a known job is connected."""

    job: int
    rank: int


@dataclass(frozen=True)
class WorkerLeft:
    """A worker has finished `steps` steps and its part in the job."""

    job: int
    rank: int
    steps: int


@dataclass(frozen=True)
class WorkerLost:
    """The connection of a worker broke, and it has not come back."""

    job: int
    rank: int


@dataclass(frozen=True)
class JobsAdmitted:
    """The jobs of the live cluster that may use the pool from now on; no others may."""

    jobs: tuple[JobAdmission, ...]


@dataclass(frozen=True)
class AggregatorStarted:
    """An Aggregator that was to be started listens. `endpoint`: encoded. `machine`: its name;
    empty: all are on one.
    """

    aggregator: int
    endpoint: str
    machine: str = ""


@dataclass(frozen=True)
class AggregatorDied:
    """The process of an Aggregator has ended, or could not start."""

    aggregator: int


@dataclass(frozen=True)
class AggregatorDrained:
    """An Aggregator is to leave: everything on it moves away, then it ends."""

    aggregator: int


@dataclass(frozen=True)
class OperationDone:
    """An operation on an Aggregator is complete."""

    operation: int


@dataclass(frozen=True)
class OperationFailed:
    """An operation on an Aggregator changed nothing."""

    operation: int
    reason: str


@dataclass(frozen=True)
class AggregatorMeasured:
    """The measurements of all jobs on an Aggregator."""

    aggregator: int
    measurements: tuple[JobMeasurement, ...]


@dataclass(frozen=True)
class Ticked:
    """Arrives every fraction of a second."""

    at_s: float


PoolEvent: TypeAlias = (
    WorkerJoined
    | WorkerSeen
    | WorkerLeft
    | WorkerLost
    | JobsAdmitted
    | AggregatorStarted
    | AggregatorDied
    | AggregatorDrained
    | OperationDone
    | OperationFailed
    | AggregatorMeasured
    | Ticked
)
