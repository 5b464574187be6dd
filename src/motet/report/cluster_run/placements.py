"""GPUs that jobs held on machines over time, in columns: the input of Gantt charts."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from motet.domain.arrays import Floats, Ints

NO_PARTNER = -1
"""In the column `partner`: the job shares its GPUs with no other job."""


@dataclass(frozen=True, eq=False)
class Placements:
    """A row per job, machine and time span without change, ordered by start.

    `machine`: index into `machine_names`. `gpus`: on that machine. `job_gpus`: on all machines.
    `partner`: the lowest-numbered other job that held the same GPUs in that time span, or
    NO_PARTNER. `sharers`: number of jobs that did; each has a row with this time span.
    """

    machine_names: tuple[str, ...]
    machine_gpus: Ints
    job: Ints
    machine: Ints
    gpus: Ints
    start_s: Floats
    end_s: Floats
    partner: Ints
    sharers: Ints
    job_gpus: Ints

    def __len__(self) -> int:
        return len(self.job)

    @property
    def taken_gpus(self) -> Floats:
        """GPUs of each row; of shared GPUs every job has an equal part."""
        return self.gpus / self.sharers

    @property
    def first_sharer(self) -> Ints:
        """The lowest-numbered job on the GPUs of each row."""
        return np.where(self.partner == NO_PARTNER, self.job, np.minimum(self.job, self.partner))

    def of(self, rows: Any) -> Placements:
        """A subset of the rows, in their order."""
        columns = [field.name for field in fields(self)[2:]]
        return replace(self, **{name: getattr(self, name)[rows] for name in columns})

    def within(self, start_s: float, end_s: float) -> Placements:
        """The rows that overlap a time span."""
        return self.of((self.start_s < end_s) & (self.end_s > start_s))


def held_until(placements: Placements, times_s: Floats) -> Floats:
    """GPU-seconds that jobs held before each of these times."""
    taken = placements.taken_gpus
    return _integral(placements.start_s, taken, times_s) - _integral(
        placements.end_s, taken, times_s
    )


def _integral(since_s: Floats, values: Floats, times_s: Floats) -> Floats:
    """Integral up to `times_s` of a sum of step functions, each `values` from `since_s` on."""
    order = np.argsort(since_s, kind="stable")
    counts = np.searchsorted(since_s[order], times_s)
    heights = np.concatenate([[0.0], np.cumsum(values[order])])
    moments = np.concatenate([[0.0], np.cumsum(values[order] * since_s[order])])
    area: Floats = heights[counts] * times_s - moments[counts]
    return area
