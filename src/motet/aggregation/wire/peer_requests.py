"""What Aggregators ask of each other: migration of tensors, and their replicas."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, TypeAlias

from motet.aggregation.wire.message_kinds import AggregatorRequest
from motet.aggregation.wire.tensor_spec import OptimizerKind, TensorSpec


@dataclass(frozen=True)
class WorkerChange:
    """The workers of a job from a step on."""

    from_step: int
    ranks: tuple[int, ...]


@dataclass(frozen=True)
class ExpectTensors:
    """MIGRATE_INIT: the tensors will come from `origin`; gradients may come before."""

    kind: ClassVar[AggregatorRequest] = AggregatorRequest.EXPECT
    job: int
    origin: str
    numbers: tuple[int, ...]
    specs: tuple[TensorSpec, ...]
    optimizer: OptimizerKind
    groups: str
    workers: tuple[WorkerChange, ...]


@dataclass(frozen=True)
class CopyTensor:
    """TENSOR_COPY: a tensor, whose arrays are the payload. `image`: their description.

    `is_replica`: the receiver keeps it as a replica. `replica`: of the tensor itself, which the
    receiver keeps up to date from now on; empty: none.
    """

    kind: ClassVar[AggregatorRequest] = AggregatorRequest.COPY
    job: int
    number: int
    spec: TensorSpec
    optimizer: OptimizerKind
    groups: str
    workers: tuple[WorkerChange, ...]
    image: str
    is_replica: bool
    replica: str


@dataclass(frozen=True)
class AwaitWorkers:
    """WORKER_DONE is the reply: all workers have sent their part of a step for the tensors."""

    kind: ClassVar[AggregatorRequest] = AggregatorRequest.AWAIT_WORKERS
    job: int
    numbers: tuple[int, ...]
    version: int


@dataclass(frozen=True)
class AwaitCopy:
    """The reply comes once tensors were copied; the connection breaks if their origin dies."""

    kind: ClassVar[AggregatorRequest] = AggregatorRequest.AWAIT_COPY
    job: int
    numbers: tuple[int, ...]


@dataclass(frozen=True)
class ApplyStep:
    """A replica does what the tensor's Aggregator did. The payload is the mean, if `has_mean`.

    `sums`: the mean of the step is known with it. `ends`: the step ends; `options`: of the
    tensor's parameter group, as JSON ("": as before).
    """

    kind: ClassVar[AggregatorRequest] = AggregatorRequest.APPLY
    job: int
    number: int
    step: int
    sums: bool
    has_mean: bool
    ends: bool
    is_applied: bool
    options: str


@dataclass(frozen=True)
class DropReplica:
    """Another Aggregator has the replica now."""

    kind: ClassVar[AggregatorRequest] = AggregatorRequest.DROP_REPLICA
    job: int
    number: int


@dataclass(frozen=True)
class KeepBroadcast:
    """A complete joint copy, for workers that ask again; its bytes are the payload."""

    kind: ClassVar[AggregatorRequest] = AggregatorRequest.KEEP_BROADCAST
    job: int
    step: int
    index: int


PeerMessage: TypeAlias = (
    ExpectTensors | CopyTensor | AwaitWorkers | AwaitCopy | ApplyStep | DropReplica | KeepBroadcast
)
