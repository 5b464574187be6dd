"""Requests of pMaster to an Aggregator (`AggregatorControl`)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, TypeAlias

from motet.aggregation.wire.aggregator_control import CycleShare, JobMeasurement
from motet.aggregation.wire.message_kinds import AggregatorRequest


@dataclass(frozen=True)
class OpenJob:
    """`secret`: as hexadecimal digits."""

    kind: ClassVar[AggregatorRequest] = AggregatorRequest.OPEN_JOB
    job: int
    name: str
    secret: str
    memory_bytes: int


@dataclass(frozen=True)
class CloseJob:
    """See AggregatorControl."""

    kind: ClassVar[AggregatorRequest] = AggregatorRequest.CLOSE_JOB
    job: int


@dataclass(frozen=True)
class SetJobWorkers:
    """See AggregatorControl."""

    kind: ClassVar[AggregatorRequest] = AggregatorRequest.SET_WORKERS
    job: int
    ranks: tuple[int, ...]
    from_step: int


@dataclass(frozen=True)
class SetCycle:
    """See AggregatorControl."""

    kind: ClassVar[AggregatorRequest] = AggregatorRequest.SET_CYCLE
    cycle_ns: int
    shares: tuple[CycleShare, ...]


@dataclass(frozen=True)
class ReplicateTensors:
    """See AggregatorControl."""

    kind: ClassVar[AggregatorRequest] = AggregatorRequest.REPLICATE
    job: int
    tensors: tuple[int, ...]
    peer: str


@dataclass(frozen=True)
class ForgetReplicas:
    """See AggregatorControl."""

    kind: ClassVar[AggregatorRequest] = AggregatorRequest.FORGET_REPLICAS
    job: int
    peer: str


@dataclass(frozen=True)
class PromoteTensors:
    """See AggregatorControl."""

    kind: ClassVar[AggregatorRequest] = AggregatorRequest.PROMOTE
    job: int
    tensors: tuple[int, ...]


@dataclass(frozen=True)
class MoveTensors:
    """See AggregatorControl."""

    kind: ClassVar[AggregatorRequest] = AggregatorRequest.MOVE
    job: int
    tensors: tuple[int, ...]
    peer: str


@dataclass(frozen=True)
class Measure:
    """See AggregatorControl."""

    kind: ClassVar[AggregatorRequest] = AggregatorRequest.MEASURE


@dataclass(frozen=True)
class Measured:
    """The reply to `Measure`."""

    jobs: tuple[JobMeasurement, ...]


ControlMessage: TypeAlias = (
    OpenJob
    | CloseJob
    | SetJobWorkers
    | SetCycle
    | ReplicateTensors
    | ForgetReplicas
    | PromoteTensors
    | MoveTensors
    | Measure
)
