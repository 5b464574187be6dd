"""Data leave a persistent straggler; changes of the job restart the measurements."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from in_process_cluster import InProcessCluster
from motet.domain.reconfiguration import Move, Plan
from motet.runtime.autotune.load_balancer import LoadBalancer, plan_for_shares
from motet.runtime.controller.job import Job
from motet.runtime.controller.reconfiguration.plan_queue import PlanMaker, Reconfiguration
from motet.runtime.core.options import TrainOptions
from motet.runtime.core.reporting.batch_costs import BatchCost
from motet.runtime.core.reporting.reports import Recovery
from motet.runtime.elastic.layout import JobLayout
from motet.runtime.elastic.rebalancing import FEWEST_ROUNDS, ROUND_BATCHES
from motet.runtime.elastic.role_placement import RolePlacement
from toy_app import ToyRegression

LAYOUT = JobLayout.even(RolePlacement((0, 1), (2,)), model_blocks=4, data_blocks=12)


class RecordingJob(Job):
    """Keeps reconfigurations instead of carrying them out."""

    def __init__(self) -> None:
        app = ToyRegression()
        options = TrainOptions(machines=2, workers=2, servers=1, epochs=1)
        super().__init__(app, app.prepare(None, seed=1), options, InProcessCluster(2))
        self.wanted: list[Reconfiguration] = []

    def reconfigure(
        self,
        plan: Plan | PlanMaker,
        predicted_gain: float | None = None,
        *,
        is_urgent: bool = False,
    ) -> Reconfiguration:
        assert not isinstance(plan, Plan)
        self.wanted.append(Reconfiguration(plan, predicted_gain))
        return self.wanted[-1]


def report(balancer: LoadBalancer, worker: int, instance_s: float, batches: int) -> None:
    cost = BatchCost(instance_s * 100, 0.01, instance_s * 100 + 0.01, 100, 0, 0)
    balancer.measured(worker, [cost] * batches)


def straggle(balancer: LoadBalancer, rounds: int, slow_s: float = 4e-3) -> None:
    """Rounds in which worker 1 is slow."""
    for _ in range(rounds):
        report(balancer, 0, 1e-3, ROUND_BATCHES)
        report(balancer, 1, slow_s, ROUND_BATCHES)


def first_reports(balancer: LoadBalancer) -> None:
    """They may be of mini-batches before a change."""
    report(balancer, 0, 1e-3, 1)
    report(balancer, 1, 1e-3, 1)


def begun() -> tuple[RecordingJob, LoadBalancer]:
    job = RecordingJob()
    balancer = LoadBalancer(job)
    first_reports(balancer)
    return job, balancer


def blocks_of_straggler(job: RecordingJob) -> int:
    plan = job.wanted[-1].make_plan(job.layout)
    moved = sum(len(each.blocks) for each in plan.operations if isinstance(each, Move))
    return len(job.layout.data.blocks_of(1)) - moved


def test_data_leave_a_worker_that_stays_slow() -> None:
    job, balancer = begun()
    straggle(balancer, FEWEST_ROUNDS - 1)
    assert job.wanted == []
    straggle(balancer, 1)
    assert len(job.wanted) == 1
    assert blocks_of_straggler(job) == round(len(job.layout.data.owners) / 5)


def test_workers_of_equal_speed_keep_their_data() -> None:
    job, balancer = begun()
    straggle(balancer, 10 * FEWEST_ROUNDS, slow_s=1e-3)
    assert job.wanted == []


def test_while_a_change_is_under_way_nothing_more_is_decided() -> None:
    job, balancer = begun()
    straggle(balancer, 20 * FEWEST_ROUNDS)
    assert len(job.wanted) == 1


def after_the_change(restart: Callable[[LoadBalancer], None]) -> int:
    """Changes after a first one that ended, and more rounds than a second one needs."""
    job, balancer = begun()
    straggle(balancer, FEWEST_ROUNDS)
    job.wanted[0].enter("done")
    restart(balancer)
    first_reports(balancer)
    straggle(balancer, 2 * FEWEST_ROUNDS)
    return len(job.wanted)


def test_after_a_change_or_a_recovery_shares_are_decided_anew() -> None:
    recovery = Recovery(at_epoch=2, resumed_from_epoch=1, cause="executor 3 is lost")
    assert after_the_change(lambda balancer: balancer.recovering(recovery)) == 2
    assert after_the_change(lambda balancer: None) == 1


def test_a_plan_for_shares_moves_at_once_and_in_no_order() -> None:
    plan = plan_for_shares({0: 9, 1: 3}, LAYOUT)
    (move,) = plan.operations
    assert isinstance(move, Move)
    assert (move.table, len(move.blocks), move.source, move.destination) == ("data", 3, 1, 0)
    assert plan.after == ((),)


def test_shares_of_other_workers_than_there_are_move_nothing() -> None:
    assert plan_for_shares({0: 9, 5: 3}, LAYOUT).is_empty
    assert plan_for_shares({0: 12}, LAYOUT).is_empty


def test_shares_as_they_are_move_nothing() -> None:
    counts = np.bincount(LAYOUT.data.owners).tolist()
    assert plan_for_shares(dict(enumerate(counts)), LAYOUT).is_empty
