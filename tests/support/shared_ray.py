"""One embedded Ray cluster for all tests of a process that need no special one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from executor_processes import await_ends_of_executors

if TYPE_CHECKING:
    from motet.runtime.backends.ray.cluster import RayCluster

MACHINES = 5


class SharedRay:
    """Starts the cluster at its first use. A process can be connected to one cluster at a time."""

    def __init__(self) -> None:
        self._cluster: RayCluster | None = None

    def cluster(self) -> RayCluster:
        """The running cluster, without executors of earlier tests."""
        if self._cluster is None:
            from motet.runtime.backends.ray.cluster import RayCluster

            self._cluster = RayCluster.embedded(machines=MACHINES)
        await_ends_of_executors()
        return self._cluster

    def end(self) -> None:
        """Leave this process free to connect to another cluster."""
        if self._cluster is not None:
            self._cluster.close()
            self._cluster = None
