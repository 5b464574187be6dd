"""Costs of single mini-batches reach whoever observes a job."""

from __future__ import annotations

from collections.abc import Sequence

from in_process_cluster import InProcessCluster
from motet.runtime.controller.job import Job
from motet.runtime.core.options import TrainOptions
from motet.runtime.core.reporting.batch_costs import BatchCost, CostKeeper
from motet.runtime.core.reporting.observers import TrainObserver
from motet.runtime.core.subtask import Subtask, SubtaskKind, SubtaskLog
from toy_app import ToyRegression


def add_batch(log: SubtaskLog, comp_us: int, wait_us: int, instances: int) -> None:
    log.add(Subtask(SubtaskKind.PULL, 0, 0, 100 + wait_us, wait_us, payload_bytes=8))
    log.add(Subtask(SubtaskKind.COMP, 0, 0, comp_us))
    log.add(Subtask(SubtaskKind.PUSH, 0, 0, 50, payload_bytes=4))
    log.instances += instances
    log.batch_us.append(150 + comp_us + wait_us)


def test_mini_batches_are_told_apart_also_across_epochs_and_waiting_is_no_communication() -> None:
    keeper, first, second = CostKeeper(), SubtaskLog(), SubtaskLog()
    for log, comp_us, wait_us, instances in (
        (first, 10, 0, 3),
        (first, 20, 7, 4),
        (second, 5, 0, 0),
    ):
        add_batch(log, comp_us, wait_us, instances)
        keeper.add(log)
    assert BatchCost.decoded(keeper.take()) == (
        BatchCost(10e-6, 150e-6, 160e-6, 3, 8, 4),
        BatchCost(20e-6, 150e-6, 177e-6, 4, 8, 4),
        BatchCost(5e-6, 150e-6, 155e-6, 0, 8, 4),
    )
    assert len(keeper.take()) == 0


class Listener(TrainObserver):
    def __init__(self) -> None:
        self.heard: dict[int, list[BatchCost]] = {}

    def measured(self, executor: int, costs: Sequence[BatchCost]) -> None:
        self.heard.setdefault(executor, []).extend(costs)


def test_every_worker_s_costs_reach_the_observer() -> None:
    listener, app = Listener(), ToyRegression()
    options = TrainOptions(machines=3, workers=2, servers=1, epochs=30)
    Job(app, app.prepare(None, seed=1), options, InProcessCluster(3), listener).run()
    assert sorted(listener.heard) == [0, 1]
    for costs in listener.heard.values():
        assert all(9 <= cost.instances <= 11 for cost in costs)
        assert all(
            cost.batch_s >= cost.comp_s > 0 and cost.pulled_bytes > 0 and cost.pushed_bytes > 0
            for cost in costs
        )
