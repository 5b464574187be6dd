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
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

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
        self._position = np.full(len(jobs), UNKNOWN, dtype=np.int64)
        runs = np.flatnonzero(self._gpus)
        self._position[runs[np.argsort(jobs.number[runs])]] = np.arange(len(runs))
        self._placed = len(runs)
        self._spots: dict[Demand, _Spot | None] = {}
        self._mean_alignment = 0.0
        by_work = np.lexsort((jobs.number, jobs.submit_us, work))
        self._waiting = [row for row in by_work.tolist() if not self._gpus[row]]
        self._demands = {row: Demand.of(jobs, row) for row in self._waiting}
        self._mean_work = float(work[self._waiting].mean()) if self._waiting else 0.0

    def place_best(self, short_jobs: float, fairness: float) -> bool:
        """Let one more job start; False if none fits."""
        rows = [row for row in self._firsts(fairness) if self._spot(row) is not None]
        if not rows:
            return False
        alignment = np.array([self._known(row).alignment for row in rows])
        self._mean_alignment = self._mean_alignment or float(alignment.mean())
        score = alignment / (self._mean_alignment or 1.0)
        score -= short_jobs * self._work[rows] / (self._mean_work or 1.0)
        self._start(rows[int(score.argmax())])
        return True

    def decision(self) -> Decision:
        """Who was placed, and what the others lack."""
        code = np.zeros_like(self._gpus)
        for turn, row in enumerate(self._waiting, start=self._placed):
            demand = self._demands[row]
            shortage = self._room.shortage(demand, demand.gpus)
            code[row] = shortage if shortage != Wait.RUNS else Wait.SHARE
            self._position[row] = turn
        free = np.full_like(self._gpus, self._room.gpus.sum())
        return Decision(self._gpus, Reasons(code, free, self._position), self._places)

    def _firsts(self, fairness: float) -> Iterator[int]:
        """Of jobs with equal demands the one with the least work, of the queues that count."""
        seen = set[Demand]()
        counts = self._queues_that_count(fairness) if fairness else None
        for row in self._waiting:
            if counts is not None and int(self._snapshot.jobs.queue[row]) not in counts:
                continue
            if self._demands[row] not in seen:
                seen.add(self._demands[row])
                yield row

    def _queues_that_count(self, fairness: float) -> set[int]:
        """Those that wait and hold least, by dominant share, of which a job fits."""
        jobs = self._snapshot.jobs
        able = {int(jobs.queue[row]) for row in self._waiting if self._spot(row) is not None}
        share = {queue: self._share(queue) for queue in able}
        ranked = sorted(able, key=lambda queue: (share[queue], queue))
        return set(ranked[: max(int(np.ceil((1 - fairness) * len(ranked))), 1)])

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

    def _start(self, row: int) -> None:
        place = self._known(row).place
        self._room.take(place, self._demands[row])
        self._gpus[row], self._places[row] = sum(place.counts), place
        self._position[row], self._placed = self._placed, self._placed + 1
        self._waiting.remove(row)
        self._spots.clear()

    def _known(self, row: int) -> _Spot:
        spot = self._spot(row)
        assert spot is not None
        return spot

    def _spot(self, row: int) -> _Spot | None:
        demand = self._demands[row]
        if demand not in self._spots:
            self._spots[demand] = _best_spot(self._room, demand)
        return self._spots[demand]


def _best_spot(room: Room, demand: Demand) -> _Spot | None:
    """None if the gang does not fit. The machines that hold most of it, then the best aligned."""
    free = room.gpus_for(demand)
    if free.sum() < demand.gpus:
        return None
    left, taken, total = demand.gpus, dict[int, int](), 0.0
    while left:
        counts = np.minimum(free, left)
        counts[list(taken)] = 0
        alignment = _alignment(room, demand, counts)
        machine = int(np.lexsort((-alignment, -counts))[0])
        taken[machine] = int(counts[machine])
        left, total = left - taken[machine], total + float(alignment[machine])
    machines = sorted(taken)
    return _Spot(Placement(tuple(machines), tuple(taken[each] for each in machines)), total)


def _alignment(room: Room, demand: Demand, counts: Ints) -> Floats:
    """`(machines,)`: the dot product of what so many GPUs need and what is free, in parts."""
    cluster = room.cluster
    total = np.zeros(len(counts))
    for free, sizes, needed in (
        (room.gpus, cluster.gpus, demand.gpus),
        (room.cpus, cluster.cpus, demand.cpus),
        (room.memory_bytes, cluster.memory_bytes, demand.memory_bytes),
    ):
        size = np.maximum(sizes, 1).astype(np.float64)
        total += np.where(sizes > 0, (counts * (needed / demand.gpus) / size) * (free / size), 0.0)
    return total


POLICIES = {"tetris": Tetris}
