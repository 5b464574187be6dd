"""Usable machines: initially all; machines that drain or have left are closed."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from motet.domain.arrays import Ints, read_only
from motet.domain.cluster import ClusterSpec


class Machines:
    """The machines of a cluster that take jobs.

    `closed`: numbers of the others, ascending. The GPU count of a draining machine is the number of
    GPUs that jobs still hold there, so none of them is free.
    """

    def __init__(self, cluster: ClusterSpec) -> None:
        self._cluster = seen_cluster(cluster)
        self._gpu_count = cluster.gpu_count
        self._is_closed = np.zeros(cluster.size, dtype=np.bool_)
        self.closed: Ints = np.zeros(0, dtype=np.int64)

    def grown(self, cluster: ClusterSpec) -> Machines:
        """The same machines and the further ones of a larger cluster, which take jobs."""
        larger = Machines(cluster)
        for machine in self.closed.tolist():
            larger.close(machine)
        return larger

    def open(self, machine: int) -> None:
        """The machine takes jobs."""
        self._change(machine, is_closed=False)

    def close(self, machine: int) -> None:
        """The machine takes no further jobs."""
        self._change(machine, is_closed=True)

    def usable(self, free_gpus: Ints) -> Ints:
        """Free GPUs that jobs can get, `(machines,)`; the same array if no machine is closed."""
        if not len(self.closed):
            return free_gpus
        return np.where(self._is_closed, 0, free_gpus)

    def cluster(self, free_gpus: Ints) -> ClusterSpec:
        """The machines as policies see them."""
        if not len(self.closed):
            return self._cluster
        held = self._cluster.gpus - free_gpus
        gpus = np.where(self._is_closed, held, self._cluster.gpus)
        return replace(self._cluster, gpus=read_only(gpus))

    def gpu_count(self, free_gpus: Ints) -> int:
        """Total number of GPUs that policies see."""
        if not len(self.closed):
            return self._gpu_count
        free_on_closed = int(free_gpus[self.closed].sum())
        return self._gpu_count - free_on_closed

    def _change(self, machine: int, *, is_closed: bool) -> None:
        self._is_closed[machine] = is_closed
        self.closed = np.flatnonzero(self._is_closed)


def seen_cluster(cluster: ClusterSpec) -> ClusterSpec:
    """The same machines in columns that cannot be written to."""
    return replace(
        cluster,
        gpus=read_only(cluster.gpus),
        type=read_only(cluster.type),
        rack=read_only(cluster.rack),
        cpus=read_only(cluster.cpus),
        memory_bytes=read_only(cluster.memory_bytes),
        bandwidth_bps=read_only(cluster.bandwidth_bps),
    )
