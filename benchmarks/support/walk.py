"""Takes one job on a testbed through a list of configurations while it trains.

Runs on the testbed's front. Every stop of the walk has numbers of workers and servers, each with
its even share. Epochs during a change are marked as not settled, and so are the three after it: one
began before its end, one is the first with new mini-batches, and hosts get their quotas back.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from motet.apps import load_application
from motet.datasets import open_dataset
from motet.domain.errors import Interrupted
from motet.runtime.backends.ray.cluster import RayCluster
from motet.runtime.controller.job import Job
from motet.runtime.core.options import TrainOptions
from motet.runtime.core.reporting.reports import EpochReport, ReconfigurationReport
from motet.runtime.elastic.even_plans import plan_for_counts
from support.recorder import Recorder

SETTLING_EPOCHS = 3
MOVING, TRAINING = "moving", "training"
"""Said on stderr: hosts may be fast now; hosts must be as slow as they are meant to be."""


@dataclass(frozen=True)
class WalkPlan:
    """What to train and where to go. `stops`: numbers of workers and servers.

    The first one begins after `warm_up_epochs`. A stop ends after at least `least_epochs` settled
    epochs that took `least_s` together.
    """

    app: str
    data: str
    settings: Mapping[str, Any]
    machines: int
    stops: list[tuple[int, int]]
    warm_up_epochs: int = 0
    least_epochs: int = 3
    least_s: float = 4.0

    def options(self) -> TrainOptions:
        """Of the job: endless, it is cancelled at the end of the walk."""
        workers, servers = self.stops[0]
        return TrainOptions(
            self.machines, workers, servers, epochs=1_000_000, checkpoint_every=1_000_000
        )


class Walk(Recorder):
    """Asks for the next stop when it has seen enough of this one."""

    def __init__(self, plan: WalkPlan, out: Path) -> None:
        super().__init__(out, plan.machines)
        self._plan = plan
        self._stop = 0
        self._is_changing = False
        self._to_skip = SETTLING_EPOCHS + plan.warm_up_epochs
        self._settled_s: list[float] = []

    def started(self, instance_count: int, model_bytes: int) -> None:
        """Training is about to begin."""
        super().started(instance_count, model_bytes)
        if not self._plan.warm_up_epochs:
            say(TRAINING)

    def epoch_done(self, report: EpochReport) -> None:
        """Go on if this stop has been seen for long enough."""
        is_settled = not self._is_changing and self._to_skip == 0
        fields = {"stop": self._stop, "is_settled": is_settled, **self.state()}
        self.write("epoch", **fields, **asdict(report))
        if is_settled:
            self._settled_s.append(report.wall_s)
            if self._has_seen_enough():
                self._go_on()
        elif not self._is_changing:
            self._to_skip -= 1
        if report.epoch == self._plan.warm_up_epochs:
            say(TRAINING)

    def reconfigured(self, report: ReconfigurationReport) -> None:
        """The job is at its next stop."""
        say(TRAINING)
        super().reconfigured(report)
        self._to_skip = SETTLING_EPOCHS
        self._is_changing = False

    def _has_seen_enough(self) -> bool:
        seen = self._settled_s
        return len(seen) >= self._plan.least_epochs and sum(seen) >= self._plan.least_s

    def _go_on(self) -> None:
        self._settled_s.clear()
        self._stop += 1
        if self._stop == len(self._plan.stops):
            self.job.cancel()
            return
        self._is_changing = True
        say(MOVING)
        workers, servers = self._plan.stops[self._stop]
        machines = range(self._plan.machines)
        self.job.reconfigure(lambda layout: plan_for_counts(layout, workers, servers, machines))


def say(what: str) -> None:
    """To who started this."""
    print(what, file=sys.stderr, flush=True)


def walk(plan: WalkPlan, out: Path) -> None:
    """Train until the last stop has been seen. Raises MotetError."""
    app = load_application(plan.app)(**plan.settings)
    rows = app.prepare(open_dataset(plan.data), 0)
    with RayCluster.join(os.environ["MOTET_ADDRESS"], plan.machines) as cluster:
        job = Job(app, rows, plan.options(), cluster)
        Walk(plan, out).drive(job)
        try:
            job.run()
        except Interrupted:
            return


if __name__ == "__main__":
    walk(WalkPlan(**json.loads(sys.argv[1])), Path(sys.argv[2]))
