"""A worker's mapping table from a pMaster that may be started again meanwhile."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path

import pytest

from aggregator_world import join
from motet.aggregation.agent.pool_routes import PoolRoutes
from motet.aggregation.agent.routes import TensorRoutes
from motet.aggregation.wire.job_credentials import JobCredential
from motet.aggregation.wire.pool_messages import AdmitJobs, JobAdmission, LeaveJob, PoolRequest
from motet.domain.errors import BadInput, JobFailed, Unreachable
from motet.transport import Endpoint
from served_pool import SECRET, ServedPool, ask, entered, view
from waiting import wait_until

TENSORS = join("mlp", tensors=4).tensors


class CountingRoutes(PoolRoutes):
    """Counts its connections to pMaster."""

    connections = 0

    def _connect(self) -> None:
        self.connections += 1
        super()._connect()


@pytest.fixture
def pool(tmp_path: Path) -> Iterator[ServedPool]:
    with ExitStack() as stack:
        yield ServedPool(tmp_path, stack)


FIRST = Endpoint("127.0.0.1", 0)


def newer(source: PoolRoutes, known: TensorRoutes) -> TensorRoutes:
    wait_until(lambda: source.refresh(known) != known)
    return source.refresh(known)


def test_the_table_names_the_aggregator_of_each_tensor(pool: ServedPool) -> None:
    source = PoolRoutes(pool.address, "mlp", 0, 1, 2)
    found = source.routes(TENSORS)
    assert found.aggregators == (Endpoint("127.0.0.1", 0), Endpoint("127.0.0.1", 1))
    assert found.aggregator_of == (0, 1, 1, 0)
    source.leave(0)


def test_a_death_changes_the_table(pool: ServedPool) -> None:
    source = PoolRoutes(pool.address, "mlp", 0, 1, 1)
    found = source.routes(TENSORS)
    wait_until(lambda: view(pool).aggregators[1].replicas == 4)
    pool.launcher.kill(0)
    assert FIRST not in newer(source, found).aggregators
    source.leave(0)


def test_the_worker_goes_on_with_the_next_pmaster(pool: ServedPool) -> None:
    source = PoolRoutes(pool.address, "mlp", 0, 1, 1)
    found = source.routes(TENSORS)
    wait_until(lambda: view(pool).aggregators[1].replicas == 4)
    pool.restart()
    assert source.refresh(found) == found, "the last table counts"
    pool.launcher.kill(0)
    assert FIRST not in newer(source, found).aggregators
    assert view(pool).jobs[0].workers == (0,)
    source.leave(0)


def test_a_worker_that_leaves_is_not_waited_for(pool: ServedPool) -> None:
    first = PoolRoutes(pool.address, "mlp", 0, 2, 1)
    second = PoolRoutes(pool.address, "mlp", 1, 2, 1)
    first.routes(TENSORS)
    job = second.routes(TENSORS).job
    second.leave(7)
    wait_until(lambda: ("set_workers", job, (0,), 8) in pool.control(0).calls)
    first.leave(9)
    wait_until(lambda: not pool.launcher.controls)


def test_the_end_of_a_lost_job_is_raised(pool: ServedPool) -> None:
    source = PoolRoutes(pool.address, "mlp", 0, 1, 1)
    found = source.routes(TENSORS)
    for number in (1, 0):
        pool.launcher.kill(number)
    with pytest.raises(JobFailed, match="have died"):
        wait_until(lambda: source.refresh(found) != found)
    source.leave(0)


def test_a_pool_that_is_not_there_is_named(tmp_path: Path) -> None:
    source = PoolRoutes(tmp_path / "pool.json", "mlp", 0, 1, 1)
    with pytest.raises(Unreachable, match="start one with 'motet aggregator start'"):
        source.routes(TENSORS)


def test_a_job_of_a_cluster_waits_until_the_pool_takes_it(pool: ServedPool) -> None:
    """Its processes may start before pMaster hears of it."""
    ask(pool.connect(), PoolRequest.ADMIT, AdmitJobs(())).wait(20.0)
    credential = JobCredential("run-1.1", SECRET)
    source = CountingRoutes(pool.address, "run-1.1", 0, 1, 1, credential=credential)
    with ThreadPoolExecutor() as threads:
        joining = threads.submit(source.routes, TENSORS)
        wait_until(lambda: source.connections > 1)  # The first one was refused.
        admitted = AdmitJobs((JobAdmission("run-1.1"),))
        ask(pool.connect(), PoolRequest.ADMIT, admitted).wait(20.0)
        assert joining.result(60.0).aggregator_of == (0, 0, 0, 0)
    source.leave(0)


def test_a_job_of_a_cluster_waits_for_room(pool: ServedPool) -> None:
    """The pool has room for 8 Aggregators; a job that is measured has as many as servers."""
    jobs = tuple(JobAdmission(f"run-{number}.1") for number in (1, 2))
    ask(pool.connect(), PoolRequest.ADMIT, AdmitJobs(jobs)).wait(20.0)
    first = entered(pool, "run-1.1", tensors=8, servers=8)
    credential = JobCredential("run-2.1", SECRET)
    source = CountingRoutes(pool.address, "run-2.1", 0, 1, 2, credential=credential)
    with ThreadPoolExecutor() as threads:
        joining = threads.submit(source.routes, TENSORS)
        wait_until(lambda: source.connections > 1)
        ask(pool.connect(), PoolRequest.LEAVE, LeaveJob(first.job, 0, 0)).wait(20.0)
        assert set(joining.result(60.0).aggregator_of) == {0, 1}
    source.leave(0)


def test_a_job_that_never_fits_is_refused_at_once(pool: ServedPool) -> None:
    ask(pool.connect(), PoolRequest.ADMIT, AdmitJobs((JobAdmission("run-1.1"),))).wait(20.0)
    credential = JobCredential("run-1.1", SECRET)
    source = PoolRoutes(pool.address, "run-1.1", 0, 1, 9, credential=credential)
    with pytest.raises(BadInput, match="the pool may have 8; give it fewer servers"):
        source.routes(TENSORS)
