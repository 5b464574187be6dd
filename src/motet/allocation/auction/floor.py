"""Placements and leases of all jobs while a decision is being made."""

from __future__ import annotations

import numpy as np

from motet.domain.arrays import Bools, Ints
from motet.domain.snapshot import Placement, Snapshot


class Floor:
    """`free: (machines,)` unassigned GPUs, `free_gpus` in all; `places`: by row, what is assigned
    in this decision; `gpus: (jobs,)`: of each job from now on; `stays: (jobs,)`: jobs that keep
    their previous placement; `lease_us: (jobs,)`: end of each job's lease; `granted`: rows in the
    order of their grants.
    """

    def __init__(self, snapshot: Snapshot, keeps: Bools, lease_us: Ints) -> None:
        """`keeps`: rows that keep their GPUs until `lease_us`."""
        jobs, self._snapshot = snapshot.jobs, snapshot
        self.lease_us = np.where(keeps, lease_us, 0)
        self.gpus: Ints = np.where(keeps, jobs.held_gpus, 0)
        self.stays = keeps.copy()
        rows = np.flatnonzero(keeps)
        rows = rows[np.argsort(jobs.number[rows])]
        self.granted: list[int] = rows.tolist()
        self.places: dict[int, Placement] = {}
        if not len(rows):
            self.free: Ints = snapshot.cluster.gpus.copy()
            self.free_gpus = int(self.free.sum())
            return
        self.free = snapshot.free_gpus.copy()
        for number in jobs.number[(jobs.held_gpus > 0) & ~keeps].tolist():
            for machine, count in zip(*snapshot.placements[number], strict=True):
                self.free[machine] += count
        self.free_gpus = int(self.free.sum())

    def before(self, row: int) -> Placement | None:
        """The job's placement before this decision."""
        return self._snapshot.placements.get(int(self._snapshot.jobs.number[row]))

    def place(self, row: int) -> Placement:
        """The placement of a job that has GPUs."""
        if (assigned := self.places.get(row)) is not None:
            return assigned
        return self._snapshot.placements[int(self._snapshot.jobs.number[row])]

    @property
    def moves(self) -> dict[int, Placement]:
        """By row, the placements of jobs that start or move."""
        return {row: place for row, place in self.places.items() if not self.stays[row]}

    def grant(self, row: int, place: Placement, until_us: int) -> None:
        """Assign these GPUs to the job."""
        for machine, count in zip(*place, strict=True):
            self.free[machine] -= count
        self.free_gpus -= sum(place.counts)
        self._put(row, place)
        self.lease_us[row] = until_us
        self.granted.append(row)

    def give_back(self, row: int) -> int:
        """Release all GPUs of the job. Returns the end of the released lease."""
        place, until_us = self.place(row), int(self.lease_us[row])
        self.places.pop(row, None)
        self.free[list(place.machines)] += place.counts
        self.free_gpus += sum(place.counts)
        self.lease_us[row] = self.gpus[row] = 0
        self.stays[row] = False
        self.granted.remove(row)
        return until_us

    def widen(self, row: int, more: Placement) -> None:
        """Add these GPUs to the job under its current lease."""
        self.free[list(more.machines)] -= more.counts
        self.free_gpus -= sum(more.counts)
        counts = dict(zip(*self.place(row), strict=True))
        for machine, count in zip(*more, strict=True):
            counts[machine] = counts.get(machine, 0) + count
        machines = tuple(sorted(counts))
        self._put(row, Placement(machines, tuple(counts[each] for each in machines)))

    def held(self, row: int) -> int:
        """The number of GPUs assigned to the job."""
        return int(self.gpus[row])

    def settle(self) -> None:
        """Swap placements of equal shape so that as many jobs as possible keep their previous
        placement.

        The shape is the multiset of GPU counts per machine, so a swap changes no slowdown.
        """
        pools: dict[tuple[int, ...], list[int]] = {}
        for row in self.granted:
            pools.setdefault(tuple(sorted(self.place(row).counts)), []).append(row)
        for rows in pools.values():
            self._swap(rows)

    def _swap(self, rows: list[int]) -> None:
        offered: dict[Placement, int] = {}
        for row in rows:
            offered[self.place(row)] = offered.get(self.place(row), 0) + 1
        moves = []
        for row in rows:
            home = self.before(row)
            if home is not None and offered.get(home):
                offered[home] -= 1
                self._put(row, home)
            else:
                moves.append(row)
        left = [place for place, count in offered.items() for _ in range(count)]
        for row, place in zip(moves, left, strict=True):
            self._put(row, place)

    def _put(self, row: int, place: Placement) -> None:
        self.places[row], self.gpus[row] = place, sum(place.counts)
        self.stays[row] = self.before(row) == place
