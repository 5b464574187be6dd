"""A scheduling policy of your own: the longest wait runs first, for a time slice.

motet simulate --trace jobs.csv --cluster 15x4 --policy ./examples/longest_waiting.py
"""

from dataclasses import dataclass

from motet.allocation.fill import fill
from motet.allocation.order import order_by
from motet.domain.decision import Decision
from motet.domain.policy import Policy


@dataclass(frozen=True)
class LongestWaiting(Policy):
    """`slice_s`: seconds for which a job that has started keeps its GPUs."""

    slice_s: float = 600.0

    def decide(self, snapshot):
        """Keep jobs in their slice; then start the jobs that fit, the longest wait first."""
        jobs = snapshot.jobs
        slice_us = int(self.slice_s * 1e6)
        ends_us = jobs.last_start_us + slice_us
        in_slice = (jobs.held_gpus > 0) & (snapshot.now_us < ends_us)
        order = order_by(~in_slice, -jobs.waiting_us, jobs.number)
        filled = fill(order, jobs.gpus, snapshot.gpu_count, may_overtake=True)
        runs = (filled.gpus > 0) & (ends_us > snapshot.now_us)
        recheck_us = int(ends_us[runs].min()) if runs.any() else snapshot.now_us + slice_us
        if not len(jobs):
            return Decision(filled.gpus, filled.reasons)
        return Decision(filled.gpus, filled.reasons, recheck_at_us=recheck_us)


POLICIES = {"longest-waiting": LongestWaiting}
