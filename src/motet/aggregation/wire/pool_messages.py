"""What Agents and commands ask of pMaster."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum

from motet.aggregation.wire.tensor_spec import TensorSpec
from motet.domain.errors import JobFailed


class PoolRequest(IntEnum):
    """Kinds of requests. The first two are answered by `Routes`, LEAVE by `Left`, EXPLAIN by
    `JobPlacement`, DESCRIBE and DRAIN by `PoolView`, ADMIT by `Admitted`."""

    JOIN = 1
    AWAIT_ROUTES = 2
    LEAVE = 3
    DESCRIBE = 4
    EXPLAIN = 5
    DRAIN = 6
    ADMIT = 7


@dataclass(frozen=True)
class JoinJob:
    """A worker enters a job, which its first worker creates.

    `job`: its name. `rank`: from 0. `workers`: that the first step waits for. `servers`: parameter
    servers that the job would have without a shared pool. `loss_limit`: the share of its speed that
    it must not lose; None: that of the pool.
    """

    job: str
    rank: int
    workers: int
    servers: int
    tensors: tuple[TensorSpec, ...]
    loss_limit: float | None = None


@dataclass(frozen=True)
class AwaitRoutes:
    """Answered when there are newer routes than this version, or when the job has ended.

    A worker always has one in flight: a connection without it is that of a dead worker.
    """

    job: int
    rank: int
    version: int


@dataclass(frozen=True)
class LeaveJob:
    """A worker has finished `steps` steps and takes part in no further one."""

    job: int
    rank: int
    steps: int


@dataclass(frozen=True)
class JobAdmission:
    """A job of the live cluster that may use its pool. `servers`, `loss_limit`: of its jobs in the
    pool, as in `JoinJob`; None: as its workers ask.
    """

    job: str
    servers: int | None = None
    loss_limit: float | None = None


@dataclass(frozen=True)
class AdmitJobs:
    """All jobs of the live cluster that may use its pool; what the pool has of others ends."""

    jobs: tuple[JobAdmission, ...]


@dataclass(frozen=True)
class Admitted:
    """The pool takes these jobs and no others."""


@dataclass(frozen=True)
class Left:
    """The other workers do not wait for the worker any more."""


@dataclass(frozen=True)
class DrainAggregator:
    """An Aggregator is to leave: its tensors and replicas move to others, then it ends."""

    aggregator: int


@dataclass(frozen=True)
class Routes:
    """Where a job's tensors are.

    `secret`: of the job, in hexadecimal. `homes`: by tensor, the number of its Aggregator.
    `aggregators`: their endpoints, encoded. `workers`: ranks that steps from `from_step` on wait
    for.
    """

    job: int
    secret: str
    version: int
    homes: tuple[int, ...]
    aggregators: Mapping[int, str]
    workers: tuple[int, ...]
    from_step: int


class PoolFull(JobFailed):
    """The pool has no room for a job."""
