"""The losses that the planner predicts for placed jobs, and the moves of their tensors."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from motet.aggregation.planner.clusters import ClusteredPool
from motet.aggregation.planner.pool import AggregatorPool, PlacedJob


@dataclass
class LossRecord:
    """Of so many jobs. `by_job`: the present loss of each placed one. `integral`: of each job,
    loss times microseconds. `moves`: how often tensors of a placed job moved; `moved`: how many.
    """

    jobs: int
    by_job: dict[int, float] = field(default_factory=dict)
    moved: int = 0
    moves: int = 0
    _homes: dict[int, PlacedJob] = field(default_factory=dict)
    _seen: dict[int, AggregatorPool] = field(default_factory=dict)
    _since_us: dict[int, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.integral = np.zeros(self.jobs)
        self.largest = np.zeros(self.jobs)

    def follow(self, pool: ClusteredPool, now_us: int) -> list[AggregatorPool]:
        """Take over what changed; equal clusters are the same objects. The changed ones."""
        changed = [each for each in pool.clusters if id(each) not in self._seen]
        self._seen = {id(each): each for each in pool.clusters}
        for cluster in changed:
            for number, lost in cluster.losses().items():
                self._set(number, lost, now_us)
                self._move(number, cluster.jobs[number])
        return changed

    def end(self, number: int, now_us: int) -> None:
        """A job has ended."""
        if number in self.by_job:
            self._set(number, 0.0, now_us)
            del self.by_job[number], self._homes[number]

    def _set(self, number: int, lost: float, now_us: int) -> None:
        before = self.by_job.get(number, 0.0)
        self.integral[number] += before * (now_us - self._since_us.get(number, now_us))
        self._since_us[number] = now_us
        self.by_job[number] = lost
        self.largest[number] = max(self.largest[number], lost)

    def _move(self, number: int, placed: PlacedJob) -> None:
        before = self._homes.get(number)
        if before is not None and before is not placed:
            moved = int(np.count_nonzero(before.homes != placed.homes))
            self.moved += moved
            self.moves += bool(moved)
        self._homes[number] = placed
