"""State of experiments: remaining work of their jobs and finish-time fairness.

Per-job memory columns carry it between decisions: each remaining job of an experiment stores the
experiment's first submission and total work, including those of ended jobs.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np
from numba import njit
from numpy.typing import ArrayLike

from motet.domain.arrays import Bools, Floats, Ints, read_only
from motet.domain.errors import BadInput
from motet.domain.snapshot import UNKNOWN, JobTable, Snapshot
from motet.domain.units import FULL_SPEED, NEVER_US, SECOND_US
from motet.estimate.finish_time import JobWork
from motet.estimate.shares import GroupPieces, pieces_of, speeds_together
from motet.estimate.speed_function import PARAMETERS
from motet.estimate.widths import Widths, request_of, widths_of

MEMORY = {
    "begun_us": NEVER_US,
    "whole_gpu_us": 0,
    "whole_gpus": 0,
    "longest_us": 0,
}
"""State of a job's experiment: first submission, total work, total requested GPUs, longest job.

Times of elastic jobs are those on their full request.
"""
_LEAST_US = 1000


@dataclass(frozen=True, eq=False)
class Standings:
    """`of: (jobs,)`: experiment of each job, numbered by first jobs. `left_us: (jobs,)`: remaining
    time on the full request on contiguous GPUs. `widths`: other GPU counts on which the job can
    run. `memory`: updated columns as `MEMORY`.
    """

    jobs: JobTable
    now_us: int
    of: Ints
    left_us: Ints
    widths: Widths
    memory: Mapping[str, Ints]

    @classmethod
    def of_snapshot(cls, snapshot: Snapshot) -> Self:
        """Raises BadInput if remaining times are unknown."""
        jobs = snapshot.jobs
        of = _experiments(jobs)
        left_us = _left_us(snapshot)
        known = (read_only(snapshot.memory[name]) for name in MEMORY)
        whole = _whole_experiments(of, jobs.submit_us, jobs.gpus, left_us, *known)
        memory = dict(zip(MEMORY, whole, strict=True))
        return cls(jobs, snapshot.now_us, of, left_us, _widths(snapshot), memory)

    @property
    def count(self) -> int:
        """The number of contending experiments."""
        return int(self.of.max()) + 1 if len(self.of) else 0

    def elapsed_s(self) -> Floats:
        """`(experiments,)`: since the first submission."""
        return (self.now_us - self._first(self.memory["begun_us"])) / SECOND_US

    def ideal_s(self, share_gpus: float) -> Floats:
        """`(experiments,)`: T_ideal, as `motet.estimate.finish_time.ideal_s` of all jobs.

        Assumes that ended jobs had the same speeds as the remaining ones.
        """
        whole = {name: self._first(column) for name, column in self.memory.items()}
        times = whole["whole_gpus"] / np.bincount(self.of, self.jobs.gpus)
        speed = times * self.speed_on_share(share_gpus / times)
        longest_us = whole["longest_us"] * _highest(self._stretch, self.of, self.count)
        return np.maximum(whole["whole_gpu_us"] / speed, longest_us) / SECOND_US

    def rho_by_share(self, share_gpus: float, wait_s: float, ideal_s: Floats) -> Floats:
        """`(experiments,)`: rho if each waits for `wait_s` and then has its share until its end.

        `ideal_s`: with that share.
        """
        service_gpu_us = np.bincount(self.of, self.left_us * self.jobs.gpus)
        longest_us = _highest(self.left_us * self._stretch, self.of, self.count)
        left_us = np.maximum(service_gpu_us / self.speed_on_share(share_gpus), longest_us)
        return (self.elapsed_s() + wait_s + left_us / SECOND_US) / ideal_s

    def speed_on_share(self, share_gpus: ArrayLike) -> Floats:
        """`(experiments,)`: total speed of the jobs, in turns, on this many contiguous GPUs."""
        return speeds_together(self._pieces, np.broadcast_to(share_gpus, self.count))

    @cached_property
    def _pieces(self) -> GroupPieces:
        pieces = pieces_of(self.widths.first, self.widths.gpus, self.widths.speed)
        return GroupPieces.of(pieces, self.of, self.count)

    @property
    def _stretch(self) -> Floats:
        """`(jobs,)`: time at the highest speed, relative to that on the full request."""
        stretch: Floats = self.jobs.gpus / self.widths.fastest
        return stretch

    def rows_of(self, experiment: int) -> Ints:
        """The jobs of an experiment: running jobs first, then the largest, then by number."""
        return self._rows[self._first_row[experiment] : self._first_row[experiment + 1]]

    @cached_property
    def _rows(self) -> Ints:
        """All jobs, grouped by experiment."""
        jobs = self.jobs
        return np.lexsort((jobs.number, -jobs.gpus, jobs.held_gpus == 0, self.of))

    @cached_property
    def _first_row(self) -> Ints:
        return np.searchsorted(self.of[self._rows], np.arange(self.count + 1))

    @cached_property
    def _is_elastic(self) -> Bools:
        return self.jobs.is_elastic

    def work_of(self, row: int, share_gpus: float) -> JobWork:
        """Remaining work of a job and the GPU counts for which it bids.

        The limit is the full request, or the share of its experiment if that is larger.
        """
        asked = int(self.jobs.gpus[row])
        service_gpu_s = int(self.left_us[row]) * asked / SECOND_US
        if not self._is_elastic[row]:
            return JobWork.gang(service_gpu_s, asked)
        largest = self.widths.entry(row, max(asked, int(share_gpus)))
        own = slice(self.widths.of(row).start, largest + 1)
        gpus = self.widths.gpus[own]
        speeds = np.zeros(gpus[-1] - gpus[0] + 1)
        speeds[gpus - gpus[0]] = self.widths.speed[own]
        return JobWork(service_gpu_s, int(gpus[0]), int(gpus[-1]), tuple(speeds.tolist()))

    def _first(self, column: Ints) -> Ints:
        """`(experiments,)`: values of a column that is constant within each experiment."""
        found = np.zeros(self.count, dtype=np.int64)
        found[self.of] = column
        return found


def _experiments(jobs: JobTable) -> Ints:
    order = jobs.by_submission[np.argsort(jobs.number[jobs.by_submission], kind="stable")]
    return _numbered(order, jobs.experiment)


@njit(cache=True)
def _numbered(order: Ints, experiment: Ints) -> Ints:
    """By row, its experiment, numbered by first rows in `order`; UNKNOWN: a job of its own."""
    known = np.unique(experiment[experiment != UNKNOWN])
    number_of, count = np.full(len(known), UNKNOWN), 0
    found = np.empty_like(order)
    for row in order:
        if experiment[row] == UNKNOWN:
            found[row] = count
            count += 1
            continue
        place = np.searchsorted(known, experiment[row])
        if number_of[place] == UNKNOWN:
            number_of[place] = count
            count += 1
        found[row] = number_of[place]
    return found


@njit(cache=True)
def _whole_experiments(
    of: Ints,
    submit_us: Ints,
    gpus: Ints,
    left_us: Ints,
    begun_us: Ints,
    whole_gpu_us: Ints,
    whole_gpus: Ints,
    longest_us: Ints,
) -> tuple[Ints, Ints, Ints, Ints]:
    """`MEMORY` by row, the last four as known so far: with the work of new jobs."""
    count = of.max() + 1 if len(of) else 0
    begun, longest = np.full(count, NEVER_US), np.zeros(count, np.int64)
    work, requested = np.zeros(count, np.int64), np.zeros(count, np.int64)
    for row, each in enumerate(of):
        begun[each] = min(begun[each], begun_us[row], submit_us[row])
        longest[each] = max(longest[each], longest_us[row], left_us[row])
        work[each] = max(work[each], whole_gpu_us[row])
        requested[each] = max(requested[each], whole_gpus[row])
    for row, each in enumerate(of):
        if whole_gpus[row] == 0:  # A new job.
            work[each] += left_us[row] * gpus[row]
            requested[each] += gpus[row]
    return begun[of], work[of], requested[of], longest[of]


def _widths(snapshot: Snapshot) -> Widths:
    """Widths by fitted speeds where available, with servers on the fewest machines."""
    known, size = snapshot.estimates, len(snapshot.jobs)
    mode = np.zeros(size, dtype=np.int64) if known is None else known.speed_mode
    parameters = np.zeros((size, len(PARAMETERS))) if known is None else known.speed
    request, together_gpus = request_of(snapshot.jobs), int(snapshot.cluster.gpus.max(initial=0))
    return widths_of(request, mode, parameters, snapshot.gpu_count, together_gpus)


def _left_us(snapshot: Snapshot) -> Ints:
    """Remaining time of each job at its speed on its present placement."""
    jobs = snapshot.jobs
    if len(jobs) and int(jobs.remaining_us.min()) == UNKNOWN:
        raise BadInput(
            "themis compares the ends of experiments, and the remaining time of their jobs is not "
            "known here; use a policy that needs no durations, such as tiresias-las"
        )
    return _times_left(jobs.held_gpus, jobs.remaining_us, jobs.rate)


@njit(cache=True)
def _times_left(held_gpus: Ints, remaining_us: Ints, rate: Ints) -> Ints:
    left_us = np.empty_like(remaining_us)
    for row in range(len(remaining_us)):
        pace = rate[row] if held_gpus[row] > 0 else FULL_SPEED
        # Two steps, since the product for years does not fit 64 bits.
        whole_us, rest_us = remaining_us[row] // FULL_SPEED, remaining_us[row] % FULL_SPEED
        left_us[row] = max(whole_us * pace + rest_us * pace // FULL_SPEED, _LEAST_US)
    return left_us


def _highest(column: Floats, of: Ints, count: int) -> Floats:
    """Maximum over the jobs of each experiment."""
    found = np.zeros(count)
    np.maximum.at(found, of, column)
    return found
