"""Moves data away from a persistent straggler, and back when it has recovered.

For jobs without `--auto`, which does this and more.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from functools import partial

from motet.domain.reconfiguration import Plan
from motet.runtime.controller.job import Job
from motet.runtime.controller.reconfiguration.plan_queue import Reconfiguration
from motet.runtime.core.reporting.batch_costs import BatchCost
from motet.runtime.core.reporting.observers import TrainObserver
from motet.runtime.core.reporting.reports import ReconfigurationReport, Recovery
from motet.runtime.elastic.even_plans import share_moves
from motet.runtime.elastic.layout import JobLayout
from motet.runtime.elastic.rebalancing import Rebalancer


class LoadBalancer(TrainObserver):
    """Observes a job (`job.listen(LoadBalancer(job))`) and moves its data blocks."""

    def __init__(self, job: Job) -> None:
        self._job = job
        self._lock = threading.Lock()
        self._rebalancer = Rebalancer()
        self._reporting: set[int] = set()
        self._change: Reconfiguration | None = None

    def measured(self, executor: int, costs: Sequence[BatchCost]) -> None:
        """A worker finished mini-batches."""
        with self._lock:
            if self._change is not None:
                return
            if executor not in self._reporting:
                # The first report after a change may hold mini-batches from before the change.
                self._reporting.add(executor)
                return
            for cost in costs:
                self._rebalancer.observe(executor, cost.comp_s, cost.comm_s, cost.instances)
            layout = self._job.layout
            held = {worker: len(layout.data.blocks_of(worker)) for worker in layout.workers}
            wanted = self._rebalancer.decide(held)
            if wanted is not None and wanted != held:
                self._change = self._job.reconfigure(partial(plan_for_shares, wanted))

    def recovering(self, recovery: Recovery) -> None:
        """Training continues from a checkpoint, possibly on other machines."""
        del recovery
        self._restart()

    def reconfigured(self, report: ReconfigurationReport) -> None:
        """The job was changed, by this balancer or otherwise."""
        del report
        self._restart()

    def _restart(self) -> None:
        with self._lock:
            self._reporting.clear()
            self._rebalancer.restart()
            if self._change is not None and self._change.wait(0):
                self._change = None


def plan_for_shares(wanted: Mapping[int, int], layout: JobLayout) -> Plan:
    """All moves at once, so that every worker builds its new share once.

    `wanted`: data blocks of every worker. The plan is empty if the workers have changed.
    """
    is_possible = wanted.keys() == set(layout.workers)
    moves = tuple(share_moves(layout, "data", wanted)) if is_possible else ()
    return Plan(moves, ((),) * len(moves))
