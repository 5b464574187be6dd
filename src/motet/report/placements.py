"""Who held which machine's GPUs when: what a Gantt chart is drawn from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

PLACEMENT_COLUMNS = ("job_id", "machine", "gpus", "start_time", "end_time", "shared_with")
"""Of `placements.csv`."""

NOBODY = -1


@dataclass(frozen=True, eq=False)
class Placements:
    """The columns have a row per job, machine and time without change, by start.

    `machine`: index into `machine_names`. `gpus`: on that machine. `job_gpus`: of the whole gang.
    `partner`: the job that held the same GPUs in that time, or NOBODY.
    """

    machine_names: tuple[str, ...]
    machine_gpus: Ints
    job: Ints
    machine: Ints
    gpus: Ints
    start_s: Floats
    end_s: Floats
    partner: Ints
    job_gpus: Ints

    def __len__(self) -> int:
        return len(self.job)

    @property
    def taken_gpus(self) -> Floats:
        """GPUs of a row; those that two jobs share count half for each."""
        return np.where(self.partner == NOBODY, self.gpus, self.gpus / 2)

    def of(self, rows: Any) -> Placements:
        """Some of the rows, in their order."""
        columns = [field.name for field in fields(self)[2:]]
        return replace(self, **{name: getattr(self, name)[rows] for name in columns})

    def within(self, start_s: float, end_s: float) -> Placements:
        """The rows that touch a time."""
        return self.of((self.start_s < end_s) & (self.end_s > start_s))


def held_until(placements: Placements, times_s: Floats) -> Floats:
    """GPU-seconds that were held before each time."""
    taken = placements.taken_gpus
    return _integral(placements.start_s, taken, times_s) - _integral(
        placements.end_s, taken, times_s
    )


def _integral(since_s: Floats, values: Floats, times_s: Floats) -> Floats:
    """Of the sum of steps of these heights, each up from its time on."""
    order = np.argsort(since_s, kind="stable")
    counts = np.searchsorted(since_s[order], times_s)
    heights = np.concatenate([[0.0], np.cumsum(values[order])])
    moments = np.concatenate([[0.0], np.cumsum(values[order] * since_s[order])])
    area: Floats = heights[counts] * times_s - moments[counts]
    return area


def lanes(placements: Placements) -> list[tuple[int, ...]]:
    """For each row, which of its machine's GPUs to draw it on; the two that share get the same.

    A job that goes on keeps its lanes, others get the first that are free, side by side if they
    can. Which GPUs a job really held the simulator does not know; it counts them.
    """
    found: list[tuple[int, ...]] = [()] * len(placements)
    order = np.argsort(placements.machine, kind="stable")
    cuts = np.flatnonzero(np.diff(placements.machine[order])) + 1
    for rows in np.split(order, cuts) if len(order) else ():
        size = int(placements.machine_gpus[placements.machine[rows[0]]])
        for row, chosen in zip(rows.tolist(), _lanes_of(placements.of(rows), size), strict=True):
            found[row] = chosen
    return found


class _Stay(NamedTuple):
    """A job's time on some lanes."""

    lanes: tuple[int, ...]
    start_s: float
    end_s: float


_NOWHERE = _Stay((), float("-inf"), float("-inf"))


def _lanes_of(rows: Placements, size: int) -> list[tuple[int, ...]]:
    """On one machine of `size` GPUs."""
    chosen: list[tuple[int, ...]] = [()] * len(rows)
    until_s = [float("-inf")] * size
    last: dict[int, _Stay] = {}
    goes_on = _goes_on(rows)
    columns = (rows.job, rows.partner, rows.gpus, rows.start_s, rows.end_s)
    holds = list(zip(*(column.tolist() for column in columns), strict=True))
    for row in sorted(range(len(rows)), key=lambda row: (holds[row][3], not goes_on[row], row)):
        job, partner, gpus, start_s, end_s = holds[row]
        before, company = last.get(job, _NOWHERE), last.get(partner, _NOWHERE)
        if company.start_s == start_s:
            mine = company.lanes
        elif before.end_s == start_s and all(until_s[lane] <= start_s for lane in before.lanes):
            mine = before.lanes
        else:
            mine = _free([lane for lane in range(size) if until_s[lane] <= start_s], gpus)
        chosen[row], last[job] = mine, _Stay(mine, start_s, end_s)
        for lane in mine:
            until_s[lane] = end_s
    return chosen


def _goes_on(rows: Placements) -> list[bool]:
    """Whether the same job was there until the row begins."""
    ends = set(zip(rows.job.tolist(), rows.end_s.tolist(), strict=True))
    return [hold in ends for hold in zip(rows.job.tolist(), rows.start_s.tolist(), strict=True)]


def _free(lanes: Sequence[int], gpus: int) -> tuple[int, ...]:
    """The first that lie side by side, or else the first."""
    sides = zip(lanes, lanes[gpus - 1 :], strict=False)
    first = next((n for n, (low, high) in enumerate(sides) if high - low == gpus - 1), 0)
    return tuple(lanes[first : first + gpus])
