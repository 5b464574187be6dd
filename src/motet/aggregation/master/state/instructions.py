"""What an event leads to, as values.

Operations have a number and end with `OperationDone` or `OperationFailed`. They may be carried out
at the same time: none is given while one that it depends on is under way.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from motet.aggregation.wire.aggregator_control import CycleShare


@dataclass(frozen=True)
class StartAggregator:
    """Start a process; its end is an `AggregatorDied`, whenever it comes."""

    aggregator: int


@dataclass(frozen=True)
class StopAggregator:
    """End a process that holds nothing; no event follows."""

    aggregator: int


@dataclass(frozen=True)
class KillAggregator:
    """End a process that does not answer, by force; an `AggregatorDied` follows."""

    aggregator: int


@dataclass(frozen=True)
class OpenOn:
    """Let an Aggregator accept the Agents of a job."""

    operation: int
    aggregator: int
    job: int


@dataclass(frozen=True)
class CloseOn:
    """Let an Aggregator free what it has of a job."""

    operation: int
    aggregator: int
    job: int


@dataclass(frozen=True)
class SetWorkersOn:
    """Tell an Aggregator for which workers steps from `from_step` on wait."""

    operation: int
    aggregator: int
    job: int
    from_step: int
    ranks: tuple[int, ...]


@dataclass(frozen=True)
class SetCycleOn:
    """Tell an Aggregator its cycle. `cycle_ns`: 0: none is to be enforced."""

    operation: int
    aggregator: int
    cycle_ns: int
    shares: tuple[CycleShare, ...]


@dataclass(frozen=True)
class MoveTo:
    """Migrate tensors from `aggregator` to `target`.

    Replicas stay where they are; those that are on the target are on `aggregator` afterwards.
    """

    operation: int
    aggregator: int
    job: int
    tensors: tuple[int, ...]
    target: int


@dataclass(frozen=True)
class ReplicateTo:
    """Keep the replica of tensors of `aggregator` on `target`, and no other."""

    operation: int
    aggregator: int
    job: int
    tensors: tuple[int, ...]
    target: int


@dataclass(frozen=True)
class PromoteOn:
    """Let `aggregator` serve tensors, whose Aggregator is dead, from what it has of them."""

    operation: int
    aggregator: int
    job: int
    tensors: tuple[int, ...]


@dataclass(frozen=True)
class ForgetOn:
    """Let an Aggregator go on without the replicas on `peer`, an encoded endpoint: they lack a step
    and count no more.
    """

    operation: int
    aggregator: int
    job: int
    peer: str


@dataclass(frozen=True)
class PublishRoutes:
    """Tell the workers of a job its present routes."""

    job: int


@dataclass(frozen=True)
class EndJob:
    """The job has ended, or is lost for the reason `error`."""

    job: int
    error: str = ""


TensorInstruction: TypeAlias = MoveTo | ReplicateTo | PromoteOn
PoolOperation: TypeAlias = (
    OpenOn | CloseOn | SetWorkersOn | SetCycleOn | ForgetOn | TensorInstruction
)
PoolInstruction: TypeAlias = (
    StartAggregator | StopAggregator | KillAggregator | PoolOperation | PublishRoutes | EndJob
)
