"""The pool of Aggregators: which of them holds each tensor of each job."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from types import MappingProxyType

import numpy as np

from motet.aggregation.planner.cyclic_execution import (
    NO_OWN_LIMIT,
    Cycles,
    Loads,
    cycles,
    kept_cycles,
    loss,
)
from motet.aggregation.planner.job_profile import AggregationProfile
from motet.domain.arrays import Bools, Ints

UNPLACED = -1
"""The home of a tensor that is on its way to another Aggregator."""


@dataclass(frozen=True, eq=False)
class PlacedJob:
    """A job of the pool. `homes`: `(tensors,)`, the number of each tensor's Aggregator. `stays`: it
    measured a loss and was spread; its tensors do not move, and where it is alone it remains alone.
    """

    profile: AggregationProfile
    homes: Ints
    stays: bool = False

    @cached_property
    def work(self) -> tuple[Ints, Ints]:
        """Its Aggregators, ascending, and what it needs of each: `(2, aggregators)`, CPU time and
        time on the link in ns of its tensors there.
        """
        is_placed = self.homes != UNPLACED
        aggregators, position = np.unique(self.homes[is_placed], return_inverse=True)
        needs_ns = self.profile.needs_ns[:, is_placed]
        sums = [np.bincount(position, each, len(aggregators)) for each in needs_ns]
        return aggregators, np.stack(sums).astype(np.int64)


@dataclass(frozen=True, eq=False)
class AggregatorPool:
    """A value; changes make new pools.

    `aggregators`: numbers, ascending; a number is never used again while the pool exists. `jobs`:
    by number. `kept_ns`: by Aggregator, the cycle that it keeps for the jobs there, or 0.
    """

    aggregators: Ints = field(default_factory=lambda: np.zeros(0, np.int64))
    jobs: Mapping[int, PlacedJob] = field(default_factory=lambda: MappingProxyType({}))
    next_number: int = 0
    kept_ns: Ints = field(default_factory=lambda: np.zeros(0, np.int64))

    @cached_property
    def loads(self) -> Loads:
        """A row per job and Aggregator that holds tensors of it."""
        if not self.jobs:
            empty = np.zeros(0, np.int64)
            return Loads(empty, empty, empty)
        placed = self.jobs.values()
        work_ns, link_ns = np.concatenate([job.work[1] for job in placed], axis=1)
        numbers = np.concatenate([job.work[0] for job in placed])
        rows = [len(job.work[0]) for job in placed]
        limits = [job.profile.loss_limit for job in placed]
        own = [NO_OWN_LIMIT if limit is None else limit for limit in limits]
        return Loads(
            self.positions(numbers),
            np.repeat([job.profile.iteration_ns for job in placed], rows),
            work_ns,
            np.repeat(own, rows),
            link_ns,
        )

    def positions(self, numbers: Ints) -> Ints:
        """The positions of Aggregators in the pool."""
        return np.searchsorted(self.aggregators, numbers)

    def cycles(
        self, loss_limit: float, arriving_ns: int = 0, arriving_limit: float | None = None
    ) -> Cycles:
        """The cycles of all Aggregators; `arriving_ns`: with tensors of one more job on each, which
        has the limit `arriving_limit` (None: that of the pool).
        """
        return cycles(self.loads, self.kept_ns, loss_limit, arriving_ns, arriving_limit)

    def losses(self) -> Mapping[int, float]:
        """The predicted loss of speed of each job: the largest over its Aggregators (L_j)."""
        cycle_ns = self.cycles(1.0).cycle_ns
        return {
            number: max(
                loss(int(cycle), job.profile.iteration_ns)
                for cycle in cycle_ns[self.positions(job.work[0])]
            )
            for number, job in self.jobs.items()
        }

    def holds_staying(self) -> Bools:
        """By position: whether the Aggregator has tensors of a job that stays."""
        held = [job.work[0] for job in self.jobs.values() if job.stays]
        if not held:
            return np.zeros(len(self.aggregators), np.bool_)
        return np.isin(self.aggregators, np.concatenate(held))

    def is_reserved(self) -> Bools:
        """By position: whether all tensors of the Aggregator are of one job that stays."""
        held = self.holds_staying()
        if not held.any():
            return held
        jobs_there = np.bincount(self.loads.aggregator, minlength=len(self.aggregators))
        reserved: Bools = held & (jobs_there == 1)
        return reserved

    def with_job(
        self, number: int, profile: AggregationProfile, homes: Ints, stays: bool | None = None
    ) -> AggregatorPool:
        """With a job whose tensors have these homes; new numbers are new Aggregators.

        `stays`: None: as before, and not for a new job.
        """
        if stays is None:
            stays = number in self.jobs and self.jobs[number].stays
        known = np.union1d(self.aggregators, homes[homes != UNPLACED])
        kept_ns = np.zeros(len(known), np.int64)
        kept_ns[np.searchsorted(known, self.aggregators)] = self._kept_with(number, profile, homes)
        jobs = MappingProxyType({**self.jobs, number: PlacedJob(profile, homes, stays)})
        return AggregatorPool(known, jobs, max(self.next_number, int(homes.max()) + 1), kept_ns)

    def _kept_with(self, number: int, profile: AggregationProfile, homes: Ints) -> Ints:
        """Kept cycles after a job has other homes: as they are where the same jobs remain."""
        if number not in self.jobs:
            return self.kept_ns
        before = self.jobs[number]
        left_ns = self.without_job(number).kept_ns
        if before.profile.iteration_ns != profile.iteration_ns:
            return left_ns
        remains = np.isin(self.aggregators, np.intersect1d(before.homes, homes))
        return np.where(remains, self.kept_ns, left_ns)

    def without_job(self, number: int) -> AggregatorPool:
        """Without a job; its Aggregators stay."""
        jobs = {other: job for other, job in self.jobs.items() if other != number}
        left = replace(self, jobs=MappingProxyType(jobs))
        return replace(left, kept_ns=kept_cycles(left.loads, self.cycles(1.0).cycle_ns))

    def without_aggregators(self, released: Ints) -> AggregatorPool:
        """Without Aggregators that hold no tensor."""
        is_kept = ~np.isin(self.aggregators, released)
        return replace(self, aggregators=self.aggregators[is_kept], kept_ns=self.kept_ns[is_kept])

    def is_empty(self) -> Bools:
        """By position: whether the Aggregator holds no tensor."""
        return ~np.isin(np.arange(len(self.aggregators)), self.loads.aggregator)
