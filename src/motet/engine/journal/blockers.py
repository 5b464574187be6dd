"""The blockers of a waiting job, derived from a decision. Computed on first use."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np

from motet.domain.arrays import Ints
from motet.domain.decision import Decision
from motet.domain.log_entry import NO_JOBS, OtherJobs
from motet.domain.snapshot import UNKNOWN, Snapshot
from motet.domain.wait import WAITS, BlockerRule, Wait

_IS_HEAD = np.ones(max(Wait) + 1, dtype=np.bool_)
"""By wait code: of jobs that wait for a reason other than a head before them."""
_IS_HEAD[[Wait.RUNS, *(w for w in WAITS if w.reason.blockers is BlockerRule.HEAD_OF_LINE)]] = False
MOST_NAMED = 5


class Turn:
    """The order of jobs in one decision."""

    def __init__(self, snapshot: Snapshot, decision: Decision) -> None:
        self._jobs, self._decision = snapshot.jobs, decision

    def waiting_before(self, rows: Ints) -> Ints:
        """Number of waiting jobs before each of these in the order; UNKNOWN without an order."""
        position = self._decision.reasons.position[rows]
        before = position - np.searchsorted(self._running_positions, position)
        return np.where(position == UNKNOWN, UNKNOWN, before)

    def blockers(self, row: int) -> OtherJobs:
        """The head of the line if the job may not overtake it; else the jobs before it with GPUs.

        Without an order, or if the policy withholds free GPUs from the job: all jobs with GPUs.
        """
        rule = Wait(int(self._decision.reasons.code[row])).reason.blockers
        if rule is BlockerRule.HEAD_OF_LINE:
            return self._head_before(row)
        holders, position = self._running, self._decision.reasons.position[row]
        if rule is BlockerRule.HOLDERS_OF_QUEUE:
            holders = holders[self._jobs.queue[holders] == self._jobs.queue[row]]
        elif rule is BlockerRule.HOLDERS_BEFORE and position != UNKNOWN:
            holders = holders[: np.searchsorted(self._running_positions, position)]
        named = holders[:MOST_NAMED]
        gpus = self._decision.gpus[named].tolist()
        first = zip(self._jobs.number[named].tolist(), gpus, strict=True)
        return OtherJobs(tuple(first), len(holders))

    def _head_before(self, row: int) -> OtherJobs:
        """The first job that cannot be overtaken, with the GPUs that it requests; the head of the
        job's own queue if that queue has one."""
        heads, queue = self._heads, self._jobs.queue
        if not len(heads):
            return NO_JOBS
        own = heads[queue[heads] == queue[row]]
        head = (own if len(own) else heads)[0]
        return first_of([(int(self._jobs.number[head]), int(self._jobs.gpus[head]))])

    @cached_property
    def _heads(self) -> Ints:
        """Rows that wait for a reason other than a head before them, in the policy's order."""
        reasons = self._decision.reasons
        rows = np.flatnonzero(_IS_HEAD[reasons.code])
        return rows[np.argsort(reasons.position[rows], kind="stable")]

    @cached_property
    def _running(self) -> Ints:
        """Rows with GPUs, in the policy's order."""
        rows = np.flatnonzero(self._decision.gpus)
        return rows[np.argsort(self._decision.reasons.position[rows], kind="stable")]

    @cached_property
    def _running_positions(self) -> Ints:
        return self._decision.reasons.position[self._running]


def first_of(jobs: Sequence[tuple[int, int]]) -> OtherJobs:
    """`OtherJobs` that names only the first few of these (job, GPUs)."""
    return OtherJobs(tuple(jobs[:MOST_NAMED]), len(jobs))
