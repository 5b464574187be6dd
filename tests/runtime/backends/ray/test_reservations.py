"""Placement groups of executors on Ray."""

from __future__ import annotations

import random

import pytest

from executor_processes import executor_processes
from motet.runtime.backends.ray.cluster import RayCluster, ray
from motet.runtime.controller.job import Job
from motet.runtime.core.options import TrainOptions
from motet.runtime.core.reporting.observers import TrainObserver
from motet.runtime.core.reporting.reports import EpochReport
from toy_app import ToyRegression

pytestmark = pytest.mark.cluster


class KillsOnce(TrainObserver):
    """Kills an executor at a mini-batch; remembers the placement groups that were made since."""

    def __init__(self, batch: int) -> None:
        self._left = batch
        self._before = set(ray.util.placement_group_table())
        self.seen: set[str] = set()

    def batch_done(self, epoch: int, batch: int, batch_count: int) -> None:
        del epoch, batch, batch_count
        self._left -= 1
        if self._left == 0:
            random.Random(5).choice(executor_processes()).kill()

    def epoch_done(self, report: EpochReport) -> None:
        del report
        self.seen |= set(ray.util.placement_group_table()) - self._before


def test_an_executor_that_is_started_anew_takes_the_place_of_the_lost_one(
    ray_cluster: RayCluster,
) -> None:
    options = TrainOptions(machines=4, workers=3, servers=2, epochs=4, checkpoint_every=2)
    observer, app = KillsOnce(batch=1), ToyRegression(batch_size=5)
    result = Job(app, app.prepare(None, seed=1), options, ray_cluster, observer).run()
    assert len(result.recoveries) == 1
    assert len(observer.seen) == 1
