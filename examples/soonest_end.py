"""A policy of your own that uses estimates: the job with the earliest predicted end runs first.

motet simulate --trace optimus-50 --cluster 4x8 --policy optimus,./examples/soonest_end.py
"""

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from motet.allocation.max_min_share import share_evenly
from motet.allocation.order import order_by
from motet.domain.decision import Decision
from motet.domain.policy import Policy
from motet.domain.units import NEVER_US, microseconds
from motet.estimate.speed_function import SpeedFunctions


@dataclass(frozen=True)
class SoonestEnd(Policy):
    """Divides GPUs evenly, without workers of little gain; with too few GPUs for all jobs, those
    with the earliest predicted ends run.

    `efficiency`: a job gets workers as long as each does this part of what one does with the
    fewest. `interval_s`: how often to look again, as predictions change.
    """

    efficiency: float = 0.3
    interval_s: float = 60.0

    wants_estimates: ClassVar[bool] = True

    def decide(self, snapshot):
        """Order jobs by predicted end; jobs without a prediction first, so that they
        are measured.
        """
        jobs, known = snapshot.jobs, snapshot.wanted_estimates
        speeds = SpeedFunctions(known.speed_mode, known.speed)
        seconds_left = known.steps_left / speeds.steps_per_s(jobs.workers, jobs.servers)
        order = order_by(np.nan_to_num(seconds_left, nan=0.0), jobs.number)
        most_workers = self._most_workers(jobs, speeds)
        allocation = share_evenly(
            order, replace(jobs, max_workers=most_workers), snapshot.gpu_count
        )
        again_us = snapshot.now_us + microseconds(self.interval_s)
        return Decision(
            allocation.gpus,
            allocation.reasons,
            workers=allocation.workers,
            servers=allocation.servers,
            recheck_at_us=again_us if jobs.is_elastic.any() else NEVER_US,
        )

    def _most_workers(self, jobs, speeds):
        """Doubles workers while that pays. A comparison with NaN is false, so unknown jobs may
        grow.
        """
        most = jobs.min_workers
        at_best = speeds.steps_per_s(most, jobs.servers) / most
        while True:
            more = np.minimum(2 * most, jobs.max_workers)
            each_does = speeds.steps_per_s(more, jobs.servers) / more
            more = np.where(each_does < self.efficiency * at_best, most, more)
            if (more == most).all():
                return most
            most = more


POLICIES = {"soonest-end": SoonestEnd}
