"""A job goes on after its template process was killed, and so does the cluster."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import psutil
import pytest

import motet
from executor_processes import executor_processes
from motet.runtime.backends.local.cluster import LocalCluster
from motet.runtime.controller.job import Job
from motet.runtime.core.options import TrainOptions
from motet.runtime.core.reporting.observers import TrainObserver
from motet.runtime.core.reporting.reports import EpochReport, TrainResult
from template_processes import template_processes
from toy_app import ToyRegression

pytestmark = pytest.mark.cluster
TIMEOUT_S = 60
OPTIONS = TrainOptions(machines=4, workers=3, servers=2, epochs=6, checkpoint_every=2)


@pytest.fixture
def cluster() -> Iterator[LocalCluster]:
    """A cluster of its own: its template is the only one that a test may kill.

    Nothing is left of a killed template, of its replacement and of their executors.
    """
    before = {each.pid for each in template_processes()}
    with LocalCluster(5) as cluster:
        yield cluster
    assert executor_processes() == []
    assert {each.pid for each in template_processes()} == before


def train(cluster: LocalCluster, observer: TrainObserver | None = None) -> TrainResult:
    app = ToyRegression()
    return Job(app, app.prepare(None, seed=1), OPTIONS, cluster, observer).run()


def kill_template(cluster: LocalCluster) -> None:
    """Kill it with its executors: the next call of this test finds all of them ended."""
    processes = [psutil.Process(cluster.template_id), *executor_processes()]
    processes[0].kill()
    assert psutil.wait_procs(processes, timeout=TIMEOUT_S)[1] == []


class TemplateKiller(TrainObserver):
    """Kills the template after an epoch, or before executors are started."""

    def __init__(self, cluster: LocalCluster, epoch: int | None = None) -> None:
        self._cluster = cluster
        self._epoch = epoch
        self.killed: list[int] = []

    def preparing(self, what: str) -> None:
        if self._epoch is None and what.startswith("starting"):
            self._kill()

    def epoch_done(self, report: EpochReport) -> None:
        if report.epoch_index == self._epoch:
            self._kill()

    def _kill(self) -> None:
        if not self.killed:
            self.killed.append(self._cluster.template_id)
            kill_template(self._cluster)


def test_a_job_goes_on_from_its_checkpoint_after_the_template_was_killed(
    cluster: LocalCluster,
) -> None:
    expected = train(cluster)
    killer = TemplateKiller(cluster, epoch=3)

    result = train(cluster, killer)

    assert len(killer.killed) == 1
    assert [each.resumed_from_epoch for each in result.recoveries] == [2]
    assert result.model_sha256 == expected.model_sha256
    assert result.losses == expected.losses


@pytest.mark.soak
def test_a_job_starts_although_the_template_was_killed_before(cluster: LocalCluster) -> None:
    expected = train(cluster)
    killer = TemplateKiller(cluster)

    result = train(cluster, killer)

    assert cluster.template_id not in killer.killed
    assert result.recoveries == ()
    assert result.model_sha256 == expected.model_sha256


@pytest.mark.soak
def test_all_jobs_of_a_cluster_go_on_with_one_new_template(cluster: LocalCluster) -> None:
    expected = train(cluster)
    both_train = threading.Barrier(2, timeout=TIMEOUT_S)

    class Meeting(TrainObserver):
        """The first of two jobs that are both in training kills the template, once."""

        has_met = False

        def epoch_done(self, report: EpochReport) -> None:
            if report.epoch_index == 2 and not self.has_met:
                self.has_met = True
                if both_train.wait() == 0:
                    kill_template(cluster)
                both_train.wait()

    results: list[TrainResult] = []
    jobs = [
        threading.Thread(target=lambda: results.append(train(cluster, Meeting()))) for _ in range(2)
    ]
    for job in jobs:
        job.start()
    for job in jobs:
        job.join(timeout=2 * TIMEOUT_S)

    assert [result.model_sha256 for result in results] == [expected.model_sha256] * 2
    assert all(result.recoveries for result in results)
    assert [each.pid for each in template_processes()].count(cluster.template_id) == 1


@pytest.mark.soak
def test_a_cluster_of_python_trains_the_next_model_after_its_template_was_killed() -> None:
    before = {each.pid for each in template_processes()}
    with motet.Cluster(machines=2) as cluster:
        first = cluster.train("lasso", "diabetes", epochs=3, tol=0)
        [template] = [each for each in template_processes() if each.pid not in before]
        template.kill()
        second = cluster.train("lasso", "diabetes", epochs=3, tol=0)
    assert second.losses["loss"].tolist() == first.losses["loss"].tolist()
