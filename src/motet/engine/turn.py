"""Who stood before a job when its turn came: its blockers, derived from a decision. Lazy."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np

from motet.domain.arrays import Ints
from motet.domain.decision import Decision
from motet.domain.log_entry import NOBODY, OtherJobs
from motet.domain.snapshot import UNKNOWN, Snapshot
from motet.domain.wait import WAITS, BlockerRule, Wait

_BEHIND = [wait for wait in WAITS if wait.reason.blockers is BlockerRule.HEAD_OF_LINE]
MOST_NAMED = 5


class Turn:
    """One decision's order."""

    def __init__(self, snapshot: Snapshot, decision: Decision) -> None:
        self._jobs, self._decision = snapshot.jobs, decision

    def waiting_before(self, rows: Ints) -> Ints:
        """How many jobs that wait are before each of these in the order; UNKNOWN without one."""
        position = self._decision.reasons.position[rows]
        before = position - np.searchsorted(self._running_positions, position)
        return np.where(position == UNKNOWN, UNKNOWN, before)

    def blockers(self, row: int) -> OtherJobs:
        """The head of the line for whoever may not overtake it; else the holders of GPUs before it.

        Without an order, or where a job is kept from GPUs that are free: all who hold any.
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
        """The first that cannot be overtaken, of the job's own queue if it has a line of its own;
        with the GPUs that it asks for."""
        heads, queue = self._heads, self._jobs.queue
        if not len(heads):
            return NOBODY
        own = heads[queue[heads] == queue[row]]
        head = (own if len(own) else heads)[0]
        return first_of([(int(self._jobs.number[head]), int(self._jobs.gpus[head]))])

    @cached_property
    def _heads(self) -> Ints:
        """Rows that wait for another reason than a head before them, in the policy's order."""
        reasons = self._decision.reasons
        rows = np.flatnonzero(~np.isin(reasons.code, [Wait.RUNS, *_BEHIND]))
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
    """(job, GPUs), of which only a few are named."""
    return OtherJobs(tuple(jobs[:MOST_NAMED]), len(jobs))
