"""Jobs of a live cluster: which the pool takes, their limits, and when it gives them up."""

from __future__ import annotations

from dataclasses import replace

import pytest

from aggregator_world import MS, AggregatorWorld, join
from motet.aggregation.master.controller.controller import PoolController
from motet.aggregation.master.state.events import JobsAdmitted, WorkerJoined
from motet.aggregation.master.state.instructions import CloseOn, EndJob
from motet.aggregation.master.state.pool_state import MasterSettings
from motet.aggregation.master.state.savepoint import restored, saved
from motet.aggregation.planner.clusters import ScalingRules
from motet.aggregation.wire.pool_messages import JobAdmission
from motet.domain.errors import BadInput, Unreachable

SETTINGS = MasterSettings(ScalingRules(8))


@pytest.fixture
def pool() -> AggregatorWorld:
    return AggregatorWorld(PoolController(SETTINGS))


def joined(pool: AggregatorWorld, name: str) -> int:
    """The number of the job, which a worker of it has joined."""
    pool.handle(WorkerJoined(join(name), "00"))
    pool.settle()
    job = pool.controller.job_named(name)
    assert job is not None
    return job.number


def test_without_a_cluster_every_job_may_join(pool: AggregatorWorld) -> None:
    assert joined(pool, "mine") == 0


def test_a_pool_of_a_cluster_takes_the_jobs_that_run_there(pool: AggregatorWorld) -> None:
    pool.handle(JobsAdmitted((JobAdmission("run-1.1"),)))
    assert joined(pool, "run-1.1") == 0
    assert joined(pool, "run-1.1/critic") == 1
    for other in ("run-1.12", "run-2.1", "mine"):
        with pytest.raises(Unreachable, match=f"'{other}' does not run in the cluster"):
            pool.handle(WorkerJoined(join(other), "00"))


def test_what_the_pool_has_of_a_job_that_has_ended_is_freed(pool: AggregatorWorld) -> None:
    pool.handle(JobsAdmitted((JobAdmission("run-1.1"), JobAdmission("run-2.1"))))
    ended, kept = joined(pool, "run-1.1"), joined(pool, "run-2.1")
    told = pool.handle(JobsAdmitted((JobAdmission("run-2.1"),)))
    assert [each.job for each in told if isinstance(each, EndJob)] == [ended]
    assert {each.job for each in told if isinstance(each, CloseOn)} == {ended}
    pool.settle()
    assert [*pool.controller.state.jobs] == [kept]


def test_the_job_file_and_the_worker_limit_the_loss_of_a_job(pool: AggregatorWorld) -> None:
    pool.handle(JobsAdmitted((JobAdmission("a.1", servers=2, loss_limit=0.05),)))
    job = pool.controller.state.jobs[joined(pool, "a.1")]
    assert (job.loss_limit, job.request.servers) == (0.05, 2)
    pool.handle(WorkerJoined(replace(join("a.1/critic"), loss_limit=0.2), "00"))
    critic = pool.controller.job_named("a.1/critic")
    assert critic is not None
    assert critic.loss_limit == 0.2, "what the program itself asks for counts"


def test_a_limit_that_is_no_share_is_refused(pool: AggregatorWorld) -> None:
    wrong = replace(join("mine"), loss_limit=1.5)
    with pytest.raises(BadInput, match=r"loss_limit is 1.5; it must be above 0 and below 1"):
        pool.handle(WorkerJoined(wrong, "00"))


def test_a_job_is_placed_by_its_own_limit(pool: AggregatorWorld) -> None:
    """Iterations of 500 ms lose 17 % in a cycle of 600 ms: more than the pool's 10 % allow."""
    admissions = (JobAdmission("slow.1", loss_limit=0.3), JobAdmission("fast.1", loss_limit=0.3))
    pool.handle(JobsAdmitted(admissions))
    pool.place("slow.1", 600 * MS, 1 * MS)
    pool.place("fast.1", 500 * MS, 1 * MS)
    assert len(pool.controller.state.bindings) == 1, "they share an Aggregator"
    strict = AggregatorWorld(PoolController(SETTINGS))
    strict.place("slow", 600 * MS, 1 * MS)
    strict.place("fast", 500 * MS, 1 * MS)
    assert len(strict.controller.state.bindings) == 2


def test_the_next_pmaster_knows_the_admissions(pool: AggregatorWorld) -> None:
    assert restored(SETTINGS, saved(pool.controller.state), 0.0).admitted is None
    admission = JobAdmission("a.1", loss_limit=0.05)
    pool.handle(JobsAdmitted((admission,)))
    assert restored(SETTINGS, saved(pool.controller.state), 0.0).admitted == {"a.1": admission}


def test_a_worker_that_joins_later_begins_no_job(pool: AggregatorWorld) -> None:
    pool.handle(JobsAdmitted((JobAdmission("run-1.1"),)))
    later = replace(join("run-1.1"), rank=2, workers=2)
    with pytest.raises(Unreachable, match=r"rank 2 joins job 'run-1\.1', which has not begun"):
        pool.handle(WorkerJoined(later, "00"))
    number = joined(pool, "run-1.1")
    pool.handle(WorkerJoined(later, "00"))
    assert 2 in pool.controller.state.jobs[number].schedule.ranks
