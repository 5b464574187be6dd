"""What a training run is asked to do, and what it reports."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from motet.domain.errors import BadInput

if TYPE_CHECKING:
    from motet.runtime.core.application import Application
    from motet.runtime.core.batch_costs import BatchCost
    from motet.runtime.core.machine import Machine

Consistency = Literal["bsp", "ssp", "async"]
Stragglers = Literal["ignore", "help"]


@dataclass(frozen=True)
class StopRule:
    """Train until convergence: `loss <= value`, or relative improvement per epoch `< value`."""

    kind: Literal["loss", "improvement"]
    value: float

    @classmethod
    def parse(cls, text: str) -> StopRule:
        """From `loss=X` or `improvement=Y`. Raises BadInput."""
        kind, _, number = text.partition("=")
        try:
            value = float(number)
        except ValueError:
            value = float("nan")
        if kind == "loss" and value == value:
            return cls("loss", value)
        if kind == "improvement" and value > 0:
            return cls("improvement", value)
        raise BadInput(
            f"--until {text!r}: write loss=NUMBER or improvement=NUMBER (above 0, for example 1e-4)"
        )

    def met(self, losses: list[float]) -> bool:
        """Whether training may stop after these epochs' losses."""
        if not losses:
            return False
        if self.kind == "loss":
            return losses[-1] <= self.value
        if len(losses) < 2:
            return False
        previous, last = losses[-2:]
        return abs(previous - last) < self.value * max(abs(previous), 1e-300)


@dataclass(frozen=True)
class TrainOptions:
    """One parameter-server job on a cluster.

    `workers` and `servers` are counts of machines in that role; with `workers + servers > machines`
    some machines host both. `spent_s`: seconds that the run took before this job, in start-up and
    up to the checkpoint that it resumes; they count in `TrainResult.wall_s`. `stragglers`: with
    "help" idle workers compute instances of late ones (BSP only); sums are then added in an order
    that depends on who was late.
    """

    machines: int
    workers: int
    servers: int
    epochs: int
    seed: int = 0
    consistency: Consistency = "bsp"
    staleness: int = 0
    worker_batch_size: int | None = None
    until: StopRule | None = None
    checkpoint_every: int = 10
    checkpoint_dir: Path | None = None
    resume: bool = False
    max_recoveries: int = 5
    port: int = 0
    spent_s: float = 0.0
    stragglers: Stragglers = "ignore"

    def __post_init__(self) -> None:
        for role, count in (("workers", self.workers), ("servers", self.servers)):
            if not 1 <= count <= self.machines:
                raise BadInput(
                    f"{role}={count}: must be between 1 and machines={self.machines}; "
                    f"lower --{role} or raise --machines"
                )
        if self.stragglers == "help" and self.consistency != "bsp":
            raise BadInput(
                f"stragglers=help with consistency={self.consistency}: only under bsp do workers "
                "wait for late ones; leave one of them out"
            )
        if self.epochs < 1:
            raise BadInput(f"epochs={self.epochs}: must be at least 1")
        if self.worker_batch_size is not None and self.worker_batch_size < 1:
            raise BadInput(f"worker_batch_size={self.worker_batch_size}: must be at least 1")
        if self.staleness < 0:
            raise BadInput(f"staleness={self.staleness}: must be 0 or more")
        if self.checkpoint_every < 1:
            raise BadInput(f"checkpoint_every={self.checkpoint_every}: must be at least 1 (epochs)")


@dataclass(frozen=True)
class EpochReport:
    """One finished epoch.

    `wall_s`: the slowest worker's time for its mini-batches (evaluation apart); `comp_s`, `comm_s`,
    `wait_s`: means over workers; bytes: sums; `batch_s`: the slowest worker's, per mini-batch.
    """

    epoch: int
    loss: float
    metrics: Mapping[str, float]
    wall_s: float
    comp_s: float
    comm_s: float
    wait_s: float
    bytes_pulled: int
    bytes_pushed: int
    instances: int
    batch_s: tuple[float, ...] = ()

    @property
    def instances_per_s(self) -> float:
        """Training throughput over all workers."""
        return self.instances / self.wall_s if self.wall_s > 0 else 0.0


@dataclass(frozen=True)
class Recovery:
    """A failure that the job survived."""

    at_epoch: int
    resumed_from_epoch: int
    cause: str


@dataclass(frozen=True)
class RoleCounts:
    """How many executors do what."""

    workers: int
    servers: int


@dataclass(frozen=True)
class ReconfigurationReport:
    """A reconfiguration that ended.

    `at_epoch`: epochs done when it began; `plan_s`: seconds from its first operation to its last;
    `stall_s`: how long a worker or a key waited for one of them at most; `error`: why it ended
    early (empty: it did not); `predicted_gain`: the part of an epoch's time it was to save, if a
    planner asked for it.
    """

    at_epoch: int
    before: RoleCounts
    after: RoleCounts
    predicted_gain: float | None
    plan_s: float
    operations: int
    moved_bytes: int
    stall_s: float
    error: str = ""


@dataclass(frozen=True)
class TrainResult:
    """A finished training run; `app` is fitted.

    `epochs` are all of the run's, also those before a resumed checkpoint; `wall_s`: seconds of this
    job and `TrainOptions.spent_s`.
    """

    app: Application
    epochs: tuple[EpochReport, ...]
    model_sha256: str
    wall_s: float
    recoveries: tuple[Recovery, ...] = field(default=())
    resumed_from_epoch: int | None = None
    reconfigurations: tuple[ReconfigurationReport, ...] = ()

    @property
    def losses(self) -> list[float]:
        """Loss after each epoch."""
        return [report.loss for report in self.epochs]


class TrainObserver:
    """Hears of a run's progress; every method may be left as it is.

    Called from one thread; `reconfigured` and `machine_changed` from others. What a method raises
    ends the run, which raises it.
    """

    def preparing(self, what: str) -> None:
        """A start-up step has begun (for people: "starting 5 executors")."""

    def started(self, instance_count: int, model_bytes: int) -> None:
        """Training is about to begin."""

    def batch_done(self, epoch: int, batch: int, batch_count: int) -> None:
        """A mini-batch ended (called a few times per second at most)."""

    def measured(self, executor: int, costs: Sequence[BatchCost]) -> None:
        """A worker's mini-batches since it last told, the oldest first (a few times per second)."""

    def epoch_done(self, report: EpochReport) -> None:
        """An epoch ended and was evaluated."""

    def recovering(self, recovery: Recovery) -> None:
        """An executor was lost; training continues from the last checkpoint."""

    def machine_changed(self, machine: Machine) -> None:
        """A machine appeared ("up"), will be taken away or is gone (called from another thread)."""

    def reconfigured(self, report: ReconfigurationReport) -> None:
        """A reconfiguration ended (also called from another thread than the rest)."""
