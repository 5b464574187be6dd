"""What a job reports: epochs, recoveries, reconfigurations, its result."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from motet.domain.reconfiguration import RoleCounts
from motet.runtime.core.application import Application
from motet.runtime.core.convergence import Convergence


@dataclass(frozen=True)
class Help:
    """Instances of a late worker that another one computed, in so many mini-batches.

    Workers are named by their machines' numbers.
    """

    helper: int
    helped: int
    batches: int
    instances: int


@dataclass(frozen=True)
class RemoteUse:
    """By spilled data. `held`: bytes that lenders have now. `read`, `read_from_disk`: since the
    last question, from lenders, and from the disk because no lender had them."""

    held: int = 0
    read: int = 0
    read_from_disk: int = 0


NO_REMOTE_USE = RemoteUse()


@dataclass(frozen=True)
class EpochReport:
    """One finished epoch.

    `epoch_index`: counts from 0, as `step.epoch` of applications does. `wall_s`: the slowest
    worker's time for its mini-batches (evaluation apart). `comp_s`, `comm_s`, `wait_s`, `load_s`,
    `room_s`: means over workers; COMP waited `load_s` for spilled data, and for `room_s` of that
    memory was freed for them. Bytes: sums. `batch_s`: the slowest worker's, per mini-batch.
    `residual`: the distance from convergence (`convergence.py`). `help`: of stragglers. Where
    the job continued within the epoch, times and bytes are those since then. `memory_bytes`,
    `least_memory_bytes`: at its end, of the processes of the job on the machine of a worker with
    the most, and with the least; 0: unknown.
    `model_spill_bytes`: of the model that are on disk at its end, all servers together;
    `model_spill_s`: for which requests read and wrote such blocks, a mean over these servers.
    `remote_bytes`: spilled data that lenders of memory have at its end; `remote_read_bytes`: read
    from them since the end of the epoch before; `backup_read_bytes`: read from disks instead,
    because no lender had them; sums over executors.
    `evaluation_comp_s`, `evaluation_comm_s`: of the evaluation after the mini-batches, means over
    workers; `evaluation_s`: all of it, of the slowest worker. `cycle_s`: of the mini-batches and
    the evaluation, of the worker that took longest for both. `cpu_s`: CPU time of the process of a
    worker, in all of its threads, a mean over workers; 0: unknown. `gate_s`: for which subtasks of
    a worker waited for those of other jobs on its machine, a mean over workers.
    """

    epoch_index: int
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
    residual: float = math.inf
    help: tuple[Help, ...] = ()
    load_s: float = 0.0
    room_s: float = 0.0
    memory_bytes: int = 0
    least_memory_bytes: int = 0
    model_spill_bytes: int = 0
    model_spill_s: float = 0.0
    remote_bytes: int = 0
    remote_read_bytes: int = 0
    backup_read_bytes: int = 0
    evaluation_comp_s: float = 0.0
    evaluation_comm_s: float = 0.0
    evaluation_s: float = 0.0
    cycle_s: float = 0.0
    cpu_s: float = 0.0
    gate_s: float = 0.0

    @property
    def epoch(self) -> int:
        """The number of the epoch, counted from 1, as in loss.csv."""
        return self.epoch_index + 1

    @property
    def instances_per_s(self) -> float:
        """Training throughput over all workers."""
        return self.instances / self.wall_s if self.wall_s > 0 else 0.0


def last_residual(reports: Sequence[EpochReport]) -> float:
    """The residual after the last of these epochs; infinite before the first one has ended, as in a
    job that was suspended within it."""
    return reports[-1].residual if reports else math.inf


@dataclass(frozen=True)
class Recovery:
    """A failure that the job survived."""

    at_epoch: int
    resumed_from_epoch: int
    cause: str


@dataclass(frozen=True)
class ReconfigurationReport:
    """A reconfiguration that ended.

    `at_epoch`: epochs done when it began; `plan_s`: seconds from its first operation to its last;
    `stall_s`: how long a worker or a key waited for one of them at most; `error`: why it ended
    early (empty: it did not); `predicted_gain`: the part of an epoch's time that a planner expected
    it to save.
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
    job and `TrainOptions.spent_s`; `convergence`: None if `TrainOptions.tol` is 0.
    """

    app: Application
    epochs: tuple[EpochReport, ...]
    model_sha256: str
    wall_s: float
    recoveries: tuple[Recovery, ...] = field(default=())
    resumed_from_epoch: int | None = None
    convergence: Convergence | None = None
    reconfigurations: tuple[ReconfigurationReport, ...] = ()

    @property
    def losses(self) -> list[float]:
        """Loss after each epoch."""
        return [report.loss for report in self.epochs]
