"""What every backend guarantees: executors are processes, and killed ones change no model."""

from __future__ import annotations

import contextlib
import functools
import os
import random
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from executor_processes import await_ends_of_executors, executor_processes
from motet.domain.errors import BadInput, JobFailed
from motet.runtime.backends.gang.cluster import GangCluster
from motet.runtime.backends.gang.member import ENDED
from motet.runtime.backends.local.cluster import LocalCluster
from motet.runtime.backends.ray.cluster import RayCluster
from motet.runtime.controller.job import Job
from motet.runtime.controller.reconfiguration.plan_queue import TimedPlan
from motet.runtime.core.options import TrainOptions
from motet.runtime.core.reporting.observers import TrainObserver
from motet.runtime.core.reporting.reports import EpochReport, TrainResult
from motet.runtime.elastic.even_plans import plan_for_executors
from shared_ray import MACHINES
from soak_cases import others_in_soak
from toy_app import HoldsInterpreter, ToyRegression
from unhurried import UntilPlansAreDone

pytestmark = pytest.mark.cluster

SOAK = pytest.mark.soak
MEMBER = """
import sys
from pathlib import Path
from motet.runtime.backends.gang.member import run_member
sys.exit(run_member(Path(sys.argv[1]), int(sys.argv[2])))
"""
Cluster = LocalCluster | RayCluster | GangCluster
Undisturbed = Callable[[TrainOptions, int], TrainResult]


def train(
    cluster: Cluster,
    options: TrainOptions,
    observer: TrainObserver | None = None,
    batch_size: int = 20,
) -> TrainResult:
    app = ToyRegression(batch_size=batch_size)
    return Job(app, app.prepare(None, seed=1), options, cluster, observer).run()


# An executor of Ray takes seconds to start; `make test` has Ray in the tests of live clusters.
@pytest.fixture(params=["local", pytest.param("ray", marks=SOAK), "gang"])
def cluster(request: pytest.FixtureRequest) -> Cluster:
    """A cluster of five machines without executors of the test before."""
    cluster: Cluster = request.getfixturevalue(f"{request.param}_cluster")
    await_ends_of_executors()
    return cluster


@pytest.fixture(params=others_in_soak(["local", "ray", "gang"], ["local"]))
def often_local_cluster(request: pytest.FixtureRequest) -> Cluster:
    """As `cluster`, with one backend in `make test`."""
    cluster: Cluster = request.getfixturevalue(f"{request.param}_cluster")
    await_ends_of_executors()
    return cluster


@pytest.fixture(params=["local", pytest.param("ray", marks=SOAK)])
def shared_cluster(request: pytest.FixtureRequest) -> Cluster:
    """As `cluster`, for several jobs; a gang belongs to one job."""
    cluster: Cluster = request.getfixturevalue(f"{request.param}_cluster")
    return cluster


@pytest.fixture(scope="module")
def gang_cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[GangCluster]:
    """Five members below this process."""
    folder = tmp_path_factory.mktemp("gang") / "meeting"
    members = [
        subprocess.Popen([sys.executable, "-c", MEMBER, str(folder), str(number)])
        for number in range(MACHINES)
    ]
    try:
        with GangCluster(folder, MACHINES) as cluster:
            yield cluster
        assert [member.wait(timeout=60) for member in members] == [ENDED] * MACHINES
    finally:
        for member in members:
            member.kill()


@pytest.fixture(scope="module")
def undisturbed(local_cluster: LocalCluster) -> Undisturbed:
    """Trains a configuration with a batch size; once for all tests and backends."""

    @functools.cache
    def trained(options: TrainOptions, batch_size: int) -> TrainResult:
        return train(local_cluster, options, batch_size=batch_size)

    return trained


class Assassin(TrainObserver):
    """Kills one of the job's executor processes at a random report, a few times.

    Every epoch is reported, mini-batches a few times per second.
    """

    def __init__(self, seed: int, times: int) -> None:
        self._random = random.Random(seed)
        self._left = times
        self._countdown = self._random.randrange(1, 6)

    def batch_done(self, epoch: int, batch: int, batch_count: int) -> None:
        del epoch, batch, batch_count
        self._count_down()

    def epoch_done(self, report: EpochReport) -> None:
        del report
        self._count_down()

    def _count_down(self) -> None:
        self._countdown -= 1
        if self._countdown == 0 and self._left:
            self._left -= 1
            self._countdown = self._random.randrange(1, 6)
            self._random.choice(executor_processes()).kill()


