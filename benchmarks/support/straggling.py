"""Trains a job whose host 1 becomes slow after a while, on a testbed's front.

Run by `benchmarks/stragglers.py`: asks it on stderr to change the host's quota, waits until a file
says that it has, and prints what was measured as one JSON document.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from statistics import median
from typing import Any

from motet.apps import load_application
from motet.datasets import open_dataset
from motet.runtime.autotune.load_balancer import LoadBalancer
from motet.runtime.backends.ray.cluster import RayCluster
from motet.runtime.controller.job import Job
from motet.runtime.core.options import TrainOptions
from motet.runtime.core.reporting.batch_costs import BatchCost
from motet.runtime.core.reporting.observers import TrainObserver
from motet.runtime.core.reporting.reports import EpochReport

SLOW_EXECUTOR = 1
ASK = "please: "


@dataclass(frozen=True)
class Phase:
    """A number of epochs in one state. `quota`: of the slow host from its beginning on."""

    name: str
    epochs: int
    quota: str
    balances: bool = False


@dataclass(frozen=True)
class Straggling:
    """What to train on how many hosts, each a worker, the last one also the server.

    `quota`: of every host.
    """

    app: str
    data: str
    settings: Mapping[str, Any]
    machines: int
    quota: str
    stragglers: str
    phases: Sequence[Phase]


@dataclass
class Measured:
    """Of one phase: seconds of each epoch, and of an instance at each worker (median)."""

    name: str
    epoch_s: list[float] = field(default_factory=list)
    instance_s: dict[int, float] = field(default_factory=dict)
    blocks: list[int] = field(default_factory=list)


class Director(TrainObserver):
    """Notes epochs by phase, and has the quota changed between two phases."""

    def __init__(self, plan: Straggling, folder: Path) -> None:
        self._plan = plan
        self._left = list(plan.phases)
        self._folder = folder
        self._costs: dict[int, list[BatchCost]] = {}
        self.found: list[Measured] = []
        self.job: Job | None = None
        self.slow_host = ""

    def started(self, instance_count: int, model_bytes: int) -> None:
        del instance_count, model_bytes
        self._begin()

    def measured(self, executor: int, costs: Sequence[BatchCost]) -> None:
        self._costs.setdefault(executor, []).extend(costs)

    def epoch_done(self, report: EpochReport) -> None:
        assert self.job is not None
        now = self.found[-1]
        now.epoch_s.append(report.wall_s)
        now.blocks.append(len(self.job.layout.data.blocks_of(SLOW_EXECUTOR)))
        if len(now.epoch_s) == self._phase.epochs:
            now.instance_s = {
                executor: median(cost.comp_s / cost.instances for cost in costs if cost.instances)
                for executor, costs in self._costs.items()
            }
            if self._left:
                self._begin()

    def _begin(self) -> None:
        """Nobody computes meanwhile: workers wait for the answer to their epoch."""
        assert self.job is not None
        self._phase = self._left.pop(0)
        done = self._folder / f"{time.monotonic_ns()}"
        wanted = [(self._plan.quota, "all"), (self._phase.quota, self.slow_host)]
        print(ASK + json.dumps([wanted, str(done)]), file=sys.stderr, flush=True)
        while not done.exists():
            time.sleep(0.02)
        if self._phase.balances:
            self.job.listen(LoadBalancer(self.job))
        self._costs.clear()
        self.found.append(Measured(self._phase.name))


def main() -> None:
    """`python -m support.straggling PLAN FOLDER`."""
    values = json.loads(sys.argv[1])
    phases = [Phase(**phase) for phase in values.pop("phases")]
    plan = Straggling(phases=phases, **values)
    epochs = sum(phase.epochs for phase in phases)
    app = load_application(plan.app)(**plan.settings).set_params(epochs=epochs, random_state=0)
    options = TrainOptions(
        machines=plan.machines,
        workers=plan.machines,
        servers=1,
        epochs=epochs,
        checkpoint_every=epochs,
        stragglers="help" if plan.stragglers == "help" else "ignore",
    )
    director = Director(plan, Path(sys.argv[2]))
    rows = app.prepare(open_dataset(plan.data, kind=app.dataset_kind), 0)
    with RayCluster.join(os.environ["MOTET_ADDRESS"], machines=plan.machines) as cluster:
        director.slow_host = cluster.machines()[SLOW_EXECUTOR].name
        job = Job(app, rows, options, cluster, director)
        director.job = job
        result = job.run()
    found = [asdict(each) for each in director.found]
    moved = [asdict(each) for each in result.reconfigurations]
    document = {"phases": found, "sha256": result.model_sha256, "moves": moved}
    print(json.dumps(document))


if __name__ == "__main__":
    main()
