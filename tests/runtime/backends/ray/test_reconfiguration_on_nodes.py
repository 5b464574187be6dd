"""A running Ray cluster of several nodes: which executor is where, and what a death leaves."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import numpy as np
import psutil
import pytest

import motet.runtime.backends.ray.environment  # noqa: F401
import ray_driver
from executor_processes import await_ends_of_executors, executor_processes
from local_toy import trained_locally
from motet.domain.reconfiguration import Add, Delete, Plan
from motet.runtime.backends.local.cluster import LocalCluster
from motet.runtime.backends.ray.cluster import RayCluster, ray
from motet.runtime.controller.job import Job
from motet.runtime.controller.ports import LaunchRequest
from motet.runtime.controller.reconfiguration.plan_queue import TimedPlan
from motet.runtime.core.options import TrainOptions
from motet.runtime.core.reporting.observers import TrainObserver
from motet.runtime.core.reporting.reports import EpochReport
from ray_nodes import ray_nodes
from toy_app import ToyRegression
from unhurried import UntilPlansAreDone
from waiting import wait_until

pytestmark = [pytest.mark.cluster, pytest.mark.slow]

EPOCHS = 60


@pytest.fixture(scope="module")
def address(no_shared_ray: None) -> Iterator[str]:
    """Three nodes of one CPU each and a head without, on this machine."""
    del no_shared_ray
    with ray_nodes() as nodes:
        for number in (10, 2, 1):
            nodes.add(f"m{number}", 1, motet_kind=f"k{number}")
        yield nodes.address


class Nodes(UntilPlansAreDone):
    """On how many nodes the job's executors are, at most."""

    def __init__(self, plans: int) -> None:
        super().__init__(plans)
        self.most = 0

    def reconfigured(self, report: object) -> None:
        super().reconfigured(report)
        groups = ray.util.placement_group_table().values()
        nodes = [
            node
            for group in groups
            if group["state"] == "CREATED"
            for node in group["bundles_to_node_id"].values()
        ]
        assert len(set(nodes)) == len(nodes)
        self.most = max(self.most, len(nodes))


@pytest.mark.soak
def test_an_executor_and_its_arbiter_are_on_the_node_that_is_its_machine(address: str) -> None:
    with RayCluster.join(address, machines=3) as cluster:
        machines = cluster.machines()
        assert [it.name for it in machines] == ["m1", "m2", "m10"]
        assert [it.kind for it in machines] == ["k1", "k2", "k10"]
        names = {node["NodeID"]: node["NodeName"] for node in ray.nodes()}
        for number in (2, 0):
            (executor,) = cluster.launch(
                LaunchRequest("a job", (number,), bytes(32), ToyRegression())
            ).values()
            groups = ray.util.placement_group_table().values()
            (node,) = {
                node
                for group in groups
                if group["state"] == "CREATED"
                for node in group["bundles_to_node_id"].values()
            }
            assert names[node] == machines[number].name
            # The arbiter of a killed executor ends when it has noticed the death.
            wait_until(lambda node=node: [it for it in names if arbiter_of(it)] == [node])  # type: ignore[misc]
            executor.kill()


def arbiter_of(node: str) -> list[int]:
    """Processes of the arbiter of a Ray node."""
    found = []
    for each in psutil.process_iter():
        with suppress(psutil.Error):
            if any(word.endswith(f"/arbiter-{node}") for word in each.cmdline()):
                found.append(each.pid)
    return found


@pytest.mark.soak
def test_who_joins_gets_a_node_of_its_own(address: str) -> None:
    plans = [Plan.of([Add(1, "worker")]), Plan.of([Delete(1)]), Plan.of([Add(1, "server")])]
    timetable = [TimedPlan(lambda layout, p=p: p, at_epoch=1) for p in plans]  # type: ignore[misc]
    nodes, app = Nodes(len(plans)), ToyRegression(batch_size=20)
    options = TrainOptions(machines=3, workers=1, servers=1, epochs=EPOCHS)
    with RayCluster.join(address, machines=3) as cluster:
        rows = app.prepare(None, seed=1)
        result = Job(app, rows, options, cluster, nodes, timetable).run()
    assert [report.error for report in result.reconfigurations] == ["", "", ""]
    assert nodes.most == 3
    expected = trained_locally(EPOCHS, batch_size=20)
    np.testing.assert_allclose(result.app.coef_, expected.coef_, rtol=1e-10, atol=1e-13)


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


@pytest.mark.soak
def test_an_executor_that_is_started_anew_takes_the_place_of_the_lost_one(address: str) -> None:
    options = TrainOptions(machines=3, workers=2, servers=2, epochs=4, checkpoint_every=2)
    app = ToyRegression(batch_size=5)
    await_ends_of_executors()  # One of the test before would be killed without an effect.
    with RayCluster.join(address, machines=3) as cluster:
        observer = KillsOnce(batch=1)
        result = Job(app, app.prepare(None, seed=1), options, cluster, observer).run()
    assert len(result.recoveries) == 1
    assert len(observer.seen) == 1
    expected = trained_locally(4, batch_size=5)
    np.testing.assert_allclose(result.app.coef_, expected.coef_, rtol=1e-10, atol=1e-13)


@pytest.mark.soak
def test_executors_end_with_their_controller_and_a_resumed_job_goes_on(
    address: str, local_cluster: LocalCluster, tmp_path: Path
) -> None:
    expected = ray_driver.train_on(local_cluster, None, TrainObserver())
    path = os.pathsep.join(filter(None, sys.path))
    arguments = [sys.executable, ray_driver.__file__, address, str(tmp_path), "12"]
    with subprocess.Popen(arguments, env={**os.environ, "PYTHONPATH": path}) as driver:
        assert driver.wait(timeout=200) == -signal.SIGKILL
    await_ends_of_executors()
    result = ray_driver.train(address, tmp_path, TrainObserver(), resume=True)
    assert result.resumed_from_epoch == 10
    assert result.model_sha256 == expected.model_sha256
