"""Gives a persistent straggler less data, and more again when it has recovered.

For jobs that do not configure themselves: `--auto` does this and more.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from functools import partial

from motet.domain.reconfiguration import Plan
from motet.runtime.controller.job import Job
from motet.runtime.core.batch_costs import BatchCost
from motet.runtime.core.observers import TrainObserver
from motet.runtime.core.reports import ReconfigurationReport, Recovery
from motet.runtime.elastic.even_plans import share_moves
from motet.runtime.elastic.layout import Layout
from motet.runtime.elastic.plan_queue import Reconfiguration
from motet.runtime.elastic.rebalancing import Rebalancer


class Balancer(TrainObserver):
    """Listens to a job (`job.listen(Balancer(job))`) and moves its data blocks."""

    def __init__(self, job: Job) -> None:
        self._job = job
        self._lock = threading.Lock()
        self._rebalancer = Rebalancer()
        self._heard: set[int] = set()
        self._pending: Reconfiguration | None = None

    def measured(self, executor: int, costs: Sequence[BatchCost]) -> None:
        """Mini-batches of a worker; its first ones after a change may be older than the change."""
        with self._lock:
            if self._pending is not None:
                return
            if executor not in self._heard:
                self._heard.add(executor)
                return
            for cost in costs:
                self._rebalancer.observe(executor, cost.comp_s, cost.comm_s, cost.instances)
            layout = self._job.layout
            held = {worker: len(layout.data.blocks_of(worker)) for worker in layout.workers}
            wanted = self._rebalancer.decide(held)
            if wanted is not None and wanted != held:
                self._pending = self._job.reconfigure(partial(_plan, wanted))

    def recovering(self, recovery: Recovery) -> None:
        """Training goes on from a checkpoint, maybe on other machines."""
        del recovery
        self._restart()

    def reconfigured(self, report: ReconfigurationReport) -> None:
        """Somebody has changed the job."""
        del report
        self._restart()

    def _restart(self) -> None:
        with self._lock:
            self._heard.clear()
            self._rebalancer.restart()
            if self._pending is not None and self._pending.wait(0):
                self._pending = None


def _plan(wanted: Mapping[int, int], layout: Layout) -> Plan:
    """All moves at once, so that shares are built anew once; none if the workers are others."""
    is_possible = wanted.keys() == set(layout.workers)
    moves = tuple(share_moves(layout, "data", wanted)) if is_possible else ()
    return Plan(moves, ((),) * len(moves))
