"""What commands, pages and metrics show of a pool."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

JobPhase: TypeAlias = Literal["starting", "profiling", "waiting", "placed", "recovering"]


@dataclass(frozen=True)
class AggregatorView:
    """`cycle_ns`: 0: none is enforced. `used_share`: of the cycle, by the jobs whose tensors it
    serves. `jobs`: their names. `replicas`: of tensors that others serve. `memory_bytes`: of both.
    `is_draining`: it is to leave. `link_share`: of the cycle, in which its link is busy; 0 also
    where links are not limited.
    """

    number: int
    is_running: bool
    cycle_ns: int
    used_share: float
    jobs: tuple[str, ...]
    tensors: int
    replicas: int
    memory_bytes: int
    is_draining: bool = False
    link_share: float = 0.0


@dataclass(frozen=True)
class PoolJobView:
    """`workers`: ranks. `steps`: applied by all its Aggregators. `iteration_ns`: of the latest
    iterations. `alone_ns`: of the profile. Losses are shares of the speed; None: not known.
    `late`: iterations that were moved to the next cycle. `loss_limit`: of the job, or that of the
    pool. `model_bytes`, `largest_bytes`: of all tensors of its model, and of the largest one; 0:
    the pool sees no tensors of a model.
    """

    number: int
    name: str
    phase: JobPhase
    workers: tuple[int, ...]
    servers: int
    tensors: int
    aggregators: tuple[int, ...]
    steps: int
    iteration_ns: int
    alone_ns: int | None
    predicted_loss: float | None
    measured_loss: float | None
    late: int
    loss_limit: float
    model_bytes: int
    largest_bytes: int


@dataclass(frozen=True)
class PoolView:
    """`most_aggregators`: that the pool may have. `clusters`: of the plan."""

    aggregators: tuple[AggregatorView, ...]
    jobs: tuple[PoolJobView, ...]
    clusters: tuple[tuple[int, ...], ...]
    most_aggregators: int
    loss_limit: float


@dataclass(frozen=True)
class DescribePool:
    """Asks for a `PoolView`."""


@dataclass(frozen=True)
class ExplainJob:
    """Asks where the tensors of a job are, and why; `job`: its name."""

    job: str


@dataclass(frozen=True)
class TensorView:
    """`replica`: None: there is none yet. `cpu_ns`: of its aggregation in an iteration, with the
    replica; None: not measured. `others`: why it is on no other Aggregator of the cluster.
    """

    name: str
    shape: tuple[int, ...]
    aggregator: int
    replica: int | None
    cpu_ns: int | None
    reason: str
    others: tuple[str, ...]


@dataclass(frozen=True)
class JobPlacement:
    """The answer to `ExplainJob`."""

    job: PoolJobView
    tensors: tuple[TensorView, ...]
