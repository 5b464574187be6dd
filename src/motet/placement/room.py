"""What is free on every machine: GPUs, and the CPUs and the memory that go with them.

A job's CPUs and memory are spread over its GPUs: a machine that holds k of the g GPUs of the full
request gives k/g of them, rounded up. An elastic job takes more or less of them in proportion. What
a job does not ask for (0), and what a machine does not count (0), does not matter.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, Self

import numpy as np

from motet.domain.arrays import Ints
from motet.domain.cluster import ClusterSpec
from motet.domain.snapshot import JobTable, Placement, Snapshot
from motet.domain.wait import Wait


class Demand(NamedTuple):
    """Of a job's full request."""

    gpus: int
    cpus: int = 0
    memory_bytes: int = 0

    @classmethod
    def of(cls, jobs: JobTable, row: int) -> Self:
        """What the job in a row asks for."""
        return cls(int(jobs.gpus[row]), int(jobs.cpus[row]), int(jobs.memory_bytes[row]))

    def beside(self, gpus: int) -> tuple[int, int]:
        """CPUs and bytes that go with so many of its GPUs on one machine."""
        return -(-gpus * self.cpus // self.gpus), -(-gpus * self.memory_bytes // self.gpus)


@dataclass(frozen=True, eq=False)
class Room:
    """`gpus`, `cpus`, `memory_bytes`: free ones, `(machines,)`, changed in place.

    Where `cluster` counts no CPUs or no memory, their free ones stay 0.
    """

    cluster: ClusterSpec
    gpus: Ints
    cpus: Ints
    memory_bytes: Ints

    @classmethod
    def of(cls, cluster: ClusterSpec) -> Self:
        """Of machines on which nothing runs."""
        free = (cluster.gpus, cluster.cpus, cluster.memory_bytes)
        return cls(cluster, *(column.copy() for column in free))

    @classmethod
    def seen(cls, snapshot: Snapshot) -> Self:
        """A copy of what is free now."""
        cluster, gpus = snapshot.cluster, snapshot.free_gpus.copy()
        cpus, memory_bytes = snapshot.free_cpus, snapshot.free_memory_bytes
        if cpus is None or memory_bytes is None:
            none = np.zeros(len(gpus), dtype=np.int64)
            return cls(cluster, gpus, none, none)
        return cls(cluster, gpus, cpus.copy(), memory_bytes.copy())

    def gpus_for(self, demand: Demand) -> Ints:
        """`(machines,)`: how many free GPUs each machine could give to such a job."""
        if not (demand.cpus or demand.memory_bytes):
            return self.gpus
        within = _within(self.gpus, self.cpus, self.cluster.cpus, demand.cpus, demand.gpus)
        memory = (self.memory_bytes, self.cluster.memory_bytes, demand.memory_bytes)
        return _within(within, *memory, demand.gpus)

    def holds(self, place: Placement, demand: Demand, *, shares_gpus: bool = False) -> bool:
        """Whether a job can run there. `shares_gpus`: with one that has them already."""
        return all(
            self._holds(machine, gpus, demand, shares_gpus)
            for machine, gpus in zip(*place, strict=True)
        )

    def take(self, place: Placement, demand: Demand, *, shares_gpus: bool = False) -> None:
        """A job begins to run there."""
        self._change(place, demand, -1, shares_gpus)

    def give_back(self, place: Placement, demand: Demand, *, shares_gpus: bool = False) -> None:
        """A job leaves. `shares_gpus`: to one that stays on them."""
        self._change(place, demand, 1, shares_gpus)

    def shortage(self, demand: Demand, gpus: int) -> Wait:
        """What keeps so many GPUs of such a job from running now; RUNS if they fit."""
        if gpus > self.gpus.sum():
            return Wait.TOO_FEW_GPUS
        if gpus > self.gpus_for(demand._replace(memory_bytes=0)).sum():
            return Wait.TOO_FEW_CPUS
        fits = gpus <= self.gpus_for(demand).sum()
        return Wait.RUNS if fits else Wait.TOO_LITTLE_MEMORY

    def _holds(self, machine: int, gpus: int, demand: Demand, shares_gpus: bool) -> bool:
        cpus, memory_bytes = demand.beside(gpus)
        size = self.cluster
        return (
            (shares_gpus or gpus <= self.gpus[machine])
            and (not size.cpus[machine] or cpus <= self.cpus[machine])
            and (not size.memory_bytes[machine] or memory_bytes <= self.memory_bytes[machine])
        )

    def _change(self, place: Placement, demand: Demand, sign: int, shares_gpus: bool) -> None:
        size = self.cluster
        for machine, gpus in zip(*place, strict=True):
            self.gpus[machine] += 0 if shares_gpus else sign * gpus
            if not (demand.cpus or demand.memory_bytes):
                continue
            cpus, memory_bytes = demand.beside(gpus)
            self.cpus[machine] += sign * cpus if size.cpus[machine] else 0
            self.memory_bytes[machine] += sign * memory_bytes if size.memory_bytes[machine] else 0


def gpus_of_empty(cluster: ClusterSpec, demand: Demand) -> Ints:
    """`(machines,)`: how many GPUs each could give to such a job if nothing ran there."""
    if not (demand.cpus or demand.memory_bytes):
        return cluster.gpus
    return Room(cluster, cluster.gpus, cluster.cpus, cluster.memory_bytes).gpus_for(demand)


def _within(gpus: Ints, free: Ints, size: Ints, needed: int, whole_gpus: int) -> Ints:
    """How many of these GPUs of each machine have beside them what a job needs for all of its own.

    `needed * whole_gpus` must be a number of 63 bits.
    """
    if not needed:
        return gpus
    times, rest = np.divmod(free, needed)
    fits = np.minimum(times, gpus) * whole_gpus + rest * whole_gpus // needed
    return np.where(size > 0, np.minimum(fits, gpus), gpus)
