"""`motet train --auto`: the first configuration, the run, and flags that exclude it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from motet.domain.errors import BadInput
from motet.interfaces.cli.train.cluster_shape import ClusterShape

if TYPE_CHECKING:
    from motet.interfaces.cli.screens.train import LineProgress
    from motet.runtime.autotune.history import TuningHistory
    from motet.runtime.autotune.sizing import Sizing
    from motet.runtime.controller.job import Job
    from motet.runtime.controller.ports import ExecutorCluster
    from motet.runtime.core.consistency import Consistency
    from motet.runtime.core.options import TrainOptions
    from motet.runtime.core.reporting.reports import TrainResult

LOGICAL_MACHINES = 4
"""Logical machines of this machine, without --machines and --address."""
_MOST_MACHINES = 10_000


@dataclass(frozen=True)
class AutoStart:
    """The flags of a job under `--auto`; `machines`: the number that it may use."""

    machines: int | None
    workers: int | None
    servers: int | None
    is_embedded: bool

    @property
    def least_machines(self) -> int:
        """The smallest number of machines for a start."""
        if self.workers is None and self.servers is None:
            return 1
        workers, servers = max(self.workers or 1, 1), max(self.servers or 1, 1)
        # On a cluster with fewer nodes some executors have both roles.
        wanted = workers + servers if self.is_embedded else max(workers, servers)
        return wanted if self.machines is None else min(wanted, self.machines)

    @property
    def most_machines(self) -> int:
        """The largest number of machines at a time."""
        if self.machines is None:
            return self.shape.machines if self.is_embedded else _MOST_MACHINES
        return self.machines

    @property
    def shape(self) -> ClusterShape:
        """Roles as far as they are known before a cluster is joined."""
        needed = self.least_machines
        present = max(LOGICAL_MACHINES, needed) if self.is_embedded else needed
        return self._shape_on(present if self.machines is None else self.machines)

    def on(
        self, cluster: ExecutorCluster, options: TrainOptions, most_workers: int
    ) -> TrainOptions:
        """The options for the present machines; more than `most_workers` would have no data."""
        present = sum(machine.condition == "up" for machine in cluster.machines())
        shape = self._shape_on(present)
        workers = min(shape.workers, most_workers)
        return replace(options, machines=shape.machines, workers=workers, servers=shape.servers)

    def _shape_on(self, present: int) -> ClusterShape:
        return ClusterShape.to_begin_with(present, self.workers, self.servers)


def require_drivable(reconfigure: Path | None, consistency: Consistency) -> None:
    """Raises BadInput for options that --auto cannot be combined with."""
    if reconfigure is not None:
        raise BadInput(
            f"--auto and --reconfigure {reconfigure}: both change the configuration; "
            "leave one of them out"
        )
    if not consistency.is_lockstep:
        raise BadInput(
            f"--auto with consistency={consistency.name}: works under bsp only, whose mini-batches "
            "its cost model describes; leave consistency or --auto out"
        )


def run_tuned(
    job: Job,
    progress: LineProgress,
    on_begin: Callable[[TuningHistory], None] = lambda history: None,
    sizing: Sizing | None = None,
) -> tuple[TrainResult, TuningHistory]:
    """Run the job with the autotuner, whose growing history `on_begin` gets. `sizing`: of a job
    that may ask for other numbers of machines. Raises MotetError."""
    from motet.runtime.autotune.autotuner import Autotuner

    with Autotuner(job, progress.decided, sizing=sizing) as autotuner:
        on_begin(autotuner.history)
        result = job.run()
    if autotuner.failure:
        progress.remark(f"the autotuner stopped: {autotuner.failure}")
    return result, autotuner.history
