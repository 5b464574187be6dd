"""Workers and commands over real connections; Aggregators that only remember."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from aggregator_world import join
from motet.aggregation.wire.job_credentials import JobCredential
from motet.aggregation.wire.pool_messages import (
    AdmitJobs,
    AwaitRoutes,
    DrainAggregator,
    JobAdmission,
    LeaveJob,
    Left,
    PoolRequest,
)
from motet.aggregation.wire.pool_views import DescribePool, ExplainJob, JobPlacement, PoolView
from motet.domain.errors import AuthenticationFailed, BadInput, JobFailed, NotFound
from motet.runtime.wire.codec import decode
from served_pool import ServedPool, ask, entered, routes, view
from waiting import wait_until


@pytest.fixture
def pool(tmp_path: Path) -> Iterator[ServedPool]:
    with ExitStack() as stack:
        yield ServedPool(tmp_path, stack)


def test_a_worker_gets_routes_to_aggregators_that_know_its_job(pool: ServedPool) -> None:
    found = entered(pool)
    assert found.homes == (0, 0)
    assert found.aggregators.keys() == {0}
    assert pool.control(0).jobs[found.job].secret == bytes.fromhex(found.secret)
    assert ("set_workers", found.job, (0,), 1) in pool.control(0).calls


def test_all_workers_of_a_job_get_the_same_routes(pool: ServedPool) -> None:
    first = entered(pool, workers=2)
    assert entered(pool, rank=1, workers=2) == first


def test_a_wrong_worker_gets_the_error(pool: ServedPool) -> None:
    entered(pool)
    with pytest.raises(BadInput, match="has a worker of rank 0 already"):
        ask(pool.connect(), PoolRequest.JOIN, join("mlp")).wait(20.0)


def test_routes_change_after_the_job_is_measured(pool: ServedPool) -> None:
    connection = pool.connect()
    wide = join("mlp", tensors=4, servers=2)
    before = routes(ask(connection, PoolRequest.JOIN, wide))
    assert set(before.homes) == {0, 1}
    call = ask(connection, PoolRequest.AWAIT_ROUTES, AwaitRoutes(before.job, 0, before.version))
    for number in (0, 1):
        pool.control(number).steps = 20
    after = routes(call)
    assert after.version > before.version
    assert len(set(after.homes)) == 1
    moves = [each for n in (0, 1) for each in pool.control(n).calls if each[0] == "move"]
    assert len(moves) == 1


def test_a_worker_whose_connection_breaks_is_not_waited_for(pool: ServedPool) -> None:
    entered(pool, workers=2)
    connection = pool.connect()
    other = routes(ask(connection, PoolRequest.JOIN, join("mlp", 1, 2)))
    ask(connection, PoolRequest.AWAIT_ROUTES, AwaitRoutes(other.job, 1, other.version))
    connection.close()
    wait_until(lambda: ("set_workers", other.job, (0,), 1) in pool.control(0).calls)


def test_the_last_worker_that_leaves_ends_the_job_and_its_aggregators(pool: ServedPool) -> None:
    found = entered(pool)
    call = ask(pool.connect(), PoolRequest.LEAVE, LeaveJob(found.job, 0, 30))
    assert decode(Left, call.wait(20.0).meta) == Left()
    wait_until(lambda: not pool.launcher.controls)
    assert sorted(pool.launcher.stopped) == [0, 1]
    assert view(pool).jobs == ()


def test_a_dead_aggregator_leaves_its_tensors_to_the_replica(pool: ServedPool) -> None:
    connection = pool.connect()
    found = routes(ask(connection, PoolRequest.JOIN, join("mlp")))
    wait_until(lambda: any(each[0] == "replicate" for each in pool.control(0).calls))
    wait_until(lambda: pool.master.controller.state.jobs[found.job].replicas.tolist() == [1, 1])
    call = ask(connection, PoolRequest.AWAIT_ROUTES, AwaitRoutes(found.job, 0, found.version))
    pool.launcher.kill(0)
    assert set(routes(call).homes) == {1}
    assert ("promote", found.job, (0, 1)) in pool.control(1).calls
    wait_until(lambda: sorted(pool.launcher.controls) == [1, 2])


def test_an_aggregator_that_says_nothing_is_killed_and_replaced(tmp_path: Path) -> None:
    with ExitStack() as stack:
        pool = ServedPool(tmp_path, stack, silent_s=2.0)
        found = entered(pool)
        wait_until(lambda: pool.master.controller.state.jobs[found.job].replicas.tolist() == [1, 1])
        pool.control(0).is_stopped = True
        wait_until(lambda: sorted(pool.launcher.controls) == [1, 2])
        wait_until(lambda: ("promote", found.job, (0, 1)) in pool.control(1).calls)


def test_an_aggregator_goes_on_without_replicas_after_that_is_in_the_state(
    pool: ServedPool,
) -> None:
    found = entered(pool)
    state = pool.master.controller.state
    wait_until(lambda: state.jobs[found.job].replicas.tolist() == [1, 1])
    peer = state.aggregators[1].endpoint
    pool.control(0).lost_replicas = (peer,)
    wait_until(lambda: ("forget_replicas", found.job, peer) in pool.control(0).calls)
    pool.control(0).lost_replicas = ()
    again = ("replicate", found.job, (0, 1), peer)
    wait_until(lambda: pool.control(0).calls.count(again) >= 2)


def test_an_aggregator_that_is_to_leave_is_emptied_and_ends(pool: ServedPool) -> None:
    entered(pool)
    call = ask(pool.connect(), PoolRequest.DRAIN, DrainAggregator(0))
    assert decode(PoolView, call.wait(20.0).meta).aggregators[0].is_draining
    wait_until(lambda: 0 not in pool.launcher.controls)
    assert view(pool).jobs[0].aggregators != (0,)


def test_an_unknown_aggregator_cannot_leave(pool: ServedPool) -> None:
    entered(pool)
    with pytest.raises(NotFound, match="the pool has no Aggregator 9; it has: 0, 1"):
        ask(pool.connect(), PoolRequest.DRAIN, DrainAggregator(9)).wait(20.0)


def test_workers_of_a_lost_job_get_the_reason(pool: ServedPool) -> None:
    connection = pool.connect()
    found = routes(ask(connection, PoolRequest.JOIN, join("mlp")))
    call = ask(connection, PoolRequest.AWAIT_ROUTES, AwaitRoutes(found.job, 0, found.version))
    for number in (1, 0):
        pool.launcher.kill(number)
    with pytest.raises(JobFailed, match="both copies"):
        call.wait(20.0)


def test_pmaster_goes_on_where_the_one_before_it_ended(pool: ServedPool) -> None:
    found = entered(pool)
    before = [each for each in pool.control(0).calls if each[0] == "open_job"]
    pool.restart()
    connection = pool.connect()
    message = AwaitRoutes(found.job, 0, found.version)
    again = routes(ask(connection, PoolRequest.AWAIT_ROUTES, message))
    assert (again.job, again.homes, again.secret) == (found.job, found.homes, found.secret)
    assert [each for each in pool.control(0).calls if each[0] == "open_job"] == before
    assert sorted(pool.launcher.controls) == [0, 1]


def test_an_aggregator_that_died_while_pmaster_was_away_is_replaced(pool: ServedPool) -> None:
    found = entered(pool)
    wait_until(lambda: pool.master.controller.state.jobs[found.job].replicas.tolist() == [1, 1])
    pool.master.close()
    pool.launcher.kill(0)
    pool.restart()
    wait_until(lambda: sorted(pool.launcher.controls) == [1, 2])
    assert ("promote", found.job, (0, 1)) in pool.control(1).calls


def test_the_view_shows_jobs_and_aggregators(pool: ServedPool) -> None:
    entered(pool)
    pool.control(0).steps = 25
    wait_until(lambda: view(pool).jobs[0].phase == "placed")
    found = view(pool)
    (job,) = found.jobs
    assert (job.name, job.workers, job.tensors, job.aggregators) == ("mlp", (0,), 2, (0,))
    assert (job.alone_ns, job.predicted_loss, job.measured_loss) == (100_000_000, 0.0, 0.0)
    serving, replicas = found.aggregators
    assert (serving.jobs, serving.tensors, serving.replicas) == (("mlp",), 2, 0)
    assert (replicas.jobs, replicas.tensors, replicas.replicas) == ((), 0, 2)
    assert found.clusters == ((0,),)


def test_each_tensor_of_a_job_is_explained(pool: ServedPool) -> None:
    entered(pool)
    pool.control(0).steps = 25
    wait_until(lambda: view(pool).jobs[0].phase == "placed")
    call = ask(pool.connect(), PoolRequest.EXPLAIN, ExplainJob("mlp"))
    found = decode(JobPlacement, call.wait(20.0).meta)
    assert [each.name for each in found.tensors] == ["w0", "w1"]
    assert found.tensors[0].reason == (
        "best fit: it runs once in the cycle of 100 ms and takes 2.0% of it; 96.0% are free"
    )


def test_an_unknown_job_gets_the_nearest_name(pool: ServedPool) -> None:
    entered(pool, "resnet")
    with pytest.raises(NotFound, match="the pool has no job 'resnt'; did you mean 'resnet'"):
        ask(pool.connect(), PoolRequest.EXPLAIN, ExplainJob("resnt")).wait(20.0)


def admit(pool: ServedPool, *jobs: str) -> None:
    admissions = tuple(map(JobAdmission, jobs))
    ask(pool.connect(), PoolRequest.ADMIT, AdmitJobs(admissions)).wait(20.0)


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        (PoolRequest.JOIN, join("run-2.1", rank=1)),
        (PoolRequest.AWAIT_ROUTES, AwaitRoutes(0, 0, 0)),
        (PoolRequest.LEAVE, LeaveJob(0, 0, 1)),
        (PoolRequest.EXPLAIN, ExplainJob("run-2.1")),
        (PoolRequest.DESCRIBE, DescribePool()),
        (PoolRequest.ADMIT, AdmitJobs(())),
    ],
)
def test_a_job_of_a_cluster_reaches_only_what_is_its_own(
    pool: ServedPool, kind: PoolRequest, message: object
) -> None:
    admit(pool, "run-1.1", "run-2.1")
    assert entered(pool, "run-2.1").job == 0
    connection = pool.connect(JobCredential("run-1.1", b"").client_name())
    with pytest.raises(AuthenticationFailed, match=r"job 'run-1.1' may not ask for this"):
        ask(connection, kind, message).wait(20.0)
    found = routes(ask(connection, PoolRequest.JOIN, join("run-1.1")))
    assert found.job == 1


def test_workers_of_a_job_that_the_cluster_has_ended_hear_of_it(pool: ServedPool) -> None:
    admit(pool, "run-1.1")
    connection = pool.connect()
    found = routes(ask(connection, PoolRequest.JOIN, join("run-1.1")))
    call = ask(connection, PoolRequest.AWAIT_ROUTES, AwaitRoutes(found.job, 0, found.version))
    admit(pool)
    with pytest.raises(JobFailed, match=r"'run-1.1' does not run in the cluster any more"):
        call.wait(20.0)
    wait_until(lambda: not pool.launcher.controls)


def test_admissions_outlive_pmaster(pool: ServedPool) -> None:
    admit(pool, "run-1.1")
    pool.restart()
    assert entered(pool, "run-1.1").job == 0
