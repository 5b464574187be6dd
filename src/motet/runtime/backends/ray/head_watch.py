"""Whether the control processes of a Ray cluster answer: its GCS, and the raylet of this node.

Ray ends a process whose GCS has not answered for a minute, in the middle of whatever it does, and
waits as long for a raylet that is gone. A refused connection tells within seconds.
"""

from __future__ import annotations

import motet.runtime.backends.ray.environment  # noqa: F401

# isort: split
import socket
import threading
import time
from collections.abc import Callable, Mapping

import ray

from motet.runtime.controller.ports import ClusterLost
from motet.transport import Endpoint

# A head that restarts (GCS fault tolerance) is silent for a moment.
PATIENCE_S = 5.0
_EVERY_S = 1.0
_CONNECT_TIMEOUT_S = 2.0


class HeadWatch:
    """Connects to each of them, at most once a second. Callable from any thread."""

    def __init__(
        self, addresses: Mapping[str, Endpoint], now_s: Callable[[], float] = time.monotonic
    ) -> None:
        """`addresses`: of the processes, by what they are called in messages."""
        self._addresses = addresses
        self._now_s = now_s
        self._lock = threading.Lock()
        self._looked_s = -_EVERY_S
        self._answered_s = now_s()
        self._silent = ""
        self.is_lost = False

    @classmethod
    def of_this_driver(cls) -> HeadWatch:
        """The GCS and the raylet that this process is connected to."""
        context = ray.get_runtime_context()
        host, _, port = context.gcs_address.rpartition(":")
        addresses = {"Ray's GCS": Endpoint(host, int(port))}
        own = context.get_node_id()
        for node in ray.nodes():
            if node["NodeID"] == own:
                raylet = Endpoint(node["NodeManagerAddress"], node["NodeManagerPort"])
                addresses["the raylet of this node"] = raylet
        return cls(addresses)

    def answers(self) -> bool:
        """Whether all answered when they were last asked. Raises ClusterLost after PATIENCE_S."""
        with self._lock:
            if self._now_s() - self._looked_s >= _EVERY_S:
                self._look()
            if self._silent and self._now_s() - self._answered_s >= PATIENCE_S:
                self.is_lost = True
                raise ClusterLost(
                    f"{self._silent} does not answer any more: it was killed, or its host is gone; "
                    "start the cluster again and continue with --resume"
                )
            return not self._silent

    def _look(self) -> None:
        self._silent = next(
            (
                f"{what} at {endpoint.host}:{endpoint.port}"
                for what, endpoint in self._addresses.items()
                if not _listens(endpoint)
            ),
            "",
        )
        self._looked_s = self._now_s()
        if not self._silent:
            self._answered_s = self._looked_s


def _listens(endpoint: Endpoint) -> bool:
    try:
        socket.create_connection((endpoint.host, endpoint.port), _CONNECT_TIMEOUT_S).close()
    except OSError:
        return False
    return True
