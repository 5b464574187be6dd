"""One embedded Ray cluster for all tests of a process that need no special one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import psutil

from executor_processes import executor_processes

if TYPE_CHECKING:
    from motet.runtime.backends.ray.cluster import RayCluster

MACHINES = 5
_END_TIMEOUT_S = 120


class SharedRay:
    """Starts the cluster at its first use. A process can be connected to one cluster at a time."""

    def __init__(self) -> None:
        self._cluster: RayCluster | None = None

    def cluster(self) -> RayCluster:
        """The running cluster, without executors of earlier tests."""
        if self._cluster is None:
            from motet.runtime.backends.ray.cluster import RayCluster

            self._cluster = RayCluster.embedded(machines=MACHINES)
        assert psutil.wait_procs(executor_processes(), timeout=_END_TIMEOUT_S)[1] == []
        return self._cluster

    def end(self) -> None:
        """Leave this process free to connect to another cluster."""
        if self._cluster is not None:
            self._cluster.close()
            self._cluster = None
