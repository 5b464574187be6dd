"""A policy of one's own that looks at estimates: whose end is predicted soonest goes first.

motet simulate --trace optimus-50 --cluster 4x8 --policy optimus,./examples/soonest_end.py
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from motet.allocation.fill import fill
from motet.allocation.order import order_by
from motet.domain.decision import Decision
from motet.domain.units import NEVER_US, microseconds
from motet.estimate.speed_function import SpeedFunctions


@dataclass(frozen=True)
class SoonestEnd:
    """`efficiency`: an elastic job runs with the workers that it asks for if each of them then does
    this part of what one does with the fewest; else with the fewest. `interval_s`: how often to
    look again, as predictions change.
    """

    efficiency: float = 0.5
    interval_s: float = 60.0

    memory_columns: ClassVar[dict[str, int]] = {}
    wants_estimates: ClassVar[bool] = True

    def decide(self, snapshot):
        """Those of which nothing is known go last, the first submitted first."""
        jobs, known = snapshot.jobs, snapshot.wanted_estimates
        speeds = SpeedFunctions(known.speed_mode, known.speed)
        workers = self._workers(jobs, speeds)
        seconds_left = known.steps_left / speeds.steps_per_s(workers, jobs.servers)
        order = order_by(np.nan_to_num(seconds_left, nan=np.inf), jobs.submit_us, jobs.number)
        wanted = workers * jobs.worker_gpus + jobs.servers * jobs.server_gpus
        gpus = np.where(jobs.is_elastic, wanted, jobs.gpus)
        filled = fill(order, gpus, snapshot.gpu_count, may_overtake=True)
        again_us = snapshot.now_us + microseconds(self.interval_s)
        return Decision(
            filled.gpus,
            filled.reasons,
            workers=workers,
            servers=jobs.servers,
            recheck_at_us=again_us if jobs.is_elastic.any() else NEVER_US,
        )

    def _workers(self, jobs, speeds):
        """As many as asked for where nobody knows how fast the job is: a comparison with NaN is
        false."""
        all_of_them = speeds.steps_per_s(jobs.workers, jobs.servers) / jobs.workers
        fewest = speeds.steps_per_s(jobs.min_workers, jobs.servers) / jobs.min_workers
        is_wasteful = jobs.is_elastic & (all_of_them < self.efficiency * fewest)
        return np.where(is_wasteful, jobs.min_workers, jobs.workers)


POLICIES = {"soonest-end": SoonestEnd}
