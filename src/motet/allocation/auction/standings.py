"""How experiments stand: what their jobs still need, and how late they will be.

Kept from decision to decision in columns per job, so that an experiment's first submission and its
whole work are known for as long as one of its jobs is there, also those of jobs that have ended.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from motet.domain.arrays import Floats, Ints
from motet.domain.errors import BadInput
from motet.domain.snapshot import UNKNOWN, JobTable, Snapshot
from motet.domain.units import NEVER_US, SECOND_US
from motet.estimate.finish_time import JobWork
from motet.estimate.shares import Pieces, pieces_of, speeds_together
from motet.estimate.speed_function import PARAMETERS
from motet.estimate.widths import Widths, request_of, widths_of

MEMORY = {
    "begun_us": NEVER_US,
    "whole_gpu_us": 0,
    "whole_gpus": 0,
    "longest_us": 0,
}
"""Of a job's experiment: first submission, all work, all GPUs that its jobs ask for, longest job.

An elastic job's times are those on its full request.
"""
_LEAST_US = 1000
_FULL_RATE = 10_000


@dataclass(frozen=True, eq=False)
class Standings:
    """`of: (jobs,)`: each job's experiment, numbered by their first jobs. `left_us: (jobs,)`: what
    it still needs on its full request together. `widths`: on how many GPUs it can run instead.
    `memory`: as `MEMORY`, up to date.
    """

    jobs: JobTable
    now_us: int
    of: Ints
    left_us: Ints
    widths: Widths
    memory: Mapping[str, Ints]

    @classmethod
    def of_snapshot(cls, snapshot: Snapshot) -> Self:
        """Raises BadInput where remaining times are not known."""
        jobs, known = snapshot.jobs, snapshot.memory
        of = _experiments(jobs)
        left_us = _left_us(snapshot)
        is_new = known["whole_gpus"] == 0
        memory = {
            "begun_us": _lowest(np.minimum(known["begun_us"], jobs.submit_us), of),
            "whole_gpu_us": _with_new(known["whole_gpu_us"], left_us * jobs.gpus, is_new, of),
            "whole_gpus": _with_new(known["whole_gpus"], jobs.gpus, is_new, of),
            "longest_us": _whole(np.maximum(known["longest_us"], left_us), of),
        }
        return cls(jobs, snapshot.now_us, of, left_us, _widths(snapshot), memory)

    @property
    def count(self) -> int:
        """How many experiments contend."""
        return int(self.of.max()) + 1 if len(self.of) else 0

    def elapsed_s(self) -> Floats:
        """`(experiments,)`: since the first submission."""
        return (self.now_us - self._first(self.memory["begun_us"])) / SECOND_US

    def ideal_s(self, share_gpus: float) -> Floats:
        """`(experiments,)`: T_ideal, as `motet.estimate.finish_time.ideal_s` of all of its jobs.

        Those that have ended are taken to have been like those that are left.
        """
        whole = {name: self._first(column) for name, column in self.memory.items()}
        times = whole["whole_gpus"] / np.bincount(self.of, self.jobs.gpus)
        speed = times * self.speed_on_share(share_gpus / times)
        longest_us = whole["longest_us"] * _highest(self._stretch, self.of, self.count)
        return np.maximum(whole["whole_gpu_us"] / speed, longest_us) / SECOND_US

    def rho_by_share(self, share_gpus: float, wait_s: float) -> Floats:
        """`(experiments,)`: rho of each if it waits so long and then has its share to its end."""
        service_gpu_us = np.bincount(self.of, self.left_us * self.jobs.gpus)
        longest_us = _highest(self.left_us * self._stretch, self.of, self.count)
        left_us = np.maximum(service_gpu_us / self.speed_on_share(share_gpus), longest_us)
        return (self.elapsed_s() + wait_s + left_us / SECOND_US) / self.ideal_s(share_gpus)

    def speed_on_share(self, share_gpus: ArrayLike) -> Floats:
        """`(experiments,)`: of its jobs, by turns, on so many GPUs that lie together."""
        return speeds_together(self._pieces, self.of, np.broadcast_to(share_gpus, self.count))

    @cached_property
    def _pieces(self) -> Pieces:
        return pieces_of(self.widths.first, self.widths.gpus, self.widths.speed)

    @property
    def _stretch(self) -> Floats:
        """`(jobs,)`: the time that it takes at its fastest, by that on its full request."""
        stretch: Floats = self.jobs.gpus / self.widths.fastest
        return stretch

    def rows_of(self, experiment: int) -> Ints:
        """Its jobs: those that run first, then the largest, then by number."""
        rows = np.flatnonzero(self.of == experiment)
        jobs = self.jobs
        keys = jobs.number[rows], -jobs.gpus[rows], jobs.held_gpus[rows] == 0
        return rows[np.lexsort(keys)]

    def work_of(self, row: int, share_gpus: float) -> JobWork:
        """What a job still needs, and on how many GPUs it may bid to run: up to its full request,
        or to the share of its experiment where that is more."""
        asked = int(self.jobs.gpus[row])
        service_gpu_s = int(self.left_us[row]) * asked / SECOND_US
        if not self.jobs.is_elastic[row]:
            return JobWork.gang(service_gpu_s, asked)
        largest = self.widths.entry(row, max(asked, int(share_gpus)))
        own = slice(self.widths.of(row).start, largest + 1)
        gpus = self.widths.gpus[own]
        speeds = np.zeros(gpus[-1] - gpus[0] + 1)
        speeds[gpus - gpus[0]] = self.widths.speed[own]
        return JobWork(service_gpu_s, int(gpus[0]), int(gpus[-1]), tuple(speeds.tolist()))

    def _first(self, column: Ints) -> Ints:
        """`(experiments,)`: from a column that is the same for all jobs of an experiment."""
        found = np.zeros(self.count, dtype=np.int64)
        found[self.of] = column
        return found


def _experiments(jobs: JobTable) -> Ints:
    alone = UNKNOWN - 1 - jobs.number
    key = np.where(jobs.experiment == UNKNOWN, alone, jobs.experiment)
    _, of = np.unique(key, return_inverse=True)
    first = np.full(len(jobs), NEVER_US)
    np.minimum.at(first, of, jobs.number)
    rank = np.empty_like(first)
    rank[np.argsort(first, kind="stable")] = np.arange(len(first))
    return rank[of]


def _widths(snapshot: Snapshot) -> Widths:
    """By speeds as fitted, where they are, and with servers on the fewest machines."""
    known, size = snapshot.estimates, len(snapshot.jobs)
    mode = np.zeros(size, dtype=np.int64) if known is None else known.speed_mode
    parameters = np.zeros((size, len(PARAMETERS))) if known is None else known.speed
    request, together_gpus = request_of(snapshot.jobs), int(snapshot.cluster.gpus.max())
    return widths_of(request, mode, parameters, snapshot.gpu_count, together_gpus)


def _left_us(snapshot: Snapshot) -> Ints:
    """The time that it still needs where it runs, by its speed there."""
    jobs = snapshot.jobs
    if len(jobs) and int(jobs.remaining_us.min()) == UNKNOWN:
        raise BadInput(
            "themis compares when experiments will end, and their jobs' remaining time is not "
            "known here; use a policy that needs no durations, such as tiresias-las"
        )
    rate = np.where(jobs.held_gpus > 0, jobs.rate, _FULL_RATE)
    # In two parts, or years would not fit 64 bits.
    whole_us, rest_us = np.divmod(jobs.remaining_us, _FULL_RATE)
    left_us: Ints = np.maximum(whole_us * rate + rest_us * rate // _FULL_RATE, _LEAST_US)
    return left_us


def _with_new(known: Ints, more: Ints, is_new: NDArray[np.bool_], of: Ints) -> Ints:
    """What was known of each experiment and what its new jobs add."""
    found = _whole(known, of)
    added = np.zeros(len(of), dtype=np.int64)
    np.add.at(added, of, np.where(is_new, more, 0))
    return found + added[of]


def _whole(column: Ints, of: Ints) -> Ints:
    """By job, the highest of its experiment."""
    found = np.zeros(len(of), dtype=np.int64)
    np.maximum.at(found, of, column)
    return found[of]


def _highest(column: Floats, of: Ints, count: int) -> Floats:
    """By experiment."""
    found = np.zeros(count)
    np.maximum.at(found, of, column)
    return found


def _lowest(column: Ints, of: Ints) -> Ints:
    found = np.full(len(of), NEVER_US)
    np.minimum.at(found, of, column)
    return found[of]
