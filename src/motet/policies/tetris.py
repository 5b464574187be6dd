"""Tetris: packing in several dimensions (Grandl et al., SIGCOMM 2014).

A machine with free resources takes the task whose demands point in the direction of what is free
(section 3.2: the dot product of both, each in parts of the machine), balanced against how little
work the task's job has left (section 3.3). Optimus (Peng et al., EuroSys 2018, section 6.1)
compares itself with it.

Departures: the gang takes the place of the task. Where no machine holds all of it, it takes the
machines that hold most of it one after the other, and its alignment is the sum of theirs. Elastic
jobs run on their full request. Nobody is preempted, and gangs may be overtaken again and again.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import ceil
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from motet.allocation.order import places_in
from motet.domain.decision import Decision, Reasons, Wait
from motet.domain.errors import BadInput
from motet.domain.snapshot import UNKNOWN, Placement, Snapshot
from motet.placement.room import Demand, Room

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


class _Spot(NamedTuple):
    """Where a gang would run, and how well its demands fit there."""

    place: Placement
    alignment: float


@dataclass(frozen=True)
class Tetris:
    """Well-packed machines and short jobs; knows durations (an oracle), never preempts.

    `short_jobs`: how much remaining work counts beside alignment, both in units of their averages
    over the jobs that wait (the paper's m; 0: packing only). `fairness`: of the queues that wait
    only those that hold least are looked at, all but this part (the paper's f; 0: everybody, near
    1: only the one that holds least).
    """

    short_jobs: float = 1.0
    fairness: float = 0.0

    memory_columns: ClassVar[dict[str, int]] = {}
    knows_durations: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if not 0 <= self.short_jobs < float("inf"):
            raise BadInput(f"short_jobs={self.short_jobs}: give a number, at least 0")
        if not 0 <= self.fairness < 1:
            raise BadInput(f"fairness={self.fairness}: give a part, at least 0 and below 1")

    def decide(self, snapshot: Snapshot) -> Decision:
        """Whoever runs goes on; then the gang that scores best, again and again."""
        packing = _Packing(snapshot, self._work(snapshot))
        while packing.place_best(self.short_jobs, self.fairness):
            pass
        return packing.decision()

    def _work(self, snapshot: Snapshot) -> Floats:
        """What each job has left: its time x its parts of the cluster's resources."""
        jobs, cluster = snapshot.jobs, snapshot.cluster
        if not self.short_jobs:
            return np.zeros(len(jobs))
        if (jobs.remaining_us == UNKNOWN).any():
            raise BadInput(
                "tetris weighs jobs by their remaining time, which is not known here; "
                "use --set short_jobs=0"
            )
        parts = np.zeros(len(jobs))
        for needed, sizes in (
            (jobs.gpus, cluster.gpus),
            (jobs.cpus, cluster.cpus),
            (jobs.memory_bytes, cluster.memory_bytes),
        ):
            parts += needed / max(int(sizes.sum()), 1) if sizes.any() else 0.0
        work: Floats = parts * jobs.remaining_us
        return work


class _Packing:
    """One decision. Jobs of equal demands fit equally well: only one of them is looked at."""

    def __init__(self, snapshot: Snapshot, work: Floats) -> None:
        jobs = snapshot.jobs
        self._snapshot, self._work, self._room = snapshot, work, Room.seen(snapshot)
        self._gpus, self._places = jobs.held_gpus.copy(), dict[int, Placement]()
        by_work = np.lexsort((jobs.number, jobs.submit_us, work))
        waiting = by_work[self._gpus[by_work] == 0].tolist()
        runs = np.flatnonzero(self._gpus)
        self._order: list[int] = runs[np.argsort(jobs.number[runs])].tolist()
        self._rank = places_in(by_work)
        self._mean_work = float(work[waiting].mean()) if waiting else 0.0
        self._mean_alignment = 0.0
        self._lines: dict[Demand, list[int]] = {}
        for row in waiting:
            self._lines.setdefault(self._demand(row), []).append(row)
        self._left_over: list[tuple[int, Demand]] = []
        self._spots: dict[Demand, _Spot] = {}

    def _demand(self, row: int) -> Demand:
        """Without what no machine counts: that tells no jobs apart."""
        demand, cluster = Demand.of(self._snapshot.jobs, row), self._snapshot.cluster
        return Demand(
            demand.gpus,
            demand.cpus if cluster.cpus.any() else 0,
            demand.memory_bytes if cluster.memory_bytes.any() else 0,
        )

    def place_best(self, short_jobs: float, fairness: float) -> bool:
        """Let one more job start; False if none fits."""
        self._look()
        counts = self._queues_that_count(fairness) if fairness and self._lines else None
        firsts = list(self._firsts(counts))
        if not firsts:
            return False
        demands, rows = zip(*firsts, strict=True)
        alignment = np.array([self._spots[demand].alignment for demand in demands])
        self._mean_alignment = self._mean_alignment or float(alignment.mean())
        score = alignment / (self._mean_alignment or 1.0)
        score -= short_jobs * self._work[list(rows)] / (self._mean_work or 1.0)
        best = int(np.lexsort((self._rank[list(rows)], -score))[0])
        self._start(rows[best], demands[best])
        return True

    def decision(self) -> Decision:
        """Who was placed, and what the others lack."""
        code = np.zeros_like(self._gpus)
        shortages = {demand: self._shortage(demand) for _, demand in self._left_over}
        for row, demand in self._left_over:
            code[row] = shortages[demand]
        left = sorted((row for row, _ in self._left_over), key=self._rank.__getitem__)
        position = places_in(np.array([*self._order, *left], dtype=np.int64))
        free = np.full_like(self._gpus, self._room.gpus.sum())
        return Decision(self._gpus, Reasons(code, free, position), self._places)

    def _look(self) -> None:
        """Where jobs of each kind would run now; those that fit nowhere are left over."""
        for demand, line in list(self._lines.items()):
            if demand not in self._spots:
                spot = _best_spot(self._room, demand)
                if spot is None:
                    self._left_over += [(row, demand) for row in self._lines.pop(demand)]
                else:
                    self._spots[demand] = spot
            if not line:
                self._lines.pop(demand, None)

    def _firsts(self, counts: set[int] | None) -> Iterator[tuple[Demand, int]]:
        """Of jobs with equal demands the one with the least work, of the queues that count."""
        queue = self._snapshot.jobs.queue
        for demand, line in self._lines.items():
            able = (row for row in line if counts is None or int(queue[row]) in counts)
            row = next(able, None)
            if row is not None:
                yield demand, row

    def _queues_that_count(self, fairness: float) -> set[int]:
        """Those that hold least, by dominant share, of the queues of which a job fits."""
        queue = self._snapshot.jobs.queue
        able = {int(queue[row]) for line in self._lines.values() for row in line}
        share = {each: self._share(each) for each in able}
        ranked = sorted(able, key=lambda each: (share[each], each))
        return set(ranked[: max(ceil((1 - fairness) * len(ranked)), 1)])

    def _share(self, queue: int) -> float:
        jobs, cluster = self._snapshot.jobs, self._snapshot.cluster
        holds = (jobs.queue == queue) & (self._gpus > 0)
        columns = (
            (jobs.gpus, cluster.gpus),
            (jobs.cpus, cluster.cpus),
            (jobs.memory_bytes, cluster.memory_bytes),
        )
        return max(
            float(needed[holds].sum()) / int(sizes.sum())
            for needed, sizes in columns
            if sizes.any()
        )

    def _start(self, row: int, demand: Demand) -> None:
        place = self._spots[demand].place
        self._room.take(place, demand)
        self._gpus[row], self._places[row] = sum(place.counts), place
        self._order.append(row)
        self._lines[demand].remove(row)
        self._forget_spots_on(place)

    def _forget_spots_on(self, place: Placement) -> None:
        """Elsewhere the best spot stays the best one: machines only become fuller."""
        changed = {*place.machines}
        for demand, spot in list(self._spots.items()):
            if not changed.isdisjoint(spot.place.machines):
                del self._spots[demand]

    def _shortage(self, demand: Demand) -> Wait:
        shortage = self._room.shortage(demand, demand.gpus)
        return shortage if shortage != Wait.RUNS else Wait.ORDER


def _best_spot(room: Room, demand: Demand) -> _Spot | None:
    """None if the gang does not fit. The machines that hold most of it, then the best aligned."""
    free = room.gpus_for(demand).copy()
    if free.sum() < demand.gpus:
        return None
    worth = _alignment_of_a_gpu(room, demand)
    left, taken, total = demand.gpus, dict[int, int](), 0.0
    while left:
        machine = _best_machine(free, worth, left)
        taken[machine] = min(int(free[machine]), left)
        left, total = left - taken[machine], total + taken[machine] * float(worth[machine])
        free[machine] = 0
    machines = sorted(taken)
    return _Spot(Placement(tuple(machines), tuple(taken[each] for each in machines)), total)


def _best_machine(free: Ints, worth: Floats, wanted: int) -> int:
    counts = np.minimum(free, wanted)
    largest = np.flatnonzero(counts == counts.max())
    return int(largest[worth[largest].argmax()])


def _alignment_of_a_gpu(room: Room, demand: Demand) -> Floats:
    """`(machines,)`: the dot product of what a GPU's part of the job needs and what is free."""
    cluster = room.cluster
    total = np.zeros(cluster.size)
    for free, sizes, needed in (
        (room.gpus, cluster.gpus, demand.gpus),
        (room.cpus, cluster.cpus, demand.cpus),
        (room.memory_bytes, cluster.memory_bytes, demand.memory_bytes),
    ):
        if needed:
            size = np.maximum(sizes, 1).astype(np.float64)  # Nothing is free where it is 0.
            total += needed / demand.gpus / size * (free / size)
    return total


POLICIES = {"tetris": Tetris}
