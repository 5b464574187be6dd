"""Placements and leases of all jobs while a decision is being made."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from motet.domain.arrays import Ints
from motet.domain.snapshot import Placement, Snapshot


class Floor:
    """`free: (machines,)` unassigned GPUs; `places`: by row; `lease_us: (jobs,)`: end of each
    job's lease; `granted`: rows in the order of their grants.
    """

    def __init__(self, snapshot: Snapshot, keeps: NDArray[np.bool_], lease_us: Ints) -> None:
        """`keeps`: rows that keep their GPUs until `lease_us`."""
        self._snapshot = snapshot
        self.free: Ints = snapshot.cluster.gpus.copy()
        self.places: dict[int, Placement] = {}
        self.granted: list[int] = []
        self.lease_us = np.where(keeps, lease_us, 0)
        rows = np.flatnonzero(keeps)
        for row in rows[np.argsort(snapshot.jobs.number[rows])].tolist():
            place = self.before(row)
            assert place is not None
            self.grant(row, place, int(self.lease_us[row]))

    def before(self, row: int) -> Placement | None:
        """The job's placement before this decision."""
        return self._snapshot.placements.get(int(self._snapshot.jobs.number[row]))

    def grant(self, row: int, place: Placement, until_us: int) -> None:
        """Assign these GPUs to the job."""
        self.free[list(place.machines)] -= place.counts
        self.places[row] = place
        self.lease_us[row] = until_us
        self.granted.append(row)

    def give_back(self, row: int) -> int:
        """Release all GPUs of the job. Returns the end of the released lease."""
        place, until_us = self.places.pop(row), int(self.lease_us[row])
        self.free[list(place.machines)] += place.counts
        self.lease_us[row] = 0
        self.granted.remove(row)
        return until_us

    def widen(self, row: int, more: Placement) -> None:
        """Add these GPUs to the job under its current lease."""
        self.free[list(more.machines)] -= more.counts
        counts = dict(zip(*self.places[row], strict=True))
        for machine, count in zip(*more, strict=True):
            counts[machine] = counts.get(machine, 0) + count
        machines = tuple(sorted(counts))
        self.places[row] = Placement(machines, tuple(counts[each] for each in machines))

    def held(self, row: int) -> int:
        """The number of GPUs assigned to the job."""
        return sum(self.places[row].counts)

    @property
    def gpus(self) -> Ints:
        """GPUs of each job, `(jobs,)`."""
        found = np.zeros(len(self.lease_us), dtype=np.int64)
        for row, place in self.places.items():
            found[row] = sum(place.counts)
        return found

    @property
    def stays(self) -> NDArray[np.bool_]:
        """`(jobs,)`: jobs that keep their previous placement."""
        found = np.zeros(len(self.lease_us), dtype=bool)
        for row, place in self.places.items():
            found[row] = self.before(row) == place
        return found

    def settle(self) -> None:
        """Swap placements of equal shape so that as many jobs as possible keep their previous
        placement.

        The shape is the multiset of GPU counts per machine, so a swap changes no slowdown.
        """
        pools: dict[tuple[int, ...], list[int]] = {}
        for row in self.granted:
            pools.setdefault(tuple(sorted(self.places[row].counts)), []).append(row)
        for rows in pools.values():
            self._swap(rows)

    def _swap(self, rows: list[int]) -> None:
        offered: dict[Placement, int] = {}
        for row in rows:
            offered[self.places[row]] = offered.get(self.places[row], 0) + 1
        moves = []
        for row in rows:
            home = self.before(row)
            if home is not None and offered.get(home):
                offered[home] -= 1
                self.places[row] = home
            else:
                moves.append(row)
        left = [place for place, count in offered.items() for _ in range(count)]
        for row, place in zip(moves, left, strict=True):
            self.places[row] = place
