"""Free resources of every machine: GPUs, and the CPUs and memory beside them.

A job's CPUs and memory are spread over its GPUs: a machine that holds k of the g GPUs of the full
request provides k/g of them, rounded up. An elastic job takes them in proportion to its GPUs.
Resources that a job does not request (0) or that a machine does not count (0) are ignored.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, Self

import numpy as np
from numba import njit

from motet.domain.arrays import Ints
from motet.domain.cluster import ClusterSpec
from motet.domain.snapshot import JobTable, Placement, Snapshot
from motet.domain.wait import Wait


class ResourceDemand(NamedTuple):
    """Resources of a job's full request."""

    gpus: int
    cpus: int = 0
    memory_bytes: int = 0

    @classmethod
    def of(cls, jobs: JobTable, row: int) -> Self:
        """The full request of the job in this row."""
        return cls(int(jobs.gpus[row]), int(jobs.cpus[row]), int(jobs.memory_bytes[row]))

    def beside(self, gpus: int) -> tuple[int, int]:
        """CPUs and bytes beside this number of the job's GPUs on one machine."""
        return -(-gpus * self.cpus // self.gpus), -(-gpus * self.memory_bytes // self.gpus)


@dataclass(frozen=True, eq=False)
class Room:
    """`gpus`, `cpus`, `memory_bytes`: free resources, `(machines,)`, changed in place.

    If `cluster` counts no CPUs or no memory, their free amounts stay 0.
    """

    cluster: ClusterSpec
    gpus: Ints
    cpus: Ints
    memory_bytes: Ints

    @classmethod
    def of(cls, cluster: ClusterSpec) -> Self:
        """The room of an empty cluster."""
        free = (cluster.gpus, cluster.cpus, cluster.memory_bytes)
        return cls(cluster, *(column.copy() for column in free))

    @classmethod
    def seen(cls, snapshot: Snapshot) -> Self:
        """A copy of the free resources in a snapshot."""
        cluster, gpus = snapshot.cluster, snapshot.free_gpus.copy()
        cpus, memory_bytes = snapshot.free_cpus, snapshot.free_memory_bytes
        if cpus is None or memory_bytes is None:
            none = np.zeros(len(gpus), dtype=np.int64)
            return cls(cluster, gpus, none, none)
        return cls(cluster, gpus, cpus.copy(), memory_bytes.copy())

    def grown(self, cluster: ClusterSpec) -> Room:
        """The room of a larger cluster, whose further machines are empty."""
        size = len(self.gpus)
        return Room(
            cluster,
            np.append(self.gpus, cluster.gpus[size:]),
            np.append(self.cpus, cluster.cpus[size:]),
            np.append(self.memory_bytes, cluster.memory_bytes[size:]),
        )

    def resized(self, cluster: ClusterSpec) -> Room:
        """The room when the machines have other CPUs and memory."""
        own = self.cluster
        return Room(
            cluster,
            self.gpus,
            self.cpus + cluster.cpus - own.cpus,
            self.memory_bytes + cluster.memory_bytes - own.memory_bytes,
        )

    @property
    def gpu_count(self) -> int:
        """Free GPUs of all machines together."""
        return _total(self.gpus)

    def gpus_for(self, demand: ResourceDemand) -> Ints:
        """`(machines,)`: how many free GPUs each machine can give to such a job."""
        if not (demand.cpus or demand.memory_bytes):
            return self.gpus
        within = _within(self.gpus, self.cpus, self.cluster.cpus, demand.cpus, demand.gpus)
        memory = (self.memory_bytes, self.cluster.memory_bytes, demand.memory_bytes)
        return _within(within, *memory, demand.gpus)

    def holds(self, place: Placement, demand: ResourceDemand, *, shares_gpus: bool = False) -> bool:
        """Whether the placement fits. `shares_gpus`: with a job that already holds the GPUs."""
        return all(
            self._holds(machine, gpus, demand, shares_gpus)
            for machine, gpus in zip(*place, strict=True)
        )

    def take(self, place: Placement, demand: ResourceDemand, *, shares_gpus: bool = False) -> None:
        """Reserve the resources of a placement."""
        self._change(place, demand, -1, shares_gpus)

    def give_back(
        self, place: Placement, demand: ResourceDemand, *, shares_gpus: bool = False
    ) -> None:
        """Release the resources of a placement. `shares_gpus`: another job keeps the GPUs."""
        self._change(place, demand, 1, shares_gpus)

    def shortage(self, demand: ResourceDemand, gpus: int) -> Wait:
        """The short resource for this many GPUs of such a job; RUNS if they fit."""
        if gpus > self.gpus.sum():
            return Wait.TOO_FEW_GPUS
        if gpus > self.gpus_for(demand._replace(memory_bytes=0)).sum():
            return Wait.TOO_FEW_CPUS
        fits = gpus <= self.gpus_for(demand).sum()
        return Wait.RUNS if fits else Wait.TOO_LITTLE_MEMORY

    def _holds(self, machine: int, gpus: int, demand: ResourceDemand, shares_gpus: bool) -> bool:
        cpus, memory_bytes = demand.beside(gpus)
        size = self.cluster
        return (
            (shares_gpus or gpus <= self.gpus[machine])
            and (not size.cpus[machine] or cpus <= self.cpus[machine])
            and (not size.memory_bytes[machine] or memory_bytes <= self.memory_bytes[machine])
        )

    def _change(
        self, place: Placement, demand: ResourceDemand, sign: int, shares_gpus: bool
    ) -> None:
        size = self.cluster
        for machine, gpus in zip(*place, strict=True):
            self.gpus[machine] += 0 if shares_gpus else sign * gpus
            if not (demand.cpus or demand.memory_bytes):
                continue
            cpus, memory_bytes = demand.beside(gpus)
            self.cpus[machine] += sign * cpus if size.cpus[machine] else 0
            self.memory_bytes[machine] += sign * memory_bytes if size.memory_bytes[machine] else 0


def gpus_of_empty(cluster: ClusterSpec, demand: ResourceDemand) -> Ints:
    """`(machines,)`: how many GPUs each empty machine can give to such a job."""
    if not (demand.cpus or demand.memory_bytes):
        return cluster.gpus
    return Room(cluster, cluster.gpus, cluster.cpus, cluster.memory_bytes).gpus_for(demand)


@njit(cache=True)
def _total(values: Ints) -> int:
    """Compiled, as NumPy's sum of so few values takes five times as long."""
    total = 0
    for value in values:
        total += value
    return total


def _within(gpus: Ints, free: Ints, size: Ints, needed: int, whole_gpus: int) -> Ints:
    """How many of these GPUs of each machine have the required resource beside them.

    `needed * whole_gpus` must fit 63 bits.
    """
    if not needed:
        return gpus
    times, rest = np.divmod(free, needed)
    fits = np.minimum(times, gpus) * whole_gpus + rest * whole_gpus // needed
    return np.where(size > 0, np.minimum(fits, gpus), gpus)
