"""The state of a pool of Aggregators: its processes, jobs, plan and operations under way."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from motet.aggregation.master.state.instructions import (
    MoveTo,
    PoolOperation,
    PromoteOn,
    ReplicateTo,
    SetCycleOn,
    TensorInstruction,
)
from motet.aggregation.master.state.pool_job import PoolJob
from motet.aggregation.master.state.worker_schedule import WorkerSet
from motet.aggregation.planner.clusters import ClusteredPool, ScalingRules
from motet.aggregation.rule_defaults import PERIOD_S
from motet.aggregation.wire.aggregator_control import CycleShare
from motet.aggregation.wire.pool_messages import JobAdmission


@dataclass(frozen=True)
class MasterSettings:
    """`profiled_steps`: of a job alone before it is planned. `judged_steps`: after which a loss of
    speed counts. `period_s`: between two changes of the plan that no job asked for. `linger_s`: how
    long a job without workers is kept. `retry_s`: the pause after a failed operation. `silent_s`:
    an Aggregator that says nothing for so long is ended and replaced; several times as long if it
    has the only copy of a tensor. `link_bps`: bits per second of the link of an Aggregator; None:
    links are not limited.
    """

    rules: ScalingRules
    profiled_steps: int = 20
    judged_steps: int = 100
    period_s: float = PERIOD_S
    linger_s: float = 10.0
    retry_s: float = 1.0
    silent_s: float = 5.0
    link_bps: int | None = None


@dataclass(eq=False)
class AggregatorState:
    """A process. `endpoint`: encoded; empty: it is being started. `jobs`: that it accepts, with the
    sets of workers that it was told. `cycle`: that it was told. `machine`: its name; empty:
    unknown, or all are on one. `is_draining`: it is to leave. `silent_s`: since it said something.
    `is_condemned`: it is being ended by force.
    """

    number: int
    is_requested: bool = False
    endpoint: str = ""
    jobs: dict[int, tuple[WorkerSet, ...]] = field(default_factory=dict)
    cycle: tuple[int, tuple[CycleShare, ...]] = (0, ())
    machine: str = ""
    is_draining: bool = False
    silent_s: float = 0.0
    is_condemned: bool = False


@dataclass(eq=False)
class PoolState:
    """`bindings`: the process of each Aggregator of the plan. `standby`: a process for replicas
    alone. `operations`: under way, by number. `resting`: failed operations by what they concern,
    and when to try again. `failed_starts`: in a row. `admitted`: the jobs of a live cluster that
    may use the pool, by name; None: all jobs may.
    """

    settings: MasterSettings
    pool: ClusteredPool
    aggregators: dict[int, AggregatorState] = field(default_factory=dict)
    jobs: dict[int, PoolJob] = field(default_factory=dict)
    bindings: dict[int, int] = field(default_factory=dict)
    standby: int | None = None
    operations: dict[int, PoolOperation] = field(default_factory=dict)
    resting: dict[tuple[str, int, int], float] = field(default_factory=dict)
    next_aggregator: int = 0
    next_job: int = 0
    next_operation: int = 0
    failed_starts: int = 0
    now_s: float = 0.0
    period_ends_s: float = 0.0
    admitted: Mapping[str, JobAdmission] | None = None

    def new_aggregator(self) -> int:
        """The number of a process to start; it is listed from now on."""
        number = self.next_aggregator
        self.next_aggregator += 1
        self.aggregators[number] = AggregatorState(number)
        return number

    def new_operation(self) -> int:
        """A number that no operation had."""
        self.next_operation += 1
        return self.next_operation

    def is_running(self, aggregator: int) -> bool:
        """Whether an Aggregator can be asked."""
        return aggregator in self.aggregators and bool(self.aggregators[aggregator].endpoint)

    def staying(self) -> set[int]:
        """The Aggregators that are not to leave."""
        return {each.number for each in self.aggregators.values() if not each.is_draining}

    def is_ready(self, aggregator: int, job: int) -> bool:
        """Whether an Aggregator accepts the job and knows whom its steps wait for."""
        if not self.is_running(aggregator) or job not in self.aggregators[aggregator].jobs:
            return False
        told = self.aggregators[aggregator].jobs[job]
        return self.jobs[job].schedule.next_for(told) is None

    def tensor_operations(self, job: int) -> Iterator[TensorInstruction]:
        """Operations under way on tensors of a job."""
        for operation in self.operations.values():
            if isinstance(operation, MoveTo | ReplicateTo | PromoteOn) and operation.job == job:
                yield operation

    def is_busy(self, aggregator: int, job: int | None = None) -> bool:
        """Whether an operation under way concerns an Aggregator (and a job)."""
        return any(
            aggregator in asked_aggregators(each) and job in (None, concerned_job(each))
            for each in self.operations.values()
        )

    def may_try(self, operation: PoolOperation) -> bool:
        """Whether no such operation failed a moment ago."""
        return self.resting.get(subject(operation), self.now_s) <= self.now_s


def asked_aggregators(operation: PoolOperation) -> tuple[int, ...]:
    """The Aggregators that an operation concerns, first the one that is asked."""
    if isinstance(operation, MoveTo | ReplicateTo):
        return operation.aggregator, operation.target
    return (operation.aggregator,)


def concerned_job(operation: PoolOperation) -> int | None:
    """The job that an operation concerns."""
    return None if isinstance(operation, SetCycleOn) else operation.job


def subject(operation: PoolOperation) -> tuple[str, int, int]:
    """What an operation concerns: its kind, Aggregator and job."""
    job = concerned_job(operation)
    return type(operation).__name__, operation.aggregator, -1 if job is None else job
