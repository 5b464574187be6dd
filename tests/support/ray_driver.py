"""Trains on a running Ray cluster with checkpoints until it kills itself: ADDRESS FOLDER EPOCH."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

from motet.runtime.backends.ray.cluster import RayCluster
from motet.runtime.controller.job import Job
from motet.runtime.controller.ports import ExecutorCluster
from motet.runtime.core.options import TrainOptions
from motet.runtime.core.reporting.observers import TrainObserver
from motet.runtime.core.reporting.reports import EpochReport, TrainResult
from toy_app import ToyRegression


def train(
    address: str, folder: Path | None, observer: TrainObserver, *, resume: bool = False
) -> TrainResult:
    """As `train_on`, on the cluster at an address."""
    with RayCluster.join(address, machines=3) as cluster:
        return train_on(cluster, folder, observer, resume=resume)


def train_on(
    cluster: ExecutorCluster, folder: Path | None, observer: TrainObserver, *, resume: bool = False
) -> TrainResult:
    """Two workers, one server, thirty epochs."""
    app = ToyRegression(batch_size=10)
    options = TrainOptions(
        machines=3,
        workers=2,
        servers=1,
        epochs=30,
        checkpoint_every=5,
        checkpoint_dir=folder,
        resume=resume,
    )
    return Job(app, app.prepare(None, seed=1), options, cluster, observer).run()


class Suicide(TrainObserver):
    """At the end of an epoch."""

    def __init__(self, epoch: int) -> None:
        self._epoch = epoch

    def epoch_done(self, report: EpochReport) -> None:
        if report.epoch_index == self._epoch:
            os.kill(os.getpid(), signal.SIGKILL)


if __name__ == "__main__":
    train(sys.argv[1], Path(sys.argv[2]), Suicide(int(sys.argv[3])))
