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
class CopyTensors:
    """TENSOR_COPY: tensors, whose arrays are the payload. `images`: their description.

    `are_replicas`: the receiver keeps them as replicas. `replicas`: of each tensor itself, which
    the receiver keeps up to date from now on; empty: none. A tensor of which the receiver has a
    replica comes without arrays, since the replica is equal. Status of the reply: `CopyStatus`.
    """

    kind: ClassVar[AggregatorRequest] = AggregatorRequest.COPY
    job: int
    numbers: tuple[int, ...]
    specs: tuple[TensorSpec, ...]
    optimizer: OptimizerKind
    groups: str
    workers: tuple[WorkerChange, ...]
    images: str
    are_replicas: bool
    replicas: tuple[str, ...]


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
    """Replicas do what the Aggregator of their tensors did. The payload: their means, in order.

    `sums`: the means of the step are known with it; `has_mean`: by tensor. `ends`: the step ends;
    `options`: of the parameter groups, as a JSON list; `option_of`: by tensor, the place in it, or
    -1: as before.
    """

    kind: ClassVar[AggregatorRequest] = AggregatorRequest.APPLY
    job: int
    numbers: tuple[int, ...]
    step: int
    sums: bool
    has_mean: tuple[bool, ...]
    ends: bool
    is_applied: bool
    options: str
    option_of: tuple[int, ...]


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
    ExpectTensors | CopyTensors | AwaitWorkers | AwaitCopy | ApplyStep | DropReplica | KeepBroadcast
)
