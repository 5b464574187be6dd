"""Trains one job on a testbed through a list of configurations, and writes what it saw.

Runs on a testbed's front. Every stop of the walk has numbers of workers and servers, each with its
even share; the job is reconfigured from one to the next without stopping. An epoch during a change
and the two after it (half of one, and the first with new mini-batches) are marked as not settled.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from motet.apps import load_application
from motet.datasets import open_dataset
from motet.domain.errors import Interrupted
from motet.runtime.job import Job
from motet.runtime.options import EpochReport, ReconfigurationReport, TrainObserver, TrainOptions
from motet.runtime.ray_cluster import RayCluster
from motet.runtime.reconfiguration import towards

SETTLING_EPOCHS = 2


@dataclass(frozen=True)
class WalkPlan:
    """What to train and where to go. `stops`: numbers of workers and servers.

    A stop ends after at least `least_epochs` settled epochs that took `least_s` together.
    """

    app: str
    data: str
    settings: dict[str, Any]
    machines: int
    stops: list[tuple[int, int]]
    least_epochs: int = 3
    least_s: float = 4.0
    first_epochs_skipped: int = 3

    def options(self) -> TrainOptions:
        """Of the job: endless, it is cancelled at the end of the walk."""
        workers, servers = self.stops[0]
        return TrainOptions(
            self.machines, workers, servers, epochs=1_000_000, checkpoint_every=1_000_000
        )


@dataclass
class Walk(TrainObserver):
    """Asks for the next stop when it has seen enough of this one."""

    plan: WalkPlan
    out: Path
    job: Job | None = None
    _stop: int = 0
    _is_changing: bool = False
    _to_skip: int = 0
    _settled_s: list[float] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._to_skip = self.plan.first_epochs_skipped

    def started(self, instance_count: int, model_bytes: int) -> None:
        """Training is about to begin."""
        self._write("started", instances=instance_count, model_bytes=model_bytes)

    def epoch_done(self, report: EpochReport) -> None:
        """Write the epoch down; go on if this stop has been seen for long enough."""
        is_settled = not self._is_changing and self._to_skip == 0
        self._write_epoch(report, is_settled)
        if self._is_changing:
            return
        if not is_settled:
            self._to_skip -= 1
            return
        self._settled_s.append(report.wall_s)
        if self._has_seen_enough():
            self._go_on()

    def reconfigured(self, report: ReconfigurationReport) -> None:
        """The job is at its next stop."""
        self._write("reconfigured", **asdict(report))
        self._to_skip = SETTLING_EPOCHS
        self._is_changing = False

    def _has_seen_enough(self) -> bool:
        seen = self._settled_s
        return len(seen) >= self.plan.least_epochs and sum(seen) >= self.plan.least_s

    def _go_on(self) -> None:
        assert self.job is not None
        self._settled_s.clear()
        self._stop += 1
        if self._stop == len(self.plan.stops):
            self._write("ended")
            self.job.cancel()
            return
        self._is_changing = True
        workers, servers = self.plan.stops[self._stop]
        machines = self.plan.machines
        self.job.reconfigure(lambda layout: towards(layout, workers, servers, machines))

    def _write_epoch(self, report: EpochReport, is_settled: bool) -> None:
        assert self.job is not None
        layout = self.job.layout
        self._write(
            "epoch",
            stop=self._stop,
            is_settled=is_settled,
            workers=len(layout.workers),
            servers=len(layout.servers),
            data_blocks=[len(layout.data.blocks_of(it)) for it in range(self.plan.machines)],
            model_blocks=[len(layout.model.blocks_of(it)) for it in range(self.plan.machines)],
            **asdict(report),
        )

    def _write(self, kind: str, **fields: Any) -> None:
        with self.out.open("a", encoding="utf-8") as file:
            file.write(json.dumps({"kind": kind, "at_s": time.time(), **fields}) + "\n")


def walk(plan: WalkPlan, out: Path) -> None:
    """Train until the last stop has been seen. Raises MotetError."""
    app = load_application(plan.app)(**plan.settings)
    rows = app.prepare(open_dataset(plan.data), 0)
    with RayCluster.join(os.environ["MOTET_ADDRESS"], plan.machines) as cluster:
        observer = Walk(plan, out)
        observer.job = Job(app, rows, plan.options(), cluster, observer)
        try:
            observer.job.run()
        except Interrupted:
            return


def read_events(path: Path) -> Iterator[dict[str, Any]]:
    """What a walk wrote."""
    for line in path.read_text(encoding="utf-8").splitlines():
        yield json.loads(line)


if __name__ == "__main__":
    walk(WalkPlan(**json.loads(sys.argv[1])), Path(sys.argv[2]))
