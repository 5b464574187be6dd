"""Jobs of a cluster beside each other: waited for, cancelled, refused."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any, Self

import psutil
import pytest

from executor_processes import await_ends_of_executors, executor_processes
from motet import BadInput, Cluster
from motet.domain.errors import Interrupted
from motet.interfaces.training_job import TrainingJob
from motet.runtime.core.reporting.reports import EpochReport

pytestmark = pytest.mark.cluster

PATIENCE_S = 60
LONG = 1_000_000
"""Epochs that no test waits for."""


class Endless:
    """A job that trains until it is cancelled, after its first epoch; a context manager."""

    def __init__(self, cluster: Cluster, **options: Any) -> None:
        self._epoch = threading.Event()
        self.job = cluster.submit(
            "mlr", "iris", solver="saga", epochs=LONG, callbacks=[self._count], **options
        )

    def ends_an_epoch(self) -> bool:
        """Whether it ends an epoch that begins from now on."""
        for _ in range(2):
            self._epoch.clear()
            if not self._epoch.wait(PATIENCE_S):
                return False
        return True

    def __enter__(self) -> Self:
        assert self.ends_an_epoch()
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.job.cancel()
        assert isinstance(self.job.exception(PATIENCE_S), Interrupted)

    def _count(self, report: EpochReport) -> None:
        self._epoch.set()


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    with Cluster(machines=2) as cluster:
        yield cluster


def test_a_cancelled_job_ends_its_executors_and_the_other_goes_on(cluster: Cluster) -> None:
    await_ends_of_executors()
    with Endless(cluster) as first:
        of_first = executor_processes()
        with Endless(cluster, workers=1, servers=1) as second:
            of_second = [each for each in executor_processes() if each not in of_first]
            assert first.job.running()
            assert repr(cluster) == "<Cluster: 2 machines>"
            assert repr(first.job) == "<TrainingJob: mlr on iris, training>"

            assert first.job.cancel()
            with pytest.raises(Interrupted, match="cancelled"):
                first.job.result(PATIENCE_S)
            assert (first.job.done(), first.job.cancelled(), first.job.cancel()) == (
                True,
                True,
                False,
            )
            assert repr(first.job) == "<TrainingJob: mlr on iris, cancelled>"
            _, alive = psutil.wait_procs(of_first, timeout=PATIENCE_S)
            assert alive == []

            assert second.ends_an_epoch()
            assert all(each.is_running() for each in of_second)
            assert (len(of_first), len(of_second)) == (2, 2)


def test_a_job_that_waits_for_a_thread_is_cancelled_at_once() -> None:
    release = threading.Event()
    first, second = TrainingJob("first"), TrainingJob("second")
    with ThreadPoolExecutor(max_workers=1) as threads:
        first.begin(threads, lambda _: release.wait())  # type: ignore[arg-type,return-value]
        second.begin(threads, lambda _: pytest.fail("a cancelled job began"))
        assert repr(second) == "<TrainingJob: second, waiting for a thread>"
        assert second.cancel()
        assert (second.done(), second.cancelled()) == (True, True)
        with pytest.raises(Interrupted, match="the job was cancelled"):
            second.result()
        release.set()


def test_a_job_that_is_cancelled_when_the_time_ends_was_cancelled() -> None:
    class Late(Future[Any]):
        """Cancelled after `result` has waited."""

        def result(self, timeout: float | None = None) -> Any:
            if timeout is not None:
                assert self.cancel()
                raise TimeoutError
            return super().result()

    job = TrainingJob("late")
    job._future = Late()
    with pytest.raises(Interrupted, match="the job was cancelled"):
        job.result(timeout=0.5)


def test_a_job_that_is_cancelled_while_it_reads_data_does_not_train() -> None:
    job = TrainingJob("any")
    begun, cancelled = threading.Event(), threading.Event()

    def read_and_train(handle: TrainingJob) -> Any:
        begun.set()
        assert cancelled.wait(PATIENCE_S)
        handle.attach(None)  # type: ignore[arg-type]
        pytest.fail("a cancelled job trained")

    with ThreadPoolExecutor() as threads:
        job.begin(threads, read_and_train)
        assert begun.wait(PATIENCE_S)
        assert job.cancel()
        cancelled.set()
        assert isinstance(job.exception(PATIENCE_S), Interrupted)


def test_a_result_is_waited_for_no_longer_than_asked(cluster: Cluster) -> None:
    with Endless(cluster) as endless, pytest.raises(TimeoutError, match=r"timeout=0.01 s; it"):
        endless.job.result(timeout=0.01)


def test_a_finished_job_has_its_model(cluster: Cluster) -> None:
    job = cluster.submit("mlr", "iris", epochs=2)
    assert len(job.result().losses) == 2
    assert (job.done(), job.cancelled(), job.cancel()) == (True, False, False)
    assert job.exception() is None
    assert repr(job) == "<TrainingJob: mlr on iris, done>"


def test_wrong_options_are_refused_at_once_and_wrong_data_by_the_result(cluster: Cluster) -> None:
    with pytest.raises(BadInput, match="workers=9: must be between 1 and machines=2"):
        cluster.submit("mlr", "iris", workers=9)
    job = cluster.submit("mlr", "nowhere.csv")
    with pytest.raises(BadInput, match=r"nowhere.csv: no such file"):
        job.result()
    assert repr(job) == "<TrainingJob: mlr on nowhere.csv, failed>"


@pytest.mark.soak
def test_two_jobs_cannot_write_to_the_same_checkpoints(cluster: Cluster, tmp_path: Path) -> None:
    kept = tmp_path / "kept"
    refused = pytest.raises(BadInput, match=r"kept: another run writes there \(process \d+\)")
    with Endless(cluster, checkpoints=kept), refused:
        cluster.train("mlr", "iris", epochs=1, checkpoints=kept, overwrite=True)
    cluster.train("mlr", "iris", epochs=1, checkpoints=kept, overwrite=True)
    assert [path.name for path in kept.iterdir()] == ["epoch-000001"]


@pytest.mark.soak
def test_an_error_in_the_block_cancels_its_jobs() -> None:
    jobs: list[TrainingJob] = []

    def fail_beside_a_job() -> None:
        with Cluster(machines=2) as cluster:
            endless = Endless(cluster)
            assert endless.ends_an_epoch()
            jobs.append(endless.job)
            raise RuntimeError("on purpose")

    with pytest.raises(RuntimeError, match="on purpose"):
        fail_beside_a_job()
    assert isinstance(jobs[0].exception(PATIENCE_S), Interrupted)