class EarlyAssassin(TrainObserver):
    """Kills an executor while the job launches or sets up, at a random moment of it.

    The job does not get past that phase (or, of a short one, past the first epoch) before the kill.
    """

    def __init__(self, seed: int, phase: str) -> None:
        self._random = random.Random(seed)
        self._phase = phase
        self._killer: threading.Thread | None = None
        self.killed = 0

    def preparing(self, what: str) -> None:
        if what.startswith(self._phase) and self._killer is None:
            self._killer = threading.Thread(target=self._kill_one)
            self._killer.start()
        elif self._killer is not None:
            self._killer.join()

    def epoch_done(self, report: EpochReport) -> None:
        del report
        self.join()

    def _kill_one(self) -> None:
        pause = threading.Event()
        deadline_s = time.monotonic() + 60
        while not executor_processes() and time.monotonic() < deadline_s:
            pause.wait(0.005)
        pause.wait(self._random.uniform(0, 0.4 if self._phase == "starting" else 0.02))
        with contextlib.suppress(IndexError, psutil.NoSuchProcess):
            self._random.choice(executor_processes()).kill()
            self.killed += 1

    def join(self) -> None:
        assert self._killer is not None
        self._killer.join(timeout=60)


class Stopper(TrainObserver):
    """Stops one of the job's executor processes (SIGSTOP) once, in the third epoch."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        self.stopped: list[psutil.Process] = []

    def epoch_done(self, report: EpochReport) -> None:
        if report.epoch_index == 2 and not self.stopped:
            self.stopped.append(self._random.choice(executor_processes()))
            self.stopped[0].suspend()


class Meeting(TrainObserver):
    """Jobs wait for each other at the end of their first epoch, so that they train at once."""

    def __init__(self, jobs: int) -> None:
        self._jobs = threading.Barrier(jobs, timeout=250)

    def epoch_done(self, report: EpochReport) -> None:
        if report.epoch_index == 1:
            self._jobs.wait()


class Census(TrainObserver):
    """Remembers the executors that were running."""

    def __init__(self) -> None:
        self.seen: list[psutil.Process] = []

    def epoch_done(self, report: EpochReport) -> None:
        del report
        self.seen = executor_processes()


def test_training_is_the_same_every_time_and_leaves_no_process(
    cluster: Cluster, undisturbed: Undisturbed
) -> None:
    options = TrainOptions(machines=3, workers=2, servers=2, epochs=3)
    census = Census()
    result = train(cluster, options, census)
    assert result.model_sha256 == undisturbed(options, 20).model_sha256
    assert result.app.visits_.tolist() == [3.0] * 203
    assert len(census.seen) == 3
    assert psutil.wait_procs(census.seen, timeout=20)[1] == []


@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=SOAK), pytest.param(2, marks=SOAK)])
def test_executors_killed_at_random_moments_do_not_change_the_model(
    often_local_cluster: Cluster, undisturbed: Undisturbed, seed: int
) -> None:
    options = TrainOptions(
        machines=3, workers=2, servers=2, epochs=6, checkpoint_every=2, max_recoveries=10
    )
    expected = undisturbed(options, 5)
    result = train(often_local_cluster, options, Assassin(seed, times=2), batch_size=5)
    assert len(result.recoveries) >= 1
    assert result.model_sha256 == expected.model_sha256
    assert result.losses == expected.losses


@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=SOAK), pytest.param(2, marks=SOAK)])
def test_a_stopped_executor_is_lost_and_changes_no_model(
    often_local_cluster: Cluster, undisturbed: Undisturbed, seed: int
) -> None:
    options = TrainOptions(
        machines=4, workers=3, servers=2, epochs=6, checkpoint_every=2, lost_after_s=3.0
    )
    stopper = Stopper(seed)
    result = train(often_local_cluster, options, stopper)
    assert "no answer from executor" in result.recoveries[0].cause
    assert result.model_sha256 == undisturbed(options, 20).model_sha256
    assert psutil.wait_procs(stopper.stopped, timeout=30)[1] == []


@pytest.mark.soak
def test_an_executor_that_holds_its_interpreter_for_long_is_not_lost(
    local_cluster: LocalCluster,
) -> None:
    lost_after_s = 2.0
    app = HoldsInterpreter(held_s=2 * lost_after_s)
    options = TrainOptions(machines=2, workers=1, servers=1, epochs=2, lost_after_s=lost_after_s)
    result = Job(app, app.prepare(None, seed=1), options, local_cluster).run()
    assert result.recoveries == ()
    assert result.epochs[0].comp_s > lost_after_s


@pytest.mark.soak
@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=SOAK)])
@pytest.mark.parametrize(
    ("cluster", "phase"),
    [
        ("local", "starting"),
        ("local", "distributing"),
        pytest.param("ray", "starting", marks=SOAK),
        pytest.param("ray", "distributing", marks=SOAK),
    ],
    indirect=["cluster"],
)
def test_executors_killed_before_training_do_not_change_the_model(
    cluster: Cluster, undisturbed: Undisturbed, seed: int, phase: str
) -> None:
    options = TrainOptions(machines=3, workers=2, servers=2, epochs=5, checkpoint_every=2)
    expected = undisturbed(options, 20)
    assassin = EarlyAssassin(seed, phase)
    await_ends_of_executors()  # those of the job before
    result = train(cluster, options, assassin)
    assassin.join()
    assert assassin.killed == 1
    assert result.model_sha256 == expected.model_sha256


@pytest.mark.soak
def test_two_jobs_at_once_do_not_disturb_each_other(shared_cluster: Cluster) -> None:
    options = TrainOptions(machines=2, workers=2, servers=2, epochs=20, checkpoint_every=10)
    expected = train(shared_cluster, options)
    meeting = Meeting(2)
    results: list[TrainResult] = []
    threads = [
        threading.Thread(target=lambda: results.append(train(shared_cluster, options, meeting)))
        for _ in range(2)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=280)
    assert [result.model_sha256 for result in results] == [expected.model_sha256] * 2


def test_a_bug_in_the_application_fails_the_job_and_leaves_no_process(
    cluster: Cluster,
) -> None:
    app = ToyRegression(fail_at_clock=3)
    options = TrainOptions(machines=4, workers=2, servers=1, epochs=3)
    with pytest.raises(JobFailed, match="the application's own bug"):
        Job(app, app.prepare(None, seed=1), options, cluster).run()
    await_ends_of_executors()


def test_an_application_that_exits_fails_the_job(often_local_cluster: Cluster) -> None:
    app = ToyRegression(fail_at_clock=3, exits=True)
    options = TrainOptions(machines=4, workers=2, servers=1, epochs=3)
    with pytest.raises(JobFailed, match="the application left"):
        Job(app, app.prepare(None, seed=1), options, often_local_cluster).run()


def test_more_machines_than_the_cluster_has_are_refused(cluster: Cluster) -> None:
    app = ToyRegression()
    options = TrainOptions(machines=9, workers=2, servers=1, epochs=3)
    with pytest.raises(BadInput, match=f"machines=9: the cluster has {cluster.machine_count}"):
        Job(app, app.prepare(None, seed=1), options, cluster)


def test_nothing_of_the_cluster_listens_beyond_loopback(cluster: Cluster) -> None:
    del cluster
    mine = {os.getpid(), *(child.pid for child in psutil.Process().children(recursive=True))}
    exposed = [
        connection.laddr
        for connection in psutil.net_connections("inet")
        if connection.status == psutil.CONN_LISTEN
        and connection.pid in mine
        and not connection.laddr.ip.removeprefix("::ffff:").startswith("127.")
        and connection.laddr.ip != "::1"
    ]
    assert exposed == []


def test_checkpoints_survive_the_job(often_local_cluster: Cluster, tmp_path: Path) -> None:
    first = TrainOptions(machines=3, workers=2, servers=2, epochs=2, checkpoint_dir=tmp_path)
    train(often_local_cluster, first)
    more = TrainOptions(
        machines=4, workers=1, servers=4, epochs=4, checkpoint_dir=tmp_path, resume=True
    )
    assert train(often_local_cluster, more).resumed_from_epoch == 2


@pytest.mark.soak
def test_a_machine_that_was_left_is_used_again_while_the_job_trains(cluster: Cluster) -> None:
    app = ToyRegression()
    options = TrainOptions(machines=4, workers=2, servers=1, epochs=60)
    timetable = (
        TimedPlan(lambda layout: plan_for_executors(layout, (0,), (3,)), at_epoch=1),
        TimedPlan(lambda layout: plan_for_executors(layout, (0, 1, 2), (3,)), at_epoch=1),
    )
    observer = UntilPlansAreDone(len(timetable))
    rows = app.prepare(None, seed=1)
    result = Job(app, rows, options, cluster, observer, timetable).run()
    assert [report.error for report in result.reconfigurations] == ["", ""]
    assert [report.after.workers for report in result.reconfigurations] == [1, 3]
    assert result.app.visits_.tolist() == [60.0] * 203
